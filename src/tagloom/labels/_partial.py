"""The one type that says what is known of each (item, label)."""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Literal, cast

from numpy.typing import ArrayLike

from tagloom.labels import _reading, _reading_entries, _reading_sparse, _reading_tags
from tagloom.labels._choosing import chosen_labels, chosen_rows
from tagloom.labels._names import Names, checked_names
from tagloom.labels._store import same_content
from tagloom.labels._table import KnownTable
from tagloom.labels._types import FrameLike, TableLike, is_frame


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
            Booleans and whole numbers are complete; floats, objects and masked arrays may not be.
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
        return cls(*_reading.read_array(Y, labels, items, weights))

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
        return cls(*_reading.read_frame(frame, weights))

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
        return cls(*_reading_sparse.read_sparse(Y, mask, labels, items, weights))

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
        return cls(*_reading_tags.read_tags(tags, unlisted, labels))

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
        parts = _reading_entries.read_entries(
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
        places = _reading_entries.checked_positions(rows, columns, self.shape)
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
