"""Answers that a run has learned from, and that must not be lost to the next one."""

from collections.abc import Collection
from pathlib import Path

from tagloom.checks import some_of
from tagloom.completion.decisions import decided
from tagloom.completion.model import CompletionModel
from tagloom.completion.outputs import MODEL
from tagloom.completion.record import NAME
from tagloom.errors import TagloomError, UnwritableFileError
from tagloom.labels import PartialLabels

Place = tuple[str, str]


def check_answers_kept(out: Path, said: PartialLabels, undecided: Collection[Place]) -> None:
    """Refuse to replace a run by one that does not know the answers it was given since.

    Answers may stand in no other file: those that were written into a table of the run are not in
    the one that took its place. What was decided in a review is in its own journal, and of what the
    tags leave undecided, because they say both, people are told anyway.
    """
    told = _statements(said)
    lost = sorted(
        (image, tag)
        for (image, tag), present in _answers(out, said).items()
        if told.get((image, tag)) != present and (image, tag) not in undecided
    )
    if lost:
        listed = some_of([f"{tag} of {image}" for image, tag in lost], 3)
        raise UnwritableFileError(
            f"{out} has learned {len(lost):,} answers by `tagloom update` that the tags of this "
            f"run do not hold ({listed}): they would be lost. Write them out with `tagloom export "
            f"{out} --to csv --only-known --file known.csv` and add --tags known.csv, or choose "
            "another folder for the results."
        )


def _answers(out: Path, said: PartialLabels) -> dict[Place, bool]:
    """Return what was answered of pictures that are there; a folder without a model has nothing."""
    if not ((out / MODEL).exists() and (out / NAME).exists()):
        return {}
    try:
        given, reviewed = CompletionModel.load(out / MODEL).later, decided(out)
    except TagloomError:
        return {}
    there = set(map(str, said.items or ()))
    in_journal = {(one.image, one.tag) for one in reviewed} | reviewed.undecided
    return {
        place: present
        for place, present in _statements(given).items()
        if place[0] in there and place not in in_journal
    }


def _statements(said: PartialLabels) -> dict[Place, bool]:
    entries, items = said.entries(), said.items or ()
    return {
        (str(items[row]), str(said.labels[column])): present
        for row, column, present in zip(
            entries.rows.tolist(), entries.columns.tolist(), entries.present.tolist(), strict=True
        )
    }
