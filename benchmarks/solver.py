"""Time to a certified optimum: our solver against the paper's Algorithm 2, on the same problem.

    python benchmarks/solver.py              all sizes (about half an hour on two cores)
    python benchmarks/solver.py --quick      the small size only

Both solvers run in one process, taking turns; both are stopped by the same certificate, a relative
duality gap of 1e-4, and the time that the certificate takes is not charged to the paper's solver,
which does not have one. Seconds depend on the machine; the ratio is the result.
"""

import argparse
import math
import os
import platform
import statistics
import time
import tracemalloc

import numpy as np

from sized_problems import Sized, sized_problem
from tagloom.graph import check_weights, laplacian
from tagloom.models import APGGraph
from tagloom.optim import InstanceLaplacian, MaskedSquaredLoss, Objective, dual_bound, solve

SIZES = [(4500, 450, 260), (18689, 700, 268)]
RATES = [0.1, 0.5]
TOL = 1e-4
CHECK_EVERY = 10


def objective_of(problem: Sized) -> Objective:
    loss = MaskedSquaredLoss.of(problem.X, problem.known, fit_intercept=True)
    n = len(problem.X)
    L = laplacian(check_weights(problem.graph, n, name="graph", nodes="items"))
    return Objective(
        loss, 0.01 * Objective(loss, 0.0).lam_max(), terms=[InstanceLaplacian(0.01, problem.X, L)]
    )


def run_ours(objective: Objective) -> tuple[float, int]:
    solution = solve(objective, tol=TOL, max_iter=100_000)
    return solution.history[-1].seconds, len(solution.history)


def run_paper(objective: Objective) -> tuple[float, int]:
    """Run Algorithm 2 beyond its own stop, until the certificate is reached."""
    certifying, bound = 0.0, -math.inf
    reached = (math.nan, 0)

    def certify(line, M):
        nonlocal certifying, bound, reached
        if line.iteration % CHECK_EVERY:
            return False
        start = time.perf_counter()
        bound = max(bound, dual_bound(objective, M, objective.gradient(M)))
        reached = (line.seconds - certifying, line.iteration)
        certifying += time.perf_counter() - start
        return line.objective - bound <= TOL * line.objective

    solve(objective, "paper", tol=-math.inf, max_iter=100_000, callback=certify)
    return reached


def peak_over_inputs(problem: Sized) -> float:
    """Return (inputs + peak of what a fit allocates) / inputs, Y counted as an array of float64."""
    Y = problem.known.to_array()
    inputs = problem.X.nbytes + Y.nbytes
    tracemalloc.start()
    model = APGGraph(1.0, gamma=0.01, tol=1.0, max_iter=5)
    model.fit(problem.X, Y, problem.graph)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return (inputs + peak) / inputs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the small size only")
    parser.add_argument(
        "--repeats", type=int, default=3, help="runs of our solver around one of theirs"
    )
    args = parser.parse_args()
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"numpy {np.__version__}, float64, certified {TOL:g}"
    )
    print(
        f"{'n':>6} {'d':>4} {'c':>4} {'seen':>5} {'ours s':>8} {'its':>5} "
        f"{'paper s':>8} {'its':>5} {'ratio':>6} {'peak/inputs':>11}"
    )
    for n, d, c in SIZES[: 1 if args.quick else None]:
        for rate in RATES:
            problem = sized_problem(n, d, c, rate)
            objective = objective_of(problem)
            before = [run_ours(objective) for _ in range(math.ceil(args.repeats / 2))]
            paper, paper_its = run_paper(objective)
            after = [run_ours(objective) for _ in range(args.repeats // 2)]
            seconds = statistics.median(run[0] for run in before + after)
            print(
                f"{n:6} {d:4} {c:4} {rate:5.0%} {seconds:8.2f} {before[0][1]:5} {paper:8.2f} "
                f"{paper_its:5} {paper / seconds:6.1f} {peak_over_inputs(problem):11.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
