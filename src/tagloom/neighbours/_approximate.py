"""The approximate search with faiss: look only into the nearest cells of a partition."""

from importlib.util import find_spec
from math import sqrt
from typing import Any

import numpy as np

from tagloom.errors import TagloomError
from tagloom.neighbours._deciding import decide
from tagloom.neighbours._exact import exact_neighbours
from tagloom.neighbours._result import Floats, Matrix, Positions

# The search widens until this share of the true neighbours is found on the sample.
_RECALL = 0.98
_SAMPLE = 256
_QUERIES_AT_ONCE = 1 << 14
_SEED = 0


def faiss_is_installed() -> bool:
    """Say whether the approximate search is at hand."""
    return find_spec("faiss") is not None


def approximate_neighbours(
    base: Matrix, queries: Matrix, k: int
) -> tuple[Positions, Floats, float]:
    """Return neighbours, their squared distances and the recall measured on a sample.

    The rows are parted into about 4 sqrt(n) cells by k-means; a query looks into its nearest cells,
    their number doubled until the recall on the sample reaches 98 in 100.
    """
    index = _partition(base)
    sample = queries[_spread(len(queries), _SAMPLE)]
    truth = exact_neighbours(base, sample, k)[0]
    index.nprobe, recall = 1, 0.0
    while True:
        recall = _recall(truth, _search(index, base, sample, k)[0])
        if recall >= _RECALL or index.nprobe >= index.nlist:
            break
        index.nprobe = min(2 * index.nprobe, index.nlist)
    indices = np.empty((len(queries), k), dtype=np.int64)
    squares = np.empty((len(queries), k))
    for start in range(0, len(queries), _QUERIES_AT_ONCE):
        part = slice(start, start + _QUERIES_AT_ONCE)
        indices[part], squares[part] = _search(index, base, queries[part], k)
    return indices, squares, recall


def _partition(base: Matrix) -> Any:
    if not faiss_is_installed():
        raise TagloomError(
            "The approximate search needs faiss, which is not installed: install tagloom[faiss], "
            'or use method="exact".'
        )
    import faiss

    n_rows, n_features = base.shape
    n_cells = max(1, min(int(4 * sqrt(n_rows)), n_rows // 40))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(n_features), n_features, n_cells)
    index.cp.seed, index.cp.max_points_per_centroid = _SEED, 64
    index.cp.min_points_per_centroid = 1  # small tables are legitimate: no warning
    # Rounding differs with the number of threads, and k-means would carry it into the cells.
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        rows = np.ascontiguousarray(base, dtype=np.float32)
        index.train(rows)
    finally:
        faiss.omp_set_num_threads(threads)
    index.add(rows)
    return index


def _search(index: Any, base: Matrix, queries: Matrix, k: int) -> tuple[Positions, Floats]:
    """Search, then order what was found by distances in double precision."""
    _, found = index.search(np.ascontiguousarray(queries, dtype=np.float32), k)
    nprobe = index.nprobe
    while (found < 0).any():
        # The cells held fewer rows than were asked for: look further for these queries.
        short = np.flatnonzero((found < 0).any(axis=1))
        index.nprobe = min(2 * index.nprobe, index.nlist)
        _, found[short] = index.search(np.ascontiguousarray(queries[short], dtype=np.float32), k)
    index.nprobe = nprobe
    asker = np.repeat(np.arange(len(queries)), k)
    return decide(base, queries, asker, found.ravel().astype(np.int64), k)


def _spread(n: int, size: int) -> Positions:
    """Return positions spread evenly, without chance."""
    return np.unique(np.linspace(0, n - 1, min(n, size)).astype(np.int64))


def _recall(truth: Positions, found: Positions) -> float:
    hits = sum(len(np.intersect1d(t, f)) for t, f in zip(truth, found, strict=True))
    return hits / truth.size
