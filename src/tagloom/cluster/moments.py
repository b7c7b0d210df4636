"""Mean and scatter of rows, summed over partitions without loss of digits."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.cluster.blocks import RowBlocks, opened
from tagloom.cluster.running import computed, task, tree_sum
from tagloom.cluster.sizing import teach_sizes

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Moments:
    """Number of rows n, their mean m and scatter S = sum_i (x_i - m)(x_i - m)'.

    Two sets of rows join without large sums that cancel, with e = m_2 - m_1 and n = n_1 + n_2:

        m = m_1 + (n_2 / n) e,    S = S_1 + S_2 + (n_1 n_2 / n) e e'.
    """

    n_rows: int
    mean: Floats
    scatter: Floats

    @classmethod
    def of(cls, block: Any) -> "Moments":
        """Return the moments of one block of rows."""
        teach_sizes(Moments)
        rows = opened(block)
        mean = rows.mean(axis=0, dtype=np.float64)
        centred = rows - mean
        return cls(len(rows), mean, centred.T @ centred)

    def __add__(self, other: "Moments") -> "Moments":
        n = self.n_rows + other.n_rows
        apart = other.mean - self.mean
        share = other.n_rows / n
        between = (self.n_rows * share) * np.outer(apart, apart)
        return Moments(n, self.mean + share * apart, self.scatter + other.scatter + between)


def moments_of(rows: RowBlocks, client: Any) -> Moments:
    """Return mean and scatter of all rows: one pass, in which d x d numbers leave a worker."""
    terms = [task(Moments.of, block) for block in rows.blocks]
    result: Moments = computed(client, tree_sum(terms))
    return result
