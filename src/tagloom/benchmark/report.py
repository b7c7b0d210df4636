"""The HTML report of a benchmark: findings, tables, figures, costs and configuration.

This module computes the contents; `report.html` is the template of the page, which is one file
that loads nothing and runs nothing.
"""

import base64
import io
import json
import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import numpy as np
from markupsafe import Markup

from tagloom import __version__
from tagloom.benchmark.summary import (
    CAPTION_OF_MEANS,
    MISSING,
    OURS,
    Grid,
    best_baseline,
    descriptors_only,
    format_points,
    format_rate,
    format_seconds,
    grid_of_means,
    learners_only,
    paired_differences,
    sort_methods,
    summarise,
    title_of,
)
from tagloom.datasets.base import Dataset
from tagloom.io import atomic_write

if TYPE_CHECKING:
    import pandas as pd

_CAPTIONS = {
    "map": "mAP against the share of labels known.",
    "descriptors": "The semantic descriptors on their own: the same learner on each.",
    "examples": "Test pictures with the five labels of highest score by {method}.",
    "neighbours": "Test pictures and the training pictures nearest to them.",
}
_METRICS = {
    "map": "mAP",
    "map_voc11": "mAP, 11 points",
    "map_per_item": "AP per picture",
    "precision_at_5": "precision at 5",
    "recall_at_5": "recall at 5",
    "f1_at_5": "F1 at 5",
}
_COSTS = {
    "search_seconds": "search (s)",
    "fit_seconds": "fit (s)",
    "score_seconds": "score (s)",
}
_PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "onnxruntime", "numba")
_SHOWN_LABELS = 8
_INTERVAL_WIDTH, _INTERVAL_HEIGHT, _INTERVAL_MARGIN = 128, 16, 5
_WIDEST_PICTURE = 1500


@dataclass(frozen=True)
class Interval:
    """An interval, drawn in the coordinates of its box; `span` is None without a spread."""

    kind: str
    zero: str
    mean: str
    span: tuple[str, str] | None
    width: int = _INTERVAL_WIDTH
    height: int = _INTERVAL_HEIGHT


@dataclass(frozen=True)
class Cell:
    """A cell of a table; `change` is "up", "down" or empty."""

    text: object
    best: bool = False
    change: str = ""
    interval: Interval | None = None


@dataclass(frozen=True)
class Table:
    """A table of the page; columns of words are flush left, numbers flush right."""

    columns: tuple[str, ...]
    rows: list[list[Cell]]
    caption: str = ""
    words: tuple[int, ...] = (0,)

    @classmethod
    def of(
        cls, columns: Sequence[str], rows: Sequence[Sequence[object]], **options: Any
    ) -> "Table":
        """Make a table of plain values."""
        cells = [[one if isinstance(one, Cell) else Cell(one) for one in row] for row in rows]
        return cls(tuple(columns), cells, **options)


@dataclass(frozen=True)
class Figure:
    """A figure embedded in the page: curves as SVG ("lines"), or pictures as JPEG."""

    kind: str
    source: str
    caption: str
    width: float | None = None


def write_report(
    path: Path,
    results: "pd.DataFrame",
    labels: "pd.DataFrame | None",
    dataset: Dataset | None,
    configuration: Mapping[str, Any],
    figures: Sequence[Path] = (),
) -> None:
    """Write the report of a benchmark as one self-contained HTML file.

    Parameters
    ----------
    path : Path
        The file to write.
    results, labels : DataFrame
        One row for each cell, and for each label of each cell.
    dataset : Dataset, optional
        Its sizes and notes are reported.
    configuration : mapping
        The settings of the benchmark.
    figures : sequence of Path
        The files that `write_figures` wrote.
    """
    names = ", ".join(dict.fromkeys(map(str, results["dataset"])))
    summary = summarise(results)
    page = _template().render(
        title=f"Learning from incomplete labels: {names}",
        style=Markup(_resource("report.css")),
        lead=_lead(results),
        findings=_findings(results),
        curves=_curves(figures, "map"),
        panels=list(_panels(results, labels, summary)),
        descriptor_curves=_curves(figures, "descriptors"),
        descriptors={
            f"{dataset}, {protocol}": _table_of_grid(grid_of_means(part))
            for (dataset, protocol), part in _by_panel(descriptors_only(summary))
        },
        pictures=[_pictures(path) for path in figures if _shows_pictures(path)],
        costs=_table_of_costs(results),
        configuration=list(_configuration(dataset, configuration)),
    )
    with atomic_write(path) as part:
        part.write_text(page, encoding="utf-8")


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_resource("report.html"))


