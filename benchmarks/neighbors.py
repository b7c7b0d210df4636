"""Our neighbour searches beside those of other libraries: time, recall, memory, determinism.

Rows come in clusters of a hundred, with variances that decrease as after PCA; `--features` takes
the table of an .npz file instead and draws further rows between neighbours in it. Each search runs
in its own process, so that peak memory can be measured, and the rounds alternate. Wall-clock and
CPU seconds are printed: on a busy machine the latter are the better measure. Imports, compilation
and a first small search are timed apart ("at the start"). An index is built and asked for the
neighbours of its own rows, or of `--others` further rows.

With several rounds, or `--threads 1 2`, it is printed whether the neighbours were always the same.
The defaults of the libraries stop where they stop: `--effort 2` doubles what each calls its effort.

    python benchmarks/neighbors.py --rows 20000 100000 --rounds 3
    python benchmarks/neighbors.py --rows 1000000 --algorithms approximate pynndescent
"""

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

BRUTE = ("scikit-learn", "exact")
SAMPLE = 1000


def made_rows(n: int, d: int) -> np.ndarray:
    """Return clusters of a hundred rows whose columns have decreasing variances."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((max(1, n // 100), d), dtype=np.float32)
    X = rng.standard_normal((n, d), dtype=np.float32)
    for start in range(0, n, 50_000):
        some = X[start : start + 50_000]
        some += centres[rng.integers(len(centres), size=len(some))]
    X *= (np.arange(1, d + 1) ** -0.5).astype(np.float32)
    return X


def drawn_rows(path: Path, key: str, n: int, d: int) -> np.ndarray:
    """Return rows between the rows of a table and one of their ten neighbours, with noise."""
    from sklearn.decomposition import PCA

    from tagloom.neighbors import nearest_neighbors

    with np.load(path, allow_pickle=False) as file:
        table = file[key].astype(np.float32)
    table = PCA(d, svd_solver="covariance_eigh").fit_transform(table).astype(np.float32)
    near = nearest_neighbors(table, 10).indices
    noise, rng = table.std(axis=0) / 2, np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32)
    for start in range(0, n, 50_000):
        some = X[start : start + 50_000]
        one = rng.integers(len(table), size=len(some))
        other = near[one, rng.integers(10, size=len(some))]
        share = rng.random((len(some), 1), dtype=np.float32)
        some *= noise
        some += table[one] + share * (table[other] - table[one])
    return X


def memory(what: str) -> float:
    """Return a figure of this process's memory in MiB, as Linux reports it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) / 1024


Search = Callable[[np.ndarray, np.ndarray | None], np.ndarray]


def searcher(algorithm: str, k: int, threads: int, effort: float) -> Search:
    """Return a search for the neighbours of queries, or of all rows (a self-search)."""
    if algorithm in LIBRARIES:
        return LIBRARIES[algorithm](k, threads, effort)
    from tagloom.neighbors import exact, nearest_neighbors

    exact.cpu_count = lambda: threads
    return lambda X, queries: nearest_neighbors(X, k, queries, algorithm=algorithm).indices


def with_scikit_learn(k: int, threads: int, effort: float) -> Search:
    from sklearn.neighbors import NearestNeighbors
    from threadpoolctl import threadpool_limits

    threadpool_limits(threads)
    return lambda X, queries: (
        NearestNeighbors(n_neighbors=k, algorithm="brute")
        .fit(X)
        .kneighbors(queries, return_distance=False)
    )


def with_pynndescent(k: int, threads: int, effort: float) -> Search:
    """Return neighbour descent (Dong, Moses and Li 2011); effort is the number of trees."""
    from pynndescent import NNDescent

    def search(X: np.ndarray, queries: np.ndarray | None) -> np.ndarray:
        n_trees = None
        if effort != 1:  # the default number, times the effort
            n_trees = round(effort * min(32, 5 + round(len(X) ** 0.25)))
        index = NNDescent(X, n_neighbors=k + 1, random_state=0, n_trees=n_trees, n_jobs=threads)
        return index.neighbor_graph[0] if queries is None else index.query(queries, k)[0]

    return search


