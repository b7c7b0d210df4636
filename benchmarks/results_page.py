"""Write the tables and figures of docs/results.md from the finished cells of benchmarks.

    python benchmarks/results_page.py OUT [OUT ...] --to docs/results

Every OUT is the output folder of `tagloom benchmark --out OUT`, finished or not. The rows of all
cells of a set are written to a CSV file and the curves to a figure in the folder `--to`; the tables
are printed as Markdown.
"""

import argparse
import json
from pathlib import Path

import pandas as pd

from tagloom.benchmark.figures import write_figures
from tagloom.benchmark.summary import (
    Grid,
    grid_of_differences,
    grid_of_means,
    learners_only,
    paired_differences,
    summarise,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("outs", nargs="+", type=Path, metavar="OUT")
    parser.add_argument("--to", type=Path, required=True)
    given = parser.parse_args()
    for out in given.outs:
        results = rows_of(out)
        name = str(results["dataset"].iloc[0])
        folder = given.to / name
        folder.mkdir(parents=True, exist_ok=True)
        results.to_csv(folder / "results.csv", index=False)
        for path in write_figures(folder, results, None, None):
            if path.suffix == ".svg":
                path.unlink()
        print_tables(results)


def rows_of(out: Path) -> pd.DataFrame:
    records = [json.loads(path.read_text("utf-8")) for path in sorted((out / "cells").glob("*"))]
    rows = pd.DataFrame([record["row"] for record in records])
    return rows.sort_values(["protocol", "method", "rate", "seed"], ignore_index=True)


def print_tables(results: pd.DataFrame) -> None:
    summary, differences = summarise(learners_only(results)), paired_differences(results)
    for (dataset, protocol), part in summary.groupby(["dataset", "protocol"], sort=False):
        seeds = sorted({f"{n}" for n in part["n"]})
        print(f"\n### {dataset}, {protocol}\n\nSeeds in a cell of the table: {', '.join(seeds)}.\n")
        print_grid(grid_of_means(part))
        same = (differences["dataset"] == dataset) & (differences["protocol"] == protocol)
        print()
        print_grid(grid_of_differences(differences[same]))


def print_grid(grid: Grid) -> None:
    print("|", " | ".join(grid.columns), "|")
    print("|---" * len(grid.columns) + "|")
    for row in grid.rows:
        print("|", " | ".join(f"**{one.text}**" if one.best else one.text for one in row), "|")


if __name__ == "__main__":
    main()