def _resource(name: str) -> str:
    return files("tagloom.benchmark").joinpath(name).read_text(encoding="utf-8")


def _lead(results: "pd.DataFrame") -> str:
    """Return the size of the benchmark as a sentence."""
    sizes = {
        name: results[name].nunique()
        for name in ("dataset", "protocol", "method", "rate", "seed")
        if results[name].nunique() > 1
    }
    counted = ", ".join(f"{count} {name}s" for name, count in sizes.items())
    lead = f"{len(results)} cells" + (f": {counted}." if counted else ".")
    if "n_labels_left_out" in results.columns and results["n_labels_left_out"].max() > 0:
        lead += f" {results['n_labels_scored'].max()} labels are evaluated;"
        lead += f" {results['n_labels_left_out'].max()} have no test presence."
    return lead


def _findings(results: "pd.DataFrame") -> list[str]:
    """Return the verdicts of all panels."""
    single = len(results[["dataset", "protocol"]].drop_duplicates()) == 1
    return [
        line if single else f"{dataset}, {protocol} – {line}"
        for (dataset, protocol), part in _by_panel(paired_differences(results))
        for line in verdicts(part)
    ]


def verdicts(differences: "pd.DataFrame") -> list[str]:
    """Return a sentence for each of our methods: at how many rates it is above or below."""
    lines = []
    for method, part in differences.groupby("method", sort=False):
        counts = {
            "above": int((part["low"] > 0).sum()),
            "below": int((part["high"] < 0).sum()),
            "not distinguishable from": int(((part["low"] <= 0) & (part["high"] >= 0)).sum()),
            "with too few seeds to compare with": int(part["low"].isna().sum()),
        }
        counted = ", ".join(f"{what} it at {count}" for what, count in counts.items() if count)
        rates = "1 rate" if len(part) == 1 else f"{len(part)} rates"
        lines.append(f"{title_of(str(method))} against the best baseline, {rates}: {counted}.")
    return lines


def _panels(
    results: "pd.DataFrame", labels: "pd.DataFrame | None", summary: "pd.DataFrame"
) -> Iterator[dict[str, Any]]:
    """Yield the tables of each data set and protocol."""
    differences = paired_differences(results)
    for (dataset, protocol), part in _by_panel(learners_only(results)):
        means = learners_only(_of_panel(summary, dataset, protocol))
        own = None if labels is None else _of_panel(labels, dataset, protocol)
        yield {
            "title": f"{dataset}, {protocol}",
            "means": _table_of_grid(grid_of_means(means)),
            "differences": _tables_of_differences(_of_panel(differences, dataset, protocol)),
            "metrics": _table_of_metrics(part),
            "parameters": _table_of_parameters(part),
            "labels": None if own is None else _compare_labels(own, part),
        }


def _by_panel(table: "pd.DataFrame") -> Iterator[tuple[tuple[str, str], "pd.DataFrame"]]:
    for (dataset, protocol), part in table.groupby(["dataset", "protocol"], sort=False):
        yield (str(dataset), str(protocol)), part


def _of_panel(table: "pd.DataFrame", dataset: str, protocol: str) -> "pd.DataFrame":
    return table[(table["dataset"] == dataset) & (table["protocol"] == protocol)]


def _table_of_grid(grid: Grid) -> Table:
    rows = [[Cell(entry.text, best=entry.best) for entry in row] for row in grid.rows]
    return Table(grid.columns, rows, CAPTION_OF_MEANS)


