"""Time to a certified optimum: our solver against the paper's, against FISTA, against the products.

    pip install --group rivals
    python benchmarks/solver.py              all sizes (about an hour on two cores)
    python benchmarks/solver.py --quick      the small size only
    python benchmarks/solver.py --sizes 2 --rates 0.01 presences --no-fista    a part of the table
    python benchmarks/solver.py --certificate    what the proof costs (a minute)

All solvers minimise the same objective in one process, taking turns, and stop at the same
certificate, a relative duality gap of 1e-4. The time for the certificate is not counted for the
others, which have none, and they use our gradient, which is faster than dense products where few
labels are known; FISTA is also given the Lipschitz constant. The sums that are computed once
("once s": X'LX, X'X and the like) count for all. Seconds depend on the machine; the ratios are the
result. The last columns compare a complete iteration of ours with the two dense products in float32
that a plain iteration needs, XM and X'R.

`--certificate` compares the time to a certified 1e-4 with the time to a true one, without ridge
and graph (Maxide's objective): the same solver, checks switched off, stopped by an oracle that
knows the optimum, with the clock stopped while it looks. Minima of interleaved runs.

`--cpu` counts processor time, for a machine that is shared; set OPENBLAS_NUM_THREADS=1 then, for
threads of BLAS wait in a busy loop.
"""

import argparse
import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from sized_problems import PRESENCES, Sized, objective_of, sized_problem
from tagloom.optim import SOLVERS, Iteration, MaskedSquaredLoss, Objective, dual_bound
from tagloom.optim.sampled import available
from tagloom.optim.solvers import admm

SIZES = [(4500, 450, 260), (18689, 700, 268), (100_000, 256, 500)]
RATES: list[float | str] = [0.01, 0.1, 0.5, 1.0, PRESENCES]
# n, d, c, share that is known, lambda / lambda_max
CERTIFIED: list[tuple[int, int, int, float | str, float]] = [
    (5000, 300, 100, 0.2, 0.05),
    (5000, 300, 100, 0.5, 0.01),
    (5000, 300, 100, 0.5, 0.1),
    (5000, 300, 100, PRESENCES, 0.01),
    (2000, 300, 100, 0.1, 0.05),
]
TOL = 1e-4
CHECK_EVERY = 10


class Run(NamedTuple):
    """Seconds and iterations to the certificate."""

    seconds: float
    iterations: int


class Settings(NamedTuple):
    """How to measure."""

    repeats: int
    limit: float
    """Seconds for a rival."""
    clock: Callable[[], float]
    fista: bool


class EnoughError(Exception):
    """Raised to stop a solver that offers no other way."""


class Certifier:
    """Checks now and then whether the certificate is reached, with the clock stopped."""

    def __init__(self, objective: Objective, settings: Settings) -> None:
        self.objective, self.limit, self.clock = objective, settings.limit, settings.clock
        self.bound, self.certifying, self.iterations = -math.inf, 0.0, 0
        self.begun = self.clock()
        self.run = Run(math.nan, 0)

    def __call__(self, M: np.ndarray) -> bool:
        """Say after an iteration whether M meets the tolerance, or the time is up."""
        self.iterations += 1
        if self.iterations % CHECK_EVERY:
            return False
        start = self.clock()
        objective = self.objective
        self.run = Run(start - self.begun - self.certifying, self.iterations)
        G = objective.gradient(M)
        self.bound = max(self.bound, dual_bound(objective, M, G))
        norm = objective.lam * np.linalg.svd(M, compute_uv=False).sum()
        F = objective.smooth_value_from(M, G) + norm
        self.certifying += self.clock() - start
        return bool(F - self.bound <= TOL * F) or self.run.seconds > self.limit


def run_ours(objective: Objective, clock: Callable[[], float]) -> Run:
    begun = clock()
    solution = SOLVERS["admm"].solve(objective, tol=TOL, max_iter=100_000)
    assert solution.converged
    return Run(clock() - begun, len(solution.history))


def run_paper(objective: Objective, settings: Settings) -> Run:
    """Run Algorithm 2 beyond its own stopping rule, until the certificate is reached."""
    certify = Certifier(objective, settings)
    SOLVERS["paper"].solve(
        objective, tol=-math.inf, max_iter=100_000, callback=lambda _, M: certify(M)
    )
    return certify.run


