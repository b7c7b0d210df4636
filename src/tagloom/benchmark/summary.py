"""Tables and summaries of a benchmark: one row per cell, means over seeds, paired differences."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom.benchmark.methods import ABLATIONS, DESCRIPTORS, METHODS, WORDS
from tagloom.benchmark.plan import Plan
from tagloom.errors import InvalidInputError
from tagloom.io import atomic_write

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console
    from rich.table import Table

_METHODS = {method.name: method for method in (*METHODS, *WORDS, *ABLATIONS, *DESCRIPTORS)}
_DESCRIPTOR_NAMES = frozenset(method.name for method in DESCRIPTORS)
OURS = tuple(method.name for method in (*METHODS, *WORDS) if method.ours)

_CELL = {"dataset": "str", "protocol": "str", "method": "str", "rate": "float64", "seed": "int64"}
RESULT_COLUMNS = _CELL | {
    "map": "float64",
    "map_voc11": "float64",
    "map_per_item": "float64",
    "precision_at_5": "float64",
    "recall_at_5": "float64",
    "f1_at_5": "float64",
    "n_plus_at_5": "int64",
    "n_labels_scored": "int64",
    "n_labels_left_out": "int64",
    "n_trials": "int64",
    "search_seconds": "float64",
    "fit_seconds": "float64",
    "score_seconds": "float64",
    "peak_memory_mib": "float64",
    "parameters": "str",
}
LABEL_COLUMNS = _CELL | {"label": "str", "ap": "float64", "n_test_presences": "int64"}

SECONDS = {"search_seconds": "search (s)", "fit_seconds": "fit (s)"}
"""Columns of seconds, and their titles."""

CAPTION_OF_MEANS = "mAP in points: mean ± standard deviation over seeds; highest mean in bold"
CAPTION_OF_DIFFERENCES = (
    "points of mAP above the best baseline at that rate, paired by seed: "
    "mean [95% t interval], n seeds"
)
CAPTION_OF_SECONDS = "seconds to choose parameters and to fit: medians over rates and seeds"
MISSING = "–"

_PANEL = ["dataset", "protocol"]
_CONFIDENCE = 0.95

Record = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables as data frames, the examples by method, and the files of all of them."""

    results: "pd.DataFrame"
    labels: "pd.DataFrame"
    examples: dict[str, list[dict[str, Any]]]
    paths: tuple[Path, ...]


def require_extras(*, figures: bool = False) -> None:
    """Fail early if tables, or figures, could not be written at the end."""
    needed = {"pandas": "pandas", "pyarrow": "pandas"}
    if figures:
        needed["matplotlib"] = "figures"
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        extras = ",".join(dict.fromkeys(needed[name] for name in missing))
        without = " Or go without figures: --no-figures." if missing == ["matplotlib"] else ""
        raise InvalidInputError(
            f"A benchmark needs packages that are not installed: {', '.join(missing)}. "
            f'Install them with: python -m pip install "tagloom[{extras}]".{without}'
        )


def write_tables(plan: Plan) -> Tables:
    """Write results, labels and examples of the finished cells of a plan to its folder.

    Rows are sorted by protocol, method, rate and seed, whatever order the cells finished in.
    """
    require_extras()
    records = _records(plan)
    results = _frame([record["row"] for record in records], RESULT_COLUMNS)
    labels = _frame(
        [_cell_of(record) | label for record in records for label in record["labels"]],
        LABEL_COLUMNS,
    )
    examples = _examples(plan, records)
    out = plan.config.out
    paths = [*write_frame(out, "results", results), *write_frame(out, "labels", labels)]
    with atomic_write(out / "examples.json") as part:
        part.write_text(json.dumps(examples, indent=1) + "\n", encoding="utf-8")
    return Tables(results, labels, examples, (*paths, out / "examples.json"))


def _records(plan: Plan) -> list[Record]:
    methods = [method.name for method in plan.methods]
    protocols = plan.config.protocols
    found = (plan.store.read(task.cell) for task in plan.tasks)

    def place(record: Record) -> tuple[Any, ...]:
        row = record["row"]
        cell = protocols.index(row["protocol"]), methods.index(row["method"])
        return (*cell, row["rate"], row["seed"])

    return sorted((record for record in found if record is not None), key=place)


def _cell_of(record: Record) -> Record:
    return {name: record["row"][name] for name in _CELL}


