"""Known labels as matrices of weights, from which all counts are matrix products."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import validate_data

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, State, as_partial_labels
from tagloom.validation import check_same_items

Floats = npt.NDArray[np.float64]

# Codes of one byte are converted to floats this many at a time.
_ENTRIES_AT_ONCE = 1 << 25


@dataclass(frozen=True, eq=False)
class Evidence:
    """The observation weights W (0: unknown) and W o Y of some items, for labels Y in {0, 1}.

    W = background + offset, so that unlisted tags, which are absent with one common weight, need no
    entries. The matrices are sparse if the labels are stored sparse.
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
    """Yield the evidence of all items for some labels at a time (for all, if stored sparse)."""
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
    # Without weights the sums are integers, which single precision holds exactly.
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
    """Return a dense or sparse product as an array."""
    return np.asarray(product if isinstance(product, np.ndarray) else product.toarray(), np.float64)


def label_rates(known: PartialLabels) -> Floats:
    """Return the weighted share of presences among the known entries of each label, 0 if none."""
    rates = np.zeros(known.n_labels)
    for labels, evidence in evidence_by_labels(known):
        present, total = evidence.totals()
        rates[labels] = np.divide(present, total, out=np.zeros_like(present), where=total > 0)
    return rates


def read_labels(Y: Any, n_items: int) -> PartialLabels:
    """Return the labels as `PartialLabels`, after checking that there are `n_items` items."""
    if Y is None:
        raise InvalidInputError(
            "This estimator requires y to be passed, but the target y is None. "
            "Pass PartialLabels or an array of 1, 0 and NaN (unknown), one column for each label."
        )
    known = as_partial_labels(Y)
    check_same_items(n_items, known.n_items)
    return known


class LabelledMixin:
    """An estimator that needs labels, one column for each, and says so by scikit-learn tags."""

    def _read(self, X: Any, y: Any) -> tuple[npt.NDArray[Any], PartialLabels]:
        """Return the training rows and their labels, checked."""
        rows = validate_data(self, X, dtype=[np.float64, np.float32])
        return rows, read_labels(y, len(rows))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags
