"""The nearest rows that were found so far."""

import numpy as np

from tagloom.neighbours._result import Matrix, Positions


class Nearest:
    """The k nearest rows of each query among those it has met, in no order.

    Attributes
    ----------
    rows : array of shape (n_queries, k)
        Their positions, -1 where fewer were met.
    squares : array of shape (n_queries, k)
        Their squared distances, the largest last.
    """

    def __init__(self, n_queries: int, k: int) -> None:
        self._k = k
        self.rows = np.full((n_queries, k), -1, dtype=np.int32)
        self.squares = np.full((n_queries, k), np.inf, dtype=np.float32)

    def enter(self, queries: Positions, i: Positions, j: Positions, squares: Matrix) -> None:
        """Let the rows j meet the queries at positions `queries[i]`; i is sorted.

        No pair (i, j) occurs twice, but rows that are among the nearest already may come again.
        """
        new = np.flatnonzero(~(self.rows[queries[i]] == j[:, None]).any(axis=1))
        if not len(new):
            return
        i, j, squares = i[new], j[new], squares[new]
        starts = np.flatnonzero(np.concatenate([[True], i[1:] != i[:-1]]))
        counts = np.diff(starts, append=len(i))
        touched, line = queries[i[starts]], np.repeat(np.arange(len(starts)), counts)
        column = self._k + np.arange(len(i)) - starts[line]
        width = self._k + int(counts.max())
        rows = np.full((len(starts), width), -1, dtype=np.int32)
        bounds = np.full((len(starts), width), np.inf, dtype=np.float32)
        rows[:, : self._k], bounds[:, : self._k] = self.rows[touched], self.squares[touched]
        rows[line, column], bounds[line, column] = j, squares
        order = np.argpartition(bounds, self._k - 1, axis=1)[:, : self._k]
        self.rows[touched] = np.take_along_axis(rows, order, axis=1)
        self.squares[touched] = np.take_along_axis(bounds, order, axis=1)
