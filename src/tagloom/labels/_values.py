"""Cells and weights as people write them, turned into codes or refused with the place."""

from collections.abc import Hashable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.errors import InvalidInputError
from tagloom.labels._names import Names, is_hashable, is_missing
from tagloom.labels._types import (
    ABSENT,
    PRESENT,
    UNKNOWN,
    Codes,
    Flags,
    Floats,
    Positions,
    TableLike,
)

_REFUSED = -2
_HINTS: dict[Hashable, str] = {
    -1: " tagloom codes unknown as NaN; -1 is not a label state: "
    "replace -1 by NaN (unknown) or 0 (absent).",
    2: " If the values count how often a label was given, pass `Y > 0`; "
    "if they are class numbers, use one column for each class.",
}


def as_array(values: TableLike, what: str) -> NDArray[Any]:
    """Return `values` as an array, masked or not."""
    if isinstance(values, np.ma.MaskedArray):
        return values
    try:
        return np.asarray(values)
    except ValueError:
        raise InvalidInputError(
            f"{what} must be a table whose rows all have the same length; these rows differ."
        ) from None


def table_codes(values: NDArray[Any], names: Names) -> Codes:
    """Code every cell of a two-dimensional array."""
    data = np.ma.getdata(values)
    if data.dtype.kind == "O":
        codes: Codes = np.frompyfunc(_object_code, 1, 1)(data).astype(np.int8)
    elif data.dtype.kind in "biuf":
        codes = _number_codes(data)
    else:
        raise InvalidInputError(
            f"Labels must be numbers or booleans (1 present, 0 absent, NaN unknown); "
            f"found an array of type {data.dtype}. Convert it first."
        )
    codes[np.ma.getmaskarray(values)] = UNKNOWN
    _refuse_values(codes == _REFUSED, data, names)
    return codes


def _number_codes(data: NDArray[Any]) -> Codes:
    codes = np.full(data.shape, _REFUSED, dtype=np.int8)
    codes[data == 0] = ABSENT
    codes[data == 1] = PRESENT
    if data.dtype.kind == "f":
        codes[np.isnan(data)] = UNKNOWN
    return codes


def _object_code(value: object) -> int:
    if is_missing(value):
        return UNKNOWN
    if isinstance(value, bool | int | float | np.number | np.bool_):
        if value == 1:
            return PRESENT
        if value == 0:
            return ABSENT
    return _REFUSED


def _refuse_values(refused: Flags, data: NDArray[Any], names: Names) -> None:
    if not refused.any():
        return
    row, column = (int(place[0]) for place in np.nonzero(refused))
    value = data[row, column]
    found = value.item() if isinstance(value, np.generic) else value
    hint = _HINTS.get(found, "") if is_hashable(found) else ""
    raise InvalidInputError(
        f"A label must be 1 (present), 0 (absent) or NaN (unknown); found {found!r} at "
        f"{names.cell(row, column)}, and {np.count_nonzero(refused):,} such values in all.{hint}"
    )


def table_weights(weights: ArrayLike, codes: Codes, names: Names) -> Floats:
    """Check the weights of a table's known cells; those of unknown cells become 0."""
    given = _numbers(weights)
    if given.shape != codes.shape:
        raise InvalidInputError(
            f"The weights must have the shape of the labels, {codes.shape}; found {given.shape}."
        )
    known = codes != UNKNOWN
    bad = known & ~_usable(given)
    if bad.any():
        row, column = (int(place[0]) for place in np.nonzero(bad))
        _refuse_weight(given[row, column], names.cell(row, column), np.count_nonzero(bad))
    return np.where(known, given, 0.0)


def entry_weights(
    weights: ArrayLike | None, rows: Positions, columns: Positions, names: Names
) -> Floats | None:
    """Check one weight for each entry, or a single weight for all of them."""
    if weights is None:
        return None
    given = _numbers(weights)
    if given.shape not in {(), rows.shape}:
        raise InvalidInputError(
            f"Expected {len(rows):,} weights, one for each entry; found shape {given.shape}."
        )
    full = np.broadcast_to(given, rows.shape)
    bad = np.flatnonzero(~_usable(full))
    if len(bad):
        first = int(bad[0])
        cell = names.cell(int(rows[first]), int(columns[first]))
        _refuse_weight(full[first], cell, len(bad))
    return full


def _usable(weights: Floats) -> Flags:
    return np.isfinite(weights) & (weights > 0)


def _refuse_weight(weight: float, cell: str, count: int | np.integer[Any]) -> NoReturn:
    raise InvalidInputError(
        f"The weight of a known entry must be finite and greater than 0; found {float(weight)!r} "
        f"at {cell}, and {count:,} such weights in all. To leave an entry out, make it unknown."
    )


def _numbers(weights: ArrayLike) -> Floats:
    try:
        return np.array(np.ma.filled(weights, np.nan), dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError("The weights must be numbers, one for each entry.") from None


def is_weight(value: object) -> bool:
    """Say whether `value` is a number in (0, 1]; True is no number here."""
    if isinstance(value, bool | np.bool_) or not isinstance(
        value, int | float | np.integer | np.floating
    ):
        return False
    return bool(0 < value <= 1)


def two_dimensional(shape: tuple[int, ...], what: str) -> tuple[int, int]:
    """Return the shape of a table, or say that this is none."""
    if len(shape) != 2:
        raise InvalidInputError(
            f"{what} must have two dimensions, items x labels; found {len(shape)} (shape {shape})."
        )
    return shape[0], shape[1]
