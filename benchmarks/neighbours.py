"""Our neighbour search beside scikit-learn's brute force: time, recall, memory.

Rows lie near a curved surface of 16 dimensions, as descriptors do; each search runs in a process of
its own, so that its peak of memory is its own.

    python benchmarks/neighbours.py --rows 20000 100000
"""

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np


def rows_of(n: int, d: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((n, 16)).astype(np.float32)
    X = np.tanh(latent @ rng.standard_normal((16, d)).astype(np.float32) / 4)
    X += 0.1 * rng.standard_normal((n, d)).astype(np.float32)
    return X


def search(method: str, n: int, d: int, k: int) -> dict[str, float]:
    """Search for the neighbours of all rows; seconds, peak memory above the rows, recall."""
    from sklearn.neighbors import NearestNeighbors

    from tagloom.neighbours import nearest_neighbours

    X = rows_of(n, d)
    nearest_neighbours(X[:100], 5)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    recall = 1.0
    if method == "scikit-learn":
        NearestNeighbors(n_neighbors=k, algorithm="brute").fit(X).kneighbors()
    else:
        recall = nearest_neighbours(X, k, method=method).recall
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": seconds, "mebibytes": (after - before) / 1024, "recall": recall}


def apart(method: str, n: int, d: int, k: int) -> dict[str, float]:
    """Run one search in a process of its own."""
    command = [sys.executable, __file__, "--one", method, str(n), str(d), str(k)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return dict(json.loads(answer))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--columns", type=int, default=128)
    parser.add_argument("--neighbours", type=int, default=50)
    parser.add_argument("--methods", nargs="+", default=["scikit-learn", "exact", "ivf"])
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        method, *sizes = options.one
        print(json.dumps(search(method, *map(int, sizes))))
        return
    for n in options.rows:
        base = None
        for method in options.methods:
            found = apart(method, n, options.columns, options.neighbours)
            base = base or found["seconds"]
            print(
                f"{n:9,} rows  {method:13s} {found['seconds']:8.1f} s  "
                f"{base / found['seconds']:5.2f} x  recall {found['recall']:.4f}  "
                f"{found['mebibytes']:7.0f} MiB",
                flush=True,
            )


if __name__ == "__main__":
    main()
