"""The weights W of the known labels, block by block, stored for fast products with the rows.

Weights are split into W = background + V with a constant background, which costs no pass over the
rows; V is stored entry by entry where it has few entries, else as a table. Every kind of block has
the same interface: `add_products` adds X'(V o XM) and its column sums, `add_weights` adds X'V and
its column sums.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom.labels import PartialLabels, State
from tagloom.linalg import Matrix, blas_threads
from tagloom.optim import sampled
from tagloom.optim.sampled import LabelEntries, add_products, aligned_zeros

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int8]

# A block of scores should stay in the processor's cache between the product that makes it, the
# masking and the product that uses it.
_BLOCK_SCORES = 1 << 18
# The compiled kernel keeps no scores, so it takes more rows at a time.
_BLOCK_FEATURES = 1 << 22
# Up to this share of stored entries the compiled kernel is faster than products of whole blocks
# (benchmarks/sampled.py).
_SAMPLED_UP_TO = 0.45
# A difference of sums over all rows and over the unknown entries loses digits where nearly all
# entries of a label are unknown.
_MOSTLY_UNKNOWN = 0.95
# Multiplications of a dense product that justify loading the compiled kernel.
_WORTH_COMPILING = 1 << 28
# Up to this share of stored entries a sparse product is faster than a dense one.
_SPARSE_UP_TO = 0.02
# Rows with so many features together stay in the cache of a core while they are used.
_CACHED_FEATURES = 1 << 18
_LEAST_CACHED_ROWS = 512
# Rows that are converted at a time.
_ROWS_AT_ONCE = 4096


class Rows:
    """X - 1 centre', without a copy where there is nothing to change.

    Whatever X is stored in, rows are used in double precision, converted and centred block by
    block, for a copy would be as large as X. Rows in single precision are converted once and kept,
    for most iterations use them.
    """

    def __init__(self, X: Matrix, centre: Floats | None = None) -> None:
        self.X = X
        self.centre = centre
        self._converted = X if centre is None and X.dtype == np.float64 else None

    def in_single_precision(self) -> "Rows":
        """Return the same rows in float32."""
        single = Rows(self.X, self.centre)
        exact = self.centre is None and self.X.dtype == np.float32
        single._converted = self.X if exact else _centred_single(self.X, self.centre)
        return single

    @property
    def padded_width(self) -> int:
        """Columns of a padded block."""
        return int((self.X if self._converted is None else self._converted).shape[1])

    def block(self, start: int, stop: int) -> Matrix:
        """Return some rows; a view where possible."""
        return self.padded_block(start, stop)[:, : self.X.shape[1]]

    def padded_block(self, start: int, stop: int) -> Matrix:
        """Return some rows, C-contiguous, perhaps padded by columns of 0."""
        if self._converted is not None:
            return np.ascontiguousarray(self._converted[start:stop])
        shift = 0.0 if self.centre is None else self.centre
        centred: Matrix = np.subtract(self.X[start:stop], shift, dtype=np.float64)
        return np.ascontiguousarray(centred)

    def small_blocks(self, start: int, stop: int) -> Iterator[tuple[slice, Matrix]]:
        """Yield some rows at a time, few enough for the cache, and where they are after `start`."""
        step = max(_LEAST_CACHED_ROWS, _CACHED_FEATURES // max(1, self.X.shape[1]))
        for first in range(start, stop, step):
            last = min(stop, first + step)
            yield slice(first - start, last - start), self.block(first, last)

    def sample(self, n_rows: int) -> Matrix:
        """Return so many rows, drawn at random but always the same."""
        chosen = np.random.default_rng(0).choice(len(self.X), n_rows, replace=False, shuffle=False)
        shift = 0.0 if self.centre is None else self.centre
        return np.subtract(self.X[np.sort(chosen)], shift, dtype=np.float64)

    def block_and_ones(self, start: int, stop: int) -> Matrix:
        """Return some rows in double precision, followed by a 1 and perhaps by columns of 0."""
        d = self.X.shape[1]
        found = aligned_zeros(stop - start, d + 1, np.float64)
        shift = 0.0 if self.centre is None else self.centre
        np.subtract(self.X[start:stop], shift, out=found[:, :d])
        found[:, d] = 1
        return found

    def largest(self) -> float:
        """Return the largest absolute feature, before centring."""
        return max(abs(float(self.X.max(initial=0))), abs(float(self.X.min(initial=0))))


def _centred_single(X: Matrix, centre: Floats | None) -> Matrix:
    """Return X - 1 centre' in float32, with rows aligned to cache lines."""
    n, d = X.shape
    centred = aligned_zeros(n, d, np.float32)
    shift = 0 if centre is None else centre.astype(X.dtype)
    for start in range(0, n, _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        np.subtract(X[rows], shift, out=centred[rows, :d], casting="same_kind")
    return centred


class Accumulator:
    """Sums over blocks: in the precision of X within a block, in double from block to block."""

    def __init__(self, n_features: int, n_labels: int) -> None:
        self.features = np.zeros((n_labels, n_features))
        """X'(V o XM), transposed."""
        self.total = np.zeros(n_labels)

    def add(self, X: Matrix, R: Any) -> None:
        """Add X'R and the column sums of R, which may be sparse."""
        self.features += R.T @ X
        self.total += R.sum(axis=0, dtype=np.float64)


class Coefficients:
    """M in the forms that blocks of at most `max_rows` rows need, each made on first use."""

    def __init__(self, M: Matrix, padded_width: int, max_rows: int) -> None:
        self.M = M
        self._padded_width = padded_width
        self._max_rows = max_rows

    @cached_property
    def transposed(self) -> Matrix:
        """M' with rows as wide as those of a padded block."""
        d, c = self.M.shape
        if self._padded_width == d:
            return np.ascontiguousarray(self.M.T)
        Mt = aligned_zeros(c, self._padded_width, self.M.dtype)
        Mt[:, :d] = self.M.T
        return Mt

    @cached_property
    def _buffer(self) -> Matrix:
        return np.empty((self._max_rows, self.M.shape[1]), dtype=self.M.dtype)

    def scores(self, X: Matrix) -> Matrix:
        """Return XM, in a buffer that the next call overwrites."""
        return np.matmul(X, self.M, out=self._buffer[: len(X)])


@dataclass(frozen=True)
class MaskBlock:
    """Many entries are known: V is a table of weights, or of booleans."""

    start: int
    stop: int
    weights: Floats | npt.NDArray[np.bool_]
    is_empty = False

    @property
    def least_weight(self) -> float:
        """The least entry of V."""
        return float(self.weights.min())

    def add_products(self, rows: Rows, coefficients: Coefficients, out: Accumulator) -> None:
        """Add X'(V o XM) and the column sums of V o XM."""
        X = rows.block(self.start, self.stop)
        R = coefficients.scores(X)
        R *= self.weights
        out.add(X, R)

    def add_weights(self, rows: Rows, out: Accumulator) -> None:
        """Add X'V and the column sums of V."""
        for here, X in rows.small_blocks(self.start, self.stop):
            out.add(X, self.weights[here].astype(X.dtype))

    def in_single_precision(self) -> "MaskBlock":
        """Return the block itself: its weights serve in any precision."""
        return self


@dataclass(frozen=True)
class EntryBlock:
    """Few entries are known: only those of V are stored, label by label."""

    start: int
    stop: int
    entries: LabelEntries
    n_threads: int
    """Threads of the compiled kernel; 0 for dense products without it."""

    @property
    def is_empty(self) -> bool:
        """Whether V is 0, so that there is nothing to add."""
        return len(self.entries.rows) == 0

    @property
    def least_weight(self) -> float:
        """The least entry of V; entries that are not stored are 0."""
        weights = self.entries.weights
        return min(0.0, self.entries.weight if weights is None else float(weights.min()))

    def add_products(self, rows: Rows, coefficients: Coefficients, out: Accumulator) -> None:
        """Add X'(V o XM) and the column sums of V o XM."""
        if self.n_threads:
            X, Mt = rows.padded_block(self.start, self.stop), coefficients.transposed
            self._add_sampled(X, Mt, out)
            return
        X = rows.block(self.start, self.stop)
        R = coefficients.scores(X)
        flat = R.reshape(-1)
        kept = flat[self._positions] * self._weights(X.dtype)
        flat.fill(0)
        flat[self._positions] = kept
        out.add(X, R)

    def _add_sampled(self, X: Matrix, Mt: Matrix, out: Accumulator) -> None:
        """Add the same, computed at the stored entries alone."""
        d = out.features.shape[1]
        part = aligned_zeros(len(Mt), Mt.shape[1], X.dtype) if X.shape[1] > d else np.zeros_like(Mt)
        add_products(X, Mt, self.entries, part, out.total, self.n_threads)
        out.features += part[:, :d]

    def add_weights(self, rows: Rows, out: Accumulator) -> None:
        """Add X'V and the column sums of V."""
        shape = (self.stop - self.start, len(out.total))
        few = len(self.entries.rows) < _SPARSE_UP_TO * shape[0] * shape[1]
        if self.n_threads and not few:
            self._add_weights_sampled(rows, out)
            return
        weights = np.broadcast_to(self._weights(np.dtype(np.float64)), len(self.entries.rows))
        V = sparse.csc_array((weights, self.entries.rows, self.entries.indptr), shape=shape)
        # Row by row, X is read once and in order, and the sums stay in the cache.
        by_row = V.tocsr()
        for here, X in rows.small_blocks(self.start, self.stop):
            out.add(X, by_row[here] if few else by_row[here].toarray())

    def _add_weights_sampled(self, rows: Rows, out: Accumulator) -> None:
        """Add the same as products with the M for which all scores are 1."""
        d = out.features.shape[1]
        X = rows.block_and_ones(self.start, self.stop)
        Mt = aligned_zeros(len(out.total), X.shape[1], X.dtype)
        Mt[:, d] = 1
        self._add_sampled(X, Mt, out)

    def in_single_precision(self) -> "EntryBlock":
        """Return the same block with weights in float32."""
        if self.entries.weights is None:
            return self
        weights = self.entries.weights.astype(np.float32)
        return replace(self, entries=self.entries._replace(weights=weights))

    @cached_property
    def _positions(self) -> npt.NDArray[np.intp]:
        """The positions of the entries in the flattened table of the block."""
        n_labels = len(self.entries.indptr) - 1
        columns = np.repeat(np.arange(n_labels), np.diff(self.entries.indptr))
        return self.entries.rows * np.intp(n_labels) + columns

    def _weights(self, dtype: np.dtype[Any]) -> Matrix:
        if self.entries.weights is None:
            return np.asarray(self.entries.weight, dtype=dtype)
        return self.entries.weights.astype(dtype, copy=False)


Block = MaskBlock | EntryBlock


@dataclass(frozen=True)
class BlockPlan:
    """How W = background + V is cut into blocks."""

    background: float
    by_entry: bool
    """Whether V is stored entry by entry rather than as a table."""
    n_threads: int
    """Threads of the compiled kernel; 0 for dense products."""
    n_rows: int
    """Rows of a block."""

    def in_single_precision(self) -> "BlockPlan":
        """Return the plan with a background that float32 represents exactly."""
        return replace(self, background=float(np.float32(self.background)))


def plan_blocks(known: PartialLabels, n_features: int) -> BlockPlan:
    """Choose the background and how V is stored.

    Tag lists whose unlisted tags are absent have a constant background, and so has a table without
    unknown entries. A table with few unknown entries is such a constant minus those entries.
    """
    n, c = known.shape
    compiled = n * c * n_features >= _WORTH_COMPILING and sampled.available()
    if known.is_sparse:
        return _plan_by_entry(known, known.unlisted_weight, n_features, compiled)
    unknown = known.counts().unknown / max(1, n)
    share_unknown = float(unknown.mean()) if c else 0.0
    weighted = known.block(0, n)[1] is not None
    few = compiled and share_unknown <= _SAMPLED_UP_TO and unknown.max() <= _MOSTLY_UNKNOWN
    if not weighted and (share_unknown == 0 or few):
        return _plan_by_entry(known, 1.0, n_features, compiled)
    if compiled and 1 - share_unknown <= _SAMPLED_UP_TO:
        return _plan_by_entry(known, 0.0, n_features, compiled)
    return BlockPlan(0.0, False, 0, _block_rows(n, _BLOCK_SCORES, c))


def _plan_by_entry(
    known: PartialLabels, background: float, n_features: int, compiled: bool
) -> BlockPlan:
    n, c = known.shape
    if not compiled:
        return BlockPlan(background, True, 0, _block_rows(n, _BLOCK_SCORES, c))
    # A table is read in blocks of all labels, too.
    width = n_features if known.is_sparse else max(n_features, c)
    # The kernel takes no more threads than BLAS may use.
    return BlockPlan(background, True, blas_threads(), _block_rows(n, _BLOCK_FEATURES, width))


def _block_rows(n: int, entries: int, width: int) -> int:
    return max(1, min(n, entries // max(1, width)))


def cut_blocks(known: PartialLabels, plan: BlockPlan) -> Iterator[Block]:
    """Yield V, block by block."""
    if known.is_sparse:
        yield from _cut_entries(known, plan)
        return
    for start in range(0, known.n_items, plan.n_rows):
        codes, weights = known.block(start, start + plan.n_rows)
        stop = start + len(codes)
        if plan.by_entry:
            yield _entry_block(start, stop, _differing(codes, weights, plan.background), plan)
        else:
            known_here = codes != int(State.UNKNOWN) if weights is None else weights
            yield MaskBlock(start, stop, known_here)


def _differing(codes: Codes, weights: Floats | None, background: float) -> sparse.csc_array:
    """Return W - background of a table, without the entries that are 0."""
    if weights is None and background in (0.0, 1.0):
        # A constant at the unknown entries, or at the known ones.
        differ = (codes == int(State.UNKNOWN)) == bool(background)
        rows, columns = np.divmod(np.flatnonzero(differ), max(1, codes.shape[1]))
        values = np.full(len(rows), 1.0 - 2.0 * background)
        return sparse.csc_array((values, (rows, columns)), shape=codes.shape)
    W = codes != int(State.UNKNOWN) if weights is None else weights
    return sparse.csc_array(W - background)


def _cut_entries(known: PartialLabels, plan: BlockPlan) -> Iterator[Block]:
    """Cut stored entries; unknown entries over an absent background have weight 0."""
    entries = known.entries()
    rows, columns, weights = entries.rows, entries.columns, entries.weights
    hidden_rows, hidden_columns = known.hidden_entries()
    if len(hidden_rows):
        rows = np.concatenate([rows, hidden_rows])
        columns = np.concatenate([columns, hidden_columns])
        weights = np.concatenate([weights, np.zeros(len(hidden_rows))])
    weights = weights - plan.background if plan.background else weights
    differ = weights != 0
    if not differ.all():
        rows, columns, weights = rows[differ], columns[differ], weights[differ]
    V = sparse.csr_array((weights, (rows, columns)), shape=known.shape)
    for start in range(0, known.n_items, plan.n_rows):
        stop = min(start + plan.n_rows, known.n_items)
        yield _entry_block(start, stop, V[start:stop].tocsc(), plan)


def _entry_block(start: int, stop: int, V: sparse.csc_array, plan: BlockPlan) -> EntryBlock:
    """Store entries label by label; converted from rows, their row numbers ascend in each label."""
    same = V.nnz == 0 or bool((V.data == V.data[0]).all())
    common = float(V.data[0]) if V.nnz and same else 1.0
    entries = LabelEntries(
        V.indptr.astype(np.int64), V.indices.astype(np.int32), None if same else V.data, common
    )
    return EntryBlock(start, stop, entries, plan.n_threads)
