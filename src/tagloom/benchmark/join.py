"""Join results of several benchmarks, of other machines and other people, in one table.

A table of results has a row for each cell. Anybody can add one: a CSV file with the columns
`dataset`, `protocol`, `method`, `rate`, `seed` and `map` beside the others, of a method or a data
set that nobody has run yet.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom.benchmark.summary import RESULT_COLUMNS, require_extras, sort_methods, write_frame
from tagloom.completion.folder import BENCHMARK, mark_as
from tagloom.errors import InvalidInputError
from tagloom.validation import some_of

if TYPE_CHECKING:
    import pandas as pd

CELL = ["dataset", "protocol", "method", "rate", "seed"]
REQUIRED = [*CELL, "map"]
_SOURCE = "source"
# Two runs of one cell on two machines agree to so many digits.
_SAME = 1e-6


def join_results(sources: Sequence[Path], out: Path, *, figures: bool = True) -> list[Path]:
    """Write one table, one figure and one report from several sources; return the files.

    Parameters
    ----------
    sources : sequence of Path
        As for `read_results`.
    out : Path
        A new folder, or one of a benchmark.
    figures : bool, default=True
        Whether to draw figures, which need matplotlib.
    """
    from tagloom.benchmark.report import write_report

    require_extras(figures=figures)
    results = read_results(sources)
    if (out / "cells").is_dir():
        raise InvalidInputError(
            f"{out} holds a benchmark, whose tables would be replaced. Choose another folder for "
            "the joined ones."
        )
    mark_as(out, BENCHMARK)
    paths = write_frame(out, "results", results)
    drawn: list[Path] = []
    if figures:
        from tagloom.benchmark.figures import write_figures

        drawn = write_figures(out / "figures", results)
    report = out / "report.html"
    write_report(report, results, None, None, {"joined from": list(map(str, sources))}, drawn)
    return [*paths, *drawn, report]


def read_results(sources: Iterable[Path]) -> "pd.DataFrame":
    """Return the rows of all sources, sorted by set, protocol, method, rate and seed.

    A source is the folder of a benchmark (all of its finished cells), a CSV file, or a folder of
    CSV files, in which tables without the required columns are passed over. A cell that two sources
    hold is taken once, and refused if they differ in mAP.
    """
    import pandas as pd

    tables = [table for source in sources for table in _tables(Path(source))]
    if not tables:
        raise InvalidInputError(
            "There are no results to join. Name folders of `tagloom benchmark`, or CSV files with "
            f"the columns {', '.join(REQUIRED)}."
        )
    joined = _without_repetitions(pd.concat(tables, ignore_index=True))
    order = {method: i for i, method in enumerate(sort_methods(joined["method"].unique()))}
    place = joined.assign(method=joined["method"].map(order)).sort_values(CELL, kind="stable")
    known = [name for name in RESULT_COLUMNS if name in joined.columns]
    return joined.loc[place.index, known].reset_index(drop=True)


def _tables(source: Path) -> "Iterator[pd.DataFrame]":
    if (source / "cells").is_dir():
        yield _checked(_finished_cells(source), source)
    elif source.is_dir():
        for path in sorted(source.rglob("*.csv")):
            table = _read_csv(path)
            if set(REQUIRED) <= set(table.columns):
                yield _checked(table, path)
    else:
        table = _read_csv(source)
        missing = [name for name in REQUIRED if name not in table.columns]
        if missing:
            raise InvalidInputError(
                f"{source} is no table of results: expected the columns {', '.join(REQUIRED)}; "
                f"missing: {', '.join(missing)}."
            )
        yield _checked(table, source)


def _finished_cells(folder: Path) -> "pd.DataFrame":
    import pandas as pd

    rows = []
    for path in sorted((folder / "cells").glob("*.json")):
        try:
            rows.append(json.loads(path.read_text("utf-8"))["row"])
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise InvalidInputError(
                f"{path} is not a finished cell of a benchmark: {problem}. Remove it, and run the "
                "benchmark again."
            ) from None
    return pd.DataFrame(rows, columns=None if rows else REQUIRED)


def _read_csv(path: Path) -> "pd.DataFrame":
    import pandas as pd

    try:
        text = {"dataset": str, "protocol": str, "method": str}
        return pd.read_csv(path, dtype=text, keep_default_na=False, na_values=[""])
    except (OSError, ValueError) as problem:
        raise InvalidInputError(f"{path} cannot be read as CSV: {problem}.") from None


def _checked(table: "pd.DataFrame", source: Path) -> "pd.DataFrame":
    """Return a table with its source, and refuse values that no benchmark has."""
    for name in ("dataset", "protocol", "method"):
        _refuse(table[name].isna().to_numpy(), table[name], source, "a name")
    rate, share, seed = (_numbers(table[name]) for name in ("rate", "map", "seed"))
    _refuse(~((rate > 0) & (rate <= 1)), table["rate"], source, "a share in (0, 1]")
    _refuse(~((share >= 0) & (share <= 1)), table["map"], source, "a share in [0, 1]")
    _refuse(~((seed >= 0) & (seed == np.floor(seed))), table["seed"], source, "an integer")
    numbers = {"rate": rate, "map": share, "seed": seed.astype(np.int64)}
    return table.assign(**numbers, **{_SOURCE: str(source)})


def _numbers(column: "pd.Series[Any]") -> Any:
    import pandas as pd

    return pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)


def _refuse(wrong: Any, column: "pd.Series[Any]", source: Path, expected: str) -> None:
    rows = np.flatnonzero(wrong)
    if len(rows):
        raise InvalidInputError(
            f"{source}, row {rows[0] + 1}: expected {expected} under {column.name}, found "
            f"{column.iloc[rows[0]]!r}."
        )


def _without_repetitions(table: "pd.DataFrame") -> "pd.DataFrame":
    repeated = table[table.duplicated(CELL, keep=False)]
    spread = repeated.groupby(CELL)["map"].agg(np.ptp)
    differing = spread[spread > _SAME]
    if len(differing):
        cell = differing.index[0]
        at = (repeated[CELL] == list(cell)).all(axis=1)
        raise InvalidInputError(
            f"Two results of one cell differ: {', '.join(map(str, cell))} has a map of "
            f"{some_of(repeated.loc[at, 'map'].round(4).tolist())} in "
            f"{some_of(repeated.loc[at, _SOURCE].unique().tolist())}. Were they of other versions "
            "or features? Leave one out, or name the method differently."
        )
    return table.drop_duplicates(CELL, keep="first")
