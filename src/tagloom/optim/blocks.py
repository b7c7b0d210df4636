"""What is known of some consecutive rows, in the form in which its products are made.

Every kind of block has one face: `add_products` adds X'(V o XM) and its column sums, `add_weights`
adds X'V and its column sums, where V holds the weights of the block but for a constant that the
caller accounts for.
"""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from threadpoolctl import threadpool_info

from tagloom.labels import PartialLabels, State
from tagloom.optim import rows
from tagloom.optim.penalties import Matrix
from tagloom.optim.rows import (
    LabelEntries,
    LossSums,
    ProductSums,
    Rows,
    add_products,
    aligned_zeros,
)

# §§ main blocks


# Up to this share of stored entries a sparse product is quicker than a whole one.
_FEW = 0.02
# Entries of a table that is written out for a product.
_DENSE_ENTRIES = 1 << 20


class Accumulated:
    """Sums over blocks: in the precision of X within a block, in double from block to block."""

    def __init__(self, n_features: int, n_labels: int) -> None:
        self.features = np.zeros((n_labels, n_features))
        """X'(V o XM), transposed."""
        self.total = np.zeros(n_labels)

    def add(self, X: Matrix, R: Matrix) -> None:
        """Add X'R and the column sums of R."""
        self.features += R.T @ X
        self.total += R.sum(axis=0, dtype=np.float64)


class Factor:
    """M, ready to meet the blocks of some rows; `rows_at_once` is the length of the longest."""

    def __init__(self, M: Matrix, width: int, rows_at_once: int) -> None:
        self.M = M
        self._width = width
        self._rows_at_once = rows_at_once

    @cached_property
    def transposed(self) -> Matrix:
        """M' in rows as wide as those of a wide block."""
        d, c = self.M.shape
        if self._width == d:
            return np.ascontiguousarray(self.M.T)
        Mt = aligned_zeros(c, self._width, self.M.dtype)
        Mt[:, :d] = self.M.T
        return Mt

    @cached_property
    def _scratch(self) -> Matrix:
        return np.empty((self._rows_at_once, self.M.shape[1]), dtype=self.M.dtype)

    def scores(self, X: Matrix) -> Matrix:
        """Return XM, in memory that the next call uses again."""
        return np.matmul(X, self.M, out=self._scratch[: len(X)])


@dataclass(frozen=True)
class MaskBlock:
    """Many entries are known: a weight, or a byte, for every entry."""

    start: int
    stop: int
    weights: npt.NDArray[np.float64] | npt.NDArray[np.bool_]
    is_empty = False

    @property
    def least_offset(self) -> float:
        """The least entry of V."""
        return float(self.weights.min())

    def add_products(self, rows: Rows, factor: Factor, out: Accumulated) -> None:
        """Add X'(V o XM) and the column sums of V o XM."""
        X = rows.block(self.start, self.stop)
        R = factor.scores(X)
        R *= self.weights
        out.add(X, R)

    def add_weights(self, rows: Rows, out: Accumulated) -> None:
        """Add X'V and the column sums of V."""
        X = rows.block(self.start, self.stop)
        out.add(X, self.weights.astype(X.dtype))

    def in_single_precision(self) -> "MaskBlock":
        """Return the same block, whose weights serve in any precision."""
        return self


