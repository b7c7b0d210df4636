"""Our neighbour searches beside scikit-learn's brute force and pynndescent: time, recall, memory.

Rows come in clusters of a hundred, with variances that decrease as after PCA; `--features` takes
the table of an .npz file instead and draws further rows between neighbours in it. Each search runs
in its own process, so that peak memory can be measured, and the rounds alternate. Wall-clock and
CPU seconds are printed: on a busy machine the latter are the better measure.

    python benchmarks/neighbors.py --rows 20000 100000 --rounds 3
    python benchmarks/neighbors.py --rows 1000000 --algorithms approximate pynndescent
"""

import argparse
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

ALGORITHMS = ("scikit-learn", "exact", "pynndescent", "approximate")
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


def searcher(algorithm: str, k: int) -> Callable[[np.ndarray, np.ndarray | None], np.ndarray]:
    """Return a search for the neighbours of queries, or of all rows (a self-search)."""
    if algorithm == "scikit-learn":
        from sklearn.neighbors import NearestNeighbors

        return lambda X, queries: (
            NearestNeighbors(n_neighbors=k, algorithm="brute")
            .fit(X)
            .kneighbors(queries, return_distance=False)
        )
    if algorithm == "pynndescent":
        from pynndescent import NNDescent

        return lambda X, queries: NNDescent(X, n_neighbors=k + 1, random_state=0).neighbor_graph[0]
    from tagloom.neighbors import nearest_neighbors

    return lambda X, queries: nearest_neighbors(X, k, queries, algorithm=algorithm).indices


def search(algorithm: str, folder: Path, k: int, n_queries: int) -> dict[str, float]:
    """Search for the neighbours of all rows, or of the first few; time, peak above rows, recall."""
    X = np.load(folder / "rows.npy")
    drawn, truth = np.load(folder / "drawn.npy"), np.load(folder / "truth.npy")
    search_in = searcher(algorithm, k)
    search_in(X[:3000].copy(), None)  # compilation and imports are not timed
    queries = X[:n_queries] if n_queries else None
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
        "mebibytes": above,
        "recall": recall,
    }


def prepare(options: argparse.Namespace, n: int, folder: Path) -> None:
    """Write the rows, a sample of their positions and the true neighbours of these."""
    from tagloom.neighbors import nearest_neighbors

    if options.features:
        X = drawn_rows(options.features, options.key, n, options.columns)
    else:
        X = made_rows(n, options.columns)
    drawn = np.sort(np.random.default_rng(1).choice(n, min(n, SAMPLE), replace=False))
    k = options.neighbors
    found = nearest_neighbors(X, k + 1, X[drawn], algorithm="exact").indices
    own = found == drawn[:, None]
    own[~own.any(axis=1), -1] = True
    np.save(folder / "rows.npy", X)
    np.save(folder / "drawn.npy", drawn)
    np.save(folder / "truth.npy", found[~own].reshape(len(drawn), k))


def in_subprocess(algorithm: str, folder: Path, k: int, n_queries: int) -> dict[str, float]:
    """Run one search in its own process."""
    command = [sys.executable, __file__, "--one", algorithm, str(folder), str(k), str(n_queries)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return dict(json.loads(answer.splitlines()[-1]))


def compare(options: argparse.Namespace, n: int) -> None:
    """Alternate the searches, and print the median of each."""
    few = options.queries if n > options.whole else 0
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        prepare(options, n, folder)
        runs: dict[str, list[dict[str, float]]] = {
            algorithm: [] for algorithm in options.algorithms
        }
        for _ in range(options.rounds):
            for algorithm in options.algorithms:
                n_queries = few if algorithm in BRUTE else 0
                runs[algorithm].append(
                    in_subprocess(algorithm, folder, options.neighbors, n_queries)
                )
                print(f"  {n:,} {algorithm} {runs[algorithm][-1]}", file=sys.stderr, flush=True)
    for algorithm, several in runs.items():
        middle = {key: float(np.median([run[key] for run in several])) for key in several[0]}
        note = f"  extrapolated from {few:,} queries" if few and algorithm in BRUTE else ""
        print(
            f"{n:9,} rows  {algorithm:13s} {middle['seconds']:8.1f} s  cpu {middle['cpu']:8.1f} s  "
            f"recall {middle['recall']:.4f}  {middle['mebibytes']:7.0f} MiB{note}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--columns", type=int, default=256)
    parser.add_argument("--neighbors", type=int, default=10)
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=list(ALGORITHMS))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument(
        "--whole", type=int, default=200_000, help="most rows of a full brute force"
    )
    parser.add_argument("--queries", type=int, default=10_000, help="brute-force queries beyond")
    parser.add_argument("--features", type=Path, help=".npz with a table to draw rows from")
    parser.add_argument("--key", default="pooled", help="name of that table")
    parser.add_argument("--folder", type=Path, help="folder for temporary files")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        algorithm, folder, k, n_queries = options.one
        print(json.dumps(search(algorithm, Path(folder), int(k), int(n_queries))))
        return
    load = os.getloadavg()[0]
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {load:.1f}")
    for n in options.rows:
        compare(options, n)


if __name__ == "__main__":
    main()
