"""Any folder of pictures with a CSV file of labels."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from tagloom.datasets.base import (
    Dataset,
    Layout,
    Unlisted,
    find_items,
    labels_from_tags,
    note_of_split,
    seeded_split,
    split_from_words,
)
from tagloom.errors import InvalidInputError
from tagloom.formats.base import AnnotationBuilder, picture_name
from tagloom.formats.names import rename, with_slashes
from tagloom.formats.tables.csv import SPLIT, Table, find_column, form_of_header
from tagloom.formats.tables.long import add_long
from tagloom.formats.tables.tag_lists import add_tag_lists
from tagloom.formats.tables.wide import add_wide
from tagloom.labels import PartialLabels
from tagloom.validation import check_choice, some_of

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
    """Load a folder of pictures and a CSV file with their labels.

    Parameters
    ----------
    path
        The folder, or a CSV file in it.
    table
        The CSV file; by default `labels.csv`, `metadata.csv`, `tags.csv` or the only one there.
    form
        "long", "wide" or "tags"; "auto" detects it from the header: `tags`, `label`, or neither.
    unlisted
        What an unlisted tag means, as in `PartialLabels.from_tags`. Required for tables that list
        presences only: lists of tags, and long ones without states.
    separator
        What separates the tags of a list.
    test_share, random_state
        How a split is drawn where there is no column `split`.

    Notes
    -----
    The table is read as `tagloom.formats` reads it: its separator and encoding are detected, the
    columns are found by their usual names, and a picture's name may lack folders and extension.
    Labels that are not listed are unknown, and so are contradictions. All that was left out or
    merged is in the notes of the data set.
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
        notes.append(note_of_split(*split, random_state))
    else:
        split = split_from_words(words, f"{csv_path}, column 'split'")
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


@dataclass
class FolderTable:
    """The annotations of a table, in its own order, under the names of the pictures in the folder.

    Attributes
    ----------
    table
        The rows as written.
    picture, split
        Positions of the columns of pictures and, if there is one, of the split.
    presences_only
        Whether the table cannot list absent labels.
    builder
        The annotations; pictures and labels are in the order of the table.
    item_of
        The item for each picture's name in the table.
    notes
        What was left out, merged or reinterpreted.
    """

    table: Table
    picture: int
    split: int | None
    presences_only: bool
    builder: AnnotationBuilder
    item_of: dict[str, str]
    notes: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path, folder: Path, form: str, separator: str) -> "FolderTable":
        """Read a table of the form "long", "wide", "tags" or, by its header, "auto"."""
        table = Table.read(path)
        split = find_column(table.header, SPLIT)
        builder = AnnotationBuilder()
        picture, presences_only = _add_table(table, builder, form, separator, split)
        listed = list(builder.images)
        items, notes = find_items(folder, _inside(table, picture, listed, folder), path.name)
        item_of = dict(zip(listed, items, strict=True))
        merged = rename(builder.entries.values(), builder.tags, item_of)
        notes += [*_notes(builder), *_notes(merged)]
        return cls(table, picture, split, presences_only, merged, item_of, notes)

    def truth(self, unlisted: Unlisted) -> PartialLabels:
        """Return the labels; `unlisted` is required where only presences are listed."""
        items = list(self.builder.images)
        annotations = self.builder.annotations()
        people = annotations.without_suggestions()
        if len(people) < len(annotations):
            n_suggested = len(annotations) - len(people)
            self.notes.append(f"{n_suggested:,} labels are only a machine's and were left out.")
        if not self.presences_only:
            return people.to_labels(items).select(self.builder.tags)
        by_image = people.by_image()
        tags = {item: [one.tag for one in by_image[item]] for item in items}
        return labels_from_tags(tags, unlisted, sorted(self.builder.tags))

    def split_words(self) -> list[str] | None:
        """Return the word in the column `split` of each item; rows of one picture must agree."""
        if self.split is None:
            return None
        word: dict[str, str] = {}
        for row, cells in enumerate(self.table.rows):
            item = self.item_of.get(picture_name(cells[self.picture]))
            found = cells[self.split].strip()
            if item is not None and word.setdefault(item, found) != found:
                raise InvalidInputError(
                    f"{self.table.where(row, self.split)}: {item!r} is {found!r} here and "
                    f"{word[item]!r} before."
                )
        return [word[item] for item in self.builder.images]


def _add_table(
    table: Table, builder: AnnotationBuilder, form: str, separator: str, split: int | None
) -> tuple[int, bool]:
    """Add the annotations of a table; return its picture column and if it lists presences only."""
    excluded = frozenset(() if split is None else (split,))
    form = form_of_header(table.header) if form == "auto" else form
    if form == "wide":
        return add_wide(table, builder, excluded), False
    if form == "tags":
        return add_tag_lists(table, builder, separator, excluded)[0].picture, True
    columns = add_long(table, builder, excluded)
    builder.tags = dict.fromkeys(sorted(builder.tags))
    return columns.picture, columns.state is None


def _inside(table: Table, picture: int, listed: list[str], folder: Path) -> list[str]:
    """Refuse names outside the folder: they would be taken for paths of items."""
    for name in listed:
        if ".." in with_slashes(name).split("/") or with_slashes(name.strip()).startswith("/"):
            if (folder / name).resolve().is_relative_to(folder.resolve()):
                continue
            row = next(
                row for row, cells in enumerate(table.rows) if picture_name(cells[picture]) == name
            )
            raise InvalidInputError(
                f"{table.where(row, picture)}: expected a picture's path inside the folder, found "
                f"{name!r}."
            )
    return listed


def _notes(builder: AnnotationBuilder) -> list[str]:
    notes = [f"{where}: {what}." for where, what in builder.warnings]
    if builder.duplicates:
        notes.append(f"{builder.duplicates:,} labels are repeated and were merged.")
    if builder.contradictions:
        shown = some_of([f"{where}: {what}" for where, what in builder.contradictions], 3)
        notes.append(f"{len(builder.contradictions):,} labels contradict themselves: {shown}.")
    return notes
