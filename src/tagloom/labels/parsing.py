"""Parse arrays, data frames, sparse matrices and entries into partial labels, with their names.

Each `read_*` function checks its input and returns what is stored and its names, or raises an error
with the place of the first wrong value.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from tagloom.errors import InvalidInputError
from tagloom.labels.storage import (
    ABSENT,
    PRESENT,
    UNKNOWN,
    Cells,
    Codes,
    Flags,
    Floats,
    Positions,
    State,
    Store,
    TableLike,
    cell_keys,
    cell_positions,
    store_cells,
    store_table,
)
from tagloom.validation import (
    FrameLike,
    column_names,
    is_column_table,
    is_frame,
    some_of,
    table_values,
)

# The code of a value that is none of 0, 1 and NaN.
_INVALID = -2
_HINTS: dict[Hashable, str] = {
    -1: " tagloom codes unknown as NaN; -1 is not a label state: "
    "replace -1 by NaN (unknown) or 0 (absent).",
    2: " If the values count how often a label was given, pass `Y > 0`; "
    "if they are class numbers, use one column for each class.",
}
_CONTRADICTIONS_SHOWN = 3
_NUMPY_SCALARS = (np.integer, np.floating, np.str_, np.bool_)


@dataclass(frozen=True)
class Names:
    """Names of the labels and, if given, of the items."""

    labels: tuple[Hashable, ...]
    items: tuple[Hashable, ...] | None

    @classmethod
    def checked(
        cls,
        shape: tuple[int, int],
        labels: Iterable[Hashable] | None,
        items: Iterable[Hashable] | None,
    ) -> "Names":
        """Check the names against `shape`; unnamed labels are numbered."""
        n_items, n_labels = shape
        return cls(
            tuple(range(n_labels)) if labels is None else checked_names(labels, "label", n_labels),
            None if items is None else checked_names(items, "item", n_items),
        )

    def row(self, row: int) -> str:
        """Return the place of a row for a message, with the name of its item."""
        return f"row {row}" if self.items is None else f"row {row} (item {self.items[row]!r})"

    def cell(self, row: int, column: int) -> str:
        """Return the place of a cell for a message."""
        return f"{self.row(row)}, column {column} (label {self.labels[column]!r})"

    def same_as(self, other: "Names") -> bool:
        """Return whether the names are equal; unnamed items are named by their positions."""
        if self.labels != other.labels:
            return False
        if self.items is None or other.items is None:
            given = other.items if self.items is None else self.items
            return given is None or given == tuple(range(len(given)))
        return self.items == other.items


class Parsed(NamedTuple):
    """The parts of a `PartialLabels`."""

    store: Store
    names: Names


def read_array(
    Y: TableLike,
    labels: Iterable[Hashable] | None,
    items: Iterable[Hashable] | None,
    weights: ArrayLike | None,
) -> Parsed:
    """Read a table in which NaN, None, NA and masked cells are unknown."""
    _refuse_sparse(Y)
    if is_frame(Y) or is_column_table(Y):
        raise InvalidInputError(
            "from_array would lose the names of a data frame: use PartialLabels.from_frame."
        )
    _refuse_tags(Y)
    values = as_array(Y, "The labels")
    names = Names.checked(_two_dimensional(values.shape, "The labels"), labels, items)
    return _read_table(values, names, weights)


def _refuse_sparse(Y: object) -> None:
    if sparse.issparse(Y):
        raise InvalidInputError(
            "A sparse matrix without a stored zero does not say what is known, because a zero that "
            "is not stored could be absent or unknown. Give a mask through "
            "PartialLabels.from_sparse(Y, mask), or store a zero for every known absence."
        )


def _refuse_tags(Y: object) -> None:
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


def read_frame(frame: FrameLike, weights: Any) -> Parsed:
    """Read a data frame: its index, where it has one, names the items, its columns the labels."""
    if is_column_table(frame):
        values = table_values(frame)
        names = Names.checked(
            _two_dimensional(values.shape, "The labels"), column_names(frame), None
        )
        if is_column_table(weights):
            _check_equal(column_names(frame), column_names(weights), "columns")
            weights = table_values(weights)
        return _read_table(values, names, weights)
    if not is_frame(frame):
        raise InvalidInputError(
            f"from_frame expects a data frame, found {type(frame).__name__}. "
            "Use from_array for arrays and lists."
        )
    values = _frame_values(frame)
    names = Names.checked(values.shape, _plain(frame.columns), _plain(frame.index))
    if is_frame(weights):
        _check_same_names(frame, weights)
        weights = _frame_values(weights)
    return _read_table(values, names, weights)


def _read_table(values: NDArray[Any], names: Names, weights: ArrayLike | None) -> Parsed:
    codes = _table_codes(values, names)
    checked = None if weights is None else _table_weights(weights, codes, names)
    return Parsed(store_table(codes, checked), names)


def _frame_values(frame: Any) -> NDArray[Any]:
    # As floats, because nullable columns would become slow Python objects. Text columns must stay
    # text: as numbers, "1" would pass unnoticed.
    if all(getattr(dtype, "kind", "O") in "biuf" for dtype in frame.dtypes):
        return np.asarray(frame.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(frame.to_numpy(dtype=object))


def _plain(index: Any) -> list[Hashable]:
    return list(index.tolist())


def _check_same_names(frame: FrameLike, weights: FrameLike) -> None:
    for kind, of_labels, of_weights in (
        ("columns", frame.columns, weights.columns),
        ("index", frame.index, weights.index),
    ):
        _check_equal(_plain(of_labels), _plain(of_weights), kind)


def _check_equal(of_labels: Sequence[Hashable], of_weights: Sequence[Hashable], kind: str) -> None:
    if of_labels != of_weights:
        raise InvalidInputError(
            f"The weights must have the same {kind} as the labels, in the same order. "
            "Align them with weights.reindex_like(labels), or by selecting the columns."
        )


def _two_dimensional(shape: tuple[int, ...], what: str) -> tuple[int, int]:
    """Return the shape of a table, after checking that it is one."""
    if len(shape) != 2:
        raise InvalidInputError(
            f"{what} must have two dimensions, items x labels; found {len(shape)} (shape {shape})."
        )
    return shape[0], shape[1]


def _table_codes(values: NDArray[Any], names: Names) -> Codes:
    """Return the state code of every cell of a two-dimensional array."""
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
    _check_values(codes == _INVALID, data, names)
    return codes


def _number_codes(data: NDArray[Any]) -> Codes:
    codes = np.full(data.shape, _INVALID, dtype=np.int8)
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
    return _INVALID


def _check_values(invalid: Flags, data: NDArray[Any], names: Names) -> None:
    if not invalid.any():
        return
    row, column = (int(place[0]) for place in np.nonzero(invalid))
    value = data[row, column]
    found = value.item() if isinstance(value, np.generic) else value
    hint = _HINTS.get(found, "") if is_hashable(found) else ""
    raise InvalidInputError(
        f"A label must be 1 (present), 0 (absent) or NaN (unknown); found {found!r} at "
        f"{names.cell(row, column)}, and {np.count_nonzero(invalid):,} such values in all.{hint}"
    )


def _table_weights(weights: ArrayLike, codes: Codes, names: Names) -> Floats:
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


def _entry_weights(
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


def checked_item_weights(weights: ArrayLike, n_items: int) -> Floats:
    """Return one weight >= 0 for each item: scikit-learn's `sample_weight`."""
    given = _numbers(weights)
    if given.shape != (n_items,):
        raise InvalidInputError(
            f"sample_weight must hold one weight for each of the {n_items:,} items; found shape "
            f"{given.shape}."
        )
    bad = np.flatnonzero(~(np.isfinite(given) & (given >= 0)))
    if len(bad):
        raise InvalidInputError(
            f"A sample_weight must be finite and at least 0; found {given[bad[0]]} for item "
            f"{bad[0]}, and {len(bad):,} such weights in all."
        )
    return given


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