def run_fista(objective: Objective, settings: Settings) -> Run:
    """Run pyproximal's FISTA with its nuclear norm and a fixed step."""
    from pyproximal import Nuclear, ProxOperator
    from pyproximal.optimization.primal import ProximalGradient

    class Smooth(ProxOperator):
        def __init__(self) -> None:
            super().__init__(None, True)

        def __call__(self, x: np.ndarray) -> float:
            return objective.smooth_value(x.reshape(objective.shape))

        def grad(self, x: np.ndarray) -> np.ndarray:
            return objective.gradient(x.reshape(objective.shape)).ravel()

    lipschitz = lipschitz_of(objective)
    certify = Certifier(objective, settings)

    def stop(x: np.ndarray) -> None:
        if certify(x.reshape(objective.shape)):
            raise EnoughError

    with suppress(EnoughError):
        ProximalGradient(
            Smooth(),
            Nuclear(objective.shape, objective.lam),
            objective.zero().ravel(),
            tau=1 / lipschitz,
            niter=100_000,
            acceleration="fista",
            callback=stop,
        )
    return certify.run


def lipschitz_of(objective: Objective) -> float:
    """Return the largest curvature by power iteration, plus 2%."""
    rng = np.random.default_rng(0)
    D = rng.normal(size=objective.shape)
    for _ in range(30):
        D = objective.hessian_product(D / np.linalg.norm(D))
    return 1.02 * float(np.linalg.norm(D))


def two_products(X: np.ndarray, c: int, clock: Callable[[], float]) -> Callable[[], float]:
    """Return a function that times the two dense products of an iteration in float32."""
    X32 = X.astype(np.float32)
    M = np.random.default_rng(0).normal(size=(X.shape[1], c)).astype(np.float32)
    R, G = np.empty((len(X), c), dtype=np.float32), np.empty_like(M)

    def timed() -> float:
        begun = clock()
        np.matmul(X32, M, out=R)
        np.matmul(X32.T, R, out=G)
        return clock() - begun

    return timed


def seconds_of_iterations(objective: Objective, clock: Callable[[], float]) -> list[float]:
    """Return the seconds of each iteration in single precision."""
    times: list[float] = []

    def note(line: Iteration, M: np.ndarray) -> bool:
        times.append(clock())
        return False

    single = objective.in_single_precision()
    SOLVERS["admm"].solve(single, tol=TOL, max_iter=100_000, callback=note)
    return np.diff(times).tolist()


def seconds_of_sums(problem: Sized, clock: Callable[[], float]) -> float:
    """Return the seconds of what is computed once."""
    begun = clock()
    objective_of(problem)
    return clock() - begun


