"""What is known, as the matrices of which all counts are sums."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, State, as_partial_labels
from tagloom.validation import check_same_items

# §§ main evidence


Floats = npt.NDArray[np.float64]

# Codes of one byte are turned into numbers of four or eight this many at a time.
_ENTRIES_AT_ONCE = 1 << 25


@dataclass(frozen=True, eq=False)
class Evidence:
    """The observation weights W (0: unknown) and W o Y of some items, for labels Y in {0, 1}.

    W = background + offset, so that tags which are all absent with some weight where nothing is
    listed need no entry each. The matrices are sparse where what is known is stored sparse.
    """

    present: Any
    offset: Any
    background: float

    def sums(self, A: Any) -> tuple[Floats, Floats]:
        """Return A (W o Y) and A W, for A with a column for each item."""
        known = as_dense(A @ self.offset)
        if self.background:
            known += self.background * np.asarray(A.sum(axis=1)).reshape(-1, 1)
        return as_dense(A @ self.present), known

    def totals(self) -> tuple[Floats, Floats]:
        """Return the sums over all items of W o Y and of W, for each label."""
        present, known = self.sums(np.ones((1, self.present.shape[0])))
        return present[0], known[0]


def evidence_by_labels(known: PartialLabels) -> Iterator[tuple[slice, Evidence]]:
    """Yield the evidence of all items, for all labels at once where that is stored sparse."""
    if known.is_sparse:
        yield slice(None), _sparse(known)
        return
    codes, weights = known.block(0, known.n_items)
    step = max(1, _ENTRIES_AT_ONCE // max(1, known.n_items))
    for start in range(0, known.n_labels, step):
        part = slice(start, start + step)
        yield part, _from_codes(codes[:, part], None if weights is None else weights[:, part])


def evidence_blocks(known: PartialLabels, rows: int) -> Iterator[tuple[slice, Evidence]]:
    """Yield the evidence of some rows at a time."""
    whole = _sparse(known) if known.is_sparse else None
    for start in range(0, known.n_items, rows):
        part = slice(start, min(start + rows, known.n_items))
        if whole is None:
            yield part, _from_codes(*known.block(part.start, part.stop))
        else:
            yield part, Evidence(whole.present[part], whole.offset[part], whole.background)


def _from_codes(codes: npt.NDArray[np.int8], weights: Floats | None) -> Evidence:
    # Counts of entries that weigh 1 are integers, which single precision holds without error.
    dtype = np.float32 if weights is None else np.float64
    present = (codes == int(State.PRESENT)).astype(dtype)
    if weights is None:
        return Evidence(present, (codes != int(State.UNKNOWN)).astype(dtype), 0.0)
    return Evidence(present * weights, weights, 0.0)


def _sparse(known: PartialLabels) -> Evidence:
    entries = known.entries()
    hidden_rows, hidden_columns = known.hidden_entries()
    background = known.unlisted_weight
    rows = np.concatenate([entries.rows, hidden_rows])
    columns = np.concatenate([entries.columns, hidden_columns])
    offset = np.concatenate([entries.weights, np.zeros(len(hidden_rows))]) - background
    where = entries.present
    present = (entries.weights[where], (entries.rows[where], entries.columns[where]))
    return Evidence(
        sparse.csr_array(present, shape=known.shape),
        sparse.csr_array((offset, (rows, columns)), shape=known.shape),
        background,
    )


def as_dense(product: Any) -> Floats:
    """Return a product as an array, whatever its factors were."""
    return np.asarray(product if isinstance(product, np.ndarray) else product.toarray(), np.float64)


def label_rates(known: PartialLabels) -> Floats:
    """Return the weighted share of presences among the known entries of each label; 0 if none."""
    rates = np.zeros(known.n_labels)
    for labels, evidence in evidence_by_labels(known):
        present, total = evidence.totals()
        rates[labels] = np.divide(present, total, out=np.zeros_like(present), where=total > 0)
    return rates


# §§ checks
# Checks on rows and labels.


_ROWS_AT_ONCE = 8192


def read_labels(Y: Any, n_items: int) -> PartialLabels:
    """Return what is known of so many items."""
    if Y is None:
        raise InvalidInputError(
            "This estimator requires y to be passed, but the target y is None. "
            "Pass PartialLabels or an array of 1, 0 and NaN (unknown), one column for each label."
        )
    known = as_partial_labels(Y)
    check_same_items(n_items, known.n_items)
    return known


def check_rows(table: npt.NDArray[Any], known: PartialLabels) -> None:
    """Refuse a table that is none, or has other rows than the labels."""
    if table.ndim != 2:
        raise InvalidInputError(
            f"Concepts must be a table, items x concepts; found {table.ndim} dimension(s)."
        )
    read_labels(known, len(table))
    for start in range(0, len(table), _ROWS_AT_ONCE):
        wrong = ~np.isfinite(table[start : start + _ROWS_AT_ONCE])
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise InvalidInputError(
                f"Concepts must be finite; found {table[start + row, column]} in row "
                f"{start + row}, column {column}."
            )


# §§ names
# Names of columns.


def as_text(names: Iterable[Any]) -> npt.NDArray[Any]:
    """Return the names as the array of strings that scikit-learn wants."""
    return np.array([str(name) for name in names], dtype=object)