def read_entries(
    rows: ArrayLike,
    columns: ArrayLike,
    present: ArrayLike,
    shape: tuple[int, int],
    weights: ArrayLike | None,
    labels: Iterable[Hashable] | None,
    items: Iterable[Hashable] | None,
    unlisted_weight: float,
) -> Parsed:
    """Read entries in any order; they may be repeated but not contradicted."""
    shape = _checked_shape(shape)
    names = Names.checked(shape, labels, items)
    background = _checked_background(unlisted_weight)
    r, c = checked_positions(rows, columns, shape)
    codes = _checked_present(present, len(r))
    cells = Cells(r, c, codes, _entry_weights(weights, r, c, names)).sorted(shape[1])
    return Parsed(store_cells(_without_repeats(cells, names), shape, background), names)


def _checked_background(weight: float) -> float:
    if is_weight(weight) or (weight == 0 and weight is not False):
        return float(weight)
    raise InvalidInputError(
        "`unlisted_weight` must be 0 (what is not listed is unknown) or a weight in (0, 1] "
        f"(it is absent with that weight). Got {weight!r} instead."
    )


def _checked_shape(shape: Any) -> tuple[int, int]:
    """Return the shape, after checking that 64 bits can number all cells."""
    if (
        not isinstance(shape, tuple | list)
        or len(shape) != 2
        or not all(isinstance(size, int | np.integer) and size >= 0 for size in shape)
    ):
        raise InvalidInputError(
            f"`shape` must be two numbers, (items, labels). Got {shape!r} instead."
        )
    n_items, n_labels = int(shape[0]), int(shape[1])
    if n_labels > np.iinfo(np.int32).max or n_items * n_labels > np.iinfo(np.int64).max:
        raise InvalidInputError(f"A table of {n_items:,} x {n_labels:,} is too large.")
    return n_items, n_labels


