"""Products at the known entries only: the compiled kernel against the two dense products.

    OPENBLAS_NUM_THREADS=1 python benchmarks/sampled.py           all sizes (a few minutes)
    OPENBLAS_NUM_THREADS=1 python benchmarks/sampled.py --quick   the small size only

For each density: time of the kernel / time of the two dense products XM and X'R, one thread each,
taking turns, in the blocks of the loss. A dense gradient also masks R, so the kernel wins wherever
the ratio is below 1. Rows are used `as given`, or `aligned` to cache lines. Times are the least CPU
times of several runs, which other programs disturb less. GF/s counts 4 operations for each entry
and feature.
"""

import argparse
import os
import platform
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numba
import numpy as np
from scipy import sparse

from tagloom.optim.sampled import LabelEntries, add_products, aligned_zeros

SIZES = [(4500, 450, 260), (18689, 700, 268), (100_000, 256, 500)]
DENSITIES = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7]
BLOCK_ENTRIES = 1 << 18


class Problem(NamedTuple):
    """One problem, with matrices as given and aligned to cache lines."""

    X: np.ndarray
    Mt: np.ndarray
    X_aligned: np.ndarray
    Mt_aligned: np.ndarray
    blocks: list[tuple[slice, LabelEntries]]


def aligned(A: np.ndarray) -> np.ndarray:
    wide = aligned_zeros(*A.shape, A.dtype)
    wide[:, : A.shape[1]] = A
    return wide


def entries_by_block(
    rng: np.random.Generator, n: int, c: int, density: float, rows: int
) -> Iterator[tuple[slice, LabelEntries]]:
    for start in range(0, n, rows):
        stop = min(start + rows, n)
        V = sparse.csc_array(rng.random((stop - start, c), dtype=np.float32) < density)
        entries = LabelEntries(V.indptr.astype(np.int64), V.indices.astype(np.int32), None, 1.0)
        yield slice(start, stop), entries


def problem_of(size: tuple[int, int, int], density: float, dtype: type, rows: int) -> Problem:
    n, d, c = size
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=dtype)
    Mt = rng.standard_normal((c, d), dtype=dtype)
    blocks = list(entries_by_block(rng, n, c, density, rows))
    return Problem(X, Mt, aligned(X), aligned(Mt), blocks)


def run_kernel(X: np.ndarray, Mt: np.ndarray, problem: Problem) -> None:
    Gt, totals = aligned_zeros(*Mt.shape, Mt.dtype), np.zeros(len(Mt))
    if Gt.shape != Mt.shape:
        Gt = np.zeros_like(Mt)
    for where, entries in problem.blocks:
        add_products(X[where], Mt, entries, Gt, totals, 1)


def run_dense(problem: Problem, scores: np.ndarray) -> None:
    M, G = problem.Mt.T, np.zeros(problem.Mt.shape[::-1], dtype=problem.Mt.dtype)
    for where, _ in problem.blocks:
        X = problem.X[where]
        R = np.matmul(X, M, out=scores[: len(X)])
        G += X.T @ R


def least_seconds(runs: list[Callable[[], None]], repeats: int) -> list[float]:
    least = [float("inf")] * len(runs)
    for _ in range(repeats):
        for i, run in enumerate(runs):
            start = time.thread_time()
            run()
            least[i] = min(least[i], time.thread_time() - start)
    return least


def crossover(densities: list[float], ratios: list[float]) -> str:
    """Return the density at which the ratio reaches 1, on the line through the points around it."""
    if ratios[-1] < 1:
        return f"over {densities[-1]:.0%}"
    return f"{np.interp(1.0, ratios, densities):.0%}"


def compare(size: tuple[int, int, int], dtype: type, rows: int, repeats: int) -> None:
    n, d, c = size
    ratios = []
    scores = np.empty((rows, c), dtype=dtype)
    for density in DENSITIES:
        problem = problem_of(size, density, dtype, rows)
        runs = [
            lambda p=problem: run_dense(p, scores),
            lambda p=problem: run_kernel(p.X, p.Mt, p),
            lambda p=problem: run_kernel(p.X_aligned, p.Mt_aligned, p),
        ]
        dense, given, on_lines = least_seconds(runs, repeats)
        known = sum(int(entries.indptr[-1]) for _, entries in problem.blocks)
        work = 4e-9 * d
        ratios.append((given / dense, on_lines / dense))
        print(
            f"{n:6} {d:4} {c:4} {rows:6} {np.dtype(dtype).name:>8} {density:6.1%} "
            f"{work * n * c / dense:6.1f} {work * known / given:9.1f} "
            f"{work * known / on_lines:8.1f} {ratios[-1][0]:9.3f} {ratios[-1][1]:8.3f}",
            flush=True,
        )
    crossings = [crossover(DENSITIES, list(column)) for column in zip(*ratios, strict=True)]
    print(f"       as slow as the dense products at {crossings[0]} known, aligned {crossings[1]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the small size only")
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the fastest counts")
    parser.add_argument("--rows", type=int, help="rows of a block; those of the loss if not given")
    args = parser.parse_args()
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"numpy {np.__version__}, numba {numba.__version__}"
    )
    for dtype in (np.float32, np.float64):
        start = time.perf_counter()
        compile_for(dtype)
        print(f"compiled for {np.dtype(dtype).name} in {time.perf_counter() - start:.2f} s")
    print(
        f"{'n':>6} {'d':>4} {'c':>4} {'block':>6} {'dtype':>8} {'known':>6} {'dense':>6} "
        f"{'as given':>9} {'aligned':>8} {'as given':>9} {'aligned':>8}\n"
        f"{'':38} {'GF/s':>7} {'GF/s':>9} {'GF/s':>8} {'ratio':>9} {'ratio':>8}"
    )
    for size in SIZES[: 1 if args.quick else None]:
        for dtype in (np.float32, np.float64):
            rows = min(size[0], args.rows or BLOCK_ENTRIES // size[2])
            compare(size, dtype, rows, args.repeats)


def compile_for(dtype: type) -> None:
    one = np.ones((1, 1), dtype=dtype)
    entries = LabelEntries(np.array([0, 1]), np.zeros(1, dtype=np.int32), None, 1.0)
    add_products(one, one, entries, one.copy(), np.zeros(1), 1)


if __name__ == "__main__":
    main()
