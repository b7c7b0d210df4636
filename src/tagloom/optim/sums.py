"""Sums over rows: all that the loss needs of the data, and what parts of the rows add up to."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tagloom.optim.arrays import Matrix

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LossSums:
    """What is asked of the rows once; rows are moved to the centre where there is one."""

    n_items: int
    weight: Floats
    """Sum_i w_ij of each label."""
    present: Floats
    """Sum_i w_ij y_ij of each label."""
    weighted_features: Matrix
    """X'W, of shape (d, c)."""
    present_features: Matrix
    """X'(W o Y), of shape (d, c)."""
    second_moments: Floats
    """X'X, of shape (d, d)."""
    total: Floats
    """The sum of the rows."""
    largest: float
    """The largest feature by size, as it was given."""
    least_weight: float
    """A lower bound of all w_ij."""

    def __add__(self, other: "LossSums") -> "LossSums":
        return LossSums(
            self.n_items + other.n_items,
            self.weight + other.weight,
            self.present + other.present,
            self.weighted_features + other.weighted_features,
            self.present_features + other.present_features,
            self.second_moments + other.second_moments,
            self.total + other.total,
            max(self.largest, other.largest),
            min(self.least_weight, other.least_weight),
        )


@dataclass(frozen=True)
class ProductSums:
    """What is asked of the rows in every iteration: X'(W o XM) and its column sums without X'."""

    features: Matrix
    """X'(W o XM), of shape (d, c)."""
    total: Floats
    """1'(W o XM), of shape (c,)."""

    def __add__(self, other: "ProductSums") -> "ProductSums":
        return ProductSums(self.features + other.features, self.total + other.total)


class Summing(Protocol):
    """Rows, wherever they are, that can be summed."""

    centre: Floats | None
    """What is subtracted from every row; None for nothing."""
    dtype: np.dtype[np.floating]

    def sums(self) -> LossSums:
        """Return the sums that do not depend on M."""
        ...

    def products(self, M: Matrix) -> ProductSums:
        """Return the sums for M."""
        ...

    def in_single_precision(self) -> "Summing":
        """Return the same rows, summed in float32."""
        ...
