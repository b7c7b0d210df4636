"""Write the tables and figures of docs/results.md from its folder of results.

    python benchmarks/results_page.py [--add OUT ...]

`docs/results/<set>/*.csv` are tables of results, a row for each cell: `results.csv` is ours, others
may lie beside it. `--add` takes the cells of further benchmarks (folders of `tagloom benchmark`,
or CSV files) into `results.csv` of their sets, in place of earlier results of the same cells.
Then every section "## SET, PROTOCOL" of docs/results.md and every figure is written anew.
"""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from tagloom.benchmark.figures import write_figures
from tagloom.benchmark.join import CELL, read_results
from tagloom.benchmark.summary import (
    Grid,
    grid_of_differences,
    grid_of_means,
    learners_only,
    paired_differences,
    summarise,
)

DOCS = Path(__file__).parents[1] / "docs"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--add", nargs="*", type=Path, metavar="OUT", default=[])
    parser.add_argument("--docs", type=Path, default=DOCS)
    given = parser.parse_args()
    for out in given.add:
        add(read_results([out]), given.docs / "results")
    for folder in sorted(path for path in (given.docs / "results").iterdir() if path.is_dir()):
        for path in write_figures(folder, read_results([folder])):
            if path.suffix == ".svg":
                path.unlink()
    page = given.docs / "results.md"
    page.write_text(with_tables(page.read_text("utf-8"), read_results([given.docs / "results"])))


def add(new: pd.DataFrame, folder: Path) -> None:
    """Take cells into the table of their set; earlier results of the same cells are replaced."""
    for name, part in new.groupby("dataset"):
        path = folder / str(name) / "results.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        both = pd.concat([part, read_results([path])]) if path.exists() else part
        both = both.drop_duplicates(CELL, keep="first")
        both.sort_values(CELL[1:], ignore_index=True).to_csv(path, index=False)


def with_tables(page: str, results: pd.DataFrame) -> str:
    """Return the page with its sections of tables written anew, and new ones at the end.

    What stands in a section before its tables and after them is kept.
    """
    for title, tables in sections(results):
        heading = re.compile(
            rf"(^## {re.escape(title)}\n\n).*?(?=^[#!]|\Z)", re.MULTILINE | re.DOTALL
        )
        if heading.search(page):
            page = heading.sub(lambda found, new=tables: f"{found[1]}{new}\n\n", page)
        else:
            page = f"{page.rstrip()}\n\n## {title}\n\n{tables}\n"
    return page.rstrip() + "\n"


def sections(results: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield title and tables of each set and protocol: means, then differences."""
    summary, differences = summarise(learners_only(results)), paired_differences(results)
    for (dataset, protocol), part in summary.groupby(["dataset", "protocol"], sort=False):
        seeds = ", ".join(sorted({f"{n}" for n in part["n"]}))
        same = (differences["dataset"] == dataset) & (differences["protocol"] == protocol)
        yield (
            f"{dataset}, {protocol}",
            f"Seeds in a cell of the table: {seeds}.\n\n{as_markdown(grid_of_means(part))}\n\n"
            f"{as_markdown(grid_of_differences(differences[same]))}",
        )


def as_markdown(grid: Grid) -> str:
    """Return a table as Markdown."""
    rows = [
        " | ".join(f"**{one.text}**" if one.best else one.text for one in row) for row in grid.rows
    ]
    head = [" | ".join(grid.columns), "|".join(["---"] * len(grid.columns))]
    return "\n".join([f"| {head[0]} |", f"|{head[1]}|", *(f"| {row} |" for row in rows)])


if __name__ == "__main__":
    main()
