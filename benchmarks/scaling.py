"""How time and memory of a fit grow with items, features, labels and known entries.

    python benchmarks/scaling.py                  the table, and docs/img/scaling.png

Every point is measured in a process of its own, because memory that was touched for one point would
hide what the next one needs. The peak is the memory of the fit beyond its inputs; X is of float32.
One of n, d, c and the observed share varies at a time. The largest problems, with all steps, are in
large.py.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from sized_problems import sized_problem
from tagloom.benchmark.cell import PeakMemory
from tagloom.models import APGGraph

HERE = Path(__file__).parent
BASE = {"n": 50_000, "d": 128, "c": 100, "rate": 0.1}
VARIED = {
    "n": [12_500, 25_000, 50_000, 100_000, 200_000],
    "d": [64, 128, 256, 512],
    "c": [50, 100, 200, 400],
    "rate": [0.01, 0.02, 0.05, 0.1, 0.2, 0.4],
}
NAMES = {"n": "items", "d": "features", "c": "labels", "rate": "observed share"}


def learner(X: np.ndarray, known: object) -> APGGraph:
    """Return the learner with a weak nuclear norm and a graph."""
    lam = 0.01 * APGGraph().lam_max(X, known)
    return APGGraph(lam, gamma=0.01, tol=1e-4, on_unlearnable="ignore")


def measure(n: int, d: int, c: int, rate: float) -> dict[str, float]:
    """Fit once to compile and once to measure; return seconds, iterations and peak."""
    problem = sized_problem(n, d, c, rate, dtype=np.float32)
    model = learner(problem.X, problem.known).fit(problem.X, problem.known, problem.graph)
    with PeakMemory() as memory:
        begun = time.perf_counter()
        model.fit(problem.X, problem.known, problem.graph)
        seconds = time.perf_counter() - begun
    inputs = problem.X.nbytes + problem.known.nbytes
    return {
        "n": n,
        "d": d,
        "c": c,
        "rate": rate,
        "seconds": seconds,
        "iterations": model.n_iter_,
        "inputs_mib": inputs / 2**20,
        "peak_mib": memory.mib,
        "gap": model.gap_,
    }


def in_a_process(point: dict[str, float]) -> dict[str, float]:
    """Measure one point in a process of its own."""
    command = [sys.executable, __file__, "--point", json.dumps(point)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def draw(points: dict[str, list[dict[str, float]]], to: Path) -> None:
    """Draw time and memory over each quantity, with a line of slope 1."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(2, 4, figsize=(12, 5), layout="constrained", sharey="row")
    rows = (("seconds", "seconds of a fit"), ("peak_mib", "peak beyond inputs (MiB)"))
    for column, (varied, found) in zip(grid.T, points.items(), strict=True):
        for axes, (key, name) in zip(column, rows, strict=True):
            x = np.array([point[varied] for point in found])
            y = np.array([point[key] for point in found])
            axes.loglog(x, y, "o-", color="#1f6f8b", lw=2)
            axes.loglog(x, y[-1] * x / x[-1], "--", color="#999999", lw=1)
            axes.set_xticks(x, labels=[f"{value:,g}" for value in x], rotation=30)
            axes.minorticks_off()
            axes.set_xlabel(NAMES[varied])
            axes.grid(alpha=0.25)
            axes.spines[["top", "right"]].set_visible(False)
            if axes in grid[:, 0]:
                axes.set_ylabel(name)
    to.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(to, dpi=120)
    print(f"wrote {to}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--point", type=json.loads, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs" / "img" / "scaling.png")
    args = parser.parse_args()
    if args.point:
        print(json.dumps(measure(**args.point)))
        return
    print(f"{'n':>7} {'d':>4} {'c':>4} {'seen':>5} {'s':>7} {'its':>4} {'inputs':>7} {'peak':>7}")
    points: dict[str, list[dict[str, float]]] = {}
    for varied, values in VARIED.items():
        points[varied] = [in_a_process(BASE | {varied: value}) for value in values]
        for found in points[varied]:
            print(
                f"{found['n']:7} {found['d']:4} {found['c']:4} {found['rate']:5.0%} "
                f"{found['seconds']:7.2f} {found['iterations']:4} {found['inputs_mib']:7.0f} "
                f"{found['peak_mib']:7.0f}",
                flush=True,
            )
    draw(points, args.out)


if __name__ == "__main__":
    main()
