"""Cells to tables: one row for each cell, one for each label of each cell, a few examples."""

import json
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom.errors import InvalidInputError
from tagloom.experiments.run_plan import Plan
from tagloom.files import written_whole

if TYPE_CHECKING:
    import pandas as pd

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

Record = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Tables:
    """The results as data frames, the examples by method, and the files that hold them."""

    results: "pd.DataFrame"
    labels: "pd.DataFrame"
    examples: dict[str, list[dict[str, Any]]]
    paths: tuple[Path, ...]


def require_extras(*, figures: bool = False) -> None:
    """Refuse to begin where tables, or figures, could not be written at the end."""
    needed = {"pandas": "pandas", "pyarrow": "pandas"}
    if figures:
        needed["matplotlib"] = "figures"
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        extras = ",".join(dict.fromkeys(needed[name] for name in missing))
        without = " Or go without figures: --no-figures." if missing == ["matplotlib"] else ""
        raise InvalidInputError(
            f"A benchmark needs what is not installed: {', '.join(missing)}. "
            f'Install it with: python -m pip install "tagloom[{extras}]".{without}'
        )


def write_tables(plan: Plan) -> Tables:
    """Write results, labels and examples of the finished cells of a plan to its folder.

    The rows stand in the order of protocol, method, rate and seed, whatever order the cells were
    finished in.
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
    paths = [*_write_frame(out, "results", results), *_write_frame(out, "labels", labels)]
    with written_whole(out / "examples.json") as part:
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
    """Return those of the lowest rate and first seed, of the first protocol, by method."""
    first = {
        "protocol": plan.config.protocols[0],
        "rate": min(plan.config.rates),
        "seed": plan.config.seed,
    }
    return {
        record["row"]["method"]: record["examples"]
        for record in records
        if first.items() <= record["row"].items()
    }


def _write_frame(out: Path, name: str, frame: "pd.DataFrame") -> list[Path]:
    paths = [out / f"{name}.csv", out / f"{name}.parquet"]
    with written_whole(paths[0]) as part:
        frame.to_csv(part, index=False, lineterminator="\n")
    with written_whole(paths[1]) as part:
        frame.to_parquet(part, index=False)
    return paths
