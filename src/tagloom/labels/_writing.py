"""Partial labels handed back as arrays, data frames, sparse matrices and lists of tags."""

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from tagloom.errors import TagloomError
from tagloom.labels._cells import Cells
from tagloom.labels._names import Names
from tagloom.labels._store import Store
from tagloom.labels._types import PRESENT, UNKNOWN, Floats, Positions

if TYPE_CHECKING:
    import pandas as pd


def write_array(store: Store) -> Floats:
    """Return 1, 0 and NaN for present, absent and unknown."""
    codes, _ = store.block(0, store.shape[0])
    values = codes.astype(np.float64)
    values[codes == UNKNOWN] = np.nan
    return values


def write_frame(store: Store, names: Names) -> "pd.DataFrame":
    """Return the array with the names of items and labels."""
    try:
        import pandas as pd
    except ImportError:
        raise TagloomError(
            "A data frame needs pandas, which is not installed: install tagloom[pandas], "
            "or use to_array."
        ) from None
    columns = pd.Index(list(names.labels), tupleize_cols=False)
    index = None if names.items is None else pd.Index(list(names.items), tupleize_cols=False)
    return pd.DataFrame(write_array(store), index=index, columns=columns)


def write_sparse(store: Store) -> tuple[Any, Any]:
    """Return the presences and the mask of what is known as compressed rows."""
    cells = store.cells()
    present = cells.pick(cells.codes == PRESENT)
    known = _all_known(store) if store.background else cells
    # Whole numbers of one byte would overflow in products such as Y.T @ Y.
    return _matrix(present, store, np.float64), _matrix(known, store, np.bool_)


def _all_known(store: Store) -> Cells:
    codes, _ = store.block(0, store.shape[0])
    rows, columns = np.nonzero(codes != UNKNOWN)
    return Cells(rows, columns, codes[rows, columns], None)


def _matrix(cells: Cells, store: Store, dtype: type[np.generic]) -> Any:
    ones = np.ones(len(cells.rows), dtype=dtype)
    return sparse.csr_array((ones, (cells.rows, cells.columns)), shape=store.shape)


def write_tags(store: Store, names: Names) -> list[list[Hashable]] | dict[Hashable, list[Hashable]]:
    """Return the sorted names of the present labels of each item."""
    cells = store.cells()
    present = cells.pick(cells.codes == PRESENT)
    order = np.lexsort((_ranks(names.labels)[present.columns], present.rows))
    tags = [names.labels[column] for column in present.columns[order].tolist()]
    ends = np.cumsum(np.bincount(present.rows, minlength=store.shape[0])).tolist()
    lists = [tags[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    return lists if names.items is None else dict(zip(names.items, lists, strict=True))


def _ranks(labels: tuple[Hashable, ...]) -> Positions:
    positions = range(len(labels))
    try:
        order = sorted(positions, key=lambda position: labels[position])  # type: ignore[arg-type,return-value]
    except TypeError:
        # Names of different types have no common order: the order of the columns serves.
        order = list(positions)
    ranks = np.empty(len(labels), dtype=np.int64)
    ranks[order] = np.arange(len(labels))
    return ranks