def _tables_of_differences(differences: "pd.DataFrame") -> dict[str, Table]:
    """Return a table for each of our methods, with intervals drawn on a common scale."""
    ends = differences[["mean", "low", "high"]].to_numpy(dtype=float)
    finite = [0.0, *ends[np.isfinite(ends)].tolist()]
    scale = min(finite), max(finite)
    columns = ("known", "difference", "95% interval", "", "best baseline", "n")
    return {
        title_of(str(method)): Table.of(
            columns,
            [_difference_row(row, scale) for row in part.to_dict("records")],
            words=(0, 3, 4),
        )
        for method, part in differences.groupby("method", sort=False)
    }


def _difference_row(row: "dict[Any, Any]", scale: tuple[float, float]) -> list[object]:
    mean, low, high = (float(row[name]) for name in ("mean", "low", "high"))
    return [
        format_rate(row["rate"]),
        format_points(mean) if np.isfinite(mean) else MISSING,
        f"[{format_points(low)}, {format_points(high)}]" if np.isfinite(low) else MISSING,
        Cell("", interval=_draw_interval(mean, low, high, scale)),
        title_of(row["baseline"]),
        int(row["n"]),
    ]


def _draw_interval(
    mean: float, low: float, high: float, scale: tuple[float, float]
) -> Interval | None:
    """Draw an interval, its mean and a line at 0."""
    if not np.isfinite(mean):
        return None
    least, most = scale
    unit = (_INTERVAL_WIDTH - 2 * _INTERVAL_MARGIN) / ((most - least) or 1.0)

    def place(value: float) -> str:
        return f"{_INTERVAL_MARGIN + (value - least) * unit:.1f}"

    kind = "up" if low > 0 else "down" if high < 0 else "open"
    span = (place(low), place(high)) if np.isfinite(low) else None
    return Interval(kind, place(0), place(mean), span)


def _table_of_metrics(results: "pd.DataFrame") -> Table:
    """Return every metric by method and rate, averaged over seeds, of one panel."""
    names = [name for name in _METRICS if name in results.columns]
    with_n_plus = "n_plus_at_5" in results.columns
    rows: list[list[object]] = []
    for method in sort_methods(results["method"]):
        of_method = results[results["method"] == method]
        for rate, part in of_method.groupby("rate", sort=True):
            means = [_points(float(part[name].mean())) for name in names]
            n_plus = [f"{part['n_plus_at_5'].mean():.1f}"] if with_n_plus else []
            rows.append([title_of(method), format_rate(float(str(rate))), *means, *n_plus])
    titles = [_METRICS[name] for name in names] + (["N+"] if with_n_plus else [])
    caption = "Points, means over seeds. N+: labels with recall above 0 at the five best."
    return Table.of(("method", "known", *titles), rows, caption=caption)


def _table_of_parameters(results: "pd.DataFrame") -> Table | None:
    """Return the parameters that the search chose most often, of one panel."""
    rows: list[list[object]] = []
    if "parameters" not in results.columns:
        return None
    for method in sort_methods(results["method"]):
        of_method = results[results["method"] == method]
        for rate, part in of_method.groupby("rate", sort=True):
            counts = part["parameters"].value_counts(sort=False)
            chosen = _parameters_in_words(str(counts.idxmax())) if len(counts) else MISSING
            share = f"{counts.max()} of {len(part)}" if len(counts) else MISSING
            rows.append([title_of(method), format_rate(float(str(rate))), share, chosen])
    caption = "The choice made for most seeds, and for how many."
    return Table.of(("method", "known", "seeds", "parameters"), rows, caption=caption, words=(0, 3))


def _parameters_in_words(text: str) -> str:
    """Return parameters as they are read, and not as they are stored.

    >>> _parameters_in_words('{"ridge": 0.36577, "normalize_rows": true}')
    'ridge 0.366, normalize_rows yes'
    """
    try:
        parameters = json.loads(text)
    except ValueError:
        return text
    if not isinstance(parameters, dict):
        return text
    words = {True: "yes", False: "no"}
    return ", ".join(
        f"{name} {words[value]}"
        if isinstance(value, bool)
        else f"{name} {value:.3g}"
        if isinstance(value, float)
        else f"{name} {value}"
        for name, value in parameters.items()
    )


def _points(value: float) -> str:
    return f"{100 * value:.1f}" if np.isfinite(value) else MISSING


