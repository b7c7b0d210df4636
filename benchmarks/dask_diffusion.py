"""Semantic diffusion on a local Dask cluster: what each step costs a worker, and what it finds.

    python benchmarks/dask_diffusion.py
        processor time per row of each step, twice as many rows each time, and in memory
    python benchmarks/dask_diffusion.py --recall FILE [FILE ...]
        the inverted file against all pairs on the features ("pooled") of .npz files

Workers are processes with one thread each. Processor time is theirs alone, without the client and
the scheduler, and hardly depends on what else the machine does; seconds do. Memory is the highest
peak of a worker above its memory before: Linux only.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, wait

from dask_cluster import MEGA, cluster_of, resident, start_of_peak
from tagloom import dask as tagloom_dask
from tagloom.dask.blocks import row_blocks
from tagloom.dask.graph import affinity_graph
from tagloom.dask.neighbors import InvertedFile, Search
from tagloom.models import SemanticDiffusion
from tagloom.neighbors import nearest_neighbors

N_NEIGHBORS = 20
PARAMETERS = {"kernel": "rbf", "n_components": 400, "n_passes": 1, "n_neighbors": N_NEIGHBORS}


class Cost:
    """Processor time of all workers, seconds and memory of what runs inside the block."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def of(self, action: Callable[[], Any]) -> Any:
        """Run an action and keep what it cost."""
        idle = self._client.run(start_of_peak)
        before, start = self._client.run(time.process_time), time.perf_counter()
        result = action()
        self.seconds = time.perf_counter() - start
        after, peak = self._client.run(time.process_time), self._client.run(resident, "VmHWM")
        self.cpu = sum(after[worker] - before[worker] for worker in after)
        self.peak = max(peak[worker] - idle[worker] for worker in peak)
        return result


def rows_and_labels(n: int, d: int, c: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows near a curved surface of 12 dimensions, and labels of which one in ten is known."""
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((n, 12), dtype=np.float32)
    X = np.tanh(latent @ rng.standard_normal((12, d), dtype=np.float32) / 3)
    X += 0.1 * rng.standard_normal((n, d), dtype=np.float32)
    Y = (np.sin(latent @ rng.standard_normal((12, c))) > 0.8).astype(np.float64)
    Y[rng.random(Y.shape) > 0.1] = np.nan
    return X, Y


def steps(client: Client, n: int, d: int, c: int, rows_per_partition: int) -> None:
    X, Y = rows_and_labels(n, d, c)
    chunks = (rows_per_partition, -1)
    table = client.persist(da.from_array(X, chunks=chunks))
    labels = client.persist(da.from_array(Y, chunks=chunks))
    rows, cost = row_blocks(table), Cost(client)

    def show(name: str, less: float = 0.0, note: str = "") -> None:
        per_row = 1e6 * (cost.cpu - less) / n
        print(
            f"| {n:,} | {name} | {per_row:,.0f} | {cost.seconds:.1f} | {cost.peak / MEGA:.0f} MB | "
            f"{note} |",
            flush=True,
        )

    def search(algorithm: str) -> Any:
        how = {"algorithm": algorithm, "client": client}
        return cost.of(lambda: tagloom_dask.nearest_neighbors(rows, N_NEIGHBORS, **how))

    search("exact")
    exact = cost.cpu
    show("neighbours, all pairs")
    found = search("approximate")
    show("neighbours, inverted file", note=f"recall {found.recall:.3f}")
    graph = cost.of(lambda: affinity_graph(rows, N_NEIGHBORS, algorithm="exact", client=client))
    show("affinities, without the search", less=exact, note=f"halo of {graph.halo.n_rows:,} rows")
    tables = client.persist(
        list(da.zeros((n, c), chunks=chunks, dtype=np.float32).to_delayed().ravel())
    )
    cost.of(lambda: wait(graph.diffuse(tables, 0.8, client)))
    show(f"diffusion of {c} labels, alpha 0.8")
    linear = {**PARAMETERS, "shrinkage": np.inf, "smoothing": 0.0}
    model = tagloom_dask.SemanticDiffusion(**linear)
    cost.of(lambda: model.fit(table, labels, client=client))
    show("kernel features and M", note=f"{model.n_iter_} iterations")
    model = tagloom_dask.SemanticDiffusion(**PARAMETERS, algorithm="exact")
    cost.of(lambda: model.fit(table, labels, client=client))
    show("the whole fit, exact")
    start, cpu = time.perf_counter(), time.process_time()
    local = SemanticDiffusion(**PARAMETERS, algorithm="exact").fit(X, Y)
    cpu, seconds = time.process_time() - cpu, time.perf_counter() - start
    apart = np.abs(model.training_scores_.compute() - local.training_scores_).max()
    print(
        f"| {n:,} | the same in memory | {1e6 * cpu / n:,.0f} | {seconds:.1f} | | "
        f"cluster / memory {cost.cpu / cpu:.2f}; scores differ by at most {apart:.0e} |",
        flush=True,
    )


def recall(client: Client, files: list[str], rows_per_partition: int) -> None:
    X = np.vstack([np.load(file)["pooled"].astype(np.float32) for file in files])
    X = X[np.random.default_rng(0).permutation(len(X))]
    print(
        "| rows | cells asked | recall | reported | processor time, of that of all pairs |\n"
        + "|---" * 5
        + "|"
    )
    for n in (len(X) // 4, len(X) // 2, len(X)):
        table = client.persist(da.from_array(X[:n], chunks=(rows_per_partition, -1)))
        cost, used = Cost(client), {}
        for algorithm in ("exact", "approximate"):
            how: dict[str, Any] = {"algorithm": algorithm, "client": client}
            search = partial(tagloom_dask.nearest_neighbors, table, 10, **how)
            found = cost.of(search)
            used[algorithm] = cost.cpu
        expected = nearest_neighbors(X[:n], 10, algorithm="exact").indices
        pairs = zip(expected, found.indices.compute(), strict=True)
        hits = np.mean([len(np.intersect1d(*pair)) / 10 for pair in pairs])
        ratio = used["approximate"] / used["exact"]
        index = InvertedFile.of(row_blocks(table), Search(11, "euclidean"), 0, client)
        asked = f"{index.n_probes(index.rows, 0, is_self=True)[0]} of {len(index.centres)}"
        print(f"| {n:,} | {asked} | {hits:.3f} | {found.recall:.3f} | {ratio:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=10_000, help="the first number of rows")
    parser.add_argument("--doublings", type=int, default=2)
    parser.add_argument("--features", type=int, default=256)
    parser.add_argument("--labels", type=int, default=100)
    parser.add_argument("--rows-per-partition", type=int, default=5_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--recall", nargs="+", metavar="FILE")
    given = parser.parse_args()
    with cluster_of(given.workers) as client:
        client.run(start_of_peak)
        if given.recall:
            recall(client, given.recall, given.rows_per_partition)
            return
        print(
            "| rows | step | processor time per row (microseconds) | seconds | peak of a worker | |"
            "\n" + "|---" * 6 + "|"
        )
        for doubling in range(given.doublings + 1):
            n = given.items * 2**doubling
            steps(client, n, given.features, given.labels, given.rows_per_partition)


if __name__ == "__main__":
    main()
