"""Bounds on distances from matrix products, by which all rows but a few are ruled out."""

import numpy as np
import numpy.typing as npt

from tagloom.neighbours._result import Matrix, Positions

# Rows share one minimum in groups of at most this many: fewer numbers to select from. Many
# neighbours need small groups, for k of the minima are to be a good bound on the k-th neighbour.
_GROUP = 32
_GROUPS_PER_NEIGHBOUR = 4
# Differences of so many pairs of rows stay in cache.
_PAIRS_AT_ONCE = 256


class Scaled:
    """Rows around their mean and divided by their largest coordinate, made when they are asked for.

    In single precision: good enough to propose neighbours, and nothing overflows.
    """

    def __init__(self, rows: Matrix, like: "Scaled | None" = None) -> None:
        self._rows = rows
        self._centre: Matrix = mean_row(rows) if like is None else like._centre
        self._scale: float = largest_coordinate(rows, self._centre) if like is None else like._scale

    def __len__(self) -> int:
        return len(self._rows)

    def take(self, positions: Positions) -> npt.NDArray[np.float32]:
        """Return the rows at these positions."""
        rows = self._rows[positions]
        rows -= self._centre
        rows /= rows.dtype.type(self._scale)
        return rows.astype(np.float32, copy=False)

    def squares(self, i: Positions, j: Positions) -> npt.NDArray[np.float32]:
        """Return the squared distances of the pairs (i, j)."""
        squares = np.empty(len(i), dtype=np.float32)
        for start in range(0, len(i), _PAIRS_AT_ONCE):
            part = slice(start, start + _PAIRS_AT_ONCE)
            difference = self._rows.take(i[part], axis=0)
            difference -= self._rows.take(j[part], axis=0)
            difference /= difference.dtype.type(self._scale)
            squares[part] = np.einsum("ij,ij->i", difference, difference)
        return squares


class Screen:
    """Rows prepared so that one matrix product bounds squared distances from below.

    d^2(x, y) = |x|^2 + |y|^2 - 2 x'y is cheap but rounded, and rounded differently by other numbers
    of threads. Its error is at most 2 gamma (|x|^2 + |y|^2) with gamma ~ (d + 16) eps, so that
    (-2 x, 1, (1 - 2 gamma) |x|^2) (y, (1 - 2 gamma) |y|^2, 1)' is a lower bound, and an upper one
    when 4 gamma (|x|^2 + |y|^2), its `slack`, is added.

    Rows and queries are centred and scaled: distances keep their order, rounding is relative to
    smaller norms, and nothing overflows.
    """

    def __init__(self, base: Matrix) -> None:
        dtype = base.dtype
        # Any centre would do, so that its rounding is harmless; the mean makes norms small.
        self._centre = mean_row(base)
        self._scale = dtype.type(largest_coordinate(base, self._centre))
        self._gamma = dtype.type((base.shape[1] + 16) * np.finfo(dtype).eps)
        self.rows, self.slack = self.prepared(base)

    def prepared(self, rows: Matrix) -> tuple[Matrix, Matrix]:
        """Return (y, (1 - 2 gamma) |y|^2, 1) for each row y, and its part of the slack."""
        n_rows, d = rows.shape
        ready = np.empty((n_rows, d + 2), dtype=self._gamma.dtype)
        np.subtract(rows, self._centre, out=ready[:, :d], casting="same_kind")
        ready[:, :d] /= self._scale
        norms = np.einsum("ij,ij->i", ready[:, :d], ready[:, :d])
        ready[:, d] = norms * (1 - 2 * self._gamma)
        ready[:, d + 1] = 1
        return ready, 4 * self._gamma * norms


def turned(ready: Matrix) -> Matrix:
    """Return (-2 x, 1, (1 - 2 gamma) |x|^2) for prepared rows: the other side of the product."""
    d = ready.shape[1] - 2
    sides = np.empty_like(ready)
    np.multiply(ready[:, :d], -2, out=sides[:, :d])
    sides[:, d] = 1
    sides[:, d + 1] = ready[:, d]
    return sides


def first_limits(lower: Matrix, of: Matrix, among: Matrix, k: int) -> Matrix:
    """Return for each row a number that at least k of its distances do not exceed.

    `lower` holds bounds from below, `of` and `among` the slack of its rows and columns.
    """
    upper = group_minima(lower, k)
    # A minimum and the largest slack of its group bound the distance that has the minimum.
    upper += -group_minima(-among[None, :], k)
    limits: Matrix = np.partition(upper, k - 1, axis=1)[:, k - 1] + of
    return limits


def group_minima(values: Matrix, k: int) -> Matrix:
    """Return minima over disjoint groups of columns: each is the value of another row."""
    size = min(_GROUP, values.shape[1] // (_GROUPS_PER_NEIGHBOUR * k))
    if size < 2:
        return values.copy()
    n_groups = values.shape[1] // size
    whole = values[:, : n_groups * size].reshape(len(values), size, n_groups)
    return np.hstack([whole.min(axis=1), values[:, n_groups * size :]])


def mean_row(base: Matrix) -> Matrix:
    """Return the mean of the rows."""
    mean: Matrix = base.mean(axis=0, dtype=np.float64).astype(base.dtype)
    return mean


def largest_coordinate(base: Matrix, centre: Matrix) -> float:
    """Return the largest coordinate around the centre, by which all are divided."""
    low, high = base.min(axis=0) - centre, base.max(axis=0) - centre
    largest = float(max(np.abs(low).max(initial=0.0), np.abs(high).max(initial=0.0)))
    return largest if largest > 0 else 1.0
