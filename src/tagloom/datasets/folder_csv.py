"""Any folder of pictures with a CSV file of labels."""

import os
from pathlib import Path

from tagloom.checks import check_choice
from tagloom.datasets._folder_table import FolderTable
from tagloom.datasets._layout import Layout
from tagloom.datasets._splitting import note_of_draw, rows_of_words, seeded_split
from tagloom.datasets._tags import Unlisted
from tagloom.datasets.base import Dataset
from tagloom.errors import InvalidInputError

_NAMES = ("labels.csv", "metadata.csv", "tags.csv")
_FORMS = ("auto", "long", "wide", "tags")
_LAYOUT = Layout(
    "A folder of pictures with labels",
    "pictures, in folders or not, and one CSV file: long (image,label,present with 1 or 0), wide "
    "(image and a column for each label with 1, 0 or nothing), or lists of tags (file_name,tags); "
    "a column split with train or test is optional",
    "on your own disk",
)


def load_folder(
    path: str | os.PathLike[str],
    *,
    table: str | os.PathLike[str] | None = None,
    form: str = "auto",
    unlisted: Unlisted = None,
    separator: str = ";",
    test_share: float = 0.25,
    random_state: int = 0,
) -> Dataset:
    """Load a folder of pictures and a CSV file that says what is known of them.

    Parameters
    ----------
    path
        The folder, or a CSV file in it.
    table
        The CSV file; by default `labels.csv`, `metadata.csv`, `tags.csv` or the only one there.
    form
        "long", "wide" or "tags"; "auto" tells it by the header: `tags`, `label`, or neither.
    unlisted
        What a tag means that is not listed, as in `PartialLabels.from_tags`. It must be given for
        tables that list presences only: lists of tags, and long ones without states.
    separator
        What stands between two tags of a list.
    test_share, random_state
        How a split is drawn where there is no column `split`.

    Notes
    -----
    The table is read as `tagloom.formats` reads it: its separator and encoding are found out, the
    columns are known by their usual names, and a picture's name may lack folders and ending. What
    no row and no cell says is unknown, and so is what the table says both ways. All that was left
    out or merged is in the notes of the set.
    """
    check_choice("form", form, _FORMS)
    if not separator:
        raise InvalidInputError("separator must be at least one character; it is empty.")
    root = Path(path)
    csv_path = _csv_of(root, None if table is None else Path(table))
    folder = root.parent if root.is_file() else root
    given = FolderTable.read(csv_path, folder, form, separator)
    truth = given.truth(unlisted)
    notes = list(given.notes)
    words = given.split_words()
    if words is None:
        split = seeded_split(truth, test_share, random_state)
        notes.append(note_of_draw(*split, random_state))
    else:
        split = rows_of_words(words, f"{csv_path}, column 'split'")
    return Dataset(folder.resolve().name, truth, *split, folder=folder, notes=notes)


def _csv_of(root: Path, table: Path | None) -> Path:
    if table is not None:
        return _LAYOUT.file(table if table.is_file() or root.is_file() else root / table)
    if root.is_file():
        return root
    _LAYOUT.folder(root)
    known = [root / name for name in _NAMES if (root / name).is_file()]
    there = known[:1] or sorted(root.glob("*.csv"))
    if len(there) != 1:
        raise _LAYOUT.missing(
            f"The table of labels ({', '.join(_NAMES)}, or one other .csv file; there are "
            f"{len(there)}) in {root}"
        )
    return there[0]
