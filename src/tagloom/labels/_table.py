"""What a table of partial labels tells: sizes, names, entries, blocks, and other forms."""

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom.errors import InvalidInputError
from tagloom.labels import _writing
from tagloom.labels._names import Names
from tagloom.labels._store import Store
from tagloom.labels._types import PRESENT, UNKNOWN, Codes, Counts, Entries, Floats, Positions

if TYPE_CHECKING:
    import pandas as pd


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
        return _writing.write_array(self._store)

    def to_frame(self) -> "pd.DataFrame":
        """Return the array as a data frame with the names of items and labels."""
        return _writing.write_frame(self._store, self._names)

    def to_sparse(self) -> tuple[Any, Any]:
        """Return presences (0 and 1) and the mask of what is known, as sparse rows.

        Over an absent background nearly everything is known, and the mask is as large as the table.
        """
        return _writing.write_sparse(self._store)

    def to_tags(self) -> list[list[Hashable]] | dict[Hashable, list[Hashable]]:
        """Return the sorted present labels of each item, as a dict where items have names.

        Absences, weights and unknowns stay behind: the lists say only what is present.
        """
        return _writing.write_tags(self._store, self._names)
