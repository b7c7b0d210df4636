"""What `tagloom benchmark` says of a run, to people and to programs."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tagloom.experiments.run import Failures
    from tagloom.experiments.run_plan import Plan
    from tagloom.experiments.table import Tables

_SHOWN_FAILURES = 10


def announcement(plan: "Plan", n_before: int) -> str:
    """Say what will be worked on."""
    dataset, config = plan.dataset, plan.config
    factors = (
        _counted(len(config.protocols), "protocol"),
        _counted(len(config.rates), "rate"),
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
        lines.append(f"  {n_before} finished already and not worked on again")
    return "\n".join(lines)


def told_failures(plan: "Plan", failures: "Failures") -> str:
    """Say which cells failed, and why."""
    lines = [
        f"{len(failures)} of {len(plan.tasks)} cells failed; the same command tries them again "
        f"(whole errors: {plan.store.failed}):"
    ]
    for cell, error in list(failures.items())[:_SHOWN_FAILURES]:
        where = f"{cell.method}, {cell.protocol}, rate {cell.rate:g}, seed {cell.seed}"
        lines.append(f"  {where}: {error}")
    if len(failures) > _SHOWN_FAILURES:
        lines.append(f"  ... and {len(failures) - _SHOWN_FAILURES} more")
    return "\n".join(lines)


def account(
    plan: "Plan", tables: "Tables", failures: "Failures", n_before: int, files: list[Path]
) -> dict[str, Any]:
    """Return what a program wants to know of the run."""
    grouped = tables.results.groupby(["protocol", "method", "rate"], sort=False)["map"]
    means = grouped.agg(["mean", "std", "count"]).reset_index()
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


def listed_methods(as_json: bool) -> str:
    """Return the learners that can be compared."""
    from tagloom.experiments.methods import METHODS

    if as_json:
        rows = [{"name": one.name, "title": one.title, "ours": one.ours} for one in METHODS]
        return json.dumps(rows, indent=2)
    width = max(len(method.name) for method in METHODS)
    return "\n".join(
        f"{method.name:{width}}  {method.title}{'  (ours)' if method.ours else ''}"
        for method in METHODS
    )


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
