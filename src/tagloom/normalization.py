"""Row and score normalisation: the norm of an item's features or scores says nothing of its labels.

A linear score grows with the norm of x, although a picture of strong contrast has no more labels
than another; and some items have large scores for many labels at once. Both normalisers learn
centre and typical norm from the training items. Scores that become features are scaled to them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagloom.linalg import column_variances

Array = npt.NDArray[Any]

# Rows much shorter than this share of the typical norm keep their proportions: near the mean, the
# direction of a row is mostly noise.
_SOFTENING = 0.5
# Rows this many times as far from the median as the typical row are outliers.
_OUTLIER_FACTOR = 10.0
# Median and typical distance are estimated on at most about this many rows.
_SAMPLE_SIZE = 10_000
# Tables are normalised for about this many entries at a time, to bound the memory.
_ENTRIES_AT_ONCE = 1 << 22


def row_blocks(table: Array) -> Iterator[slice]:
    """Yield the rows of a table, as many at a time as have a few million entries."""
    step = max(1, _ENTRIES_AT_ONCE // max(1, table.shape[1]))
    for start in range(0, len(table), step):
        yield slice(start, start + step)


@dataclass(frozen=True, eq=False)
class RowNormalizer:
    r"""Row normalisation around the mean of the training rows, softened near it.

        u(x) = (x - mean) / l(x),    l(x)^2 = ||x - mean||^2 + c^2 size^2,    c = 1/2,

    where size is the root mean square of ||x - mean||. u keeps the direction; its norm, below 1,
    grows with that of x - mean.
    """

    mean: Array
    size: float

    @classmethod
    def of(cls, rows: Array) -> "RowNormalizer":
        """Learn the mean and the typical norm of rows; outliers are ignored."""
        sample = rows[:: 1 + len(rows) // _SAMPLE_SIZE]
        centre = np.median(sample, axis=0)
        typical = float(np.median(_norms(sample, centre)))
        inlier = _norms(rows, centre) <= _OUTLIER_FACTOR * typical
        inliers = rows if typical == 0 or inlier.all() else rows[inlier]
        mean = inliers.mean(axis=0, dtype=np.float64).astype(rows.dtype)
        norms = _norms(inliers, mean)
        largest = float(norms.max())
        if largest == 0:
            return cls(mean, 1.0)
        return cls(mean, largest * float(np.sqrt(np.mean((norms / largest) ** 2))))

    def __call__(self, rows: Array) -> Array:
        """Return u(x) for every row x."""
        normalized = np.empty_like(rows)
        for part in row_blocks(rows):
            centred, _, norms = self._scaled(rows[part])
            normalized[part] = centred / norms[:, None]
        return normalized

    def norms(self, rows: Array) -> Array:
        """Return l(x) for every row x."""
        _, scale, norms = self._scaled(rows)
        return np.asarray(scale * norms)

    def _scaled(self, rows: Array) -> tuple[Array, Array, Array]:
        """Return (x - mean) / scale, scale and l(x) / scale, scaled so that no square overflows."""
        centred = (rows - self.mean) / rows.dtype.type(self.size)
        largest = np.maximum(1, np.abs(centred).max(axis=1, initial=0))
        centred /= largest[:, None]
        norms = np.sqrt(_squared_norms(centred) + (_SOFTENING / largest) ** 2)
        return centred, self.size * largest.astype(np.float64), norms


@dataclass(frozen=True, eq=False)
class ScoreNormalizer:
    r"""Score normalisation: the scores of all items get more similar norms around their mean.

        e(f) = mean + (f - mean) (size / ||f - mean||)^q,

    where size is the root mean square of ||f - mean|| over the training items. q = 1 gives every
    item the same norm; q = 0 leaves scores as they are.
    """

    mean: Array
    size: float

    @classmethod
    def of(cls, F: Array) -> "ScoreNormalizer":
        """Learn the mean and the typical norm of scores."""
        mean = F.mean(axis=0, dtype=np.float64).astype(F.dtype)
        squares = _by_blocks(lambda some: _squared_norms(some - mean), F)
        return cls(mean, float(np.sqrt(np.mean(squares, dtype=np.float64))))

    def __call__(self, F: Array, q: float) -> Array:
        """Return e(f) for the scores f of every item."""
        if q == 0:
            return F
        scaled = F - self.mean
        scaled *= self.factors(F, q)[:, None]
        scaled += self.mean
        return scaled

    def factors(self, F: Array, q: float) -> Array:
        """Return (size / ||f - mean||)^q for every item."""
        norms = np.sqrt(_by_blocks(lambda some: _squared_norms(some - self.mean), F))
        # Scores equal to the mean stay there, whatever the factor.
        norms = np.where(norms > 0, norms, 1)
        return np.asarray((self.size / norms) ** q, dtype=F.dtype)


@dataclass(frozen=True, eq=False)
class ScoreAugmenter:
    """Appends scores to features, scaled to the same total variance.

    Scores are centred, and each label is divided by the square root of its standard deviation:
    labels with larger scores weigh more in the similarity of items, but less than proportionally.
    """

    mean: Array
    weights: Array

    @classmethod
    def of(cls, X: Array, F: Array) -> "ScoreAugmenter":
        """Learn centre and scale from the items of a graph."""
        spread = np.sqrt(column_variances(F))
        varies = spread > 0
        total = column_variances(X).sum()
        size = np.sqrt(total / spread.sum()) if varies.any() else 0.0
        weights = np.divide(size, np.sqrt(spread), out=np.zeros_like(spread), where=varies)
        return cls(F.mean(axis=0, dtype=np.float64), weights)

    def __call__(self, X: Array, F: Array) -> Array:
        """Return [x; scaled scores] for items of the graph or new ones."""
        n, d = X.shape
        joined = np.empty((n, d + F.shape[1]), dtype=X.dtype)
        joined[:, :d] = X
        for part in row_blocks(F):
            joined[part, d:] = (F[part] - self.mean) * self.weights
        return joined


class Link(NamedTuple):
    """From one pass to the next: scores F of the training items, appended to their features."""

    F: Array
    augmenter: ScoreAugmenter

    def features(self, U: Array) -> "AppendedScores":
        """Return the features of the training items in the next pass."""
        return AppendedScores(U, self.F, self.augmenter)


class AppendedScores:
    """Features with scores appended, a table that exists only while it is used."""

    def __init__(self, U: Array, F: Array, augmenter: ScoreAugmenter) -> None:
        self._U, self._F, self._augmenter = U, F, augmenter

    def __len__(self) -> int:
        return len(self._U)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return [u; scaled scores] of all items."""
        return self._augmenter(self._U, self._F).astype(dtype or self._U.dtype, copy=False)


def _by_blocks(of_rows: Callable[[Array], Array], rows: Array) -> Array:
    """Return a number for each row, computed for some rows at a time."""
    found = [of_rows(rows[part]) for part in row_blocks(rows)]
    return np.concatenate(found) if found else of_rows(rows)


def _norms(rows: Array, origin: Array) -> npt.NDArray[np.float64]:
    """Return the norms of rows around an origin."""
    return _by_blocks(lambda some: _norms_of(some - origin), rows)


def _norms_of(rows: Array) -> npt.NDArray[np.float64]:
    """Return the norms of rows, also where their squares would overflow."""
    largest = np.abs(rows).max(axis=1, initial=0)
    largest[largest == 0] = 1
    scaled = np.sqrt(_squared_norms(rows / largest[:, None]))
    return np.asarray(largest * scaled, dtype=np.float64)


def _squared_norms(rows: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", rows, rows))
