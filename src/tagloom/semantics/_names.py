"""Names of columns."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt


def as_text(names: Iterable[Any]) -> npt.NDArray[Any]:
    """Return the names as the array of strings that scikit-learn wants."""
    return np.array([str(name) for name in names], dtype=object)
