"""The one type that says what is known of each (item, label)."""

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from tagloom.errors import InvalidInputError, TagloomError
from tagloom.labels import parsing
from tagloom.labels.parsing import Names, as_array, checked_names, listed
from tagloom.labels.storage import (
    PRESENT,
    UNKNOWN,
    Cells,
    Codes,
    Counts,
    Entries,
    Floats,
    FrameLike,
    Positions,
    Store,
    TableLike,
    is_frame,
    same_content,
)

if TYPE_CHECKING:
    import pandas as pd

# §§ choosing
# Rows and labels as people choose them, turned into positions or refused.


def chosen_rows(rows: ArrayLike | slice, n_items: int) -> Positions:
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


def chosen_labels(wanted: Iterable[Hashable], labels: tuple[Hashable, ...]) -> Positions:
    """Return the positions of the named labels, in the order in which they are named."""
    names = checked_names(wanted, "label", None)
    column = {label: position for position, label in enumerate(labels)}
    strangers = [name for name in names if name not in column]
    if strangers:
        raise InvalidInputError(
            f"There is no label {listed(strangers)}. Available labels are: {listed(labels, 10)}."
        )
    return np.array([column[name] for name in names], dtype=np.int64)


# §§ writing
# Partial labels handed back as arrays, data frames, sparse matrices and lists of tags.


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
    # Integers of one byte would overflow in products such as Y.T @ Y.
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


# §§ table
# What a table of partial labels tells: sizes, names, entries, blocks, and other forms.


