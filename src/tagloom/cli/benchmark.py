"""`tagloom benchmark`: compare learners on hidden labels."""

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagloom.io import user_cache

if TYPE_CHECKING:
    from tagloom.benchmark.plan import Plan
    from tagloom.benchmark.run import Failures
    from tagloom.benchmark.summary import Tables

_SHOWN_FAILURES = 10

_Dataset = Annotated[
    str | None, typer.Option(help="Data set: a name, or KIND:PATH.", show_default="scenes")
]
_Rates = Annotated[
    list[str] | None,
    typer.Option(
        help="Shares of the labels that stay known; repeat the flag or separate with commas.",
        show_default="0.1,0.2,0.3,0.4,0.5",
    ),
]
_Methods = Annotated[
    list[str] | None,
    typer.Option(help="Methods to compare; repeat the flag or separate with commas; else all."),
]
_MoreMethods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        help="One more method: a classifier of your own, package.module:Class or "
        "package.module:Class(name=value).",
    ),
]
_Repeats = Annotated[
    int | None, typer.Option(help="Repetitions, each with its own seed.", show_default="5")
]
_Protocol = Annotated[
    list[str] | None,
    typer.Option(
        help="How labels are hidden: per-class, presences, uniform, salience or listed.",
        show_default="per-class",
    ),
]
_Features = Annotated[
    str | None,
    typer.Option(help="Features for the learners: visual or semantic.", show_default="visual"),
]
_NComponents = Annotated[
    float | None,
    typer.Option(
        help="Principal components to keep: a share of the variance below 1, or their number.",
        show_default="0.9",
    ),
]
_Standardize = Annotated[
    bool | None,
    typer.Option(
        "--standardize/--no-standardize",
        help="Divide each column by its standard deviation, for tables with different units.",
    ),
]
_NormalizeRows = Annotated[
    str | None,
    typer.Option(
        help="Normalise the rows of the features: always, never, or as each learner's search "
        "finds better.",
        show_default="search",
    ),
]
_Unlisted = Annotated[
    str | None,
    typer.Option(
        help="Protocols presences, salience and listed: unlisted tags are absent, unknown, or "
        "absent with a weight."
    ),
]
_Transductive = Annotated[
    bool | None,
    typer.Option(
        "--transductive/--inductive",
        help="Whether learners that can use unlabelled items are given the test items.",
        show_default="transductive",
    ),
]
_Seed = Annotated[int | None, typer.Option(help="The first seed.", show_default="0")]
_Folds = Annotated[
    int | None,
    typer.Option(help="Cross-validation folds for the parameter search.", show_default="3"),
]
_SearchLabels = Annotated[
    int | None,
    typer.Option(help="Labels on which parameters are chosen, drawn by the seed; else all."),
]
_Jobs = Annotated[int | None, typer.Option(help="Cells to run in parallel; else one per core.")]
_Config = Annotated[
    Path | None, typer.Option(help="TOML file whose keys are these flags; flags override it.")
]
_Out = Annotated[Path | None, typer.Option(help="Output folder.", show_default="tagloom-benchmark")]
_ValidateDescriptors = Annotated[
    bool | None,
    typer.Option(
        "--validate-descriptors/--no-validate-descriptors",
        help="Also evaluate the semantic descriptors on their own.",
    ),
]
_Figures = Annotated[
    bool | None,
    typer.Option("--figures/--no-figures", help="Draw figures, in the report and as files."),
]
_AsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")]
_Join = Annotated[
    list[Path] | None,
    typer.Option(
        help="Run nothing: join results of others in one table. A folder of a benchmark, a CSV "
        "file, or a folder of them; may be repeated.",
        metavar="PATH",
    ),
]
_ListMethods = Annotated[bool, typer.Option("--list-methods", help="List the methods and exit.")]


