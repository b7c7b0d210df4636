"""How good a completion is, measured against the whole truth.

Most tags of the training pictures of a data set are hidden and completed, as `tagloom complete`
does it. The result is compared with the truth: the ranking beside ridge and nearest neighbours on
the same features and tags, probabilities, the label frequency, the requested precision, suspected
errors against planted ones, and the gain from 200 annotations. Figures are means and standard
deviations over the seeds.

    python benchmarks/completion.py corel5k:/data/corel5k --keep 0.2 --seeds 0 1
    python benchmarks/completion.py scenes:600 --whole-pictures 0.15
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from completion_trials import (
    Trial,
    annotation_gain,
    calibration,
    error_detection,
    rankings,
)
from tagloom.benchmark.demo import keep_tags, tag_lists
from tagloom.datasets import Dataset, open_dataset
from tagloom.labels import PartialLabels, State
from tagloom.vision import Features

PARTS = {
    "rankings": rankings,
    "calibration": calibration,
    "errors": error_detection,
    "annotations": annotation_gain,
}


def training_part(dataset: Dataset) -> tuple[Features, PartialLabels]:
    seen = dataset.embedded()
    assert seen.features is not None
    rows, features = seen.training, seen.features
    kept = Features(
        [features.items[row] for row in rows],
        features.visual[rows],
        features.posteriors[rows],
        features.concepts,
    )
    return kept, seen.truth.take(rows)


def of_some_pictures(said: PartialLabels, share: float, seed: int) -> PartialLabels:
    """Keep the tags of a share of the pictures and none of the others."""
    rng = np.random.default_rng([seed, 3])
    chosen = np.zeros(said.n_items, dtype=bool)
    chosen[rng.permutation(said.n_items)[: round(share * said.n_items)]] = True
    rows, columns = np.nonzero(said.states() == int(State.PRESENT))
    return tag_lists(said, rows[chosen[rows]], columns[chosen[rows]])


def measured(seed: int, features: Features, truth: PartialLabels, args: Any) -> dict[str, float]:
    said = truth if args.keep is None else keep_tags(truth, args.keep, seed)
    if args.whole_pictures is not None:
        said = of_some_pictures(said, args.whole_pictures, seed)
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(features, truth, said, Path(folder), seed, args.minutes)
        for part in args.parts:
            started = time.perf_counter()
            found = PARTS[part](trial)
            print(f"# seed {seed}: {part} after {time.perf_counter() - started:.0f} s", flush=True)
            figures |= found
    return figures


def show(runs: list[dict[str, float]]) -> None:
    width = max(map(len, runs[0]))
    for name in runs[0]:
        values = np.array([run[name] for run in runs], dtype=np.float64)
        single = "  ".join(f"{value:.3f}" for value in values)
        print(f"{name:{width}}  {values.mean():9.3f} ± {values.std():.3f}   ({single})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="as in open_dataset, e.g. corel5k:PATH or scenes:600")
    parser.add_argument("--keep", type=float, help="share of the tags that stays (default 0.2)")
    parser.add_argument(
        "--whole-pictures",
        type=float,
        help="only this share of the pictures has tags: all of them, or with --keep a share",
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--minutes", type=float, default=15.0, help="for the search of parameters")
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--json", type=Path, help="write the figures of each seed there")
    args = parser.parse_args()
    if args.keep is None and args.whole_pictures is None:
        args.keep = 0.2
    features, truth = training_part(open_dataset(args.data))
    print(f"# {args.data}: {truth}, features {features.visual.shape[1]}")
    runs = [measured(seed, features, truth, args) for seed in args.seeds]
    show(runs)
    if args.json is not None:
        args.json.write_text(json.dumps(dict(zip(args.seeds, runs, strict=True)), indent=2))


if __name__ == "__main__":
    main()
