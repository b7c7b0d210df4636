"""Label tables that have a value in every cell: arrays, data frames, and what looks like them."""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from tagloom.errors import InvalidInputError
from tagloom.labels._names import Names
from tagloom.labels._store import Store, store_table
from tagloom.labels._types import FrameLike, TableLike, is_frame
from tagloom.labels._values import as_array, table_codes, table_weights, two_dimensional


class Parts(NamedTuple):
    """What a reader hands over: what is known, and of whom."""

    store: Store
    names: Names


def read_array(
    Y: TableLike,
    labels: Iterable[Hashable] | None,
    items: Iterable[Hashable] | None,
    weights: ArrayLike | None,
) -> Parts:
    """Read a table in which NaN, None, NA and masked cells are unknown."""
    refuse_sparse(Y)
    if is_frame(Y):
        raise InvalidInputError(
            "from_array would lose the names of a data frame: use PartialLabels.from_frame."
        )
    refuse_tags(Y)
    values = as_array(Y, "The labels")
    names = Names.checked(two_dimensional(values.shape, "The labels"), labels, items)
    return _read_table(values, names, weights)


def read_frame(frame: FrameLike, weights: Any) -> Parts:
    """Read a data frame: its index names the items, its columns the labels."""
    if not is_frame(frame):
        raise InvalidInputError(
            f"from_frame expects a data frame, found {type(frame).__name__}. "
            "Use from_array for arrays and lists."
        )
    values = _frame_values(frame)
    names = Names.checked(values.shape, _plain(frame.columns), _plain(frame.index))
    if is_frame(weights):
        _refuse_other_names(frame, weights)
        weights = _frame_values(weights)
    return _read_table(values, names, weights)


def _read_table(values: NDArray[Any], names: Names, weights: ArrayLike | None) -> Parts:
    codes = table_codes(values, names)
    checked = None if weights is None else table_weights(weights, codes, names)
    return Parts(store_table(codes, checked), names)


def _frame_values(frame: Any) -> NDArray[Any]:
    # Nullable columns would arrive as slow Python objects; numbers can say NaN themselves.
    # Text columns must stay text: as numbers, "1" would pass unnoticed.
    if all(getattr(dtype, "kind", "O") in "biuf" for dtype in frame.dtypes):
        return np.asarray(frame.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(frame.to_numpy(dtype=object))


def _plain(index: Any) -> list[Hashable]:
    return list(index.tolist())


def _refuse_other_names(frame: FrameLike, weights: FrameLike) -> None:
    for kind, of_labels, of_weights in (
        ("columns", frame.columns, weights.columns),
        ("index", frame.index, weights.index),
    ):
        if _plain(of_labels) != _plain(of_weights):
            raise InvalidInputError(
                f"The weights must have the same {kind} as the labels, in the same order. "
                "Align them with weights.reindex_like(labels)."
            )


def refuse_sparse(Y: object) -> None:
    """Refuse a sparse matrix that comes without a mask."""
    if sparse.issparse(Y):
        raise InvalidInputError(
            "A sparse matrix alone does not say what is known, because a zero that is not stored "
            "could be absent or unknown. Give a mask through PartialLabels.from_sparse(Y, mask)."
        )


def refuse_tags(Y: object) -> None:
    """Refuse lists of tags, of which nobody said what an unlisted tag means."""
    if isinstance(Y, Mapping) or (isinstance(Y, list | tuple) and any(map(_is_tag_list, Y))):
        raise InvalidInputError(
            "Expected a table of labels, found lists of tags. Read them with "
            "PartialLabels.from_tags(tags, unlisted=...), where `unlisted` says whether a tag "
            'that is not listed is "unknown" or "absent".'
        )


def _is_tag_list(row: object) -> bool:
    if isinstance(row, set | frozenset):
        return True
    return isinstance(row, str) or (
        isinstance(row, list | tuple) and len(row) > 0 and isinstance(row[0], str)
    )
