"""Neighbours' neighbours are often neighbours."""

import numpy as np
import numpy.typing as npt

from tagloom.neighbours._nearest import Nearest
from tagloom.neighbours._result import Positions
from tagloom.neighbours._screen import Scaled
from tagloom.neighbours._threads import in_threads

_ROWS_AT_ONCE = 512
_CLOSEST = 12


def refine(nearest: Nearest, rows: Scaled, order: Positions) -> None:
    """Let each row meet the rows that its neighbours are near to, or that are near to them.

    Rows are taken in an order in which those that follow each other are close: they meet the same
    ones, which then are in cache.
    """
    near = _closest(nearest)
    known = np.hstack([near, _reverse(near)])

    def meet(start: int) -> None:
        some = order[start : start + _ROWS_AT_ONCE]
        i, j = _strangers(known, near[some])
        squares = rows.squares(some[i], j)
        nearer = np.flatnonzero(squares < nearest.squares[some[i], -1])
        nearest.enter(some, i[nearer], j[nearer], squares[nearer])

    in_threads(meet, range(0, len(near), _ROWS_AT_ONCE))


def _closest(nearest: Nearest) -> npt.NDArray[np.int32]:
    """Return the closest of the neighbours, for the neighbours of distant ones are too many."""
    if nearest.rows.shape[1] <= _CLOSEST:
        return nearest.rows.copy()
    order = np.argpartition(nearest.squares, _CLOSEST - 1, axis=1)[:, :_CLOSEST]
    return np.take_along_axis(nearest.rows, order, axis=1)


def _reverse(near: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return for each row the first few rows that it is near to, itself where there are fewer."""
    n_rows, k = near.shape
    order = np.argsort(near.ravel(), kind="stable")
    towards = near.ravel()[order]
    counts = np.bincount(towards, minlength=n_rows)
    place = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    kept = place < k
    back = np.repeat(np.arange(n_rows, dtype=np.int32)[:, None], k, axis=1)
    back[towards[kept], place[kept]] = order[kept] // k
    return back


def _strangers(
    known: npt.NDArray[np.int32], near: npt.NDArray[np.int32]
) -> tuple[Positions, Positions]:
    """Return pairs (i, j), sorted by i, of rows and their neighbours' neighbours, each once."""
    met = known[near].reshape(len(near), -1)
    met.sort(axis=1)
    wanted = np.ones(met.shape, dtype=bool)
    wanted[:, 1:] = met[:, 1:] != met[:, :-1]
    i, column = np.nonzero(wanted)
    return i, met[i, column].astype(np.int64)
