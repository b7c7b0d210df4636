"""Data sets of features in Mulan's form (ARFF and XML), or as arrays in a `.npz` file.

See Tsoumakas et al. (2011), "Mulan: a Java library for multi-label learning".
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tagloom.datasets.arff import ArffTable, Attribute, read_arff
from tagloom.datasets.base import (
    Dataset,
    Layout,
    features_from_array,
    note_of_split,
    read_npz,
    seeded_split,
    split_from_words,
)
from tagloom.errors import InvalidInputError
from tagloom.formats.text import read_xml
from tagloom.labels import PartialLabels
from tagloom.validation import some_of

_LAYOUT = Layout(
    "A set in Mulan's form",
    "<name>.xml with the labels and <name>-train.arff and <name>-test.arff, or <name>.arff; or as "
    "one .npz file with X and Y",
    "on the data page of the Mulan project",
)
_Column = npt.NDArray[np.float64]


def load_mulan(
    path: str | os.PathLike[str],
    *,
    labels: str | os.PathLike[str] | None = None,
    test_share: float = 0.25,
    random_state: int = 0,
) -> Dataset:
    """Load a data set of features and labels, without pictures.

    Parameters
    ----------
    path
        A `.npz` file; a folder with one `.xml` file; or the path of `<name>`, `<name>.arff` or
        `<name>-train.arff`. `<name>` and a folder take the published split where there is one,
        `<name>.arff` is the whole set.
    labels
        The XML file that names the labels; by default `<name>.xml`.
    test_share, random_state
        How a split is drawn where the files have none.

    Notes
    -----
    A `.npz` file holds `X` and `Y` (1, 0 and, for unknown, NaN), and optionally `labels` (names)
    and `split` ("train" or "test" for each row). In ARFF files `?` makes a label unknown; a
    missing feature is refused. A feature with a list of values becomes a number where all of its
    values are numbers, else one column of 0 and 1 for each value.
    """
    source = Path(path)
    if source.suffix == ".npz":
        name, table = source.stem, _read_npz(_LAYOUT.file(source))
    else:
        files = _files_of(source, None if labels is None else Path(labels))
        name, table = files.name, _read_arff(files)
    items = [str(row) for row in range(len(table.Y))]
    truth = PartialLabels.from_array(table.Y, labels=table.labels, items=items)
    features = features_from_array(items, table.X, str(source))
    # A split with all rows on one side is ignored; one with unknown words is refused.
    if table.side is not None and len(set(table.side)) > 1:
        training, test = split_from_words(table.side, str(source))
        return Dataset(name, truth, training, test, features=features)
    training, test = seeded_split(truth, test_share, random_state)
    note = note_of_split(training, test, random_state)
    return Dataset(name, truth, training, test, features=features, notes=[note])


@dataclass(frozen=True, eq=False)
class _Table:
    """Features, labels (NaN where unknown) and, if it is given, the side of each row."""

    X: npt.NDArray[np.generic]
    Y: npt.NDArray[np.float64]
    labels: Sequence[str]
    side: Sequence[str] | None = None
    attributes: Sequence[Attribute] = ()


def _read_npz(path: Path) -> _Table:
    arrays = read_npz(path, ("X", "Y"))
    X, Y = arrays["X"], arrays["Y"]
    if X.ndim != 2 or Y.ndim != 2 or len(X) != len(Y):
        raise InvalidInputError(
            f"{path}: X and Y must be matrices with one row for each item; found shapes {X.shape} "
            f"and {Y.shape}."
        )
    if "labels" in arrays:
        labels = [str(label) for label in arrays["labels"].ravel()]
    else:
        labels = [f"label {number}" for number in range(1, Y.shape[1] + 1)]
    if len(labels) != Y.shape[1]:
        raise InvalidInputError(
            f"{path}: expected a name for each of the {Y.shape[1]} columns of Y, found "
            f"{len(labels)} labels."
        )
    side = [str(word) for word in arrays["split"].ravel()] if "split" in arrays else None
    if side is not None and len(side) != len(X):
        raise InvalidInputError(
            f"{path}: expected a word of split for each of the {len(X)} rows, found {len(side)}."
        )
    return _Table(X, _checked(Y, path), labels, side)


def _checked(Y: npt.NDArray[np.generic], path: Path) -> npt.NDArray[np.float64]:
    if Y.dtype.kind not in "biuf":
        raise InvalidInputError(f"{path}: Y must hold 1, 0 and NaN, found {Y.dtype}.")
    return Y.astype(np.float64)


@dataclass(frozen=True)
class _Files:
    name: str
    xml: Path
    tables: tuple[tuple[str | None, Path], ...]


def _files_of(source: Path, xml: Path | None) -> _Files:
    """Find the files of a data set."""
    if source.is_dir():
        found = sorted(source.glob("*.xml")) if xml is None else [xml]
        if len(found) != 1:
            raise _LAYOUT.missing(f"One .xml file in {source} (there are {len(found)})")
        source = source / found[0].stem
    whole = source.suffix == ".arff"
    stem = source.with_suffix("") if whole else source
    for ending in ("-train", "-test"):
        if stem.name.endswith(ending):
            stem, whole = stem.with_name(stem.name.removesuffix(ending)), False
    base = str(stem)
    xml = _LAYOUT.file(Path(f"{base}.xml") if xml is None else xml)
    pair = (("train", Path(f"{base}-train.arff")), ("test", Path(f"{base}-test.arff")))
    if not whole and any(path.is_file() for _, path in pair):
        for _, path in pair:
            _LAYOUT.file(path)
        return _Files(stem.name, xml, pair)
    return _Files(stem.name, xml, ((None, _LAYOUT.file(Path(f"{base}.arff"))),))


def _read_arff(files: _Files) -> _Table:
    labels = _label_names(files.xml)
    parts = [(side, _read_table(path, labels)) for side, path in files.tables]
    for _, part in parts:
        if part.attributes != parts[0][1].attributes:
            raise InvalidInputError(
                f"{files.tables[1][1]} has other features than {files.tables[0][1]}. Expected the "
                "same attributes, of the same types, in the same order."
            )
    side = [word for word, part in parts for _ in range(len(part.Y)) if word is not None]
    X = np.vstack([part.X for _, part in parts])
    return _Table(X, np.vstack([part.Y for _, part in parts]), labels, side or None)


def _label_names(path: Path) -> list[str]:
    names: list[str] = []
    for element in read_xml(path, allow_doctype=True).iter():
        if element.tag.rpartition("}")[2] == "label":
            if "name" not in element.attrib:
                raise InvalidInputError(f"{path}: expected <label name=...>, found no name.")
            names.append(element.attrib["name"])
    if not names:
        raise InvalidInputError(f"{path} names no label: expected elements <label name=...>.")
    return names


def _read_table(path: Path, labels: Sequence[str]) -> _Table:
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
    return _Table(X, np.column_stack([empty, *Y]), list(labels), attributes=features)


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
