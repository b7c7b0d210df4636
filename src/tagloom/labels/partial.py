"""`PartialLabels`, the type that says what is known about each (item, label)."""

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from tagloom.errors import InvalidInputError, TagloomError
from tagloom.labels import parsing
from tagloom.labels.parsing import Names, checked_names, label_positions, row_positions
from tagloom.labels.storage import (
    PRESENT,
    UNKNOWN,
    Codes,
    Counts,
    Entries,
    Flags,
    Floats,
    Positions,
    Store,
    TableLike,
    same_content,
)
from tagloom.labels.tags import read_tags
from tagloom.validation import FrameLike, is_column_table, is_frame

if TYPE_CHECKING:
    import pandas as pd


class PartialLabels:
    """What is known about each (item, label): present, absent or unknown.

    Create it with one of the constructors (`from_array`, `from_frame`, `from_sparse`, `from_tags`,
    `from_entries`). It is immutable: every method that changes something returns a new object.
    Whether the table is held dense or sparse depends on its size and makes no other difference.

    Examples
    --------
    >>> nan = float("nan")
    >>> known = PartialLabels.from_array([[1, 0], [nan, 1]], labels=["beach", "sea"])
    >>> known
    PartialLabels(2 items x 2 labels: 2 present, 1 absent, 1 unknown)
    >>> known.counts().unknown
    array([1, 0])
    """

    __slots__ = ("_names", "_store")

    def __init__(self, store: Store, names: Names) -> None:
        self._store = store
        self._names = names

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
            Names; by default labels are numbered and items unnamed.
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
        """Read a data frame of 1 (present), 0 (absent) and NaN, None, NA or null (unknown).

        Parameters
        ----------
        frame : DataFrame of pandas or polars, or Table of pyarrow
            Its columns name the labels, and the index of pandas the items.
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
        mask: Any = None,
        *,
        labels: Iterable[Hashable] | None = None,
        items: Iterable[Hashable] | None = None,
        weights: Any = None,
    ) -> "PartialLabels":
        """Read a sparse matrix of presences, and what is known by a mask or by what is stored.

        Parameters
        ----------
        Y : scipy sparse array or matrix of shape (n_items, n_labels)
            Greater than 0 where present.
        mask : sparse or array-like of bool, of the same shape, optional
            True where known: there, a zero of `Y` is absent. Everything else is unknown. Without a
            mask what is stored is known: a stored zero is an absence.
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
        >>> stored = csr_array(([1, 0], ([0, 1], [0, 1])), shape=(2, 2))
        >>> PartialLabels.from_sparse(stored).to_array()
        array([[ 1., nan],
               [nan,  0.]])
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
            The meaning of a tag that is not listed; a number is the weight with which it is absent.
            There is no default, because only the owner of the lists can know.
        labels : iterable of hashable, optional
            All labels in order; by default the tags that occur, sorted.

        Examples
        --------
        >>> tags = {"a.jpg": ["sea", "beach"], "b.jpg": ["sea"]}
        >>> PartialLabels.from_tags(tags, unlisted="unknown")
        PartialLabels(2 items x 2 labels: 3 present, 0 absent, 1 unknown)
        """
        return cls(*read_tags(tags, unlisted, labels))

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
            True where the item has the label, False where it is known not to have it.
        shape : (int, int)
            Numbers of items and labels.
        weights : array-like of float, or float, optional
            Finite and greater than 0.
        labels, items : iterable of hashable, optional
            Names, as in `from_array`.
        unlisted_weight : float, default 0
            0: unlisted entries are unknown; w in (0, 1]: they are absent with weight w.

        Examples
        --------
        >>> PartialLabels.from_entries([0, 2], [1, 0], [True, False], shape=(3, 2))
        PartialLabels(3 items x 2 labels: 1 present, 1 absent, 4 unknown)
        """
        parts = parsing.read_entries(
            rows, columns, present, shape, weights, labels, items, unlisted_weight
        )
        return cls(*parts)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of items and labels."""
        return self._store.shape

    @property
    def ndim(self) -> int:
        """2: items and labels."""
        return 2

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self._store.shape[0]

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self._store.shape[1]

    @property
    def store(self) -> Store:
        """The codes and weights as they are held, dense or sparse; not to be changed."""
        return self._store

    @property
    def items(self) -> tuple[Hashable, ...] | None:
        """Names of the items; None if they are known by position."""
        return self._names.items

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """Names of the labels."""
        return self._names.labels

    @property
    def unlisted_weight(self) -> float:
        """0 if unlisted entries are unknown; w in (0, 1] if they are absent with weight w."""
        return self._store.background

    @property
    def is_sparse(self) -> bool:
        """Whether the labels are held sparse."""
        return self._store.is_sparse

    @property
    def nbytes(self) -> int:
        """Bytes in memory, without the names."""
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
        """Count for each label the items at which it is present, absent or unknown."""
        return self._store.counts()

    def entries(self) -> Entries:
        """Return the listed entries: the known ones, without those of an absent background."""
        known = self._store.known_cells()
        return Entries(known.rows, known.columns, known.codes == PRESENT, known.full_weights())

    def is_listed(self) -> Flags:
        """Return which entries are listed, whatever is assumed of the others.

        >>> PartialLabels.from_tags([["a"], ["b"], []], unlisted="absent").is_listed().tolist()
        [[True, False], [False, True], [False, False]]
        """
        known = self._store.known_cells()
        listed = np.zeros(self.shape, dtype=bool)
        listed[known.rows, known.columns] = True
        return listed

    def hidden_entries(self) -> tuple[Positions, Positions]:
        """Return rows and columns of the entries that are unknown over an absent background."""
        hidden = self._store.unknown_cells()
        return hidden.rows, hidden.columns

    def known_items(self) -> Flags:
        """Return whether anything is known of each item; unlisted entries may count as absent."""
        return self._store.known_rows()

    def block(self, start: int, stop: int) -> tuple[Codes, Floats | None]:
        """Return `State` codes and weights of some rows, with the background filled in.

        The weights are None if every known entry of the block has weight 1; unknown ones have 0.
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
        """Return 1, 0 and NaN for present, absent and unknown, without weights."""
        codes, _ = self._store.block(0, self.n_items)
        values = codes.astype(np.float64)
        values[codes == UNKNOWN] = np.nan
        return values

    def to_frame(self) -> "pd.DataFrame":
        """Return the array as a data frame with the names of items and labels."""
        try:
            import pandas as pd
        except ImportError:
            raise TagloomError(
                "A data frame needs pandas, which is not installed: install tagloom[pandas], "
                "or use to_array."
            ) from None
        columns = pd.Index(list(self.labels), tupleize_cols=False)
        index = None if self.items is None else pd.Index(list(self.items), tupleize_cols=False)
        return pd.DataFrame(self.to_array(), index=index, columns=columns)

    def to_sparse(self) -> tuple[Any, Any]:
        """Return presences (0 and 1) and the mask of known entries, as sparse rows.

        Over an absent background nearly everything is known, and the mask is as large as the table.
        """
        cells = self._store.cells()
        present = cells.codes == PRESENT
        if self._store.background:
            codes, _ = self._store.block(0, self.n_items)
            rows, columns = np.nonzero(codes != UNKNOWN)
        else:
            rows, columns = cells.rows, cells.columns
        # Floats, because integers of one byte would overflow in products such as Y.T @ Y.
        Y = _ones_at(cells.rows[present], cells.columns[present], self.shape, np.float64)
        return Y, _ones_at(rows, columns, self.shape, np.bool_)

    def to_tags(self) -> list[list[Hashable]] | dict[Hashable, list[Hashable]]:
        """Return the sorted present labels of each item, as a dict if the items have names.

        Absences, weights and unknown entries are lost.
        """
        cells = self._store.cells()
        present = cells.pick(cells.codes == PRESENT)
        order = np.lexsort((_ranks(self.labels)[present.columns], present.rows))
        tags = [self.labels[column] for column in present.columns[order].tolist()]
        ends = np.cumsum(np.bincount(present.rows, minlength=self.n_items)).tolist()
        lists = [tags[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        return lists if self.items is None else dict(zip(self.items, lists, strict=True))

    def take(self, rows: ArrayLike | slice) -> "PartialLabels":
        """Return the items chosen by integers, a slice or a mask."""
        positions = row_positions(rows, self.n_items)
        items = self.items
        if items is not None:
            items = checked_names([items[row] for row in positions.tolist()], "item", None)
        return PartialLabels(self._store.take(positions), Names(self.labels, items))

    def __len__(self) -> int:
        return self.n_items

    # Rows are chosen, not walked through: without this, Python would try known[0], known[1], ...
    __iter__ = None

    def __getitem__(self, key: Any) -> "PartialLabels":
        """Return some items, or some items and labels, by position: what scikit-learn slices by.

        >>> known = PartialLabels.from_array([[1, 0], [None, 1], [0, None]])
        >>> known[[2, 0]]
        PartialLabels(2 items x 2 labels: 1 present, 2 absent, 1 unknown)
        >>> known[:2, [1]].to_array().ravel()
        array([0., 1.])

        Rows may be repeated, as in a bootstrap sample; items then lose their names.
        """
        rows, *rest = key if isinstance(key, tuple) else (key,)
        if len(rest) > 1:
            raise InvalidInputError(
                f"PartialLabels have two dimensions, items and labels; got {len(rest) + 1} indices."
            )
        found = self if rows is Ellipsis else self._rows(rows)
        if not rest or rest[0] is Ellipsis:
            return found
        columns = row_positions(rest[0], self.n_labels)
        return found.select([self.labels[column] for column in columns.tolist()])

    def _rows(self, rows: Any) -> "PartialLabels":
        if isinstance(rows, int | np.integer):
            raise InvalidInputError(
                f"One row is no table: write known[[{rows}]], or known[{rows}:{rows + 1}]."
            )
        positions = row_positions(rows, self.n_items)
        if self.items is None or len(np.unique(positions)) == len(positions):
            return self.take(positions)
        return PartialLabels(self._store.take(positions), Names(self.labels, None))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return 0 and 1 where all is known; else an array only of the type that is asked for.

        Floats and objects hold NaN where an entry is unknown. Were the type chosen here, unknown
        entries would become a third class to whoever counts distinct values, as scikit-learn does.
        """
        codes = self.states()
        unknown = codes == UNKNOWN
        if dtype is None and not unknown.any():
            return codes
        wanted = np.dtype("V" if dtype is None else dtype)
        if unknown.any() and wanted.kind not in "fO":
            raise InvalidInputError(
                "These PartialLabels hold unknown entries, which an array shows only if asked to: "
                "call to_array() for floats with NaN. If scikit-learn asked: instead of "
                "cross_val_predict use tagloom.models.cross_val_scores, and pass min_resources= to "
                "a halving search."
            )
        values = codes.astype(wanted)
        values[unknown] = np.nan
        return values

    def select(self, labels: Iterable[Hashable]) -> "PartialLabels":
        """Return the named labels, in the order in which they are named."""
        columns = label_positions(labels, self.labels)
        names = Names(tuple(self.labels[column] for column in columns.tolist()), self.items)
        return PartialLabels(self._store.select(columns), names)

    def with_entries(
        self,
        rows: ArrayLike,
        columns: ArrayLike,
        present: ArrayLike,
        *,
        weights: ArrayLike | None = None,
        unlisted_weight: float = 0.0,
    ) -> "PartialLabels":
        """Return a table of the same items and labels with these entries; see `from_entries`."""
        parts = parsing.read_entries(
            rows, columns, present, self.shape, weights, self.labels, self.items, unlisted_weight
        )
        return PartialLabels(*parts)

    def with_item_weights(self, weights: ArrayLike) -> "PartialLabels":
        """Return a copy in which the weights of each item's entries are multiplied by its own.

        Entries of an item of weight 0 become unknown.
        """
        given = parsing.checked_item_weights(weights, self.n_items)
        if self.unlisted_weight:
            raise InvalidInputError(
                "Weights of items cannot be joined with unlisted entries that are absent with one "
                f"weight for all of them, {self.unlisted_weight:g}. List the absences that count, "
                'or read the tags with unlisted="unknown".'
            )
        entries = self.entries()
        total = entries.weights * given[entries.rows]
        kept = total > 0
        if len(kept) and not kept.any():
            raise InvalidInputError("The sample_weight of every item with a known label is zero.")
        return self.with_entries(
            entries.rows[kept], entries.columns[kept], entries.present[kept], weights=total[kept]
        )

    def with_hidden(self, rows: ArrayLike, columns: ArrayLike) -> "PartialLabels":
        """Return a copy in which the entries at these rows and columns are unknown."""
        places = parsing.checked_positions(rows, columns, self.shape)
        return PartialLabels(self._store.hide(*places), self._names)

    def with_hidden_items(self, hidden: ArrayLike) -> "PartialLabels":
        """Return a copy in which all entries of the items chosen by a mask are unknown."""
        mask = np.zeros(self.n_items, dtype=bool)
        mask[row_positions(np.asarray(hidden, dtype=bool), self.n_items)] = True
        return PartialLabels(self._store.hide_rows(mask), self._names)

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


def _ones_at(
    rows: Positions, columns: Positions, shape: tuple[int, int], dtype: type[np.generic]
) -> Any:
    return sparse.csr_array((np.ones(len(rows), dtype=dtype), (rows, columns)), shape=shape)


def _ranks(labels: tuple[Hashable, ...]) -> Positions:
    """Return the place of each label in the sorted order of their names."""
    positions = range(len(labels))
    try:
        order = sorted(positions, key=lambda position: labels[position])  # type: ignore[arg-type,return-value]
    except TypeError:
        # Names of different types have no common order: keep the order of the columns.
        order = list(positions)
    ranks = np.empty(len(labels), dtype=np.int64)
    ranks[order] = np.arange(len(labels))
    return ranks


def as_partial_labels(Y: Any) -> PartialLabels:
    """Return partial labels of a data frame, an array, a sparse matrix or partial labels.

    Of a sparse matrix what is stored is known. One without a stored zero is refused: whether all
    that is not stored is absent or unknown cannot be told.

    >>> as_partial_labels([[1, None]])
    PartialLabels(1 items x 2 labels: 1 present, 0 absent, 1 unknown)
    """
    if isinstance(Y, PartialLabels):
        return Y
    if is_frame(Y) or is_column_table(Y):
        return PartialLabels.from_frame(Y)
    if sparse.issparse(Y) and parsing.has_stored_zeros(Y):
        return PartialLabels.from_sparse(Y)
    return PartialLabels.from_array(cast(TableLike, Y))