def checked_positions(
    rows: ArrayLike, columns: ArrayLike, shape: tuple[int, int]
) -> tuple[Positions, Positions]:
    """Return positions of cells, after checking that they lie inside the table."""
    pair = []
    for kind, given, size in (("row", rows, shape[0]), ("column", columns, shape[1])):
        positions = as_array(given, f"The {kind}s")
        if positions.ndim != 1 or (positions.size and positions.dtype.kind not in "iu"):
            raise InvalidInputError(
                f"The {kind}s must be a list of integers; found type {positions.dtype} "
                f"and shape {positions.shape}."
            )
        outside = np.flatnonzero((positions < 0) | (positions >= size))
        if len(outside):
            raise InvalidInputError(
                f"Entry {outside[0]} has {kind} {positions[outside[0]]}, but the {kind}s of this "
                f"table go from 0 to {size - 1}; {len(outside):,} entries lie outside."
            )
        pair.append(positions.astype(np.int64))
    if len(pair[0]) != len(pair[1]):
        raise InvalidInputError(
            f"Every entry needs a row and a column; found {len(pair[0]):,} rows and "
            f"{len(pair[1]):,} columns."
        )
    return pair[0], pair[1]


def _checked_present(present: ArrayLike, n_entries: int) -> Codes:
    given = as_array(present, "`present`")
    if given.shape not in {(), (n_entries,)}:
        raise InvalidInputError(
            f"Expected {n_entries:,} values in `present`, one for each entry; "
            f"found shape {given.shape}."
        )
    bad = np.flatnonzero((given != 0) & (given != 1))
    if len(bad):
        raise InvalidInputError(
            f"`present` must be True or False (1 or 0); found {given.ravel()[bad[0]]!r} for entry "
            f"{bad[0]}, and {len(bad):,} such values in all. Leave unknown entries out; over an "
            "absent background, hide them with with_hidden."
        )
    return np.broadcast_to(given.astype(np.int8), (n_entries,))


def _without_repeats(cells: Cells, names: Names) -> Cells:
    """Return each of the sorted cells once."""
    keys = cell_keys(cells.rows, cells.columns, len(names.labels))
    repeated = np.zeros(len(keys), dtype=bool)
    repeated[1:] = keys[1:] == keys[:-1]
    if not repeated.any():
        return cells
    weights = cells.full_weights()
    differs = cells.codes[1:] != cells.codes[:-1]
    differs |= weights[1:] != weights[:-1]
    _check_contradictions(np.flatnonzero(repeated[1:] & differs), keys, cells, names)
    return cells.pick(~repeated)


