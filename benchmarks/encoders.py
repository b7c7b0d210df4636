"""Compare what networks and views of pictures are worth, and what they cost.

For each way of looking at pictures: mean average precision on the test pictures, in percent, as
mean over the seeds, and pictures per processor second as a multiple of one look of lite0 at the
centre. Of the training pictures, a share of the presences and of the absences of each label is
known, and a learner is tuned on them. With --validate a fifth of the training pictures takes the
place of the test pictures: choices are made there. Features are cached: a set is encoded once.

    python benchmarks/encoders.py --corel5k /data/corel5k --coco-captions /data/coco_captions

Speed is measured on one thread in short rounds, one way after the other in each, so that other load
on the machine affects all alike.
"""

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.benchmark.cell import tune_and_fit
from tagloom.benchmark.inputs import split_features, visual_features
from tagloom.benchmark.methods import select_methods
from tagloom.datasets import Dataset, load_coco_captions, load_corel5k
from tagloom.datasets.scenes import draw_scene
from tagloom.labels import hide_per_class
from tagloom.metrics import mean_average_precision
from tagloom.vision import CombinedEncoders, EfficientNetLite, Encoder, decode, load_encoder
from tagloom.vision.encoders.base import JoinedViews, Session, fingerprint
from tagloom.vision.encoders.efficientnet import (
    VARIANTS,
    build_efficientnet,
    read_torch_weights,
    verified_weights,
)

FOLDS = 3
N_CALIBRATION = 64


class Mirrored(EfficientNetLite):
    """The network before a picture that is mirrored left to right."""

    def __init__(self, variant: str = "lite0", *, view: Any = "centre") -> None:
        super().__init__(variant, view=view)
        self.identity = fingerprint({"mirrored": self.identity})

    def prepare(self, picture: Any) -> NDArray[Any]:
        """Return the mirrored square of pixels."""
        return np.ascontiguousarray(super().prepare(picture)[:, ::-1])


class Quantized(EfficientNetLite):
    """The network in 8-bit integers: static, calibrated on drawn scenes, a scale per channel.

    Weights have 7 bits if `exact`: sums of two products then never exceed 16 bits, which the
    instructions of processors without VNNI would cut off. Results are the same on all of them.
    """

    def __init__(self, variant: str = "lite0", *, view: Any = "centre", exact: bool = True) -> None:
        super().__init__(variant, view=view)
        self.identity = fingerprint({"quantized": self.identity, "exact": exact})
        self._session = Session(quantized(variant, exact), origin=f"{variant} in integers")


@cache
def quantized(variant: str, exact: bool) -> bytes:
    from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    kind = VARIANTS[variant]
    looks = [EfficientNetLite(variant, view="whole"), EfficientNetLite(variant)]
    scenes = (draw_scene(number).image for number in range(N_CALIBRATION))
    squares = iter([look.prepare(scene)[None] for scene in scenes for look in looks])

    class Scenes(CalibrationDataReader):  # type: ignore[misc]
        def get_next(self) -> dict[str, Any] | None:
            square = next(squares, None)
            return None if square is None else {"pictures": square}

    weights = read_torch_weights(verified_weights(variant, kind))
    with tempfile.TemporaryDirectory() as folder:
        source, ready, result = (str(Path(folder) / f"{name}.onnx") for name in "abc")
        graph = build_efficientnet(weights, size=kind.size, depth=kind.depth, batch=1)
        Path(source).write_bytes(graph)
        quant_pre_process(source, ready, skip_symbolic_shape=True)
        quantize_static(
            ready,
            result,
            Scenes(),
            per_channel=True,
            reduce_range=exact,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            op_types_to_quantize=["Conv", "Add", "Clip", "GlobalAveragePool"],
        )
        return Path(result).read_bytes()


def joined(kind: Any, variant: str = "lite0", **options: Any) -> Encoder:
    return JoinedViews([kind(variant, view=view, **options) for view in ("whole", "centre")])


def with_mirror() -> Encoder:
    whole, centre = EfficientNetLite(view="whole"), EfficientNetLite()
    return JoinedViews([whole, centre, Mirrored(view="whole")])


