"""From the columns of an ARFF file to features and labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tagloom.checks import some_of
from tagloom.datasets._arff import ArffTable, read_arff
from tagloom.datasets._arff_header import Attribute
from tagloom.errors import InvalidInputError

_Column = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Table:
    """Features, labels (NaN where unknown), the side of each row if it is said, and names."""

    X: npt.NDArray[np.generic]
    Y: npt.NDArray[np.float64]
    labels: Sequence[str]
    side: Sequence[str] | None = None
    attributes: Sequence[Attribute] = ()


def read_table(path: Path, labels: Sequence[str]) -> Table:
    """Read an ARFF file in which `labels` are attributes of 0 and 1; the others are features."""
    table = read_arff(path)
    column = {attribute.name: place for place, attribute in enumerate(table.attributes)}
    lost = [label for label in labels if label not in column]
    if lost:
        raise InvalidInputError(
            f"{path} has no attribute for {len(lost)} of the labels: {some_of(lost)}."
        )
    chosen = set(labels)
    features = [a for a in table.attributes if a.name not in chosen]
    columns = [_feature_columns(table, column[a.name], path) for a in features]
    empty = np.zeros((len(table.lines), 0))
    Y = [_label_column(table, column[label], path) for label in labels]
    X = np.hstack([empty, *columns])
    return Table(X, np.column_stack([empty, *Y]), list(labels), attributes=features)


def _label_column(table: ArffTable, place: int, path: Path) -> _Column:
    """Return 1, 0 and NaN (`?`)."""
    attribute, values = table.attributes[place], table.values[:, place]
    if attribute.is_nominal:
        numbers = _as_numbers(attribute)
        if numbers is None or not set(numbers) <= {0.0, 1.0}:
            raise InvalidInputError(
                f"{path}: the label {attribute.name!r} must be 0 or 1; its values are "
                f"{some_of(attribute.values)}."
            )
        values = _looked_up(values, numbers)
    wrong = np.flatnonzero(~(np.isnan(values) | (values == 0) | (values == 1)))
    if wrong.size:
        raise InvalidInputError(
            f"{path}, line {table.lines[wrong[0]]}: the label {attribute.name!r} must be 0, 1 or "
            f"?; found {values[wrong[0]]:g}."
        )
    return values


def _feature_columns(table: ArffTable, place: int, path: Path) -> _Column:
    attribute, values = table.attributes[place], table.values[:, place]
    missing = np.flatnonzero(np.isnan(values))
    if missing.size:
        raise InvalidInputError(
            f"{path}, line {table.lines[missing[0]]}: the feature {attribute.name!r} is missing, "
            f"as in {missing.size} rows. Expected a value: only labels may be unknown. Fill it in "
            "or remove the attribute."
        )
    if not attribute.is_nominal:
        return values[:, np.newaxis]
    numbers = _as_numbers(attribute)
    if numbers is not None:
        return _looked_up(values, numbers)[:, np.newaxis]
    return np.asarray(values[:, np.newaxis] == np.arange(len(attribute.values)), dtype=np.float64)


def _as_numbers(attribute: Attribute) -> list[float] | None:
    try:
        numbers = [float(value) for value in attribute.values]
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def _looked_up(codes: _Column, numbers: Sequence[float]) -> _Column:
    result = np.full(len(codes), np.nan)
    known = ~np.isnan(codes)
    result[known] = np.asarray(numbers)[codes[known].astype(np.int64)]
    return result
