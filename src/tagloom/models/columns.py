"""What is known of one label after the other."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.labels import PartialLabels

Positions = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# Labels are taken together until they have about this many entries, to bound the memory.
_ENTRIES_AT_ONCE = 1 << 24


@dataclass(frozen=True, eq=False)
class Column:
    """One label: some entries one by one, and one weight with which the label is absent elsewhere.

    Attributes
    ----------
    rows : array of int, ascending
        Where something else holds than the background.
    present : array of bool
    weights : array of float
        0 where the entry is unknown although the background is absent.
    background : float
        The weight of an absence at every other row; 0 where those are unknown.
    n_items : int
    """

    rows: Positions
    present: npt.NDArray[np.bool_]
    weights: Floats
    background: float
    n_items: int

    def known(self) -> tuple[Positions, npt.NDArray[np.bool_], Floats]:
        """Return rows, presence and weights of every known entry, the background written out."""
        if not self.background:
            return self.rows, self.present, self.weights
        present = np.zeros(self.n_items, dtype=bool)
        weights = np.full(self.n_items, self.background)
        present[self.rows], weights[self.rows] = self.present, self.weights
        rows = np.flatnonzero(weights)
        return rows, present[rows], weights[rows]

    def presences(self) -> "Column":
        """Return the present entries alone, over nothing."""
        where = self.present
        rows, weights = self.rows[where], self.weights[where]
        return Column(rows, where[where], weights, 0.0, self.n_items)


def columns_of(known: PartialLabels) -> Iterator[Column]:
    """Yield the labels one by one."""
    step = max(1, _ENTRIES_AT_ONCE // max(1, known.n_items))
    for start in range(0, known.n_labels, step):
        some = known.labels[start : start + step]
        yield from _columns_of_few(known if len(some) == known.n_labels else known.select(some))


def _columns_of_few(known: PartialLabels) -> Iterator[Column]:
    entries = known.entries()
    hidden_rows, hidden_columns = known.hidden_entries()
    rows, columns = _joined(entries.rows, hidden_rows), _joined(entries.columns, hidden_columns)
    present = _joined(entries.present, np.zeros(len(hidden_rows), dtype=bool))
    weights = _joined(entries.weights, np.zeros(len(hidden_rows)))
    order = np.lexsort((rows, columns))
    rows, present, weights = rows[order], present[order], weights[order]
    ends = np.cumsum(np.bincount(columns, minlength=known.n_labels))
    for start, end in zip(np.concatenate([[0], ends[:-1]]), ends, strict=True):
        part = slice(start, end)
        yield Column(rows[part], present[part], weights[part], known.unlisted_weight, known.n_items)


def _joined(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.concatenate([first, second])