def _frame(rows: list[Record], columns: dict[str, str]) -> "pd.DataFrame":
    import pandas as pd

    frame = pd.DataFrame(rows, columns=list(columns))
    return frame.astype({name: kind for name, kind in columns.items() if kind != "str"})


def _examples(plan: Plan, records: list[Record]) -> dict[str, list[dict[str, Any]]]:
    """Return the examples at the first protocol, lowest rate and first seed, by method."""
    protocol = plan.config.protocols[0]
    first = {
        "protocol": protocol,
        "rate": min(task.cell.rate for task in plan.tasks if task.cell.protocol == protocol),
        "seed": plan.config.random_state,
    }
    return {
        record["row"]["method"]: record["examples"]
        for record in records
        if first.items() <= record["row"].items()
    }


def write_frame(out: Path, name: str, frame: "pd.DataFrame") -> list[Path]:
    """Write a table as CSV and parquet, and return the files."""
    paths = [out / f"{name}.csv", out / f"{name}.parquet"]
    with atomic_write(paths[0]) as part:
        frame.to_csv(part, index=False, lineterminator="\n")
    with atomic_write(paths[1]) as part:
        frame.to_parquet(part, index=False)
    return paths


def summarise(results: "pd.DataFrame", metric: str = "map") -> "pd.DataFrame":
    """Return mean, standard deviation and number of seeds for each method and rate.

    Parameters
    ----------
    results : DataFrame
        One row for each (dataset, protocol, method, rate, seed).
    metric : str, default "map"
        The column that is summarised.

    Returns
    -------
    DataFrame
        Columns dataset, protocol, method, rate, mean, sd (over seeds, with n - 1; NaN for one
        seed) and n; methods in the order of the tables. Cells with an undefined metric are left
        out and not counted in n.
    """
    _check_columns(results, [*_PANEL, "method", "rate", "seed", metric])
    grouped = results.groupby([*_PANEL, "method", "rate"], sort=False)[metric]
    summary = grouped.agg(mean="mean", sd="std", n="count").reset_index()
    return _sorted(summary)


def paired_differences(
    results: "pd.DataFrame", ours: Iterable[str] | None = None, metric: str = "map"
) -> "pd.DataFrame":
    """Return the differences of each of our methods to the best baseline at each rate.

    The best baseline is the one with the highest mean at that rate: chosen after the fact, it is
    the hardest to beat. Differences d_s are taken between cells of the same seed s, which see the
    same labels; the mean and standard deviation of n of them give Student's interval

        mean(d) ± t_{0.975, n - 1} sd(d) / √n,

    which covers the draw of the known labels, not the choice of test items.

    Parameters
    ----------
    results : DataFrame
        One row for each (dataset, protocol, method, rate, seed).
    ours : iterable of str, optional
        Names of our methods; by default those marked so in `METHODS`.
    metric : str, default "map"
        The column that is compared.

    Returns
    -------
    DataFrame
        Columns dataset, protocol, method, baseline, rate, mean, low, high, n; low and high are NaN
        if fewer than two seeds have both cells.
    """
    import pandas as pd

    chosen = list(OURS if ours is None else ours)
    _check_columns(results, [*_PANEL, "method", "rate", "seed", metric])
    rows: list[dict[str, Any]] = []
    compared = learners_only(results)
    for (dataset, protocol, rate), cells in compared.groupby([*_PANEL, "rate"], sort=True):
        where = {"dataset": dataset, "protocol": protocol, "rate": rate}
        rows += [where | row for row in _differences_at_rate(cells, chosen, metric)]
    columns = [*_PANEL, "method", "baseline", "rate", "mean", "low", "high", "n"]
    return _sorted(pd.DataFrame(rows, columns=columns))


def best_baseline(
    cells: "pd.DataFrame", ours: Iterable[str] | None = None, metric: str = "map"
) -> str | None:
    """Return the baseline with the highest mean among these cells; None if there is none."""
    chosen = list(OURS if ours is None else ours)
    baselines = learners_only(cells)
    means = baselines[~baselines["method"].isin(chosen)].groupby("method")[metric].mean().dropna()
    return str(means.idxmax()) if len(means) else None