def benchmark(
    dataset: _Dataset = None,
    rates: _Rates = None,
    methods: _Methods = None,
    method: _MoreMethods = None,
    repeats: _Repeats = None,
    protocol: _Protocol = None,
    features: _Features = None,
    n_components: _NComponents = None,
    standardize: _Standardize = None,
    normalize_rows: _NormalizeRows = None,
    unlisted: _Unlisted = None,
    transductive: _Transductive = None,
    seed: _Seed = None,
    folds: _Folds = None,
    search_labels: _SearchLabels = None,
    jobs: _Jobs = None,
    config: _Config = None,
    out: _Out = None,
    validate_descriptors: _ValidateDescriptors = None,
    figures: _Figures = None,
    as_json: _AsJson = False,
    list_methods: _ListMethods = False,
    join: _Join = None,
) -> None:
    """Hide labels, let every learner recover them, and compare: tables, figures, a report.

    A cell is one combination of protocol, method, rate and seed. Finished cells are kept: the same
    command continues where an earlier one stopped.
    """
    if list_methods:
        typer.echo(_list_methods(as_json))
        return
    if join:
        _join(join, out or Path("tagloom-results"), figures is not False, as_json)
        return
    flags = {
        "dataset": dataset,
        "rates": _numbers("--rates", _split(rates)),
        "methods": _split(methods),
        "more_methods": method or None,
        "repeats": repeats,
        "protocols": _split(protocol),
        "features": features,
        "n_components": _number_or_share(n_components),
        "standardize": standardize,
        "normalize_rows": normalize_rows,
        "unlisted": _name_or_number(unlisted),
        "transductive": transductive,
        "random_state": seed,
        "cv": folds,
        "search_labels": search_labels,
        "n_jobs": jobs,
        "out": out,
        "validate_descriptors": validate_descriptors,
        "figures": figures,
    }
    _run(config, flags, as_json)


def _join(sources: list[Path], out: Path, figures: bool, as_json: bool) -> None:
    """Write one table from several; nothing is run."""
    from tagloom.benchmark.join import join_results

    _keep_fonts_in_our_cache()
    files = [str(path) for path in join_results(sources, out, figures=figures)]
    typer.echo(json.dumps({"files": files}, indent=2) if as_json else "\n".join(files))


def _keep_fonts_in_our_cache() -> None:
    """Let matplotlib store its index of fonts where all else is cached."""
    os.environ.setdefault("MPLCONFIGDIR", str(user_cache() / "matplotlib"))


def _number_or_share(n_components: float | None) -> float | None:
    """Return an integer for a number of components: a float is a share of the variance."""
    if n_components is not None and n_components >= 1 and n_components.is_integer():
        return int(n_components)
    return n_components


def _split(given: list[str] | None) -> list[str] | None:
    """Split values at commas, except within parentheses."""
    if given is None:
        return None
    parts = (part.strip() for one in given for part in re.split(r",(?![^(]*\))", one))
    return [part for part in parts if part]


def _numbers(flag: str, given: list[str] | None) -> list[float] | None:
    try:
        return None if given is None else [float(one) for one in given]
    except ValueError:
        raise typer.BadParameter(
            f"must be numbers such as 0.1,0.2; got {', '.join(given or ())}", param_hint=flag
        ) from None


def _name_or_number(given: str | None) -> str | float | None:
    try:
        return None if given is None else float(given)
    except ValueError:
        return given


def _list_methods(as_json: bool) -> str:
    """Return the methods that can be compared."""
    from tagloom.benchmark.methods import METHODS, WORDS

    methods = (*METHODS, *WORDS)
    if as_json:
        rows = [{"name": one.name, "title": one.title, "ours": one.ours} for one in methods]
        return json.dumps(rows, indent=2)
    width = max(len(method.name) for method in methods)
    return "\n".join(
        f"{method.name:{width}}  {method.title}{'  (ours)' if method.ours else ''}"
        for method in methods
    )


def _run(config: Path | None, flags: dict[str, Any], as_json: bool) -> None:
    from tagloom.benchmark.config import read_config
    from tagloom.benchmark.plan import plan_benchmark
    from tagloom.benchmark.summary import require_extras, write_tables
    from tagloom.datasets.registry import open_dataset

    chosen = read_config(config, flags)
    require_extras(figures=chosen.figures)
    verbose = sys.stderr.isatty()
    dataset = open_dataset(chosen.dataset).embedded(verbose=verbose)
    plan = plan_benchmark(chosen, dataset)
    n_before = len(plan.tasks) - len(plan.pending())
    # With --json standard output holds nothing but the summary.
    typer.echo(_announcement(plan, n_before), err=as_json)
    failures = _run_cells(plan, verbose)
    tables = write_tables(plan)
    files = [*tables.paths, *_write_report(plan, tables)]
    if as_json:
        typer.echo(json.dumps(_summary(plan, tables, failures, n_before, files), indent=2))
    else:
        _print_summary(plan, tables, failures, files)
    if failures:
        raise typer.Exit(1)


