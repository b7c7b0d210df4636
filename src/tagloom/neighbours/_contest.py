"""Candidates for neighbours, and how near one has to be to become one."""

import numpy as np
import numpy.typing as npt

from tagloom.neighbours._result import Matrix, Positions


class Contest:
    """The rows that may be among the k nearest of each query, by bounds on their distances.

    A row can be among the k nearest only if its lower bound does not exceed the k-th smallest of
    the upper bounds that were seen, the query's limit. Limits only ever fall.

    Attributes
    ----------
    limits : array of shape (n_queries,)
    size : int
        How many pairs (query, row) are held.
    """

    def __init__(self, n_queries: int, k: int, dtype: npt.DTypeLike) -> None:
        self.limits: Matrix = np.full(n_queries, np.inf, dtype=dtype)
        self.size = 0
        self._k = k
        self._best: Matrix = np.full((n_queries, k), np.inf, dtype=dtype)
        self._held: list[tuple[Positions, Positions, Matrix]] = []

    def enter(self, i: Positions, j: Positions, lower: Matrix, slack: Matrix) -> None:
        """Let rows j, which are new to the queries i, take part."""
        if not len(i):
            return
        self._held.append((i, j, lower))
        self.size += len(i)
        order = np.argsort(i, kind="stable")
        i, upper = i[order], (lower + slack)[order]
        starts = np.flatnonzero(np.concatenate([[True], i[1:] != i[:-1]]))
        counts = np.diff(starts, append=len(i))
        queries, line = i[starts], np.repeat(np.arange(len(starts)), counts)
        bounds = np.full((len(starts), self._k + counts.max()), np.inf, dtype=upper.dtype)
        bounds[:, : self._k] = self._best[queries]
        bounds[line, self._k + np.arange(len(i)) - starts[line]] = upper
        bounds.partition(self._k - 1, axis=1)
        self._best[queries] = bounds[:, : self._k]
        self.limits[queries] = bounds[:, self._k - 1]

    def pairs(self) -> tuple[Positions, Positions]:
        """Return the pairs (i, j) that are within the limits, sorted by i, and hold no others."""
        i, j, lower = (np.concatenate(parts) for parts in zip(*self._held, strict=True))
        within = np.flatnonzero(lower <= self.limits[i])
        within = within[np.argsort(i[within], kind="stable")]
        self._hold(i[within], j[within], lower[within])
        return i[within], j[within]

    def settle(self, i: Positions, j: Positions) -> None:
        """Hold these pairs in the place of all others."""
        self._hold(i, j, np.full(len(i), -np.inf, dtype=self.limits.dtype))

    def _hold(self, i: Positions, j: Positions, lower: Matrix) -> None:
        self._held, self.size = [(i, j, lower)], len(i)
