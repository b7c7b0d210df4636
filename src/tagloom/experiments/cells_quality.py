"""How good the scores of the test items are: per label, per picture, and a few to look at."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom import metrics
from tagloom.labels import PartialLabels

TOP = 5
_EXAMPLES = 12

Scores = npt.NDArray[Any]


def quality(truth: PartialLabels, scores: Scores) -> dict[str, Any]:
    """Return every metric of the table of results."""
    ap = metrics.average_precision(truth, scores)
    voc11 = metrics.average_precision(truth, scores, interpolation="voc11")
    top = metrics.at_top_k(truth, scores, k=TOP)
    n_scored = int(np.isfinite(ap).sum())
    return {
        "map": _mean(ap),
        "map_voc11": _mean(voc11),
        "map_per_item": _mean(metrics.average_precision_per_item(truth, scores)),
        f"precision_at_{TOP}": float(top.precision),
        f"recall_at_{TOP}": float(top.recall),
        f"f1_at_{TOP}": float(top.f1),
        f"n_plus_at_{TOP}": int(top.n_plus),
        "n_labels_scored": n_scored,
        "n_labels_left_out": len(ap) - n_scored,
    }


def per_label(truth: PartialLabels, scores: Scores) -> list[dict[str, Any]]:
    """Return the average precision of each label and how many test items have it."""
    ap = metrics.average_precision(truth, scores)
    counts = truth.counts().present
    return [
        {"label": str(label), "ap": float(value), "n_test_presences": int(count)}
        for label, value, count in zip(truth.labels, ap, counts, strict=True)
    ]


def examples(truth: PartialLabels, scores: Scores, seed: int) -> list[dict[str, Any]]:
    """Return the best labels of a few test items, which the seed picks."""
    n_items = truth.n_items
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(n_items, size=min(_EXAMPLES, n_items), replace=False))
    names = truth.items or tuple(range(n_items))
    return [{"item": str(names[row]), "top": _best(truth, scores[row])} for row in rows]


def _best(truth: PartialLabels, scores: Scores) -> list[list[Any]]:
    order = np.argsort(-scores, kind="stable")[:TOP]
    return [[str(truth.labels[column]), float(scores[column])] for column in order]


def _mean(values: Scores) -> float:
    """Return the mean of what is defined, NaN where nothing is."""
    defined = np.asarray(values)[np.isfinite(values)]
    return float(defined.mean()) if len(defined) else float("nan")
