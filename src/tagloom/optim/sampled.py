"""Placeholder until the compiled kernel lands."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tagloom.optim.arrays import Matrix


class LabelEntries(NamedTuple):
    indptr: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int32]
    weights: Matrix | None
    weight: float


def available() -> bool:
    return False


def add_products(
    X: Matrix, Mt: Matrix, entries: LabelEntries, Gt: Matrix, totals: Matrix, n_threads: int
) -> None:
    raise NotImplementedError
