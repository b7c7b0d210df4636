"""The largest problems that tagloom is made for, on one machine: seconds and peak of every step.

    python benchmarks/large.py                             all of them, each in a process of its own
    python benchmarks/large.py million --items 200000      one of them, perhaps smaller

million   1,000,000 items x 256 features x 500 labels, 1% known: neighbours and graph, a search of
          three candidates with the fit of the best, and all scores to disk
kernel    1,000,000 x 256 x 100, 1% known: SemanticDiffusion with features of a kernel
labels    100,000 x 256 x 10,000, 0.1% known: three learners, and all scores to disk
complete  `tagloom complete` for 200,000 pictures and 500 labels from cached features, all steps but
          the encoding (complete_scale.py)

Printed are seconds, seconds of the processors and peak memory, that of the whole process with its
data; a goal as the ratio of what was measured to it: above 1 it is missed. Scores are written in
blocks of rows. With OPENBLAS_NUM_THREADS=1 the seconds of the processors hardly depend on what else
runs on the machine.
"""

import argparse
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from sized_problems import sized_problem
from tagloom.graph import semantic_graph
from tagloom.models import APGGraph, LeastSquares, SemanticDiffusion, tune

HERE = Path(__file__).parent
SIZES = {"million": 1_000_000, "kernel": 1_000_000, "labels": 100_000, "complete": 200_000}
# Seconds and GiB that a case may take; None where only the figure is of interest.
GOALS = {"million": (300, 8.0), "kernel": None, "labels": None, "complete": None}
_ROWS_AT_ONCE = 20_000


class Steps:
    """The seconds and the peak memory of each step of a case."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    @contextmanager
    def __call__(self, name: str, *, counts: bool = True) -> Iterator[dict[str, Any]]:
        """Measure one step; its dictionary takes what was `found`. Making data does not count."""
        row: dict[str, Any] = {"step": name, "counts": counts}
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        begun, used = time.perf_counter(), time.process_time()
        yield row
        row |= {
            "seconds": time.perf_counter() - begun,
            "processor": time.process_time() - used,
            "gib": peak_gib(),
        }
        self.rows.append(row)
        figures = f"{row['seconds']:8.1f} s {row['processor']:8.1f} s {row['gib']:6.2f} GiB"
        print(f"{figures}  {name}{row.get('found', '')}", flush=True)


def peak_gib() -> float:
    """Return the largest memory of this process since it was last reset."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def million(n: int, steps: Steps, *, graphs: bool) -> None:
    """Go all the way of the paper's learner; without a search for neighbours where not `graphs`."""
    with steps("data", counts=False):
        problem = sized_problem(n, 256, 500, 0.01, dtype=np.float32)
        X, known, graph = problem
        del problem
    if graphs:
        with steps("neighbours and graph") as row:
            graph = semantic_graph(X, 10, weight="cosine")
            row["found"] = f": {graph.nnz:,} edges"
    with steps("search of three candidates (3 folds), and fit") as row:
        model = APGGraph(gamma=0.01, on_unlearnable="ignore")
        largest = model.lam_max(X, known)
        grid = {"lam": [share * largest for share in (0.03, 0.01, 0.003)]}
        found = tune(model, X, known, graph, param_grid=grid, verbose=False)
        share = found.best.params["lam"] / largest
        row["found"] = f": {share:.3f} of the largest lam, certificate {found.model.gap_:.1e}"
    with steps("scores to disk") as row:
        row["found"] = write_scores(found.model, X)


def kernel(n: int, steps: Steps, *, graphs: bool) -> None:
    """Fit and score with features of a kernel: the linear part alone, then with two graphs."""
    with steps("data", counts=False):
        problem = sized_problem(n, 256, 100, 0.01, dtype=np.float32)
        X, known = problem.X, problem.known
        del problem
    linear: dict[str, Any] = {"shrinkage": np.inf, "smoothing": 0.0}
    model = SemanticDiffusion(kernel="rational_quadratic", ridge=0.3, on_unlearnable="ignore")
    with steps("fit of the linear part"):
        clone(model).set_params(**linear).fit(X, known)
    if not graphs:
        return
    with steps("fit with two graphs"):
        model.fit(X, known)
    with steps("scores of 20,000 new items"):
        model.scores(X[:20_000] + np.float32(1e-3))


