"""What the page's script needs to know, in columns of small whole numbers."""

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.completion.result import Completed
from tagloom.completion.suggestions import TagState

# A row of thumbnails; the number of all is told beside it.
_SHOWN = 4


def page_data(result: Completed, thumbnails: Sequence[str], photos: str) -> str:
    """Return JSON that can stand in a script element.

    Probabilities are in thousandths. Tags stand by picture, `count` of each; those that are more
    than known have reasons, in the same order.
    """
    table = result.table
    told = table.state != int(TagState.KNOWN)
    entries = {
        "count": np.bincount(table.rows, minlength=len(result.items)).tolist(),
        "label": table.columns.tolist(),
        "p": _thousandths(table.probability),
        "state": "".join(map(str, table.state.tolist())),
    }
    return _as_script(
        {
            "photos": photos,
            "items": result.items,
            "thumbnails": list(thumbnails),
            "near": _numbers_of_neighbours(result.affinities),
            "labels": result.labels,
            "quality": _qualities(result),
            "tags": entries,
            "reasons": _reasons(result, table.rows[told], table.columns[told]),
            "doubts": _doubts(result),
            "questions": _questions(result),
        }
    )


def _qualities(result: Completed) -> dict[str, list[Any]]:
    by_label = result.qualities
    return {
        "present": [one.n_present for one in by_label],
        "absent": [one.n_absent for one in by_label],
        "threshold": _thousandths(one.threshold for one in by_label),
        "won": _thousandths(one.comparisons_won for one in by_label),
    }


def _reasons(result: Completed, rows: Iterable[Any], columns: Iterable[Any]) -> dict[str, Any]:
    """Return of each entry how many like pictures carry the label, and the likest of them."""
    counts, shown = [], []
    everyone = len(result.items)
    for row, column in zip(rows, columns, strict=True):
        carriers = result.carriers(int(row), int(column), everyone)
        counts.append(len(carriers))
        shown += carriers[:_SHOWN]
    return {"most": _SHOWN, "count": counts, "pictures": shown}


def _numbers_of_neighbours(S: Any) -> list[int]:
    """Count the neighbours of each picture, of which it is none itself."""
    return [int(n) for n in np.diff(S.indptr) - (S.diagonal() != 0)]


def _doubts(result: Completed) -> dict[str, Any]:
    doubts = result.doubts
    rows, columns = [one.row for one in doubts], [one.column for one in doubts]
    return {
        "picture": rows,
        "label": columns,
        "present": [int(one.present) for one in doubts],
        "p": _thousandths(one.probability for one in doubts),
        "chance": _thousandths(one.chance for one in doubts),
        "reasons": _reasons(result, rows, columns),
    }


def _questions(result: Completed) -> dict[str, Any]:
    rows = [one.row for one in result.questions]
    columns = [one.column for one in result.questions]
    return {
        "picture": rows,
        "label": columns,
        "p": _thousandths(result.P[rows, columns]) if rows else [],
        "reasons": _reasons(result, rows, columns),
    }


def _thousandths(values: Iterable[float] | npt.NDArray[Any]) -> list[int | None]:
    """Round to thousandths; None for what is no number or never reached.

    >>> _thousandths([0.25, float("inf")])
    [250, None]
    """
    return [round(1000 * float(p)) if math.isfinite(p) else None for p in values]


def _as_script(data: dict[str, Any]) -> str:
    """Return JSON in which nothing can end the script element or begin a comment."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")
