"""A table of labels together with the folder whose pictures it names."""

from dataclasses import dataclass, field
from pathlib import Path

from tagloom.checks import some_of
from tagloom.datasets._pictures import located
from tagloom.datasets._tags import Unlisted, truth_of_tags
from tagloom.errors import InvalidInputError
from tagloom.formats.columns import SPLIT, form_of, place_of
from tagloom.formats.gathering import Gathering
from tagloom.formats.matching import renamed
from tagloom.formats.spellings import tidy_picture
from tagloom.formats.table_long import gather_long
from tagloom.formats.table_tags import gather_tag_lists
from tagloom.formats.table_wide import gather_wide
from tagloom.formats.tables import Table
from tagloom.labels import PartialLabels


@dataclass
class FolderTable:
    """What a table says, in its own order, under the names of the pictures in the folder.

    Attributes
    ----------
    table
        The rows as written.
    picture, split
        Places of the columns that name the pictures and, if there is one, the side of the split.
    presences_only
        Whether the table cannot say that a label is absent.
    gathered
        What is said; pictures and labels stand in the order of the table.
    meant
        The item for each picture's name in the table.
    notes
        What was left out, merged or read otherwise than it stands.
    """

    table: Table
    picture: int
    split: int | None
    presences_only: bool
    gathered: Gathering
    meant: dict[str, str]
    notes: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path, folder: Path, form: str, separator: str) -> "FolderTable":
        """Read a table of the form "long", "wide", "tags" or, by its header, "auto"."""
        table = Table.read(path)
        split = place_of(table.header, SPLIT)
        gathering = Gathering()
        picture, presences_only = _gather(table, gathering, form, separator, split)
        listed = list(gathering.images)
        items, notes = located(folder, _inside(table, picture, listed, folder), path.name)
        meant = dict(zip(listed, items, strict=True))
        merged = renamed(gathering.said.values(), gathering.tags, meant)
        notes += [*_notes(gathering), *_notes(merged)]
        return cls(table, picture, split, presences_only, merged, meant, notes)

    def truth(self, unlisted: Unlisted) -> PartialLabels:
        """Return what people say; `unlisted` is asked for where only presences are listed."""
        items = list(self.gathered.images)
        said = self.gathered.annotations()
        people = said.said_by_people()
        if len(people) < len(said):
            n_machine = len(said) - len(people)
            self.notes.append(f"{n_machine:,} labels are only a machine's and were left out.")
        if not self.presences_only:
            return people.to_labels(items).select(self.gathered.tags)
        by_image = people.by_image()
        tags = {item: [one.tag for one in by_image[item]] for item in items}
        return truth_of_tags(tags, unlisted, sorted(self.gathered.tags))

    def split_words(self) -> list[str] | None:
        """Return what the column `split` says of each item; rows of one picture must agree."""
        if self.split is None:
            return None
        word: dict[str, str] = {}
        for row, cells in enumerate(self.table.rows):
            item = self.meant.get(tidy_picture(cells[self.picture]))
            found = cells[self.split].strip()
            if item is not None and word.setdefault(item, found) != found:
                raise InvalidInputError(
                    f"{self.table.where(row, self.split)}: {item!r} is {found!r} here and "
                    f"{word[item]!r} before."
                )
        return [word[item] for item in self.gathered.images]


def _gather(
    table: Table, gathering: Gathering, form: str, separator: str, split: int | None
) -> tuple[int, bool]:
    """Collect what a table says; return the pictures' column and whether only presences count."""
    apart = frozenset(() if split is None else (split,))
    form = form_of(table.header) if form == "auto" else form
    if form == "wide":
        return gather_wide(table, gathering, apart), False
    if form == "tags":
        return gather_tag_lists(table, gathering, separator, apart)[0].picture, True
    columns = gather_long(table, gathering, apart)
    gathering.tags = dict.fromkeys(sorted(gathering.tags))
    return columns.picture, columns.state is None


def _inside(table: Table, picture: int, listed: list[str], folder: Path) -> list[str]:
    """Refuse names that lead out of the folder: they would be taken for paths of items."""
    for name in listed:
        if ".." in name.split("/") or name.startswith("/"):
            if (folder / name).resolve().is_relative_to(folder.resolve()):
                continue
            row = next(
                row for row, cells in enumerate(table.rows) if tidy_picture(cells[picture]) == name
            )
            raise InvalidInputError(
                f"{table.where(row, picture)}: expected a picture's path inside the folder, found "
                f"{name!r}."
            )
    return listed


def _notes(gathering: Gathering) -> list[str]:
    notes = [f"{where}: {what}." for where, what in gathering.remarks]
    if gathering.duplicates:
        notes.append(f"{gathering.duplicates:,} labels are said more than once and were merged.")
    if gathering.contradictions:
        shown = some_of([f"{where}: {what}" for where, what in gathering.contradictions], 3)
        notes.append(f"{len(gathering.contradictions):,} labels contradict themselves: {shown}.")
    return notes
