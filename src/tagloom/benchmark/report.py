"""The HTML report of a benchmark: findings, tables, figures, costs and configuration.

The page is one file that loads nothing and runs nothing.
"""

import base64
import io
import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

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
    grid_of_means,
    learners_only,
    paired_differences,
    sort_methods,
    summarise,
    title_of,
)
from tagloom.datasets.base import Dataset
from tagloom.html import Markup, folded, heading, listing, metadata, paragraph, section, table
from tagloom.io import atomic_write

if TYPE_CHECKING:
    import pandas as pd

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
{body}
</main>
</body>
</html>
"""
_CAPTIONS = {
    "map": "mAP against the share of labels known.",
    "descriptors": "The semantic descriptors on their own: the same learner on each.",
    "examples": "Test pictures with the five labels of highest score by {method}.",
    "neighbours": "Test pictures and the training pictures nearest to them.",
}
_CAPTION_OF_DIFFERENCES = (
    "Points of mAP above the best baseline at that rate (the one with the highest mean), paired by "
    "seed. 95% t intervals over seeds: they cover the draw of the known labels, not the choice of "
    "test items, and are not corrected for multiple comparisons."
)
_RULE = (
    "Above and below mean that the 95% interval of the paired difference in mAP lies on that side "
    "of 0; not distinguishable means that it contains 0."
)
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
_INTERVAL_WIDTH, _INTERVAL_HEIGHT, _INTERVAL_MARGIN = 128.0, 16.0, 5.0
_WIDEST_PICTURE = 1500


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
    title = f"Learning from incomplete labels: {names}"
    sections = [
        _findings(results),
        *_panels(results, labels, figures),
        _pictures(figures),
        section("Time and memory", table_of_costs(results)),
        _configuration_section(dataset, configuration),
    ]
    body = "\n".join(part for part in sections if part)
    style = files("tagloom.benchmark").joinpath("report.css").read_text(encoding="utf-8")
    page = _PAGE.format(title=escape(title), style=style, body=body)
    with atomic_write(path) as part:
        part.write_text(page, encoding="utf-8")


def _findings(results: "pd.DataFrame") -> Markup:
    sizes = {
        name: results[name].nunique()
        for name in ("dataset", "protocol", "method", "rate", "seed")
        if results[name].nunique() > 1
    }
    counted = ", ".join(f"{count} {name}s" for name, count in sizes.items())
    lead = f"{len(results)} cells" + (f": {counted}." if counted else ".")
    single = len(results[["dataset", "protocol"]].drop_duplicates()) == 1
    lines = [
        line if single else f"{dataset}, {protocol} – {line}"
        for (dataset, protocol), part in _by_panel(paired_differences(results))
        for line in verdicts(part)
    ]
    left_out = ""
    if "n_labels_left_out" in results.columns and results["n_labels_left_out"].max() > 0:
        scored = f"{results['n_labels_scored'].max()} labels are evaluated"
        left_out = f"{scored}; {results['n_labels_left_out'].max()} have no test presence."
    return Markup(
        paragraph(f"{lead} {left_out}".strip(), "lead")
        + (listing(lines) + paragraph(_RULE, "note") if lines else "")
    )


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
    results: "pd.DataFrame", labels: "pd.DataFrame | None", figures: Sequence[Path]
) -> Iterator[Markup]:
    """Yield the curves and then the tables of each data set and protocol."""
    yield section("Quality by share of labels known", _figure(figures, "map"))
    summary, differences = summarise(results), paired_differences(results)
    for (dataset, protocol), part in _by_panel(learners_only(results)):
        own = [_of_panel(table, dataset, protocol) for table in (summary, differences)]
        parts = [table_of_grid(grid_of_means(learners_only(own[0])), CAPTION_OF_MEANS)]
        parts += [tables_of_differences(own[1])] if len(own[1]) else []
        parts.append(folded("All metrics", table_of_metrics(part)))
        parts.append(folded("Chosen parameters", table_of_parameters(part)))
        if labels is not None:
            compared = labels_of_panel(_of_panel(labels, dataset, protocol), part)
            parts += [heading("Label by label"), compared] if compared else []
        yield section(f"{dataset}, {protocol}", *parts)
    yield _descriptors(summary, figures)


def _by_panel(table: "pd.DataFrame") -> Iterator[tuple[tuple[str, str], "pd.DataFrame"]]:
    for (dataset, protocol), part in table.groupby(["dataset", "protocol"], sort=False):
        yield (str(dataset), str(protocol)), part


def _of_panel(table: "pd.DataFrame", dataset: str, protocol: str) -> "pd.DataFrame":
    return table[(table["dataset"] == dataset) & (table["protocol"] == protocol)]


def table_of_grid(grid: Grid, caption: str) -> Markup:
    """Return a grid as an HTML table."""
    rows = [[entry.text for entry in row] for row in grid.rows]
    best = [
        (number, place)
        for number, row in enumerate(grid.rows)
        for place, entry in enumerate(row)
        if entry.best
    ]
    return table(grid.columns, rows, caption=caption, best=best)


def tables_of_differences(differences: "pd.DataFrame") -> Markup:
    """Return a table for each of our methods, with intervals drawn on a common scale."""
    ends = differences[["mean", "low", "high"]].to_numpy(dtype=float)
    finite = [0.0, *ends[np.isfinite(ends)].tolist()]
    scale = min(finite), max(finite)
    columns = ("known", "difference", "95% interval", "", "best baseline", "n")
    drawn = []
    for method, part in differences.groupby("method", sort=False):
        rows = [_interval_row(row, scale) for row in part.to_dict("records")]
        title = heading(f"{title_of(str(method))} against the best baseline")
        drawn.append(title + table(columns, rows, words=(0, 3, 4)))
    return Markup("".join(drawn) + paragraph(_CAPTION_OF_DIFFERENCES, "note"))


def _interval_row(row: "dict[Any, Any]", scale: tuple[float, float]) -> list[object]:
    mean, low, high = (float(row[name]) for name in ("mean", "low", "high"))
    return [
        format_rate(row["rate"]),
        format_points(mean) if np.isfinite(mean) else MISSING,
        f"[{format_points(low)}, {format_points(high)}]" if np.isfinite(low) else MISSING,
        _draw_interval(mean, low, high, scale),
        title_of(row["baseline"]),
        int(row["n"]),
    ]


def _draw_interval(mean: float, low: float, high: float, scale: tuple[float, float]) -> Markup:
    """Draw an interval, its mean and a line at 0."""
    if not np.isfinite(mean):
        return Markup("")
    least, most = scale
    unit = (_INTERVAL_WIDTH - 2 * _INTERVAL_MARGIN) / ((most - least) or 1.0)

    def place(value: float) -> str:
        return f"{_INTERVAL_MARGIN + (value - least) * unit:.1f}"

    kind = "up" if low > 0 else "down" if high < 0 else "open"
    middle = _INTERVAL_HEIGHT / 2
    span = (
        f'<line class="span" x1="{place(low)}" x2="{place(high)}" y1="{middle}" y2="{middle}"/>'
        if np.isfinite(low)
        else ""
    )
    return Markup(
        f'<svg class="interval {kind}" viewBox="0 0 {_INTERVAL_WIDTH:g} {_INTERVAL_HEIGHT:g}" '
        f'aria-hidden="true"><line class="zero" x1="{place(0)}" x2="{place(0)}" y1="-3" '
        f'y2="{_INTERVAL_HEIGHT + 3:g}"/>{span}'
        f'<circle class="mean" cx="{place(mean)}" cy="{middle}" r="3.5"/></svg>'
    )


def table_of_metrics(results: "pd.DataFrame") -> Markup:
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
    return table(("method", "known", *titles), rows, caption=caption)


def table_of_parameters(results: "pd.DataFrame") -> Markup:
    """Return the parameters that the search chose most often, of one panel."""
    rows: list[list[object]] = []
    if "parameters" not in results.columns:
        return Markup("")
    for method in sort_methods(results["method"]):
        of_method = results[results["method"] == method]
        for rate, part in of_method.groupby("rate", sort=True):
            counts = part["parameters"].value_counts(sort=False)
            chosen = str(counts.idxmax()) if len(counts) else MISSING
            share = f"{counts.max()} of {len(part)}" if len(counts) else MISSING
            rows.append([title_of(method), format_rate(float(str(rate))), share, chosen])
    caption = "The choice made for most seeds, and for how many."
    return table(("method", "known", "seeds", "parameters"), rows, caption=caption, words=(0, 3))


def _points(value: float) -> str:
    return f"{100 * value:.1f}" if np.isfinite(value) else MISSING


def labels_of_panel(labels: "pd.DataFrame", results: "pd.DataFrame") -> Markup:
    """Compare our method with the best baseline, label by label, at the lowest rate.

    Parameters
    ----------
    labels, results : DataFrame
        The two tables of a benchmark, for one data set and protocol.
    """
    if labels.empty or results.empty:
        return Markup("")
    rate = float(results["rate"].min())
    baseline = best_baseline(results[results["rate"] == rate])
    present = sort_methods(labels.loc[labels["rate"] == rate, "method"])
    ours = [method for method in present if method in OURS][-1:]
    if not ours or baseline not in present:
        return Markup("")
    compared = _compare_labels(labels[labels["rate"] == rate], ours[0], str(baseline))
    if compared.empty:
        return Markup("")
    titles = title_of(ours[0]), title_of(str(baseline))
    n_left_out = int(labels["label"].nunique()) - len(compared)
    return Markup(
        _label_summary(compared, titles, rate, n_left_out) + _label_tables(compared, titles)
    )


def _compare_labels(labels: "pd.DataFrame", ours: str, baseline: str) -> "pd.DataFrame":
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
) -> Markup:
    higher = int((compared["difference"] > 0).sum())
    lower = int((compared["difference"] < 0).sum())
    same = len(compared) - higher - lower
    text = (
        f"{format_rate(rate)} of the labels known, means over seeds. {titles[0]} against "
        f"{titles[1]}: higher AP on {higher} labels, lower on {lower}, the same on {same}. "
        f"{n_left_out} labels have no test presence, and so no AP."
    )
    return paragraph(text)


def _label_tables(compared: "pd.DataFrame", titles: tuple[str, str]) -> Markup:
    by_gain = compared.sort_values("difference", ascending=False, kind="stable")
    by_ap = compared.sort_values("ours", ascending=False, kind="stable")
    parts = {
        "Largest gains": by_gain.head(_SHOWN_LABELS),
        "Largest losses": by_gain.iloc[::-1].head(_SHOWN_LABELS),
        f"Best labels of {titles[0]}": by_ap.head(_SHOWN_LABELS),
        f"Worst labels of {titles[0]}": by_ap.iloc[::-1].head(_SHOWN_LABELS),
    }
    drawn = "".join(
        f"<div>{heading(title)}{_label_table(part, titles)}</div>" for title, part in parts.items()
    )
    return Markup(f'<div class="columns">{drawn}</div>')


def _label_table(part: "pd.DataFrame", titles: tuple[str, str]) -> Markup:
    rows = [_label_row(row) for row in part.to_dict("records")]
    return table(("label", "difference", *titles, "in test"), rows)


def _label_row(row: "dict[Any, Any]") -> list[object]:
    difference = float(row["difference"])
    kind = "up" if difference > 0 else "down" if difference < 0 else ""
    change = Markup(f'<span class="{kind}">{format_points(difference)}</span>')
    aps = [f"{100 * row[name]:.1f}" for name in ("ours", "baseline")]
    count = int(row["n"]) if np.isfinite(row["n"]) else MISSING
    return [row["label"], change, *aps, count]


def _descriptors(summary: "pd.DataFrame", figures: Sequence[Path]) -> Markup:
    tables = []
    for (dataset, protocol), part in _by_panel(descriptors_only(summary)):
        tables.append(heading(f"{dataset}, {protocol}"))
        tables.append(table_of_grid(grid_of_means(part), CAPTION_OF_MEANS))
    return section("Descriptors on their own", _figure(figures, "descriptors"), *tables)


def _pictures(figures: Sequence[Path]) -> Markup:
    shown = [
        figure(path, _caption(path.stem), pictures=True)
        for path in figures
        if path.suffix == ".png" and path.stem.split("-")[0] in ("examples", "neighbours")
    ]
    return section("Pictures", *shown)


def _figure(figures: Sequence[Path], name: str) -> Markup:
    found = [path for path in figures if path.stem == name and path.suffix == ".svg"]
    return figure(found[0], _caption(name), pictures=False) if found else Markup("")


def _caption(stem: str) -> str:
    kind, _, method = stem.partition("-")
    return _CAPTIONS[kind].format(method=title_of(method))


def figure(path: Path, caption: str, *, pictures: bool) -> Markup:
    """Return a figure embedded in the page: curves as SVG, pictures as JPEG."""
    kind, content = _jpeg(path) if pictures else ("svg+xml", path.read_bytes())
    source = f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"
    look = "pictures" if pictures else "lines"
    size = "" if pictures else _fitting(content)
    return Markup(
        f'<figure class="{look}" tabindex="0"><img class="{look}"{size} alt="{escape(caption)}" '
        f'src="{source}"><figcaption>{escape(caption)}</figcaption></figure>'
    )


def _fitting(drawing: bytes) -> str:
    """Let a drawing scale with the page only as far as its text stays readable."""
    width = re.search(rb'<svg[^>]* width="([0-9.]+)pt"', drawing)
    if width is None:
        return ""
    points = float(width[1])
    return f' style="min-width:{0.8 * points:.0f}px;max-width:{1.6 * points:.0f}px"'


def _jpeg(path: Path) -> tuple[str, bytes]:
    from PIL import Image

    with Image.open(path) as opened:
        picture = opened.convert("RGB")
    picture.thumbnail((_WIDEST_PICTURE, _WIDEST_PICTURE * 3))
    stream = io.BytesIO()
    picture.save(stream, format="JPEG", quality=80, optimize=True)
    return "jpeg", stream.getvalue()


def table_of_costs(results: "pd.DataFrame") -> Markup:
    """Return the time and memory of a cell by method."""
    costs = [name for name in _COSTS if name in results.columns]
    rows: list[list[object]] = []
    for method in sort_methods(results["method"]):
        part = results[results["method"] == method]
        row: list[object] = [title_of(method), len(part)]
        row += [_seconds(float(part[name].median())) for name in costs]
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
    return table(columns, rows, caption=caption)


def _seconds(value: float) -> str:
    """Format seconds with about three digits.

    >>> _seconds(0.0001), _seconds(0.01234), _seconds(2.345), _seconds(123.4)
    ('< 0.001', '0.012', '2.3', '123')
    """
    if not np.isfinite(value):
        return MISSING
    if value < 0.001:
        return "< 0.001"
    return f"{value:.3f}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def _configuration_section(dataset: Dataset | None, configuration: Mapping[str, Any]) -> Markup:
    blocks = {"Settings": metadata(_configuration(configuration))}
    if dataset is not None:
        sizes = metadata(_dataset_sizes(dataset))
        notes = listing(dataset.notes) if dataset.notes else ""
        blocks[f"Data set: {dataset.name}"] = Markup(sizes + notes)
    blocks["Machine"] = metadata(_machine())
    blocks["Versions"] = metadata(_versions())
    drawn = "".join(f"<div>{heading(title)}{content}</div>" for title, content in blocks.items())
    return section("Configuration", Markup(f'<div class="columns">{drawn}</div>'))


def _configuration(configuration: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings as text."""
    return {str(name): _as_text(value) for name, value in configuration.items()}


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