def _compare_labels(labels: "pd.DataFrame", results: "pd.DataFrame") -> dict[str, Any] | None:
    """Compare our method with the best baseline, label by label, at the lowest rate."""
    if labels.empty or results.empty:
        return None
    rate = float(results["rate"].min())
    baseline = best_baseline(results[results["rate"] == rate])
    present = sort_methods(labels.loc[labels["rate"] == rate, "method"])
    ours = [method for method in present if method in OURS][-1:]
    if not ours or baseline not in present:
        return None
    compared = _label_precisions(labels[labels["rate"] == rate], ours[0], str(baseline))
    if compared.empty:
        return None
    titles = title_of(ours[0]), title_of(str(baseline))
    n_left_out = int(labels["label"].nunique()) - len(compared)
    return {
        "summary": _label_summary(compared, titles, rate, n_left_out),
        "tables": _label_tables(compared, titles),
    }


def _label_precisions(labels: "pd.DataFrame", ours: str, baseline: str) -> "pd.DataFrame":
    """Return the AP of both methods by label, averaged over the seeds that both have."""
    known = labels.dropna(subset=["ap"])
    counts = known.groupby("label")["n_test_presences"].max()
    by_seed = known.pivot_table(index=["label", "seed"], columns="method", values="ap")
    if ours not in by_seed.columns or baseline not in by_seed.columns:
        return by_seed.iloc[:0]
    means = by_seed[[ours, baseline]].dropna().groupby("label").mean()
    means.columns = ["ours", "baseline"]
    means["difference"] = means["ours"] - means["baseline"]
    means["n"] = counts
    return means.reset_index().sort_values("label", ignore_index=True)


def _label_summary(
    compared: "pd.DataFrame", titles: tuple[str, str], rate: float, n_left_out: int
) -> str:
    higher = int((compared["difference"] > 0).sum())
    lower = int((compared["difference"] < 0).sum())
    same = len(compared) - higher - lower
    return (
        f"{format_rate(rate)} of the labels known, means over seeds. {titles[0]} against "
        f"{titles[1]}: higher AP on {higher} labels, lower on {lower}, the same on {same}. "
        f"{n_left_out} labels have no test presence, and so no AP."
    )


def _label_tables(compared: "pd.DataFrame", titles: tuple[str, str]) -> dict[str, Table]:
    by_gain = compared.sort_values("difference", ascending=False, kind="stable")
    by_ap = compared.sort_values("ours", ascending=False, kind="stable")
    parts = {
        "Largest gains": by_gain.head(_SHOWN_LABELS),
        "Largest losses": by_gain.iloc[::-1].head(_SHOWN_LABELS),
        f"Best labels of {titles[0]}": by_ap.head(_SHOWN_LABELS),
        f"Worst labels of {titles[0]}": by_ap.iloc[::-1].head(_SHOWN_LABELS),
    }
    if len(compared) <= 2 * _SHOWN_LABELS:
        # The tables would repeat each other.
        parts = {"All labels, largest gains first": by_gain}
    columns = ("label", "difference", *titles, "in test")
    return {
        title: Table.of(columns, [_label_row(row) for row in part.to_dict("records")])
        for title, part in parts.items()
    }


def _label_row(row: "dict[Any, Any]") -> list[object]:
    difference = float(row["difference"])
    change = "up" if difference > 0 else "down" if difference < 0 else ""
    aps = [f"{100 * row[name]:.1f}" for name in ("ours", "baseline")]
    count = int(row["n"]) if np.isfinite(row["n"]) else MISSING
    return [row["label"], Cell(format_points(difference), change=change), *aps, count]


def _curves(figures: Sequence[Path], name: str) -> Figure | None:
    """Return a figure of curves; it scales only as far as its text stays readable."""
    found = [path for path in figures if path.stem == name and path.suffix == ".svg"]
    if not found:
        return None
    content = found[0].read_bytes()
    width = re.search(rb'<svg[^>]* width="([0-9.]+)pt"', content)
    source = _data_url("svg+xml", content)
    return Figure("lines", source, _caption(name), None if width is None else float(width[1]))


def _shows_pictures(path: Path) -> bool:
    return path.suffix == ".png" and path.stem.split("-")[0] in ("examples", "neighbours")


