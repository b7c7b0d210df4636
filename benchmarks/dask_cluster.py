"""A fit on a local Dask cluster: the optimum, the time, and the memory of each worker.

    python benchmarks/dask_cluster.py           1, 2 and 4 workers against the solver in memory
    python benchmarks/dask_cluster.py --large   a folder larger than a worker's memory limit
    python benchmarks/dask_cluster.py --kill    a worker is killed in mid-fit

Workers are processes with one thread each. Memory is the peak of a worker's resident memory during
the fit (VmHWM) above its memory before, with everything imported: Linux only. Seconds depend on the
machine, most of all where there are fewer cores than workers.
"""

import argparse
import logging
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from distributed import Client, LocalCluster

from tagloom import dask as tagloom_dask
from tagloom.dask import ParquetItems, write_parquet
from tagloom.labels import PartialLabels
from tagloom.models import APGGraph

MEGA = 1e6
TOL = 1e-6
LISTS = {"present": "present", "absent": "absent", "unlisted": "unknown"}


@dataclass(frozen=True)
class Sizes:
    """Items x features x labels, and the size of a partition."""

    n: int
    d: int
    c: int
    rows_per_file: int

    @property
    def bytes(self) -> int:
        """All features."""
        return self.n * self.d * 4

    @property
    def partition(self) -> int:
        """Features of one partition."""
        return self.rows_per_file * self.d * 4

    @property
    def small(self) -> int:
        """M and a matrix over the features."""
        return (self.d * self.c + self.d * self.d) * 8


def rows_of(sizes: Sizes, start: int, stop: int) -> tuple[np.ndarray, PartialLabels]:
    """Make rows from their positions alone: features of decreasing variance, 10% known."""
    rng = np.random.default_rng([1, start])
    X = rng.standard_normal((stop - start, sizes.d), dtype=np.float32)
    X *= (1 / np.sqrt(1 + np.arange(sizes.d))).astype(np.float32)
    truth = np.random.default_rng(0)
    M = truth.normal(size=(sizes.d, 10)) @ truth.normal(size=(10, sizes.c))
    Y = X @ M + rng.normal(size=(len(X), sizes.c)) > 1
    known = rng.random(Y.shape) < 0.1
    rows, columns = np.nonzero(known)
    return X, PartialLabels.from_entries(rows, columns, Y[known], shape=Y.shape)


def write_folder(folder: Path, sizes: Sizes) -> None:
    for number, start in enumerate(range(0, sizes.n, sizes.rows_per_file)):
        X, known = rows_of(sizes, start, min(start + sizes.rows_per_file, sizes.n))
        (path,) = write_parquet(folder / "new", X, known, rows_per_file=len(X))
        path.rename(folder / f"part-{number:05d}.parquet")
    (folder / "new").rmdir()


def in_memory(sizes: Sizes, lam: float) -> APGGraph:
    starts = range(0, sizes.n, sizes.rows_per_file)
    parts = [rows_of(sizes, start, min(start + sizes.rows_per_file, sizes.n)) for start in starts]
    X = np.vstack([rows for rows, _ in parts])
    entries = [known.entries() for _, known in parts]
    known = PartialLabels.from_entries(
        np.concatenate([e.rows + start for e, start in zip(entries, starts, strict=True)]),
        np.concatenate([e.columns for e in entries]),
        np.concatenate([e.present for e in entries]),
        shape=(sizes.n, sizes.c),
    )
    return APGGraph(lam, solver="admm", tol=TOL).fit(X.astype(np.float64), known)


@contextmanager
def cluster_of(n_workers: int, memory_limit: str | int = "auto") -> Iterator[Client]:
    cluster = LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        memory_limit=memory_limit,
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    )
    with cluster, Client(cluster) as client:
        yield client


def start_of_peak() -> int:
    """Import everything, reset the peak, and return the resident memory in bytes."""
    import tagloom.dask  # noqa: F401

    Path("/proc/self/clear_refs").write_text("5")
    return resident("VmRSS")


def resident(name: str) -> int:
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if name in x)
    return int(line.split()[1]) * 1024