def _differences_at_rate(
    cells: "pd.DataFrame", ours: Sequence[str], metric: str
) -> list[dict[str, Any]]:
    baseline = best_baseline(cells, ours, metric)
    if baseline is None:
        return []
    by_seed = cells.pivot_table(index="seed", columns="method", values=metric)
    rows = []
    for method in sort_methods(ours):
        if method in by_seed.columns:
            difference = (by_seed[method] - by_seed[baseline]).dropna().to_numpy(dtype=np.float64)
            rows.append({"method": method, "baseline": baseline} | _interval(difference))
    return rows


def _interval(differences: "np.ndarray[Any, np.dtype[np.float64]]") -> dict[str, Any]:
    n = len(differences)
    if n == 0:
        return {"mean": np.nan, "low": np.nan, "high": np.nan, "n": 0}
    mean = float(differences.mean())
    if n == 1:
        return {"mean": mean, "low": np.nan, "high": np.nan, "n": 1}
    from scipy.stats import t

    error = float(differences.std(ddof=1)) / np.sqrt(n)
    half = float(t.ppf((1 + _CONFIDENCE) / 2, n - 1)) * error
    return {"mean": mean, "low": mean - half, "high": mean + half, "n": n}


def _sorted(table: "pd.DataFrame") -> "pd.DataFrame":
    place = {name: number for number, name in enumerate(sort_methods(table["method"]))}
    ordered = table.assign(place=table["method"].map(place)).sort_values(
        [*_PANEL, "place", "rate"], kind="stable", ignore_index=True
    )
    return ordered.drop(columns="place")


def _check_columns(results: "pd.DataFrame", needed: Sequence[str]) -> None:
    missing = [name for name in needed if name not in results.columns]
    if missing:
        raise InvalidInputError(
            f"A table of results needs the columns {', '.join(needed)}; "
            f"missing: {', '.join(missing)}."
        )


@dataclass(frozen=True)
class Entry:
    """A cell of a grid; `best` cells are emphasised."""

    text: str
    best: bool = False


