"""Feature-only sets in Mulan's form (ARFF and XML), or as arrays in a `.npz` file."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tagloom.datasets._layout import Layout
from tagloom.datasets._mulan_tables import Table, read_table
from tagloom.datasets._splitting import note_of_draw, rows_of_words, seeded_split
from tagloom.datasets._stored import numbers_only, read_npz
from tagloom.datasets._xml import walk_xml
from tagloom.datasets.base import Dataset
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels

_LAYOUT = Layout(
    "A set in Mulan's form",
    "<name>.xml with the labels and <name>-train.arff and <name>-test.arff, or <name>.arff; or as "
    "one .npz file with X and Y",
    "on the data page of the Mulan project",
)


def load_mulan(
    path: str | os.PathLike[str],
    *,
    labels: str | os.PathLike[str] | None = None,
    test_share: float = 0.25,
    random_state: int = 0,
) -> Dataset:
    """Load a set of numbers: features and labels, without pictures.

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
    missing feature is refused. A feature with a list of values becomes its number where all of
    them are numbers, and else one column of 0 and 1 for each value.
    """
    source = Path(path)
    if source.suffix == ".npz":
        name, table = source.stem, _read_npz(_LAYOUT.file(source))
    else:
        files = _files_of(source, None if labels is None else Path(labels))
        name, table = files.name, _read_arff(files)
    items = [str(row) for row in range(len(table.Y))]
    truth = PartialLabels.from_array(table.Y, labels=table.labels, items=items)
    features = numbers_only(items, table.X, str(source))
    # A split that puts all rows on one side is none; one of other words is refused, not redrawn.
    if table.side is not None and len(set(table.side)) > 1:
        training, test = rows_of_words(table.side, str(source))
        return Dataset(name, truth, training, test, features=features)
    training, test = seeded_split(truth, test_share, random_state)
    note = note_of_draw(training, test, random_state)
    return Dataset(name, truth, training, test, features=features, notes=[note])


def _read_npz(path: Path) -> Table:
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
    return Table(X, _checked(Y, path), labels, side)


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
    """Find the files that belong to what was given."""
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


def _read_arff(files: _Files) -> Table:
    labels = _label_names(files.xml)
    parts = [(side, read_table(path, labels)) for side, path in files.tables]
    for _, part in parts:
        if part.attributes != parts[0][1].attributes:
            raise InvalidInputError(
                f"{files.tables[1][1]} has other features than {files.tables[0][1]}. Expected the "
                "same attributes, of the same types, in the same order."
            )
    side = [word for word, part in parts for _ in range(len(part.Y)) if word is not None]
    X = np.vstack([part.X for _, part in parts])
    return Table(X, np.vstack([part.Y for _, part in parts]), labels, side or None)


def _label_names(path: Path) -> list[str]:
    names: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        if name.rpartition(" ")[2] == "label":
            if "name" not in attributes:
                raise InvalidInputError(f"{path}: expected <label name=...>, found no name.")
            names.append(attributes["name"])

    walk_xml(path, start, lambda *_: None)
    if not names:
        raise InvalidInputError(f"{path} names no label: expected elements <label name=...>.")
    return names
