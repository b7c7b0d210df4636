"""The choice of how to go through what is known: a constant, single entries, or a whole table."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_info

from tagloom.labels import PartialLabels, State
from tagloom.optim import sampled
from tagloom.optim.blocks import Block, EntryBlock, MaskBlock
from tagloom.optim.sampled import LabelEntries

# A block of scores should stay in the processor's cache between the product that makes it, the
# masking and the product that uses it.
_BLOCK_SCORES = 1 << 18
# The compiled kernel has no scores to keep; it takes more rows at a time.
_BLOCK_FEATURES = 1 << 22
# Share of entries up to which the compiled kernel is quicker than products of whole blocks
# (benchmarks/sampled.py).
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
    compiled = n * c * n_features >= _WORTH_COMPILING and sampled.available()
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
