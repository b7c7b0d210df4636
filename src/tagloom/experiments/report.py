"""One page that holds a whole experiment: what was run, what came out, at what cost."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom.datasets.base import Dataset
from tagloom.experiments import report_facts, report_html
from tagloom.experiments.report_intervals import RULE, tables_of_differences, verdicts
from tagloom.experiments.report_labels import labels_of_panel
from tagloom.experiments.report_tables import table_of_costs, table_of_measures, table_of_parameters
from tagloom.experiments.summary import paired_differences, summarise
from tagloom.experiments.summary_grid import CAPTION_OF_MEANS, grid_of_means
from tagloom.experiments.summary_names import descriptors_only, learners_only, title_of
from tagloom.files import written_whole
from tagloom.markup import Markup, facts, folded, heading, listing, paragraph, section

if TYPE_CHECKING:
    import pandas as pd

# The page may load nothing and run nothing: what it shows is in it.
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
    "descriptors": "The semantic descriptors by themselves: the same learner on each.",
    "examples": "Test pictures with the five labels of highest score by {method}.",
    "neighbours": "Test pictures and the training pictures nearest to them.",
}


def write_report(
    path: Path,
    results: "pd.DataFrame",
    labels: "pd.DataFrame | None",
    dataset: Dataset | None,
    configuration: Mapping[str, Any],
    figures: Sequence[Path] = (),
) -> None:
    """Write an experiment as one HTML file that needs nothing else.

    Parameters
    ----------
    path : Path
        The file to write.
    results, labels : DataFrame
        One row for each cell, and for each label of each cell.
    dataset : Dataset, optional
        For its sizes and notes.
    configuration : mapping
        What was asked for.
    figures : sequence of Path
        What `write_figures` returned.
    """
    names = ", ".join(dict.fromkeys(map(str, results["dataset"])))
    title = f"Learning from incomplete labels: {names}"
    sections = [
        _in_short(results),
        *_panels(results, labels, figures),
        _pictures(figures),
        section("Time and memory", table_of_costs(results)),
        _what_was_run(dataset, configuration),
    ]
    body = "\n".join(part for part in sections if part)
    style = files("tagloom.experiments").joinpath("report.css").read_text(encoding="utf-8")
    page = _PAGE.format(title=escape(title), style=style, body=body)
    with written_whole(path) as part:
        part.write_text(page, encoding="utf-8")


def _in_short(results: "pd.DataFrame") -> Markup:
    sizes = {
        name: results[name].nunique()
        for name in ("dataset", "protocol", "method", "rate", "seed")
        if results[name].nunique() > 1
    }
    counted = ", ".join(f"{count} {name}s" for name, count in sizes.items())
    lead = f"{len(results)} cells" + (f": {counted}." if counted else ".")
    lines = [
        line if single else f"{dataset}, {protocol} – {line}"
        for single in [len(results[["dataset", "protocol"]].drop_duplicates()) == 1]
        for (dataset, protocol), part in _by_panel(paired_differences(results))
        for line in verdicts(part)
    ]
    left_out = ""
    if "n_labels_left_out" in results.columns and results["n_labels_left_out"].max() > 0:
        scored = f"{results['n_labels_scored'].max()} labels are judged"
        left_out = f"{scored}; {results['n_labels_left_out'].max()} have no test presence."
    return Markup(
        paragraph(f"{lead} {left_out}".strip(), "lead")
        + (listing(lines) + paragraph(RULE, "note") if lines else "")
    )


def _panels(
    results: "pd.DataFrame", labels: "pd.DataFrame | None", figures: Sequence[Path]
) -> Iterator[Markup]:
    """Yield the curves and then, for each data set and protocol, its tables."""
    yield section("Quality by share of labels known", _figure(figures, "map"))
    summary, differences = summarise(results), paired_differences(results)
    for (dataset, protocol), part in _by_panel(learners_only(results)):
        own = [_of_panel(table, dataset, protocol) for table in (summary, differences)]
        parts = [report_html.table_of_grid(grid_of_means(learners_only(own[0])), CAPTION_OF_MEANS)]
        parts += [tables_of_differences(own[1])] if len(own[1]) else []
        parts.append(folded("All measures", table_of_measures(part)))
        parts.append(folded("Chosen parameters", table_of_parameters(part)))
        if labels is not None:
            compared = labels_of_panel(_of_panel(labels, dataset, protocol), part)
            parts += [heading("Label by label"), compared] if compared else []
        yield section(f"{dataset}, {protocol}", *parts)
    yield _descriptors(summary, figures)


def _descriptors(summary: "pd.DataFrame", figures: Sequence[Path]) -> Markup:
    tables = []
    for (dataset, protocol), part in _by_panel(descriptors_only(summary)):
        tables.append(heading(f"{dataset}, {protocol}"))
        tables.append(report_html.table_of_grid(grid_of_means(part), CAPTION_OF_MEANS))
    return section("Descriptors alone", _figure(figures, "descriptors"), *tables)


def _pictures(figures: Sequence[Path]) -> Markup:
    shown = [
        report_html.figure(path, _caption(path.stem), pictures=True)
        for path in figures
        if path.suffix == ".png" and path.stem.split("-")[0] in ("examples", "neighbours")
    ]
    return section("Pictures", *shown)


def _what_was_run(dataset: Dataset | None, configuration: Mapping[str, Any]) -> Markup:
    blocks = {"Configuration": facts(report_facts.configuration_facts(configuration))}
    if dataset is not None:
        sizes = facts(report_facts.dataset_facts(dataset))
        notes = listing(dataset.notes) if dataset.notes else ""
        blocks[f"Data set: {dataset.name}"] = Markup(sizes + notes)
    blocks["Machine"] = facts(report_facts.machine_facts())
    blocks["Versions"] = facts(report_facts.version_facts())
    drawn = "".join(f"<div>{heading(title)}{content}</div>" for title, content in blocks.items())
    return section("What was run", Markup(f'<div class="columns">{drawn}</div>'))


def _figure(figures: Sequence[Path], name: str) -> Markup:
    found = [path for path in figures if path.stem == name and path.suffix == ".svg"]
    return report_html.figure(found[0], _caption(name), pictures=False) if found else Markup("")


def _caption(stem: str) -> str:
    kind, _, method = stem.partition("-")
    return _CAPTIONS[kind].format(method=title_of(method))


def _by_panel(table: "pd.DataFrame") -> Iterator[tuple[tuple[str, str], "pd.DataFrame"]]:
    for (dataset, protocol), part in table.groupby(["dataset", "protocol"], sort=False):
        yield (str(dataset), str(protocol)), part


def _of_panel(table: "pd.DataFrame", dataset: str, protocol: str) -> "pd.DataFrame":
    return table[(table["dataset"] == dataset) & (table["protocol"] == protocol)]
