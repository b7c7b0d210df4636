"""Even out how long the rows and the scores of items are, which says nothing of their labels."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

# Rows much shorter than this share of the usual length keep their proportions: near the mean a
# direction says little.
_SHORT = 0.5
# Who is so many times as far away as others usually are shall not decide what is usual.
_FAR = 10.0
# What is usual is seen well enough on so many rows.
_SAMPLE = 10_000


@dataclass(frozen=True, eq=False)
class RowNormalizer:
    r"""Bring rows to about one length, seen from the mean of the training rows.

        u(x) = (x - mean) / l(x),    l(x)^2 = ||x - mean||^2 + c^2 size^2,    c = 1/2,

    where size is the root mean square of ||x - mean||. A linear score grows with the length of x,
    although a picture of strong contrast has no more labels than another. u keeps the direction,
    and its length, below 1, grows with that of x - mean.

    Parameters
    ----------
    mean : array of shape (n_features,)
    size : float
    """

    mean: Array
    size: float

    @classmethod
    def of(cls, rows: Array) -> "RowNormalizer":
        """Learn the mean and the usual length of rows; who lies far outside does not count."""
        some = rows[:: 1 + len(rows) // _SAMPLE]
        centre = np.median(some, axis=0)
        usual = float(np.median(_lengths(some - centre)))
        near = _lengths(rows - centre) <= _FAR * usual
        counted = rows if usual == 0 or near.all() else rows[near]
        mean = counted.mean(axis=0, dtype=np.float64).astype(rows.dtype)
        lengths = _lengths(counted - mean)
        longest = float(lengths.max())
        if longest == 0:
            return cls(mean, 1.0)
        return cls(mean, longest * float(np.sqrt(np.mean((lengths / longest) ** 2))))

    def __call__(self, rows: Array) -> Array:
        """Return u(x) for every row x."""
        apart, _, lengths = self._seen(rows)
        return np.asarray(apart / lengths[:, None], dtype=rows.dtype)

    def lengths(self, rows: Array) -> Array:
        """Return l(x) for every row x."""
        _, scale, lengths = self._seen(rows)
        return np.asarray(scale * lengths)

    def _seen(self, rows: Array) -> tuple[Array, Array, Array]:
        """Return (x - mean) / scale, scale and l(x) / scale, of numbers that can be squared."""
        apart = (rows - self.mean) / rows.dtype.type(self.size)
        largest = np.maximum(1, np.abs(apart).max(axis=1, initial=0))
        apart /= largest[:, None]
        lengths = np.sqrt(_square_lengths(apart) + (_SHORT / largest) ** 2)
        return apart, self.size * largest.astype(np.float64), lengths


@dataclass(frozen=True, eq=False)
class ScoreNormalizer:
    r"""Bring the scores of all items nearer to one length, seen from their mean.

        e(f) = mean + (f - mean) (size / ||f - mean||)^q,

    where size is the root mean square of ||f - mean|| over the training items. With q = 1 every
    item has as much to give to all labels together; q = 0 leaves scores as they are.

    Parameters
    ----------
    mean : array of shape (n_labels,)
    size : float
    """

    mean: Array
    size: float

    @classmethod
    def of(cls, F: Array) -> "ScoreNormalizer":
        """Learn the mean and the usual length of scores."""
        mean = F.mean(axis=0, dtype=np.float64).astype(F.dtype)
        return cls(mean, float(np.sqrt(np.mean(_square_lengths(F - mean), dtype=np.float64))))

    def __call__(self, F: Array, q: float) -> Array:
        """Return e(f) for the scores f of every item."""
        if q == 0:
            return F
        return np.asarray(self.mean + (F - self.mean) * self.stretch(F, q)[:, None])

    def stretch(self, F: Array, q: float) -> Array:
        """Return (size / ||f - mean||)^q for every item."""
        lengths = np.sqrt(_square_lengths(F - self.mean))
        # Who has the mean scores keeps them: 0 is 0 however it is stretched.
        lengths = np.where(lengths > 0, lengths, 1)
        return np.asarray((self.size / lengths) ** q, dtype=F.dtype)


def _lengths(rows: Array) -> npt.NDArray[np.float64]:
    """Return the lengths of rows of any size, whose squares may be beyond all numbers."""
    largest = np.abs(rows).max(axis=1, initial=0)
    largest[largest == 0] = 1
    return np.asarray(largest * np.sqrt(_square_lengths(rows / largest[:, None])), dtype=np.float64)


def _square_lengths(rows: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", rows, rows))