def compare(n: int, d: int, c: int, rate: float | str, settings: Settings) -> str:
    repeats, limit, clock, _ = settings
    problem = sized_problem(n, d, c, rate)
    objective = objective_of(problem)
    run_ours(objective, clock)  # compiles
    sums = [seconds_of_sums(problem, clock)]
    ours = [run_ours(objective, clock) for _ in range(math.ceil(repeats / 2))]
    paper = run_paper(objective, settings)
    sums += [seconds_of_sums(problem, clock)]
    ours += [run_ours(objective, clock)]
    fista = run_fista(objective, settings) if settings.fista else Run(math.nan, 0)
    sums += [seconds_of_sums(problem, clock)]
    ours += [run_ours(objective, clock) for _ in range(repeats // 2)]
    bare = two_products(problem.X, c, clock)
    pairs = [
        ([bare() for _ in range(5)], seconds_of_iterations(objective, clock))
        for _ in range(repeats)
    ]
    roofline = statistics.median(s for seconds, _ in pairs for s in seconds)
    iteration = statistics.median(s for _, seconds in pairs for s in seconds)
    once, seconds = statistics.median(sums), statistics.median(run.seconds for run in ours)
    seen = rate if isinstance(rate, str) else f"{rate:.0%}"
    return (
        f"{n:7} {d:4} {c:4} {seen:>9} {once:6.2f} {seconds:7.3f} {ours[0].iterations:4} "
        f"{_rival(paper, once, seconds, limit)} {_rival(fista, once, seconds, limit)} "
        f"{1e3 * iteration:8.1f} {1e3 * roofline:8.1f} {iteration / roofline:6.2f}"
    )


def certified(objective: Objective, clock: Callable[[], float]) -> Run:
    begun = clock()
    solution = SOLVERS["admm"].solve(objective, tol=TOL)
    return Run(clock() - begun, len(solution.history))


def truly_reached(objective: Objective, optimum: float, clock: Callable[[], float]) -> Run:
    """Run without checks until F is within the tolerance of the optimum."""
    begun, looking, end = clock(), 0.0, Run(math.nan, 0)

    def look(line: Iteration, M: np.ndarray) -> bool:
        nonlocal looking, end
        now = clock()
        end = Run(now - begun - looking, line.iteration)
        reached = objective.value(M.astype(np.float64)) <= (1 + TOL) * optimum
        looking += clock() - now
        return reached

    first_check, admm._FIRST_CHECK = admm._FIRST_CHECK, sys.maxsize
    try:
        SOLVERS["admm"].solve(objective, tol=0.0, max_iter=10_000, callback=look)
    finally:
        admm._FIRST_CHECK = first_check
    return end


def compare_certificate(
    n: int,
    d: int,
    c: int,
    rate: float | str,
    share: float,
    repeats: int,
    clock: Callable[[], float],
) -> str:
    problem = sized_problem(n, d, c, rate)
    loss = MaskedSquaredLoss.of(problem.X, problem.known, fit_intercept=True)
    objective = Objective(loss, share * Objective(loss, 0.0).lam_max())
    best = SOLVERS["admm"].solve(objective, tol=1e-7, max_iter=5000)
    found = SOLVERS["admm"].solve(objective, tol=TOL)
    pairs = [
        (certified(objective, clock), truly_reached(objective, best.objective, clock))
        for _ in range(repeats)
    ]
    proved, true = min(a for a, _ in pairs), min(b for _, b in pairs)
    seen = rate if isinstance(rate, str) else f"{rate:.0%}"
    return (
        f"{n:7} {d:4} {c:4} {seen:>9} {share:6g} {proved.seconds:8.3f} {proved.iterations:4} "
        f"{true.seconds:8.3f} {true.iterations:4} {proved.seconds / true.seconds:6.2f} "
        f"{found.objective / best.objective - 1:8.1e}"
    )


def _rival(run: Run, once: float, ours: float, limit: float) -> str:
    more = ">" if run.seconds > limit else " "
    ratio = (once + run.seconds) / (once + ours)
    return f"{run.seconds:8.1f} {run.iterations:5} {more}{ratio:5.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the small size only")
    parser.add_argument("--sizes", type=int, nargs="*", help="which of the three sizes: 0, 1, 2")
    parser.add_argument(
        "--rates",
        type=lambda text: text if text == PRESENCES else float(text),
        nargs="*",
        default=RATES,
        help=f"shares that are known, or {PRESENCES}",
    )
    parser.add_argument("--no-fista", action="store_true", help="leave FISTA out")
    parser.add_argument("--repeats", type=int, default=3, help="runs of our solver between theirs")
    parser.add_argument("--limit", type=float, default=300, help="seconds for a rival")
    parser.add_argument("--certificate", action="store_true", help="what the proof costs")
    parser.add_argument("--cpu", action="store_true", help="count processor time")
    args = parser.parse_args()
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"numpy {np.__version__}, X of float64, certified {TOL:g}, "
        f"compiled kernel: {'yes' if available() else 'no'}"
    )
    clock = time.process_time if args.cpu else time.perf_counter
    if args.certificate:
        print(
            f"{'n':>7} {'d':>4} {'c':>4} {'seen':>9} {'lambda':>6} {'proved s':>8} {'its':>4} "
            f"{'true s':>8} {'its':>4} {'ratio':>6} {'F/F*-1':>8}"
        )
        for size in CERTIFIED:
            print(compare_certificate(*size, args.repeats, clock), flush=True)
        return
    print(
        f"{'n':>7} {'d':>4} {'c':>4} {'seen':>9} {'once s':>6} {'ours s':>7} {'its':>4} "
        f"{'paper s':>8} {'its':>5} {'ratio':>6} {'FISTA s':>8} {'its':>5} {'ratio':>6} "
        f"{'it. ms':>8} {'bare ms':>8} {'ratio':>6}"
    )
    settings = Settings(args.repeats, args.limit, clock, not args.no_fista)
    sizes = [0] if args.quick else args.sizes or range(len(SIZES))
    for size in sizes:
        for rate in args.rates:
            print(compare(*SIZES[size], rate, settings), flush=True)


if __name__ == "__main__":
    main()