def two_networks() -> Encoder:
    return CombinedEncoders(
        [EfficientNetLite(), EfficientNetLite("lite2", view="whole")], visual="all"
    )


WAYS: dict[str, Callable[[], Encoder]] = {
    "lite0, centre": EfficientNetLite,
    "lite0, whole": lambda: EfficientNetLite(view="whole"),
    "lite0, whole and centre": lambda: load_encoder(["lite0"]),
    "lite0, whole, centre and mirrored whole": with_mirror,
    "lite1, whole": lambda: EfficientNetLite("lite1", view="whole"),
    "lite2, whole": lambda: EfficientNetLite("lite2", view="whole"),
    "lite0, centre, and lite2, whole": two_networks,
    "lite0, whole and centre, 7-bit weights": lambda: joined(Quantized),
    "lite0, whole, 8-bit weights": lambda: Quantized(view="whole", exact=False),
}


def validation_part(dataset: Dataset) -> Dataset:
    """Let a fifth of the training pictures take the place of the test pictures."""
    rows = np.random.default_rng(0).permutation(dataset.training)
    fifth = len(rows) // 5
    return replace(dataset, training=np.sort(rows[fifth:]), test=np.sort(rows[:fifth]))


def quality(dataset: Dataset, method: str, rate: float, seeds: Sequence[int]) -> float:
    """Return the mean average precision on the test rows, in percent."""
    training, test = split_features(dataset)
    X = visual_features(training, test, 0.9)
    (chosen,) = select_methods([method])
    values = []
    for seed in seeds:
        known = hide_per_class(dataset.truth.take(dataset.training), rate, seed)
        fitted = tune_and_fit(chosen, X.training, known, None, FOLDS, seed)
        scores = fitted.model.scores(X.test)
        values.append(100 * mean_average_precision(dataset.truth.take(dataset.test), scores))
    return float(np.mean(values))


def speeds(ways: dict[str, Encoder], pictures: Sequence[Any], rounds: int) -> dict[str, float]:
    """Return the median over the rounds of the speed as a multiple of that of the first way."""
    prepared = {
        name: [(member, member.prepare(one)) for one in pictures for member in encoder.members]
        for name, encoder in ways.items()
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, looks in prepared.items():
            started = time.thread_time()
            for member, square in looks:
                member.encode(square)
            seconds[name].append(time.thread_time() - started)
    first = np.array(next(iter(seconds.values())))
    return {name: float(np.median(first / np.array(own))) for name, own in seconds.items()}


def opened(args: argparse.Namespace) -> list[Dataset]:
    sets: list[Dataset] = []
    if args.corel5k:
        sets.append(load_corel5k(args.corel5k, features=None))
    if args.coco_captions:
        sets.append(load_coco_captions(args.coco_captions, features=None))
    return [validation_part(one) for one in sets] if args.validate else sets


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corel5k", type=Path)
    parser.add_argument("--coco-captions", type=Path)
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--rates", type=float, nargs="+", default=[0.1, 0.3])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--method", default="least-squares")
    parser.add_argument("--validate", action="store_true")
    parser.add_argument("--cache", type=Path, help="of the features; else the user's cache")
    parser.add_argument("--rounds", type=int, default=20, help="of the measurement of speed")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    warnings.simplefilter("ignore")
    sets = opened(args)
    ways = {name: WAYS[name]() for name in args.ways}
    if args.rounds:
        pictures = [decode(sets[0].picture(row).read_bytes(), needed=292) for row in range(4)]
        for name, ratio in speeds(ways, pictures, args.rounds).items():
            print(f"{name:42} speed {ratio:.2f}", flush=True)
    for name, encoder in ways.items():
        for dataset in sets:
            seen = dataset.embedded(encoder, cache=args.cache)
            figures = [quality(seen, args.method, rate, args.seeds) for rate in args.rates]
            shown = "  ".join(f"{figure:5.1f}" for figure in figures)
            print(f"{name:42} {dataset.name:14} {shown}", flush=True)


if __name__ == "__main__":
    main()
