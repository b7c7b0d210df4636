"""Principal components, found the same way every time."""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.decomposition import PCA

_ROWS_AT_ONCE = 8192


def fitted_pca(rows: npt.NDArray[Any], n_components: float | None) -> PCA | None:
    """Return PCA to so many components or share of energy; None where nothing would be reduced.

    Without chance: by the covariance where there are more rows than columns, for that needs no
    copy of the rows, else by the singular values of the rows.
    """
    if n_components is None or (n_components >= 1 and n_components >= rows.shape[1]):
        return None
    solver = "covariance_eigh" if rows.shape[0] >= rows.shape[1] else "full"
    if n_components >= 1:
        n_components = min(n_components, *rows.shape)
    elif not column_variances(rows).any():
        n_components = 1  # equal rows have no energy of which to keep a share
    # The share of each component in no energy at all is 0/0, and nobody asks for it.
    with np.errstate(invalid="ignore"):
        return PCA(n_components=n_components, svd_solver=solver).fit(rows)


def column_variances(rows: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the variance of each column in double precision, without a copy of the rows."""
    mean = rows.mean(axis=0, dtype=np.float64)
    squares = np.zeros_like(mean)
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        around = rows[start : start + _ROWS_AT_ONCE] - mean
        squares += np.einsum("ij,ij->j", around, around)
    return np.asarray(squares / len(rows))