class KnownTable:
    """The reading side of `PartialLabels`."""

    __slots__ = ("_names", "_store")

    def __init__(self, store: Store, names: Names) -> None:
        self._store = store
        self._names = names

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of items and labels."""
        return self._store.shape

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self._store.shape[0]

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self._store.shape[1]

    @property
    def items(self) -> tuple[Hashable, ...] | None:
        """Names of the items; None where their positions serve."""
        return self._names.items

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """Names of the labels."""
        return self._names.labels

    @property
    def unlisted_weight(self) -> float:
        """0 where what is not stored is unknown; w in (0, 1] where it is absent with weight w."""
        return self._store.background

    @property
    def is_sparse(self) -> bool:
        """Whether only single entries are held."""
        return self._store.is_sparse

    @property
    def nbytes(self) -> int:
        """Bytes held, names aside."""
        return self._store.nbytes

    @property
    def n_present(self) -> int:
        """Number of entries known to be present."""
        return int(self.counts().present.sum())

    @property
    def n_absent(self) -> int:
        """Number of entries known to be absent."""
        return int(self.counts().absent.sum())

    @property
    def n_known(self) -> int:
        """Number of entries that are known."""
        return self.n_items * self.n_labels - int(self.counts().unknown.sum())

    @property
    def is_complete(self) -> bool:
        """Whether nothing is unknown."""
        return self.n_known == self.n_items * self.n_labels

    def counts(self) -> Counts:
        """Count for each label the items that have it, have it not, or are unknown."""
        return self._store.counts()

    def entries(self) -> Entries:
        """Return the known entries, without those of an absent background."""
        cells = self._store.cells()
        known = cells.pick(cells.codes != UNKNOWN)
        return Entries(known.rows, known.columns, known.codes == PRESENT, known.full_weights())

    def hidden_entries(self) -> tuple[Positions, Positions]:
        """Return rows and columns of what is unknown although the background is absent."""
        cells = self._store.cells()
        hidden = cells.codes == UNKNOWN
        return cells.rows[hidden], cells.columns[hidden]

    def block(self, start: int, stop: int) -> tuple[Codes, Floats | None]:
        """Return `State` codes and weights of some rows, the background filled in.

        The weights are None where every known entry of the block weighs 1; unknown ones weigh 0.
        Both arrays are read-only. Like a slice, a block ends with the last row.
        """
        if not 0 <= start <= stop:
            raise InvalidInputError(f"A block needs 0 <= start <= stop; got {start} and {stop}.")
        return self._store.block(min(start, self.n_items), min(stop, self.n_items))

    def states(self) -> Codes:
        """Return the `State` code of every entry."""
        return self._store.block(0, self.n_items)[0].copy()

    def weights(self) -> Floats:
        """Return the weight of every entry, 0 where unknown."""
        codes, weights = self._store.block(0, self.n_items)
        return (codes != UNKNOWN).astype(np.float64) if weights is None else weights.copy()

    def to_array(self) -> Floats:
        """Return 1, 0 and NaN for present, absent and unknown; weights stay behind."""
        return write_array(self._store)

    def to_frame(self) -> "pd.DataFrame":
        """Return the array as a data frame with the names of items and labels."""
        return write_frame(self._store, self._names)

    def to_sparse(self) -> tuple[Any, Any]:
        """Return presences (0 and 1) and the mask of what is known, as sparse rows.

        Over an absent background nearly everything is known, and the mask is as large as the table.
        """
        return write_sparse(self._store)

    def to_tags(self) -> list[list[Hashable]] | dict[Hashable, list[Hashable]]:
        """Return the sorted present labels of each item, as a dict where items have names.

        Absences, weights and unknowns stay behind: the lists say only what is present.
        """
        return write_tags(self._store, self._names)


# §§ main partial


class PartialLabels(KnownTable):
    """What is known of each (item, label): present, absent or unknown.

    Made by one of its constructors (`from_array`, `from_frame`, `from_sparse`, `from_tags`,
    `from_entries`) and never altered: every method that changes something returns a new object.
    Whether the table is held dense or sparse is chosen by size and makes no other difference.

    Examples
    --------
    >>> nan = float("nan")
    >>> known = PartialLabels.from_array([[1, 0], [nan, 1]], labels=["beach", "sea"])
    >>> known
    PartialLabels(2 items x 2 labels: 2 present, 1 absent, 1 unknown)
    >>> known.counts().unknown
    array([1, 0])
    """

    __slots__ = ()

    @classmethod
    def from_array(
        cls,
        Y: TableLike,
        *,
        labels: Iterable[Hashable] | None = None,
        items: Iterable[Hashable] | None = None,
        weights: ArrayLike | None = None,
    ) -> "PartialLabels":
        """Read a table of 1 (present), 0 (absent) and NaN, None, NA or masked cells (unknown).

        Parameters
        ----------
        Y : array-like of shape (n_items, n_labels)
            Booleans and integers are complete; floats, objects and masked arrays may not be.
        labels, items : iterable of hashable, optional
            Names; labels are numbered and items left unnamed where they are not given.
        weights : array-like of shape (n_items, n_labels), optional
            Finite and greater than 0 where `Y` is known, ignored elsewhere.

        Examples
        --------
        >>> PartialLabels.from_array([[True, None], [False, True]]).to_array()
        array([[ 1., nan],
               [ 0.,  1.]])
        """
        return cls(*parsing.read_array(Y, labels, items, weights))

    @classmethod
    def from_frame(
        cls, frame: FrameLike, *, weights: FrameLike | ArrayLike | None = None
    ) -> "PartialLabels":
        """Read a data frame of 1 (present), 0 (absent) and NaN, None or NA (unknown).

        Parameters
        ----------
        frame : DataFrame
            Its index names the items, its columns the labels.
        weights : DataFrame or array-like, optional
            As in `from_array`; a frame must have the same index and columns.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"beach": [1, None], "sea": [0, 1]}, index=["a.jpg", "b.jpg"])
        >>> PartialLabels.from_frame(frame)
        PartialLabels(2 items x 2 labels: 2 present, 1 absent, 1 unknown)
        """
        return cls(*parsing.read_frame(frame, weights))

    @classmethod
    def from_sparse(
        cls,
        Y: Any,
        mask: Any,
        *,
        labels: Iterable[Hashable] | None = None,
        items: Iterable[Hashable] | None = None,
        weights: Any = None,
    ) -> "PartialLabels":
        """Read a sparse matrix of presences and a mask of what is known.

        Parameters
        ----------
        Y : scipy sparse array or matrix of shape (n_items, n_labels)
            Greater than 0 where present.
        mask : sparse or array-like of bool, of the same shape
            True where known: there, a zero of `Y` is absent. Everything else is unknown.
        labels, items : iterable of hashable, optional
            Names, as in `from_array`.
        weights : sparse or array-like of the same shape, optional
            Finite and greater than 0 where known, ignored elsewhere.

        Examples
        --------
        >>> from scipy.sparse import csr_array
        >>> Y, mask = csr_array([[1, 0], [0, 0]]), [[True, True], [False, True]]
        >>> PartialLabels.from_sparse(Y, mask)
        PartialLabels(2 items x 2 labels: 1 present, 2 absent, 1 unknown)
        """
        return cls(*parsing.read_sparse(Y, mask, labels, items, weights))

    @classmethod
    def from_tags(
        cls,
        tags: Iterable[Iterable[Hashable]] | Mapping[Any, Iterable[Hashable]],
        *,
        unlisted: Literal["unknown", "absent"] | float | None = None,
        labels: Iterable[Hashable] | None = None,
    ) -> "PartialLabels":
        """Read a list of tags for each item; a mapping names the items.

        Parameters
        ----------
        tags : iterable of iterables, or mapping to iterables
            The tags that each item has, in any order.
        unlisted : {"unknown", "absent"} or float in (0, 1]
            What a tag means that is not listed; a number is the weight with which it is absent.
            It must be given, for only the owner of the lists can say.
        labels : iterable of hashable, optional
            All labels in their order; by default the tags that occur, sorted.

        Examples
        --------
        >>> tags = {"a.jpg": ["sea", "beach"], "b.jpg": ["sea"]}
        >>> PartialLabels.from_tags(tags, unlisted="unknown")
        PartialLabels(2 items x 2 labels: 3 present, 0 absent, 1 unknown)
        """
        return cls(*parsing.read_tags(tags, unlisted, labels))

    @classmethod
    def from_entries(
        cls,
        rows: ArrayLike,
        columns: ArrayLike,
        present: ArrayLike,
        *,
        shape: tuple[int, int],
        weights: ArrayLike | None = None,
        labels: Iterable[Hashable] | None = None,
        items: Iterable[Hashable] | None = None,
        unlisted_weight: float = 0.0,
    ) -> "PartialLabels":
        """Read known entries one by one; they may be repeated but not contradicted.

        Parameters
        ----------
        rows, columns : array-like of int
            Positions of the entries.
        present : array-like of bool, or bool
            Whether the item has the label or is known not to have it.
        shape : (int, int)
            Numbers of items and labels.
        weights : array-like of float, or float, optional
            Finite and greater than 0.
        labels, items : iterable of hashable, optional
            Names, as in `from_array`.
        unlisted_weight : float, default 0
            0: what is not listed is unknown; w in (0, 1]: it is absent with weight w.

        Examples
        --------
        >>> PartialLabels.from_entries([0, 2], [1, 0], [True, False], shape=(3, 2))
        PartialLabels(3 items x 2 labels: 1 present, 1 absent, 4 unknown)
        """
        parts = parsing.read_entries(
            rows, columns, present, shape, weights, labels, items, unlisted_weight
        )
        return cls(*parts)

    def take(self, rows: ArrayLike | slice) -> "PartialLabels":
        """Return the items at these positions, by integers, a slice or a mask."""
        positions = chosen_rows(rows, self.n_items)
        items = self.items
        if items is not None:
            items = checked_names([items[row] for row in positions.tolist()], "item", None)
        return PartialLabels(self._store.take(positions), Names(self.labels, items))

    def select(self, labels: Iterable[Hashable]) -> "PartialLabels":
        """Return the named labels, in the order in which they are named."""
        columns = chosen_labels(labels, self.labels)
        names = Names(tuple(self.labels[column] for column in columns.tolist()), self.items)
        return PartialLabels(self._store.select(columns), names)

    def with_hidden(self, rows: ArrayLike, columns: ArrayLike) -> "PartialLabels":
        """Return the same with the entries at these rows and columns unknown."""
        places = parsing.checked_positions(rows, columns, self.shape)
        return PartialLabels(self._store.hide(*places), self._names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartialLabels):
            return NotImplemented
        return self._names.same_as(other._names) and same_content(self._store, other._store)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        present, absent, unknown = (int(count.sum()) for count in self.counts())
        weight = self.unlisted_weight
        unlisted = f"; unlisted: absent with weight {weight:g}" if weight else ""
        return (
            f"PartialLabels({self.n_items} items x {self.n_labels} labels: {present:,} present, "
            f"{absent:,} absent, {unknown:,} unknown{unlisted})"
        )


def as_partial_labels(Y: PartialLabels | FrameLike | TableLike) -> PartialLabels:
    """Return partial labels for whatever says clearly what is known.

    >>> as_partial_labels([[1, None]])
    PartialLabels(1 items x 2 labels: 1 present, 0 absent, 1 unknown)
    """
    if isinstance(Y, PartialLabels):
        return Y
    if is_frame(Y):
        return PartialLabels.from_frame(Y)
    return PartialLabels.from_array(cast(TableLike, Y))