def _run_cells(plan: "Plan", verbose: bool) -> "Failures":
    from tagloom.benchmark.run import run_plan

    try:
        return run_plan(plan, verbose=verbose)
    except KeyboardInterrupt:
        n_done = len(plan.tasks) - len(plan.pending())
        typer.echo(
            f"tagloom: interrupted; {n_done} of {len(plan.tasks)} cells are finished and kept in "
            f"{plan.config.out}. The same command continues from there.",
            err=True,
        )
        raise typer.Exit(130) from None


def _write_report(plan: "Plan", tables: "Tables") -> list[Path]:
    """Write the figures and the report; nothing if no cell is finished."""
    if tables.results.empty:
        return []
    from tagloom.benchmark.report import write_report

    out = plan.config.out
    drawn: list[Path] = []
    if plan.config.figures:
        _keep_fonts_in_our_cache()
        from tagloom.benchmark.figures import write_figures

        drawn = write_figures(out / "figures", tables.results, plan.dataset, tables.examples)
    report = out / "report.html"
    configuration = plan.config.to_dict()
    write_report(report, tables.results, tables.labels, plan.dataset, configuration, drawn)
    return [*drawn, report]


def _announcement(plan: "Plan", n_before: int) -> str:
    """Describe the cells to run."""
    dataset, config = plan.dataset, plan.config
    settings = {(task.cell.protocol, task.cell.rate) for task in plan.tasks}
    factors = (
        _counted(len(settings), "setting") + " of protocol and rate",
        _counted(config.repeats, "seed"),
        _counted(len(plan.methods), "method"),
    )
    lines = [
        f"{dataset.name}: {len(dataset.training):,} training and {len(dataset.test):,} test items, "
        f"{dataset.truth.n_labels:,} labels",
        *(f"  note: {note}" for note in plan.notes),
        f"{_counted(len(plan.tasks), 'cell')}: {' x '.join(factors)}",
    ]
    if n_before:
        lines.append(f"  {n_before} already finished, not run again")
    return "\n".join(lines)


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _summary(
    plan: "Plan", tables: "Tables", failures: "Failures", n_before: int, files: list[Path]
) -> dict[str, Any]:
    """Return the summary of the run for programs."""
    grouped = tables.results.groupby(["protocol", "method", "rate"], sort=False)
    means = grouped["map"].agg(["mean", "std", "count"])
    means = means.join(grouped[["search_seconds", "fit_seconds"]].median()).reset_index()
    return {
        "dataset": plan.dataset.name,
        "out": str(plan.config.out),
        "notes": list(plan.notes),
        "cells": len(plan.tasks),
        "finished_before": n_before,
        "failed": [cell.columns() | {"error": error} for cell, error in failures.items()],
        "files": [str(path) for path in files],
        "map": json.loads(means.to_json(orient="records", double_precision=15)),
    }


def _print_summary(plan: "Plan", tables: "Tables", failures: "Failures", files: list[Path]) -> None:
    if not tables.results.empty:
        from tagloom.benchmark.summary import print_summary

        print_summary(tables.results)
    typer.echo(f"Files in {plan.config.out}:")
    for path in files:
        typer.echo(f"  {path.relative_to(plan.config.out)}")
    if failures:
        typer.echo(_failure_message(plan, failures), err=True)


def _failure_message(plan: "Plan", failures: "Failures") -> str:
    """List the cells that failed, with their errors."""
    lines = [
        f"{len(failures)} of {len(plan.tasks)} cells failed; the same command tries them again "
        f"(full errors: {plan.store.failed}):"
    ]
    for cell, error in list(failures.items())[:_SHOWN_FAILURES]:
        where = f"{cell.method}, {cell.protocol}, rate {cell.rate:g}, seed {cell.seed}"
        lines.append(f"  {where}: {error}")
    if len(failures) > _SHOWN_FAILURES:
        lines.append(f"  ... and {len(failures) - _SHOWN_FAILURES} more")
    return "\n".join(lines)