def labels(n: int, steps: Steps, *, graphs: bool) -> None:
    """Fit and score ten thousand labels; `SemanticDiffusion`, which has graphs, for fewer items."""
    with steps("data", counts=False):
        problem = sized_problem(n, 256, 10_000, 0.001, dtype=np.float32)
        X, known, graph = problem
        del problem
    lam = 0.01 * APGGraph().lam_max(X, known)
    with steps("APGGraph, fit") as row:
        model: Any = APGGraph(lam, gamma=0.01, on_unlearnable="ignore").fit(X, known, graph)
        row["found"] = f": {model.n_iter_} iterations, certificate {model.gap_:.1e}"
    with steps("APGGraph, scores to disk") as row:
        row["found"] = write_scores(model, X)
    with steps("LeastSquares, fit"):
        model = LeastSquares(1.0, on_unlearnable="ignore").fit(X, known)
    with steps("LeastSquares, scores to disk") as row:
        row["found"] = write_scores(model, X)
    if not graphs:
        return
    some = np.arange(n // 5)
    with steps(f"SemanticDiffusion, fit to {n // 5:,} items"):
        SemanticDiffusion(on_unlearnable="ignore").fit(X[some], known.take(some))


def write_scores(model: Any, X: np.ndarray) -> str:
    """Write the scores of all items to a .npy file, in blocks of rows; return its size."""
    shape = len(X), len(model.classes_)
    header = {"descr": "<f4", "fortran_order": False, "shape": shape}
    with tempfile.TemporaryFile() as stream:
        np.lib.format.write_array_header_1_0(stream, header)
        for start in range(0, len(X), _ROWS_AT_ONCE):
            scores = model.scores(X[start : start + _ROWS_AT_ONCE])
            np.asarray(scores, dtype="<f4").tofile(stream)
        stream.flush()
        os.fsync(stream.fileno())
        return f": {stream.tell() / 2**30:.1f} GiB"


def complete(n: int, steps: Steps, *, graphs: bool) -> None:
    """Complete a collection of pictures."""
    command = [sys.executable, str(HERE / "complete_scale.py"), "--items", str(n), "--where"]
    with steps("complete") as row:
        subprocess.run(command, check=True)
    # The peak is that of the other process.
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    row |= {"gib": used.ru_maxrss / 2**20, "processor": used.ru_utime + used.ru_stime}


CASES: dict[str, Callable[..., None]] = {
    "million": million,
    "kernel": kernel,
    "labels": labels,
    "complete": complete,
}


def measure(name: str, n: int, graphs: bool) -> None:
    """Run one case in this process, and print it against its goal."""
    steps = Steps()
    print(f"{name}, {n:,} items", flush=True)
    CASES[name](n, steps, graphs=graphs)
    counted = [row for row in steps.rows if row["counts"]]
    seconds, gib = sum(row["seconds"] for row in counted), max(row["gib"] for row in counted)
    goal = GOALS[name] if graphs else None
    ratio = f", {seconds / goal[0]:.2f} and {gib / goal[1]:.2f} of the goal" if goal else ""
    processor = sum(row["processor"] for row in counted)
    print(f"{seconds:8.1f} s {processor:8.1f} s {gib:6.2f} GiB  in all{ratio}\n", flush=True)


def machine() -> str:
    """Return the facts about the machine that figures depend on."""
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").is_file():
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next((one.split(": ")[1] for one in lines if one.startswith("model name")), model)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{model}, {os.cpu_count()} cores, {memory:.0f} GiB, load {os.getloadavg()[0]:.1f}; "
        f"Python {platform.python_version()}, numpy {np.__version__}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", nargs="?", choices=tuple(CASES), help="all by default")
    parser.add_argument("--items", type=int, help="fewer items, to try")
    parser.add_argument("--no-search", action="store_true", help="skip all searches of neighbours")
    args = parser.parse_args()
    print(machine(), flush=True)
    if args.case:
        measure(args.case, args.items or SIZES[args.case], not args.no_search)
        return
    for name in CASES:
        command = [sys.executable, __file__, name, "--items", str(args.items or SIZES[name])]
        subprocess.run(command, check=False)


if __name__ == "__main__":
    main()
