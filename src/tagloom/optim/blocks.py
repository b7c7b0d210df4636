"""What is known of some consecutive rows, in the form in which the loss needs it.

Both kinds have one face: `weigh_residual` turns scores Z into W o (Z - Y) in place, and the rest
are sums over the same entries.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tagloom.labels import PartialLabels, State
from tagloom.optim.arrays import Matrix, inner


@dataclass(frozen=True)
class DenseBlock:
    """Most entries are known: masks of one byte an entry, applied to all."""

    start: int
    stop: int
    present: npt.NDArray[np.bool_]
    weights: npt.NDArray[np.float64] | npt.NDArray[np.bool_]

    def weigh_residual(self, Z: Matrix, *, minus_labels: bool = True) -> None:
        """Turn scores Z into W o (Z - Y), in place; into W o Z without `minus_labels`."""
        if minus_labels:
            Z -= self.present
        Z *= self.weights

    def write_weights(self, out: Matrix) -> None:
        """Write W into `out`."""
        out[...] = self.weights

    def weight_per_label(self) -> npt.NDArray[np.float64]:
        """Return the column sums of W."""
        return np.asarray(self.weights.sum(axis=0, dtype=np.float64))

    def sum_of_squares(self, R: Matrix) -> float:
        """Return sum_ij w_ij r_ij^2, given the weighted residual R = W o r."""
        if self.weights.dtype == bool:
            return inner(R, R)
        r = np.divide(R, self.weights, out=np.zeros_like(R), where=self.weights > 0)
        return inner(R, r)


@dataclass(frozen=True)
class SparseBlock:
    """Few entries are stored: only those are touched; the others share one background weight."""

    start: int
    stop: int
    positions: npt.NDArray[np.intp]
    present: npt.NDArray[np.bool_]
    weights: npt.NDArray[np.float64] | None
    background: float
    n_labels: int

    def weigh_residual(self, Z: Matrix, *, minus_labels: bool = True) -> None:
        """Turn scores Z into W o (Z - Y), in place; into W o Z without `minus_labels`."""
        flat = Z.reshape(-1)
        residual = flat[self.positions]
        if minus_labels:
            residual -= self.present
        if self.weights is not None:
            residual *= self.weights
        if self.background:
            flat *= Z.dtype.type(self.background)
        else:
            flat.fill(0)
        flat[self.positions] = residual

    def write_weights(self, out: Matrix) -> None:
        """Write W into `out`."""
        out.fill(self.background)
        out.reshape(-1)[self.positions] = 1 if self.weights is None else self.weights

    def weight_per_label(self) -> npt.NDArray[np.float64]:
        """Return the column sums of W."""
        columns = self.positions % self.n_labels
        stored = np.bincount(columns, minlength=self.n_labels)
        weight = np.bincount(columns, weights=self.weights, minlength=self.n_labels)
        return weight + self.background * (self.stop - self.start - stored)

    def sum_of_squares(self, R: Matrix) -> float:
        """Return sum_ij w_ij r_ij^2, given the weighted residual R = W o r."""
        flat = R.reshape(-1)
        stored = flat[self.positions]
        r = stored
        if self.weights is not None:
            r = np.divide(stored, self.weights, out=np.zeros_like(stored), where=self.weights > 0)
        total = inner(stored, r)
        if self.background:
            total += (inner(flat, flat) - inner(stored, stored)) / self.background
        return total


Block = DenseBlock | SparseBlock


def blocks_of(known: PartialLabels, rows: int) -> Iterator[Block]:
    """Cut what is known into blocks of so many rows."""
    starts = range(0, known.n_items, rows)
    if known.is_sparse:
        yield from _sparse_blocks(known, starts, rows)
        return
    for start in starts:
        codes, weights = known.block(start, start + rows)
        weight = codes != int(State.UNKNOWN) if weights is None else weights
        yield DenseBlock(start, start + len(codes), codes == int(State.PRESENT), weight)


def _sparse_blocks(known: PartialLabels, starts: range, rows: int) -> Iterator[Block]:
    """Cut the stored entries; what is unknown over an absent background is stored with weight 0."""
    entries = known.entries()
    hidden_rows, hidden_columns = known.hidden_entries()
    flat = np.concatenate(
        [
            entries.rows * known.n_labels + entries.columns,
            hidden_rows * known.n_labels + hidden_columns,
        ]
    )
    present = np.concatenate([entries.present, np.zeros(len(hidden_rows), dtype=bool)])
    weights = np.concatenate([entries.weights, np.zeros(len(hidden_rows))])
    order = np.argsort(flat, kind="stable")
    flat, present, weights = flat[order], present[order], weights[order]
    all_weigh_one = bool((weights == 1).all())
    cuts = np.searchsorted(flat, [start * known.n_labels for start in (*starts, known.n_items)])
    for start, low, high in zip(starts, cuts[:-1], cuts[1:], strict=True):
        yield SparseBlock(
            start,
            min(start + rows, known.n_items),
            (flat[low:high] - start * known.n_labels).astype(np.intp),
            present[low:high],
            None if all_weigh_one else weights[low:high],
            known.unlisted_weight,
            known.n_labels,
        )