class Peak:
    """Peak memory of the workers above their memory before the fit."""

    def __init__(self, client: Client, items: ParquetItems, labels: list[str]) -> None:
        self._client = client
        # A fit of one iteration triggers all lazy imports, most of all the compiled kernel.
        first = ParquetItems(items.folder, **LISTS, labels=labels)
        first.__dict__["groups"] = items.groups[: 2 * len(client.nthreads())]
        model = tagloom_dask.APGGraph(1.0, solver="admm", on_unlearnable="ignore")
        model.fit(first, client=client, keep=False, callback=lambda line, M: True)
        self._before = client.run(start_of_peak)

    def worst(self) -> int:
        """Return the highest peak."""
        now = self._client.run(resident, "VmHWM")
        return max(now[worker] - self._before[worker] for worker in now)


def fitted(client: Client, items: ParquetItems, lam: float, tol: float, **options):
    start = time.perf_counter()
    model = tagloom_dask.APGGraph(lam, solver="admm", tol=tol)
    model.fit(items, client=client, **options)
    return model, time.perf_counter() - start


def compare(folder: Path, sizes: Sizes, lam: float) -> None:
    write_folder(folder, sizes)
    start = time.perf_counter()
    local = in_memory(sizes, lam)
    print(f"in memory, float64: F = {local.objective_:.9g} in {time.perf_counter() - start:.1f} s")
    print(
        "| workers | kept | relative difference of F | seconds | passes | partitions of a worker | "
        "peak above idle | one partition | (d c + d d) x 8 |\n" + "|---" * 9 + "|"
    )
    labels = [str(j) for j in range(sizes.c)]
    for n_workers in (1, 2, 4):
        for keep in (True, False):
            items = ParquetItems(folder, **LISTS, labels=labels)
            with cluster_of(n_workers) as client:
                peak = Peak(client, items, labels)
                model, seconds = fitted(client, items, lam, TOL, keep=keep)
                worst = peak.worst()
            off = abs(model.objective_ - local.objective_) / local.objective_
            print(
                f"| {n_workers} | {'yes' if keep else 'no'} | {off:.1e} | {seconds:.1f} | "
                f"{model.n_passes_} | {sizes.bytes / n_workers / MEGA:.0f} MB | "
                f"{worst / MEGA:.0f} MB | {sizes.partition / MEGA:.1f} MB | "
                f"{sizes.small / MEGA:.1f} MB |",
                flush=True,
            )


def large(folder: Path, sizes: Sizes, lam: float, limit: int) -> None:
    write_folder(folder, sizes)
    on_disk = sum(path.stat().st_size for path in folder.glob("*.parquet"))
    labels = [str(j) for j in range(sizes.c)]
    items = ParquetItems(folder, **LISTS, labels=labels)
    with cluster_of(1, limit) as client:
        peak = Peak(client, items, labels)
        at_first = client.run(os.getpid)
        model, seconds = fitted(client, items, lam, 1e-3)
        worst, held = peak.worst(), max(client.run(resident, "VmHWM").values())
        restarted = client.run(os.getpid) != at_first
    print(
        f"{on_disk / MEGA:.0f} MB of parquet through one worker with a limit of "
        f"{limit / MEGA:.0f} MB: {seconds:.0f} s, {model.n_passes_} passes, gap {model.gap_:.1e}; "
        f"peak {held / MEGA:.0f} MB in all, {worst / MEGA:.0f} MB above idle; "
        f"the worker was {'restarted' if restarted else 'never restarted'}"
    )


def kill(folder: Path, sizes: Sizes, lam: float) -> None:
    write_folder(folder, sizes)
    items = ParquetItems(folder, **LISTS)
    with cluster_of(2) as client:
        undisturbed, seconds = fitted(client, items, lam, TOL, keep=True)

        def strike(line, M):
            if line.iteration == 3:
                os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

        model, longer = fitted(client, items, lam, TOL, keep=True, callback=strike)
    apart = np.abs(model.coef_ - undisturbed.coef_).max() / np.abs(model.coef_).max()
    print(
        f"undisturbed {seconds:.1f} s, with one of two workers killed after the third iteration "
        f"{longer:.1f} s; M is the same to {apart:.0e}, "
        f"F = {model.objective_:.9g} and {undisturbed.objective_:.9g}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--items", type=int)
    parser.add_argument("--limit", type=int, default=512_000_000, help="bytes a worker may hold")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if given.large:
            large(Path(name), Sizes(given.items or 700_000, 512, 50, 4_096), 300.0, given.limit)
        elif given.kill:
            kill(Path(name), Sizes(given.items or 40_000, 128, 50, 2_500), 50.0)
        else:
            compare(Path(name), Sizes(given.items or 160_000, 256, 100, 5_000), 100.0)


if __name__ == "__main__":
    main()