@dataclass(frozen=True)
class Grid:
    """A table as text, for a terminal or a page; the first column names the row."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]


def grid_of_means(summary: "pd.DataFrame") -> Grid:
    """Lay out the means of one data set and protocol: methods by rates."""
    rates = sorted(summary["rate"].unique())
    best = summary.groupby("rate")["mean"].max()
    rows = []
    for method, part in summary.groupby("method", sort=False):
        spread = {
            rate: (mean, sd)
            for rate, mean, sd in zip(part["rate"], part["mean"], part["sd"], strict=True)
        }
        entries = [Entry(title_of(str(method)))]
        for rate in rates:
            mean, sd = spread.get(rate, (np.nan, np.nan))
            entries.append(Entry(format_mean(mean, sd), best=bool(mean == best[rate])))
        rows.append(tuple(entries))
    return Grid(("labels known", *map(format_rate, rates)), tuple(rows))


def grid_of_seconds(results: "pd.DataFrame") -> Grid:
    """Lay out the median seconds of search and fit by method; no rows if they are not known."""
    if not set(SECONDS) <= set(results.columns):
        return Grid(("method", *SECONDS.values()), ())
    rows = []
    for method in sort_methods(results["method"]):
        part = results[results["method"] == method]
        texts = (
            title_of(method),
            *(format_seconds(float(part[name].median())) for name in SECONDS),
        )
        rows.append(tuple(map(Entry, texts)))
    return Grid(("method", *SECONDS.values()), tuple(rows))


def grid_of_differences(differences: "pd.DataFrame") -> Grid:
    """Lay out the paired differences of one data set and protocol: rates by methods."""
    methods = list(dict.fromkeys(differences["method"]))
    rows = []
    for rate, part in differences.groupby("rate", sort=True):
        columns = [part[name] for name in ("mean", "low", "high", "n")]
        texts = {
            method: format_interval(*values)
            for method, values in zip(part["method"], zip(*columns, strict=True), strict=True)
        }
        names = format_rate(float(str(rate))), title_of(str(part["baseline"].iloc[0]))
        found = [texts.get(method, MISSING) for method in methods]
        rows.append(tuple(Entry(text) for text in (*names, *found)))
    titles = (title_of(method) for method in methods)
    return Grid(("known", "best baseline", *titles), tuple(rows))


def format_mean(mean: float, sd: float) -> str:
    """Format a mean in points, and its standard deviation if there is one.

    >>> format_mean(0.351, 0.004), format_mean(0.351, float("nan"))
    ('35.1 ± 0.4', '35.1')
    """
    if np.isnan(mean):
        return MISSING
    return f"{100 * mean:.1f}" if np.isnan(sd) else f"{100 * mean:.1f} ± {100 * sd:.1f}"


def format_interval(mean: float, low: float, high: float, n: int) -> str:
    """Format a difference in points, its interval and the number of seeds.

    >>> format_interval(0.012, 0.005, 0.019, 5)
    '+1.2 [+0.5, +1.9], n=5'
    >>> format_interval(-0.012, float("nan"), float("nan"), 1)
    '−1.2, n=1'
    """
    if np.isnan(mean):
        return MISSING
    interval = "" if np.isnan(low) else f" [{format_points(low)}, {format_points(high)}]"
    return f"{format_points(mean)}{interval}, n={n}"


def format_seconds(value: float) -> str:
    """Format seconds with about three digits.

    >>> [format_seconds(value) for value in (0.0001, 0.01234, 2.345, 123.4)]
    ['< 0.001', '0.012', '2.3', '123']
    """
    if not np.isfinite(value):
        return MISSING
    if value < 0.001:
        return "< 0.001"
    return f"{value:.3f}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def print_summary(results: "pd.DataFrame", console: "Console | None" = None) -> None:
    """Print the mean mAP by method and rate, the seconds, and our differences to the best baseline.

    Parameters
    ----------
    results : DataFrame
        One row for each (dataset, protocol, method, rate, seed).
    console : rich.console.Console, optional
        Where to print; standard output by default.
    """
    from rich.console import Console

    console = console or Console(highlight=False)
    summary, differences = summarise(results), paired_differences(results)
    for (dataset, protocol), part in summary.groupby(["dataset", "protocol"], sort=False):
        title = f"{dataset}, {protocol}"
        learners, descriptors = learners_only(part), descriptors_only(part)
        if len(learners):
            console.print(_table(title, CAPTION_OF_MEANS, grid_of_means(learners)))
            same = (results["dataset"] == dataset) & (results["protocol"] == protocol)
            seconds = grid_of_seconds(learners_only(results[same]))
            if seconds.rows:
                console.print(_table(None, CAPTION_OF_SECONDS, seconds))
        same = (differences["dataset"] == dataset) & (differences["protocol"] == protocol)
        if same.any():
            grid = grid_of_differences(differences[same])
            console.print(_table(None, CAPTION_OF_DIFFERENCES, grid))
        if len(descriptors):
            grid = grid_of_means(descriptors)
            console.print(_table(f"{title}: descriptors alone", CAPTION_OF_MEANS, grid))


def _table(title: str | None, caption: str, grid: Grid) -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    # Names come from files: Text keeps them from being read as markup.
    heading = Text(title, style="bold") if title else None
    table = Table(
        title=heading, caption=caption, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False
    )
    for number, column in enumerate(grid.columns):
        table.add_column(Text(column), justify="right" if number else "left", no_wrap=True)
    for row in grid.rows:
        table.add_row(*(Text(entry.text, style="bold" if entry.best else "") for entry in row))
    return table


def title_of(method: str) -> str:
    """Return the title of a method, or its name if it is unknown."""
    return _METHODS[method].title if method in _METHODS else str(method)


def sort_methods(methods: Iterable[str]) -> list[str]:
    """Sort the distinct methods for tables: unknown ones by name, then baselines, then ours."""
    places = {name: place for place, name in enumerate(_METHODS)}
    return sorted(set(methods), key=lambda name: (places.get(name, -1), name))


def learners_only(table: "pd.DataFrame") -> "pd.DataFrame":
    """Return the rows of the methods, without those of single descriptors."""
    return table[~table["method"].isin(_DESCRIPTOR_NAMES)]


def descriptors_only(table: "pd.DataFrame") -> "pd.DataFrame":
    """Return the rows of descriptors that are validated on their own."""
    return table[table["method"].isin(_DESCRIPTOR_NAMES)]


def format_rate(rate: float) -> str:
    """Format a share of labels.

    >>> format_rate(0.1), format_rate(0.125)
    ('10%', '12.5%')
    """
    return f"{100 * rate:.4g}%"


def format_points(points: float) -> str:
    """Format a difference in points with its sign, using a true minus.

    >>> format_points(0.0123), format_points(-0.5)
    ('+1.2', '−50.0')
    """
    return f"{100 * points:+.1f}".replace("-", "−")