def with_hnswlib(k: int, threads: int, effort: float) -> Search:
    """Return a navigable graph (Malkov and Yashunin 2020); effort is the breadth of searches."""
    import hnswlib

    def search(X: np.ndarray, queries: np.ndarray | None) -> np.ndarray:
        index = hnswlib.Index(space="l2", dim=X.shape[1])
        index.init_index(len(X), ef_construction=round(100 * effort), M=16, random_seed=0)
        index.add_items(X, num_threads=threads)
        index.set_ef(round(100 * effort))
        asked = X if queries is None else queries
        return index.knn_query(asked, k + 1, num_threads=threads)[0].astype(np.int64)

    return search


def with_usearch(k: int, threads: int, effort: float) -> Search:
    """Return a navigable graph; effort is the breadth of searches."""
    from usearch.index import Index

    def search(X: np.ndarray, queries: np.ndarray | None) -> np.ndarray:
        index = Index(
            ndim=X.shape[1],
            metric="l2sq",
            dtype="f32",
            connectivity=16,
            expansion_add=round(100 * effort),
            expansion_search=round(100 * effort),
        )
        index.add(np.arange(len(X)), X, copy=False, threads=threads)
        asked = X if queries is None else queries
        return index.search(asked, k + 1, threads=threads).keys.astype(np.int64)

    return search


def with_faiss_hnsw(k: int, threads: int, effort: float) -> Search:
    """Return a navigable graph; effort is the breadth of searches."""
    import faiss

    def search(X: np.ndarray, queries: np.ndarray | None) -> np.ndarray:
        faiss.omp_set_num_threads(threads)
        index = faiss.IndexHNSWFlat(X.shape[1], 16)
        index.hnsw.efConstruction = index.hnsw.efSearch = round(100 * effort)
        index.add(X)
        return index.search(X if queries is None else queries, k + 1)[1]

    return search


def with_faiss_ivf(k: int, threads: int, effort: float) -> Search:
    """Return an inverted file (Jegou, Douze and Schmid 2011); effort is the cells visited."""
    import faiss

    def search(X: np.ndarray, queries: np.ndarray | None) -> np.ndarray:
        faiss.omp_set_num_threads(threads)
        n_cells = round(2 * len(X) ** 0.5)
        index = faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], n_cells)
        index.cp.niter = 10
        index.train(X)
        index.add(X)
        index.nprobe = min(n_cells, round(16 * effort))
        return index.search(X if queries is None else queries, k + 1)[1]

    return search


LIBRARIES: dict[str, Callable[[int, int, float], Search]] = {
    "scikit-learn": with_scikit_learn,
    "pynndescent": with_pynndescent,
    "hnswlib": with_hnswlib,
    "usearch": with_usearch,
    "faiss-hnsw": with_faiss_hnsw,
    "faiss-ivf": with_faiss_ivf,
}
ALGORITHMS = ("scikit-learn", "exact", "pynndescent", "approximate")


def search(
    algorithm: str, folder: Path, k: int, n_queries: int, threads: int, effort: float
) -> dict[str, float | str]:
    """Search for the neighbours of all rows, or of the first few; time, peak above rows, recall."""
    X, truth = np.load(folder / "rows.npy"), np.load(folder / "truth.npy")
    drawn, others = np.load(folder / "drawn.npy"), np.load(folder / "others.npy")
    queries = others if len(others) else X[:n_queries] if n_queries else None
    # Imports and compilation are timed apart, with a small search.
    started = time.process_time()
    search_in = searcher(algorithm, k, threads, effort)
    search_in(X[:3000].copy(), None if queries is None else queries[:2000].copy())
    started = time.process_time() - started
    baseline = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    clock, processors = time.perf_counter(), time.process_time()
    found = search_in(X, queries)
    clock, processors = time.perf_counter() - clock, time.process_time() - processors
    above = memory("VmHWM") - baseline
    factor = len(X) / n_queries if n_queries else 1.0
    recall = 1.0
    if not n_queries:
        pairs = zip(truth, found[drawn], strict=True)
        recall = sum(len(np.intersect1d(a, b)) for a, b in pairs) / truth.size
    return {
        "seconds": factor * clock,
        "cpu": factor * processors,
        "start": started,
        "mebibytes": above,
        "recall": recall,
        "digest": hashlib.sha256(np.ascontiguousarray(found, dtype=np.int64)).hexdigest(),
    }