def _check_contradictions(at: Positions, keys: Positions, cells: Cells, names: Names) -> None:
    if not len(at):
        return
    at = at[np.unique(keys[at], return_index=True)[1]]
    weights = cells.full_weights()

    def describe(entry: int) -> str:
        return f"{State(cells.codes[entry]).name.lower()} (weight {weights[entry]:g})"

    shown = [
        f"{names.cell(int(cells.rows[i]), int(cells.columns[i]))} is "
        f"{describe(i)} and {describe(i + 1)}"
        for i in at[:_CONTRADICTIONS_SHOWN]
    ]
    raise InvalidInputError(
        f"{len(at):,} entries are given more than once and contradict themselves: "
        f"{'; '.join(shown)}{'; ...' if len(at) > _CONTRADICTIONS_SHOWN else ''}. "
        "Decide which one holds."
    )


def is_weight(value: object) -> bool:
    """Return whether `value` is a number in (0, 1]; True is not."""
    if isinstance(value, bool | np.bool_) or not isinstance(
        value, int | float | np.integer | np.floating
    ):
        return False
    return bool(0 < value <= 1)


def read_sparse(
    Y: Any,
    mask: Any,
    labels: Iterable[Hashable] | None,
    items: Iterable[Hashable] | None,
    weights: Any,
) -> Parsed:
    """Read presences from a sparse matrix and what is known from its mask, or by what is stored."""
    if not bool(sparse.issparse(Y)):
        raise InvalidInputError(
            f"from_sparse expects a scipy sparse matrix, found {type(Y).__name__}. "
            "Use from_array for arrays, with NaN where unknown."
        )
    shape = _checked_shape(_two_dimensional(Y.shape, "The labels"))
    names = Names.checked(shape, labels, items)
    known = _stored_keys(Y) if mask is None else _true_keys(mask, shape, "The mask", names)
    present = _true_keys(Y, shape, "The labels", names)
    codes = _is_in(known, present).astype(np.int8)
    _check_inside_mask(present[~_is_in(present, known)], names)
    rows, columns = cell_positions(known, shape[1])
    given = _stored_weights(weights, known, shape)
    cells = Cells(rows, columns, codes, _entry_weights(given, rows, columns, names))
    return Parsed(store_cells(cells, shape, 0.0), names)


def _true_keys(matrix: Any, shape: tuple[int, int], what: str, names: Names) -> Positions:
    table = _coordinates(matrix, shape, what)
    rows, columns = table.row.astype(np.int64), table.col.astype(np.int64)
    bad = np.flatnonzero(~(np.isfinite(table.data) & (table.data >= 0)))
    if len(bad):
        raise InvalidInputError(
            f"{what} must hold True or False (1 or 0); found {table.data[bad[0]].item()!r} at "
            f"{names.cell(int(rows[bad[0]]), int(columns[bad[0]]))}, and {len(bad):,} such values "
            "in all. What is unknown is left out of the mask."
        )
    true = table.data != 0
    return np.unique(cell_keys(rows[true], columns[true], shape[1]))


def has_stored_zeros(Y: Any) -> bool:
    """Return whether a sparse matrix stores a zero: then what is stored is what is known."""
    return bool((Y.tocoo().data == 0).any())


def _stored_keys(Y: Any) -> Positions:
    table = Y.tocoo()
    return np.unique(cell_keys(table.row.astype(np.int64), table.col.astype(np.int64), Y.shape[1]))


def _is_in(keys: Positions, among: Positions) -> Flags:
    return np.isin(keys, among, assume_unique=True)


def _check_inside_mask(keys: Positions, names: Names) -> None:
    if len(keys):
        row, column = divmod(int(keys[0]), len(names.labels))
        raise InvalidInputError(
            f"The matrix has a nonzero outside the mask at {names.cell(row, column)}, and "
            f"{len(keys):,} such entries in all: an entry cannot be present and unknown. "
            "Add it to the mask or remove it."
        )


