"""How good a completion is, measured against the truth.

Most tags of the training pictures of a data set are hidden and completed, as `tagloom complete`
does it. Of a set with tags that people have listed (coco_captions) these are completed, for all
pictures. The result is compared with the truth: the ranking beside ridge and nearest neighbours on
the same features and tags, probabilities, the label frequency, the requested precision, listing and
suggestions tag by tag, the promise after 50 answers, suspected errors against planted ones, and the
gain from 200 annotations. Figures are means and standard deviations over the seeds.

    python benchmarks/completion.py corel5k:/data/corel5k --keep 0.2 --seeds 0 1
    python benchmarks/completion.py scenes:600 --whole-pictures 0.15
    python benchmarks/completion.py corel5k:/data/corel5k --keep 0.2 --absences 0.2
    python benchmarks/completion.py scenes:600 --forgetting salience --parts by-tag
    python benchmarks/completion.py coco_captions:/data/coco_captions --parts by-tag
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from completion_trials import (
    Trial,
    annotation_gain,
    answers,
    by_tag,
    calibration,
    error_detection,
    rankings,
)
from tagloom.benchmark.demo import FORGETTING, keep_tags, tag_lists
from tagloom.benchmark.inputs import training_salience
from tagloom.completion.inputs import Options
from tagloom.datasets import Dataset, open_dataset
from tagloom.labels import PartialLabels, State, add_known
from tagloom.vision import Features

PARTS = {
    "rankings": rankings,
    "calibration": calibration,
    "by-tag": by_tag,
    "answers": answers,
    "errors": error_detection,
    "annotations": annotation_gain,
}
# These plant errors in any tag, or reveal any: the truth of all tags must be known.
WHOLE_TRUTH = ("errors", "annotations")


class Collection(NamedTuple):
    """Pictures and the truth about them, with the tags that people listed, or the salience."""

    features: Features
    truth: PartialLabels
    listed: PartialLabels | None = None
    salience: Any = None


def listed_collection(dataset: Dataset) -> Collection:
    """Return all pictures, and the truth of every tag that people list, where it is known."""
    assert dataset.features is not None
    assert dataset.listed is not None
    truth = np.full(dataset.listed.shape, np.nan)
    for column, label in enumerate(dataset.listed.labels):
        if label in dataset.truth.labels:
            truth[:, column] = dataset.truth.select([label]).to_array()[:, 0]
    names = {"labels": dataset.listed.labels, "items": dataset.items}
    return Collection(
        dataset.features, PartialLabels.from_array(truth, **names), listed=dataset.listed
    )


def training_part(dataset: Dataset, forgetting: str) -> Collection:
    """Return the training pictures, with the salience of their tags if it matters."""
    assert dataset.features is not None
    rows, features = dataset.training, dataset.features
    kept = Features(
        [features.items[row] for row in rows],
        features.visual[rows],
        features.posteriors[rows],
        features.concepts,
    )
    salience = training_salience(dataset) if forgetting == "salience" else None
    return Collection(kept, dataset.truth.take(rows), salience=salience)


def of_some_pictures(said: PartialLabels, share: float, seed: int) -> PartialLabels:
    """Keep the tags of a share of the pictures and none of the others."""
    rng = np.random.default_rng([seed, 3])
    chosen = np.zeros(said.n_items, dtype=bool)
    chosen[rng.permutation(said.n_items)[: round(share * said.n_items)]] = True
    rows, columns = np.nonzero(said.states() == int(State.PRESENT))
    return tag_lists(said, rows[chosen[rows]], columns[chosen[rows]])


def known_tags(collection: Collection, seed: int, args: Any) -> PartialLabels:
    """Return the tags to complete."""
    truth, listed, salience = collection.truth, collection.listed, collection.salience
    said = truth if listed is None else listed
    if args.keep is not None:
        said = keep_tags(truth, args.keep, seed, salience=salience)
    if args.whole_pictures is not None:
        said = of_some_pictures(said, args.whole_pictures, seed)
    if not args.absences:
        return said
    of_all = np.ones(truth.n_items, dtype=bool)
    tagged = (said.states() == int(State.PRESENT)).any(axis=1)
    pictures = of_all if args.whole_pictures is None else tagged
    return with_absences(said, truth, args.absences, pictures, seed)


def with_absences(
    said: PartialLabels, truth: PartialLabels, share: float, pictures: Any, seed: int
) -> PartialLabels:
    """Tell a share of the absences of some pictures; with 1 their lists are complete."""
    told = np.random.default_rng([seed, 5]).random(truth.shape) < share
    rows, columns = np.nonzero((truth.states() == int(State.ABSENT)) & pictures[:, None] & told)
    return add_known(said, said.with_entries(rows, columns, False))


def part_of(collection: Collection, n: int, seed: int = 0) -> Collection:
    """Return a random part of the pictures."""
    rows = np.sort(np.random.default_rng(seed).permutation(collection.truth.n_items)[:n])
    features, listed, salience = collection.features, collection.listed, collection.salience
    return Collection(
        Features(
            [features.items[row] for row in rows],
            features.visual[rows],
            features.posteriors[rows],
            features.concepts,
        ),
        collection.truth.take(rows),
        None if listed is None else listed.take(rows),
        None if salience is None else salience[rows],
    )


def measured(seed: int, collection: Collection, args: Any) -> dict[str, float]:
    said = known_tags(collection, seed, args)
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        features, truth = collection.features, collection.truth
        how = (args.minutes, args.words, args.folds)
        trial = Trial(features, truth, said, Path(folder), seed, *how)
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


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="as in open_dataset, e.g. corel5k:PATH or scenes:600")
    parser.add_argument(
        "--keep",
        type=float,
        help="share of the tags that stays (default 0.2; of a set with lists, what is listed)",
    )
    parser.add_argument(
        "--forgetting",
        choices=FORGETTING,
        default="uniform",
        help="which tags stay: any alike, or as people list them",
    )
    parser.add_argument(
        "--whole-pictures",
        type=float,
        help="only this share of the pictures has tags: all of them, or with --keep a share",
    )
    parser.add_argument("--absences", type=float, help="share of the absences that is told, too")
    parser.add_argument(
        "--words",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="whether the names of tags count",
    )
    parser.add_argument("--pictures", type=int, help="only so many of them, at random")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--minutes", type=float, default=15.0, help="for the search of parameters")
    parser.add_argument("--folds", type=int, default=Options().cv, help="to measure the result by")
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), help="default: all")
    parser.add_argument("--json", type=Path, help="write the figures of each seed there")
    return parser


def main() -> None:
    parser = arguments()
    args = parser.parse_args()
    dataset = open_dataset(args.data).embedded()
    as_listed = dataset.listed is not None and args.keep is None
    if args.keep is None and args.whole_pictures is None and not as_listed:
        args.keep = 0.2
    if as_listed and set(args.parts or ()) & set(WHOLE_TRUTH):
        parser.error(f"the truth of every tag is needed for {' and '.join(WHOLE_TRUTH)}")
    args.parts = args.parts or [part for part in PARTS if not (as_listed and part in WHOLE_TRUTH)]
    collection = (
        listed_collection(dataset) if as_listed else training_part(dataset, args.forgetting)
    )
    if args.pictures is not None:
        collection = part_of(collection, args.pictures)
    print(f"# {args.data}: {collection.truth}, features {collection.features.visual.shape[1]}")
    runs = [measured(seed, collection, args) for seed in args.seeds]
    show(runs)
    if args.json is not None:
        args.json.write_text(json.dumps(dict(zip(args.seeds, runs, strict=True)), indent=2))


if __name__ == "__main__":
    main()
