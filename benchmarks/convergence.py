"""Plot how fast both solvers approach the optimum: docs/img/convergence.png.

    pip install --group figures
    python benchmarks/convergence.py

One problem of Corel5k's size (4500 x 450 x 260, 10% observed), both solvers in one process.
"""

import argparse
from pathlib import Path

import matplotlib as mpl

from sized_problems import objective_of, sized_problem
from tagloom.optim import SOLVERS

mpl.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--out", type=Path, default=HERE.parent / "docs" / "img" / "convergence.png"
    )
    args = parser.parse_args()
    objective = objective_of(sized_problem(4500, 450, 260, 0.1))
    best = SOLVERS["admm"].solve(objective, tol=1e-7, max_iter=5000).objective
    ours = SOLVERS["admm"].solve(objective, tol=1e-6, max_iter=5000)
    paper = SOLVERS["paper"].solve(objective, tol=-1.0, max_iter=300)
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    for solution, name, colour in ((paper, "Algorithm 2", "#b5651d"), (ours, "tagloom", "#1f6f8b")):
        checked = [line for line in solution.history if line.objective == line.objective]
        seconds = [line.seconds for line in checked]
        above = [max(line.objective / best - 1, 1e-8) for line in checked]
        axes.semilogy(seconds, above, color=colour, lw=2)
        axes.annotate(
            name,
            (seconds[-1], above[-1]),
            (6, 0),
            textcoords="offset points",
            color=colour,
            va="center",
        )
    certified = [line for line in ours.history if line.gap == line.gap]
    axes.semilogy(
        [line.seconds for line in certified],
        [line.gap for line in certified],
        "o",
        color="#1f6f8b",
        ms=4,
        mfc="white",
        label="tagloom: certified distance",
    )
    axes.set(xlabel="seconds on two cores", ylabel="F / F* - 1", ylim=(1e-7, 1))
    axes.set_xlim(0, 1.18 * paper.history[-1].seconds)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(args.out, dpi=150)
    print(f"wrote {args.out}")


if __name__ == "__main__":
    main()
