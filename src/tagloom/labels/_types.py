"""The words of the package: a state, the known entries, the counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple, Protocol, TypeGuard, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Codes = NDArray[np.int8]
Positions = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
# Lists that mix numbers and None are arrays to us, though not to numpy.
TableLike = ArrayLike | Sequence[Sequence[object]]
_T = TypeVar("_T", bound=np.generic)


class State(IntEnum):
    """What is known of one (item, label)."""

    ABSENT = 0
    PRESENT = 1
    UNKNOWN = -1


# A numpy array compared with an IntEnum member goes through Python objects: plain integers do not.
ABSENT, PRESENT, UNKNOWN = int(State.ABSENT), int(State.PRESENT), int(State.UNKNOWN)


@dataclass(frozen=True, eq=False)
class Entries:
    """Known entries in row-major order, each (row, column) once.

    Attributes
    ----------
    rows, columns : ndarray of int64
        Where the entry is.
    present : ndarray of bool
        True where the item has the label, False where it is known not to have it.
    weights : ndarray of float64
        How much the entry counts, greater than 0.
    """

    rows: Positions
    columns: Positions
    present: Flags
    weights: Floats


class Counts(NamedTuple):
    """How many items have each label, have it not, or are unknown: one number per label."""

    present: Positions
    absent: Positions
    unknown: Positions


class FrameLike(Protocol):
    """What a data frame must offer to be read; pandas need not be installed to ask."""

    @property
    def index(self) -> Any:
        """Names of the rows."""

    @property
    def columns(self) -> Any:
        """Names of the columns."""

    def to_numpy(self, *args: Any, **kwargs: Any) -> Any:
        """Give the values as an array."""


def is_frame(value: object) -> TypeGuard[FrameLike]:
    """Say whether `value` looks like a data frame."""
    return all(hasattr(value, name) for name in ("columns", "index", "to_numpy"))


def frozen(array: NDArray[_T]) -> NDArray[_T]:
    """Forbid writing into `array`, which must belong to the caller."""
    array.flags.writeable = False
    return array
