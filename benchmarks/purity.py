"""How pure the top of a tag's ranking is, by what can be seen of it: fits the prior of forgetting.

The tags of photographs with a known truth are forgotten, or listed as people did, and scored by
learners that were not shown them. For every tag with a truth: its ROC AUC, its listed share, the
lift of the listed share at the top of its ranking, and the share of the top that is present. A
beta-binomial regression of the last on the others gives the constants `_PURITY` and
`_PURITY_CONCENTRATION` of `tagloom.calibration.forgetting`. Captioned photographs also come in
random parts of 100 to 2,400; "person" is left out, and a tag of theirs weighs six times as
much as one of Corel5k, of which there are many more.

    python benchmarks/purity.py corel5k:/data/corel5k coco_captions:/data/coco_captions
"""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import betaln, expit, logit

from completion import Collection, listed_collection, part_of, training_part
from completion_trials import Trial
from tagloom.benchmark.demo import keep_tags
from tagloom.calibration.forgetting import top_of
from tagloom.calibration.listing import fit_listing
from tagloom.datasets import open_dataset
from tagloom.labels import PartialLabels, State
from tagloom.metrics import roc_auc

PARTS = {100: range(6), 300: range(1, 4), 600: (0,), 1200: (0,), 2400: (0,)}
KEPT = (("keep 0.2, seed 0", 0.2, 0), ("keep 0.2, seed 1", 0.2, 1), ("keep 0.5", 0.5, 0))
LEFT_OUT = ("person",)
MOST = 30


class Row(NamedTuple):
    """One tag: the terms of the regression, how many of so many at its top are present."""

    world: str
    weight: float
    terms: list[float]
    n_present: float
    n: float


def worlds(dataset: Any) -> Iterator[tuple[str, float, Collection, PartialLabels]]:
    """Yield names, weights, pictures with their truth, and the tags that are known."""
    if dataset.listed is None:
        collection = training_part(dataset, "uniform")
        for name, keep, seed in KEPT:
            yield name, 1.0, collection, keep_tags(collection.truth, keep, seed)
        return
    collection = listed_collection(dataset)
    assert collection.listed is not None
    yield "all", 6.0, collection, collection.listed
    for n, seeds in PARTS.items():
        for seed in seeds:
            part = part_of(collection, n, seed)
            assert part.listed is not None
            yield f"{n} pictures", 6.0, part, part.listed


def rows_of(name: str, weight: float, trial: Trial) -> Iterator[Row]:
    training, scores = trial.training.without_feedback, trial.held_out.entries
    listing, auc = fit_listing(training, scores), roc_auc(training, scores)
    states = training.states()
    for column, label in enumerate(training.labels):
        judged = states[:, column] != int(State.UNKNOWN)
        listed = states[judged, column] == int(State.PRESENT)
        truth = trial.truth_states[judged, column]
        if label in LEFT_OUT or (truth == int(State.UNKNOWN)).all():
            continue
        g = listing.probability(scores[judged, column], column)
        top, n_listed = top_of(g, listed), int(listed.sum())
        best = np.argsort(-g, kind="stable")[: top.n + 1]
        purity = float((truth[best] == int(State.PRESENT)).mean())
        a, base = (auc[column] * n_listed + 0.75) / (n_listed + 1), n_listed / len(listed)
        lift = (top.n_listed + 1) / (top.n + 1) / base
        c = min(1.0, (top.share + 0.5 / max(top.n, 1)) / max(purity, 0.02))
        n = min(len(best), MOST)
        terms = [1.0, float(logit(a)), np.log(base), np.log(lift), np.log(c)]
        yield Row(name, weight, terms, purity * n, n)


def fit(rows: list[Row]) -> Any:
    """Return the coefficients and the concentration that maximise the weighted likelihood."""
    D = np.array([row.terms for row in rows])
    y, n, v = (
        np.array([getattr(row, key) for row in rows]) for key in ("n_present", "n", "weight")
    )

    def loss(x: Any) -> float:
        mean, concentration = expit(D @ x[:-1]), np.exp(x[-1])
        a, b = mean * concentration, (1 - mean) * concentration
        fitted = betaln(a + y, b + n - y) - betaln(a, b)
        return float(-(v * fitted).sum() + 0.01 * (x**2).sum())

    return minimize(loss, np.r_[np.zeros(D.shape[1]), 1.0]).x


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+", help="as in open_dataset")
    parser.add_argument("--minutes", type=float, default=5.0, help="for each search of parameters")
    args = parser.parse_args()
    rows: list[Row] = []
    for data in args.data:
        for name, weight, collection, known in worlds(open_dataset(data)):
            with tempfile.TemporaryDirectory() as folder:
                features, truth = collection.features, collection.truth
                trial = Trial(features, truth, known, Path(folder), 0, args.minutes)
                world = f"{data.partition(':')[0]}, {name}"
                rows += rows_of(world, weight, trial)
    x = fit(rows)
    print("constant, logit AUC, log listed share, log lift, log c:", x[:-1].round(2))
    print("concentration:", np.exp(x[-1]).round(1))
    for world in dict.fromkeys(row.world for row in rows):
        of = [row for row in rows if row.world == world]
        expected = expit(np.array([row.terms for row in of]) @ x[:-1]).mean()
        observed = np.mean([row.n_present / row.n for row in of])
        print(
            f"{world:32} {len(of):4} tags, purity expected {expected:.2f}, observed {observed:.2f}"
        )


if __name__ == "__main__":
    main()
