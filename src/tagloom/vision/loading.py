"""Features that were worked out elsewhere."""

import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom.errors import InvalidInputError
from tagloom.vision.extras import MissingExtraError, import_extra
from tagloom.vision.features import Features

if TYPE_CHECKING:
    import pandas as pd

_VISUAL, _POSTERIOR = "visual:", "posterior:"
_ROUNDING = 1e-3


def load_features(
    source: "str | os.PathLike[str] | pd.DataFrame", *, concepts: Sequence[str] | None = None
) -> Features:
    """Take over features from a ``.npz`` file, a parquet file or a DataFrame.

    A ``.npz`` file holds ``items``, ``visual`` and, if there are any, ``posteriors`` and
    ``concepts``. A table has a row per item: the column ``item`` (or else the index) names it, and
    the numbers stand either in columns ``visual:...`` and ``posterior:<concept>``, or as one list
    per row in the columns ``visual`` and ``posteriors``.

    Parameters
    ----------
    source
        The file or table.
    concepts
        Class names, if the source does not name them.
    """
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if not path.is_file():
            raise InvalidInputError(f"There is no file of features {path}.")
        parts = _from_npz(path) if path.suffix == ".npz" else _from_frame(_read_table(path))
        return _assembled(parts, concepts, str(path))
    return _assembled(_from_frame(source), concepts, "the table")


def _assembled(parts: Mapping[str, Any], concepts: Sequence[str] | None, where: str) -> Features:
    items, visual = parts.get("items"), parts.get("visual")
    if items is None or visual is None:
        missing = "items" if items is None else "visual"
        raise InvalidInputError(f"{where} has no {missing!r}. It holds: {', '.join(parts) or '-'}.")
    posteriors = parts.get("posteriors")
    if posteriors is None:
        posteriors = np.empty((len(items), 0), dtype=np.float32)
    names = concepts if concepts is not None else parts.get("concepts")
    if names is None and np.shape(posteriors)[1:] != (0,):
        raise InvalidInputError(f"{where} does not name its concepts: pass them as 'concepts'.")
    try:
        features = Features(
            list(items), visual, posteriors, list(names) if names is not None else []
        )
    except InvalidInputError as problem:
        raise InvalidInputError(f"{where} cannot be used. {problem}") from problem
    _check_probabilities(features, where)
    return features


def _check_probabilities(features: Features, where: str) -> None:
    wrong = (features.posteriors < -_ROUNDING) | (features.posteriors > 1 + _ROUNDING)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise InvalidInputError(
            f"{where}: posteriors must lie between 0 and 1; item {features.items[row]!r} has "
            f"{features.posteriors[row, column]:g} for {features.concepts[column]!r}. Apply a "
            "softmax if these are logits."
        )


def _from_npz(path: Path) -> dict[str, Any]:
    try:
        # Arrays of objects would be pickles: they are refused, never loaded.
        with path.open("rb") as stream, zipfile.ZipFile(stream):
            stream.seek(0)
            with np.load(stream, allow_pickle=False) as archive:
                return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, KeyError) as problem:
        raise InvalidInputError(
            f"{path} cannot be read as a .npz file of plain arrays: {problem}."
        ) from problem


def _read_table(path: Path) -> "pd.DataFrame":
    pandas = import_extra("pandas", purpose="Reading a table of features", extra="pandas")
    try:
        table: pd.DataFrame = pandas.read_parquet(path)
    except ImportError as problem:
        raise MissingExtraError("Reading parquet", "pyarrow", "pandas") from problem
    except Exception as problem:  # the parquet engines raise errors of their own
        detail = str(problem).strip().split("\n")[0]
        raise InvalidInputError(
            f"{path} cannot be read as a .npz or parquet file: {detail}."
        ) from problem
    return table


def _from_frame(table: "pd.DataFrame") -> dict[str, Any]:
    columns = [str(column) for column in table.columns]
    parts: dict[str, Any] = {
        "items": table["item"].tolist() if "item" in columns else table.index.tolist()
    }
    wide = [column for column in columns if column.startswith(_VISUAL)]
    named = [column for column in columns if column.startswith(_POSTERIOR)]
    if wide:
        parts["visual"] = table[wide].to_numpy()
    elif "visual" in columns:
        parts["visual"] = _stacked(table["visual"], "visual")
    if named:
        parts["posteriors"] = table[named].to_numpy()
        parts["concepts"] = [column.removeprefix(_POSTERIOR) for column in named]
    elif "posteriors" in columns:
        parts["posteriors"] = _stacked(table["posteriors"], "posteriors")
    return parts


def _stacked(rows: "pd.Series[Any]", name: str) -> Any:
    lengths = {len(row) if hasattr(row, "__len__") else None for row in rows}
    if len(lengths) != 1 or None in lengths:
        raise InvalidInputError(
            f"The column {name!r} must hold a list of the same length in every row."
        )
    return np.stack([np.asarray(row) for row in rows])