def _pictures(path: Path) -> Figure:
    """Return a figure of pictures, as a JPEG of moderate size."""
    from PIL import Image

    with Image.open(path) as opened:
        picture = opened.convert("RGB")
    picture.thumbnail((_WIDEST_PICTURE, _WIDEST_PICTURE * 3))
    stream = io.BytesIO()
    picture.save(stream, format="JPEG", quality=80, optimize=True)
    return Figure("pictures", _data_url("jpeg", stream.getvalue()), _caption(path.stem))


def _data_url(kind: str, content: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"


def _caption(stem: str) -> str:
    kind, _, method = stem.partition("-")
    return _CAPTIONS[kind].format(method=title_of(method))


def _table_of_costs(results: "pd.DataFrame") -> Table:
    """Return the time and memory of a cell by method."""
    costs = [name for name in _COSTS if name in results.columns]
    rows: list[list[object]] = []
    for method in sort_methods(results["method"]):
        part = results[results["method"] == method]
        row: list[object] = [title_of(method), len(part)]
        row += [format_seconds(float(part[name].median())) for name in costs]
        if "n_trials" in part:
            row.append(f"{part['n_trials'].median():.0f}")
        if "peak_memory_mib" in part:
            most = float(part["peak_memory_mib"].max())
            row.append(f"{most:,.0f}" if np.isfinite(most) else MISSING)
        rows.append(row)
    columns = ["method", "cells", *(_COSTS[name] for name in costs)]
    columns += ["trials"] if "n_trials" in results.columns else []
    columns += ["memory (MiB)"] if "peak_memory_mib" in results.columns else []
    caption = (
        "Medians over cells. Search: choosing parameters among the trials; fit: once with the "
        "chosen ones; score: all test items. Memory: by how much the process grew at most, the "
        "highest of any cell."
    )
    return Table.of(columns, rows, caption=caption)


def _configuration(
    dataset: Dataset | None, configuration: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield everything needed to run the benchmark again, in titled blocks."""
    settings = {str(name): _as_text(value) for name, value in configuration.items()}
    yield {"title": "Settings", "entries": settings, "notes": ()}
    if dataset is not None:
        sizes = _dataset_sizes(dataset)
        yield {"title": f"Data set: {dataset.name}", "entries": sizes, "notes": dataset.notes}
    yield {"title": "Machine", "entries": _machine(), "notes": ()}
    yield {"title": "Versions", "entries": _versions(), "notes": ()}


def _as_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_as_text, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {_as_text(entry)}" for name, entry in value.items())
    return "not set" if value is None else str(value)


def _dataset_sizes(dataset: Dataset) -> dict[str, str]:
    """Return the sizes of a data set as text."""
    test = dataset.truth.take(dataset.test)
    n_entries = test.n_items * test.n_labels
    metadata = {
        "items": f"{len(dataset.training):,} for training, {len(dataset.test):,} for test",
        "labels": f"{test.n_labels:,}",
        "labels of a test item": f"{test.n_present / max(1, test.n_items):.1f} on average",
    }
    if not test.is_complete:
        unknown = n_entries - test.n_known
        share = unknown / max(1, n_entries)
        metadata["unknown truth"] = f"{unknown:,} test entries ({share:.1%}), not evaluated"
    if dataset.features is not None:
        metadata["visual descriptor"] = f"{dataset.features.visual.shape[1]:,} numbers per item"
    return metadata


def _machine() -> dict[str, str]:
    """Return the properties of the machine that times depend on, and nothing personal."""
    metadata = {
        "processor": _processor(),
        "cores": f"{_usable_cores()} usable",
        "system": f"{platform.system()} {platform.machine()}",
    }
    memory = _memory()
    return metadata | ({"memory": memory} if memory else {})


def _versions() -> dict[str, str]:
    """Return the versions of the packages that compute the numbers."""
    metadata = {"tagloom": __version__, "Python": platform.python_version()}
    for package in _PACKAGES:
        try:
            metadata[package] = version(package)
        except PackageNotFoundError:
            continue
    return metadata


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or "unknown"


def _usable_cores() -> int:
    """Return the number of cores that this process may use, or of all cores if unknown."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


def _memory() -> str | None:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
    return f"{size / 2**30:.1f} GiB"
