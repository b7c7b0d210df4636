"""Write PASCAL VOC's lists of classes."""

import re
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path

from tagloom.checks import some_of
from tagloom.errors import InvalidInputError, UnwritableFileError
from tagloom.files import written_whole
from tagloom.formats._naming import refuse_unwritable, without_ending
from tagloom.formats._tally import Tally
from tagloom.formats.annotations import Annotations
from tagloom.formats.gathering import Remark

_UNUSABLE = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*]|^[. ]|^$')
# A byte order mark at the beginning of a list would be taken for no part of the first id.
_NO_ID = re.compile(r"[\s\ufeff]")
_LONGEST = 200


def write_voc(annotations: Annotations, folder: Path) -> list[Remark]:
    """Write `ImageSets/Main/<class>_trainval.txt` below a folder; return what was left out.

    Every list has every picture: 1 where a person said it is there, -1 where a person said it is
    not, 0 where it is unknown. Suggestions of a machine cannot be told from a person's word in
    this format: they are left out. `trainval.txt` lists the pictures.

    Pictures lose their extension, which VOC does not have.

    Raises
    ------
    InvalidInputError
        If a tag cannot be the name of a file on every system, if two tags differ only by case, or
        if a picture's name holds blanks or differs from another one only by its extension.
    UnwritableFileError
        If the folder has lists of other classes.
    """
    refuse_unwritable(annotations)
    _check_tags(annotations.tags)
    identity = _identities(annotations.images)
    main = folder / "ImageSets" / "Main"
    try:
        main.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise UnwritableFileError(f"{main} cannot be made: {problem.strerror}.") from problem
    _refuse_strangers(main, annotations.tags)
    tally = Tally()
    state: dict[tuple[str, str], int] = {}
    for one in annotations:
        if one.confidence is None:
            state[one.image, one.tag] = 1 if one.present else -1
        else:
            tally.add(f"{one.tag!r} of {one.image!r}", "VOC has no suggestions: left out")
    for tag in annotations.tags:
        lines = [
            f"{identity[image]} {state.get((image, tag), 0):>2}\n" for image in annotations.images
        ]
        _write(main / f"{tag}_trainval.txt", lines)
    _write(main / "trainval.txt", [f"{identity[image]}\n" for image in annotations.images])
    return tally.remarks()


def _refuse_strangers(main: Path, tags: Iterable[str]) -> None:
    """Refuse lists of other classes: they would be read together with ours."""
    own = {"trainval.txt", *(f"{tag}_trainval.txt" for tag in tags)}
    others = sorted(path.name for path in main.glob("*.txt") if path.name not in own)
    if others:
        raise UnwritableFileError(
            f"{main} has lists that would not be replaced: {some_of(others)}. Choose a new folder."
        )


def _write(path: Path, lines: list[str]) -> None:
    with written_whole(path) as part:
        part.write_bytes("".join(lines).encode())


def _check_tags(tags: Iterable[str]) -> None:
    listed = list(tags)
    unusable = [tag for tag in listed if _UNUSABLE.search(tag) or len(tag.encode()) > _LONGEST]
    if unusable:
        raise InvalidInputError(
            f"PASCAL VOC has a file for each tag, and these cannot name one: {some_of(unusable)}. "
            "Rename them or choose another format."
        )
    clashing = _clashing(listed, lambda tag: unicodedata.normalize("NFC", tag).casefold())
    if clashing:
        raise InvalidInputError(
            "PASCAL VOC has a file for each tag, and on many systems these would share one: "
            f"{some_of(clashing)}. Rename them or choose another format."
        )


def _identities(images: Iterable[str]) -> dict[str, str]:
    table = {image: without_ending(image) for image in images}
    blank = [image for image, name in table.items() if not name or _NO_ID.search(name)]
    if blank:
        raise InvalidInputError(
            "PASCAL VOC separates id and state by blanks, which these pictures have in their "
            f"names: {some_of(blank)}. Rename them or choose another format."
        )
    clashing = _clashing(table, table.__getitem__)
    if clashing:
        raise InvalidInputError(
            "PASCAL VOC names pictures without their extension, by which these cannot be told "
            f"apart: {some_of(clashing)}. Rename them or choose another format."
        )
    return table


def _clashing(names: Iterable[str], key: Callable[[str], str]) -> list[str]:
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(key(name), []).append(name)
    return [name for group in groups.values() if len(group) > 1 for name in group]