def _stored_weights(weights: Any, known: Positions, shape: tuple[int, int]) -> Floats | None:
    if weights is None:
        return None
    # Through compressed rows, which adds up duplicates and sorts.
    table = _coordinates(weights, shape, "The weights").tocsr()
    table.sum_duplicates()
    stored = table.tocoo()
    keys = cell_keys(stored.row.astype(np.int64), stored.col.astype(np.int64), shape[1])
    found = np.zeros(len(known))
    found[_is_in(known, keys)] = stored.data[_is_in(keys, known)]
    return found


def _coordinates(matrix: Any, shape: tuple[int, int], what: str) -> Any:
    is_sparse = bool(sparse.issparse(matrix))
    given: Any = matrix if is_sparse else as_array(matrix, what)
    if given.shape != shape or given.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"{what} must be numbers or booleans in the shape of the labels, {shape}; "
            f"found type {given.dtype} and shape {given.shape}."
        )
    return given.tocoo() if is_sparse else sparse.coo_array(given)


def checked_names(
    names: Iterable[Hashable], kind: str, expected: int | None
) -> tuple[Hashable, ...]:
    """Return the names as a tuple of plain Python values, after checking them."""
    if isinstance(names, str | bytes):
        raise InvalidInputError(
            f"The {kind} names must be a list of names, found the single string {names!r}. "
            f"Write [{names!r}] for one name."
        )
    plain = tuple(name.item() if isinstance(name, _NUMPY_SCALARS) else name for name in names)
    if expected is not None and len(plain) != expected:
        raise InvalidInputError(
            f"Expected {expected:,} {kind} names, one for each {kind}, found {len(plain):,}."
        )
    _refuse_missing(plain, kind)
    _refuse_repeated(plain, kind)
    return plain


def _refuse_missing(names: tuple[Hashable, ...], kind: str) -> None:
    for position, name in enumerate(names):
        if is_missing(name):
            raise InvalidInputError(
                f"The {kind} name at position {position} is missing ({name!r}). "
                f"Every {kind} needs a name, or leave all of them out."
            )


def _refuse_repeated(names: tuple[Hashable, ...], kind: str) -> None:
    try:
        if len(set(names)) == len(names):
            return
    except TypeError as error:
        raise InvalidInputError(f"The {kind} names must be hashable: {error}.") from None
    repeated = [name for name, times in Counter(names).items() if times > 1]
    raise InvalidInputError(
        f"The {kind} names must differ, but {len(repeated):,} occur more than once: "
        f"{some_of(repeated)}. Rename or merge them."
    )


def is_missing(value: object) -> bool:
    """Return whether `value` is None, NaN, NaT or pandas' NA."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def is_hashable(value: object) -> bool:
    """Return whether `value` can be a name; a tuple that holds a list cannot."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def row_positions(rows: ArrayLike | slice, n_items: int) -> Positions:
    """Return the positions that an integer array, a slice or a mask of rows chooses."""
    if isinstance(rows, slice):
        return np.arange(n_items)[rows]
    given = as_array(rows, "The rows")
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iub"):
        raise InvalidInputError(
            "Rows are chosen by a list of positions, a slice or a mask; found type "
            f"{given.dtype} and shape {given.shape}."
        )
    if given.dtype.kind == "b":
        if len(given) != n_items:
            raise InvalidInputError(
                f"A mask of rows needs {n_items:,} values, one for each item; found {len(given):,}."
            )
        return np.flatnonzero(given)
    outside = given[(given < -n_items) | (given >= n_items)]
    if outside.size:
        raise InvalidInputError(f"There is no row {outside[0]} among {n_items:,} items.")
    positions = given.astype(np.int64)
    return np.where(positions < 0, positions + n_items, positions)


def label_positions(wanted: Iterable[Hashable], labels: tuple[Hashable, ...]) -> Positions:
    """Return the positions of the named labels, in the order in which they are named."""
    names = checked_names(wanted, "label", None)
    column = {label: position for position, label in enumerate(labels)}
    unknown = [name for name in names if name not in column]
    if unknown:
        raise InvalidInputError(
            f"There is no label {some_of(unknown)}. Available labels are: {some_of(labels, 10)}."
        )
    return np.array([column[name] for name in names], dtype=np.int64)


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