@dataclass(frozen=True)
class EntryBlock:
    """Few entries are known: only those are stored, label by label."""

    start: int
    stop: int
    entries: LabelEntries
    n_threads: int
    """Threads of the compiled kernel; 0 where there is none and dense products are used."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is stored, so that there is nothing to add."""
        return len(self.entries.rows) == 0

    @property
    def least_offset(self) -> float:
        """The least entry of V: what is not stored is 0."""
        weights = self.entries.weights
        return min(0.0, self.entries.weight if weights is None else float(weights.min()))

    def add_products(self, rows: Rows, factor: Factor, out: Accumulated) -> None:
        """Add X'(V o XM) and the column sums of V o XM."""
        if self.n_threads:
            self._add_sampled(rows.wide_block(self.start, self.stop), factor.transposed, out)
            return
        X = rows.block(self.start, self.stop)
        R = factor.scores(X)
        flat = R.reshape(-1)
        kept = flat[self._places] * self._offsets(X.dtype)
        flat.fill(0)
        flat[self._places] = kept
        out.add(X, R)

    def _add_sampled(self, X: Matrix, Mt: Matrix, out: Accumulated) -> None:
        """Add the same, computed at the stored entries alone."""
        d = out.features.shape[1]
        part = aligned_zeros(len(Mt), d, X.dtype) if X.shape[1] > d else np.zeros_like(Mt)
        add_products(X, Mt, self.entries, part, out.total, self.n_threads)
        out.features += part[:, :d]

    def add_weights(self, rows: Rows, out: Accumulated) -> None:
        """Add X'V and the column sums of V."""
        X = rows.block(self.start, self.stop)
        offsets = np.broadcast_to(self._offsets(X.dtype), len(self.entries.rows))
        shape = (len(X), len(out.total))
        V = sparse.csc_array((offsets, self.entries.rows, self.entries.indptr), shape=shape).tocsr()
        if V.nnz < _FEW * X.shape[0] * shape[1]:
            out.features += V.T @ X
            out.total += V.sum(axis=0, dtype=np.float64)
            return
        step = max(1, _DENSE_ENTRIES // shape[1])
        for start in range(0, len(X), step):
            out.add(X[start : start + step], V[start : start + step].toarray())

    def in_single_precision(self) -> "EntryBlock":
        """Return the same block with weights in float32."""
        if self.entries.weights is None:
            return self
        weights = self.entries.weights.astype(np.float32)
        return replace(self, entries=self.entries._replace(weights=weights))

    @cached_property
    def _places(self) -> npt.NDArray[np.intp]:
        """The places of the entries in the table of the block, counted row by row."""
        n_labels = len(self.entries.indptr) - 1
        columns = np.repeat(np.arange(n_labels), np.diff(self.entries.indptr))
        return self.entries.rows * np.intp(n_labels) + columns

    def _offsets(self, dtype: np.dtype[Any]) -> Matrix:
        if self.entries.weights is None:
            return np.asarray(self.entries.weight, dtype=dtype)
        return self.entries.weights.astype(dtype, copy=False)


Block = MaskBlock | EntryBlock


# §§ weighing
# The choice of how to go through what is known: a constant, single entries, or a whole table.


# A block of scores should stay in the processor's cache between the product that makes it, the
# masking and the product that uses it.
_BLOCK_SCORES = 1 << 18
# The compiled kernel has no scores to keep; it takes more rows at a time.
_BLOCK_FEATURES = 1 << 22
# Share of entries up to which the compiled kernel is quicker than products of whole blocks
# (benchmarks/rows.py).
_SAMPLED_UP_TO = 0.45
# A difference of sums over all rows and over the gaps loses digits where nearly all are gaps.
_GAPS_OF_A_LABEL = 0.95
# So many multiplications of a whole product are worth the loading of the compiled kernel.
_WORTH_COMPILING = 1 << 28


@dataclass(frozen=True)
class Weighing:
    """W = background + V: how the blocks of V are stored."""

    background: float
    by_entry: bool
    """Whether V is stored entry by entry, and not as a table."""
    n_threads: int
    """Threads of the compiled kernel; 0 for products of whole blocks."""
    rows: int
    """Rows of a block."""

    def in_single_precision(self) -> "Weighing":
        """Return the same with a background that single precision can hold."""
        return replace(self, background=float(np.float32(self.background)))


def weighing_of(known: PartialLabels, n_features: int) -> Weighing:
    """Choose the constant part of the weights and how the rest is gone through.

    A constant costs no pass over the rows: lists whose unlisted tags are absent have it, and so has
    a table without gaps. A table with few gaps is such a constant minus the gaps.
    """
    n, c = known.shape
    compiled = n * c * n_features >= _WORTH_COMPILING and rows.available()
    if known.is_sparse:
        return _by_entry(known, known.unlisted_weight, n_features, compiled)
    unknown = known.counts().unknown / max(1, n)
    gaps = float(unknown.mean()) if c else 0.0
    weighted = known.block(0, n)[1] is not None
    few = compiled and gaps <= _SAMPLED_UP_TO and unknown.max() <= _GAPS_OF_A_LABEL
    if not weighted and (gaps == 0 or few):
        return _by_entry(known, 1.0, n_features, compiled)
    if compiled and 1 - gaps <= _SAMPLED_UP_TO:
        return _by_entry(known, 0.0, n_features, compiled)
    return Weighing(0.0, False, 0, _rows(n, _BLOCK_SCORES, c))


def _by_entry(known: PartialLabels, background: float, n_features: int, compiled: bool) -> Weighing:
    n, c = known.shape
    threads = _blas_threads() if compiled else 0
    rows = _rows(n, _BLOCK_SCORES, c)
    if compiled:
        # A table is read in blocks of all labels, too.
        width = n_features if known.is_sparse else max(n_features, c)
        rows = _rows(n, _BLOCK_FEATURES, width)
    return Weighing(background, True, threads, rows)


def _rows(n: int, numbers: int, width: int) -> int:
    return max(1, min(n, numbers // max(1, width)))


def _blas_threads() -> int:
    """Return how many threads the linear algebra may use: the kernel takes no more."""
    pools = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    return max(1, min(pools, default=1))


def blocks_of(known: PartialLabels, weighing: Weighing) -> Iterator[Block]:
    """Cut what is known into blocks."""
    if known.is_sparse:
        yield from _stored_blocks(known, weighing)
        return
    for start in range(0, known.n_items, weighing.rows):
        codes, weights = known.block(start, start + weighing.rows)
        stop = start + len(codes)
        W = codes != int(State.UNKNOWN) if weights is None else weights
        if not weighing.by_entry:
            yield MaskBlock(start, stop, W)
            continue
        V = sparse.csc_array(W - weighing.background)
        yield _entry_block(start, stop, V, weighing)


def _stored_blocks(known: PartialLabels, weighing: Weighing) -> Iterator[Block]:
    """Cut stored entries; what is unknown over an absent background weighs 0."""
    entries = known.entries()
    hidden_rows, hidden_columns = known.hidden_entries()
    rows = np.concatenate([entries.rows, hidden_rows])
    columns = np.concatenate([entries.columns, hidden_columns])
    offsets = np.concatenate([entries.weights, np.zeros(len(hidden_rows))]) - weighing.background
    differ = offsets != 0
    where = (rows[differ], columns[differ])
    stored = sparse.csr_array((offsets[differ], where), shape=known.shape)
    for start in range(0, known.n_items, weighing.rows):
        stop = min(start + weighing.rows, known.n_items)
        yield _entry_block(start, stop, stored[start:stop].tocsc(), weighing)


def _entry_block(start: int, stop: int, V: sparse.csc_array, weighing: Weighing) -> EntryBlock:
    """Store entries label by label; from rows, columns come out with ascending rows."""
    same = V.nnz == 0 or bool((V.data == V.data[0]).all())
    common = float(V.data[0]) if V.nnz and same else 1.0
    entries = LabelEntries(
        V.indptr.astype(np.int64), V.indices.astype(np.int32), None if same else V.data, common
    )
    return EntryBlock(start, stop, entries, weighing.n_threads)


# §§ part
# Rows that lie in memory, with what is known of them.


# Less than this share of the background's weight is the rounding of a label that is all unknown.
_NO_WEIGHT = 1e-12

Floats = npt.NDArray[np.float64]


class Part:
    """The rows X, moved to `centre`, and the weights W = background + V of their labels.

    X'(W o XM) = background (X'X) M + X'(V o XM): the first costs nothing that grows with the rows,
    the second is made block by block.
    """

    def __init__(self, X: Matrix, known: PartialLabels, centre: Floats | None = None) -> None:
        self.known = known
        self.centre = centre
        self._rows = Rows(X, centre)
        self._weighing = weighing_of(known, X.shape[1])
        if X.dtype == np.float32:
            self._weighing = self._weighing.in_single_precision()
        blocks = blocks_of(known, self._weighing)
        if X.dtype == np.float32:
            blocks = (block.in_single_precision() for block in blocks)
        self._blocks = list(blocks)
        self.dtype: np.dtype[Any] = X.dtype

    def in_single_precision(self) -> "Part":
        """Return the same rows, summed in float32."""
        _ = self._moments  # found in the precision of X, for both
        single = copy(self)
        single._rows = self._rows.in_single_precision()
        single._blocks = [block.in_single_precision() for block in self._blocks]
        single.dtype = np.dtype(np.float32)
        # Offsets of single precision must cancel the background to the last bit.
        single._weighing = self._weighing.in_single_precision()
        return single

    def products(self, M: Matrix) -> ProductSums:
        """Return X'(W o XM) and 1'(W o XM)."""
        found = Accumulated(*M.shape)
        factor = Factor(M, self._rows.width, self._weighing.rows)
        for block in self._stored:
            block.add_products(self._rows, factor, found)
        features = found.features.T.astype(self.dtype)
        if w := self._weighing.background:
            gram, total = self._moments
            features += w * (gram.astype(self.dtype, copy=False) @ M)
            found.total += w * (total @ M)
        return ProductSums(features, found.total)

    def sums(self) -> LossSums:
        """Return the sums that do not depend on M."""
        gram, total = self._moments
        n, d = self._rows.X.shape
        found = Accumulated(d, self.known.n_labels)
        for block in self._stored:
            block.add_weights(self._rows, found)
        w = self._weighing.background
        weight = found.total + w * n
        weight[weight < _NO_WEIGHT * w * n] = 0
        present, present_features = self._presences()
        return LossSums(
            n_items=n,
            weight=weight,
            present=present,
            weighted_features=found.features.T + w * total[:, None],
            present_features=present_features,
            second_moments=gram,
            total=total,
            largest=self._rows.largest(),
            least_weight=min((block.least_offset for block in self._stored), default=0.0) + w,
        )

    @property
    def _stored(self) -> list[Block]:
        """The blocks that hold anything beside the background."""
        return [block for block in self._blocks if not block.is_empty]

    @cached_property
    def _moments(self) -> tuple[Floats, Floats]:
        """X'X and 1'X, products in the precision of X, sums in double."""
        d = self._rows.X.shape[1]
        gram, total = np.zeros((d, d)), np.zeros(d)
        for block in self._blocks:
            X = self._rows.block(block.start, block.stop)
            gram += X.T @ X
            total += X.sum(axis=0, dtype=np.float64)
        return gram, total

    def _presences(self) -> tuple[Floats, Floats]:
        """Return the sums of w_ij y_ij and of w_ij y_ij x_i over the rows."""
        d = self._rows.X.shape[1]
        present, features = np.zeros(self.known.n_labels), np.zeros((self.known.n_labels, d))
        for start, stop, Y in _present_weights(self.known, self._weighing.rows):
            present += Y.sum(axis=0)
            features += Y.T @ self._rows.block(start, stop)
        return present, features.T


def _present_weights(
    known: PartialLabels, step: int
) -> Iterator[tuple[int, int, sparse.csr_array]]:
    """Yield W o Y, so many rows at a time."""
    stored = _stored_presences(known) if known.is_sparse else None
    for start in range(0, known.n_items, step):
        stop = min(known.n_items, start + step)
        if stored is not None:
            yield start, stop, stored[start:stop]
            continue
        codes, weights = known.block(start, stop)
        rows, columns = np.nonzero(codes == int(State.PRESENT))
        values = np.ones(len(rows)) if weights is None else weights[rows, columns]
        yield start, stop, sparse.csr_array((values, (rows, columns)), shape=codes.shape)


def _stored_presences(known: PartialLabels) -> sparse.csr_array:
    entries = known.entries()
    present = entries.present
    where = (entries.rows[present], entries.columns[present])
    return sparse.csr_array((entries.weights[present], where), shape=known.shape)