def prepare(options: argparse.Namespace, n: int, folder: Path) -> None:
    """Write rows, further queries, a sample of positions and the true neighbours of these."""
    from tagloom.neighbors import nearest_neighbors

    k, n_all = options.neighbors, n + options.others
    if options.features:
        X = drawn_rows(options.features, options.key, n_all, options.columns)
    else:
        X = made_rows(n_all, options.columns)
    X, others = X[:n], X[n:]
    asked = others if len(others) else X
    n_drawn = min(len(asked), SAMPLE)
    drawn = np.sort(np.random.default_rng(1).choice(len(asked), n_drawn, replace=False))
    found = nearest_neighbors(X, k + 1, asked[drawn], algorithm="exact").indices
    own = np.zeros(found.shape, dtype=bool) if len(others) else found == drawn[:, None]
    own[~own.any(axis=1), -1] = True
    np.save(folder / "rows.npy", X)
    np.save(folder / "others.npy", others)
    np.save(folder / "drawn.npy", drawn)
    np.save(folder / "truth.npy", found[~own].reshape(len(drawn), k))


def in_subprocess(
    algorithm: str, folder: Path, k: int, n_queries: int, threads: int, effort: float
) -> dict[str, float | str]:
    """Run one search in its own process."""
    numbers = [str(number) for number in (k, n_queries, threads, effort)]
    command = [sys.executable, __file__, "--one", algorithm, str(folder), *numbers]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return dict(json.loads(answer.splitlines()[-1]))


def compare(options: argparse.Namespace, n: int) -> None:
    """Alternate the searches, and print the median of each."""
    few = options.queries if n > options.whole and not options.others else 0
    cases = [(a, t) for t in options.threads for a in options.algorithms]
    runs: dict[tuple[str, int], list[dict[str, float | str]]] = {case: [] for case in cases}
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        prepare(options, n, folder)
        for _ in range(options.rounds):
            for algorithm, threads in cases:
                n_queries = few if algorithm in BRUTE else 0
                run = in_subprocess(
                    algorithm, folder, options.neighbors, n_queries, threads, options.effort
                )
                runs[algorithm, threads].append(run)
                print(f"  {n:,} {algorithm} {threads} {run}", file=sys.stderr, flush=True)
    for (algorithm, threads), several in runs.items():
        digests = {run.pop("digest") for run in several}
        middle = {key: float(np.median([run[key] for run in several])) for key in several[0]}
        note = f"  extrapolated from {few:,} queries" if few and algorithm in BRUTE else ""
        print(
            f"{n:9,} rows  {algorithm:13s} {threads} threads  {middle['seconds']:8.1f} s  "
            f"cpu {middle['cpu']:8.1f} s + {middle['start']:4.1f} s at the start  "
            f"recall {middle['recall']:.4f}  "
            f"{middle['mebibytes']:7.0f} MiB  results {', '.join(sorted(d[:6] for d in digests))}"
            f"{note}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--columns", type=int, default=256)
    parser.add_argument("--neighbors", type=int, default=10)
    choices = (*LIBRARIES, "exact", "approximate")
    parser.add_argument("--algorithms", nargs="+", choices=choices, default=list(ALGORITHMS))
    parser.add_argument("--threads", type=int, nargs="+", default=[os.cpu_count() or 1])
    parser.add_argument("--effort", type=float, default=1.0, help="of the other libraries")
    parser.add_argument("--others", type=int, default=0, help="further rows as queries")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument(
        "--whole", type=int, default=200_000, help="most rows of a full brute force"
    )
    parser.add_argument("--queries", type=int, default=10_000, help="brute-force queries beyond")
    parser.add_argument("--features", type=Path, help=".npz with a table to draw rows from")
    parser.add_argument("--key", default="pooled", help="name of that table")
    parser.add_argument("--folder", type=Path, help="folder for temporary files")
    parser.add_argument("--one", nargs=6, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        algorithm, folder, k, n_queries, threads, effort = options.one
        numbers = int(k), int(n_queries), int(threads), float(effort)
        print(json.dumps(search(algorithm, Path(folder), *numbers)))
        return
    load = os.getloadavg()[0]
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {load:.1f}")
    for n in options.rows:
        compare(options, n)


if __name__ == "__main__":
    main()
