"""Write tables and JSON lines that any program can read, and that read back unchanged."""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tagloom.errors import InvalidInputError
from tagloom.formats.base import Annotation, Annotations
from tagloom.formats.tables import jsonl
from tagloom.formats.tables.csv import PICTURE, defuse, plain
from tagloom.io import atomic_write

Target = str | os.PathLike[str]
# Cells with any usual separator are quoted, so that no reader can take one for another.
_SPECIAL = frozenset(',;\t|"\r\n')
_BETWEEN_TAGS = ";"
_UNCERTAIN = "-1"


def write_long_csv(annotations: Annotations, path: Target) -> int:
    """Write `image,tag,state,probability`, which holds everything.

    A row without state is undecided, a row without tag names a picture without annotations, and a
    row without picture a tag that is on no picture. `probability` is blank for a person's
    annotation.

    Returns
    -------
    int
        How many annotations the form cannot hold: 0.
    """
    rows = [
        [one.image, one.tag, str(int(one.present)), _number(one.confidence)] for one in annotations
    ]
    rows += [[image, tag, "", ""] for image, tag in sorted(annotations.undecided)]
    untagged = set(annotations.images) - {row[0] for row in rows}
    unused = set(annotations.tags) - {row[1] for row in rows}
    rows += [[image, "", "", ""] for image in sorted(untagged)]
    rows += [["", tag, "", ""] for tag in sorted(unused)]
    _write_rows(annotations, path, ["image", "tag", "state", "probability"], rows)
    return 0


def write_wide_csv(annotations: Annotations, path: Target) -> int:
    """Write a row for each picture and a column for each tag, with 1, 0 or nothing.

    Undecided tags are -1, which readers take for uncertain. Suggestions of a machine are left out:
    the form cannot hold them. There must be a tag.

    Returns
    -------
    int
        How many annotations were left out.
    """
    if not annotations.tags:
        raise InvalidInputError(
            f"{os.fspath(path)}: a wide table needs a column for at least one tag, and there is "
            "none. Write a long table instead."
        )
    column = {tag: place for place, tag in enumerate(annotations.tags)}
    people = annotations.without_suggestions()
    rows = {image: [image, *[""] * len(column)] for image in annotations.images}
    for one in people:
        rows[one.image][column[one.tag] + 1] = str(int(one.present))
    for image, tag in annotations.undecided:
        rows[image][column[tag] + 1] = _UNCERTAIN
    header = [_picture_title(annotations.tags), *annotations.tags]
    _write_rows(annotations, path, header, rows.values())
    return len(annotations) - len(people)


def write_tag_list_csv(annotations: Annotations, path: Target) -> int:
    """Write `file_name,tags` with the tags that people annotated as present.

    Absences, suggestions of a machine, undecided tags and tags that are on no picture are left
    out: the form cannot hold them. Tags are separated by `;`, or written as lists in brackets
    where a tag holds a separator itself.

    Returns
    -------
    int
        How many annotations were left out.
    """
    table = {
        image: [one.tag for one in own if one.present and one.confidence is None]
        for image, own in annotations.by_image().items()
    }
    tags = {tag for listed in table.values() for tag in listed}
    needs_lists = any(set(tag) & _SPECIAL or tag.startswith("[") for tag in tags)
    rows = [[image, _joined(listed, needs_lists)] for image, listed in table.items()]
    _write_rows(annotations, path, ["file_name", "tags"], rows)
    return len(annotations) - sum(map(len, table.values()))


def write_jsonl(annotations: Annotations, path: Target) -> int:
    """Write an object for each picture, which holds everything.

    Beside `file_name` and `tags` there are `absent`, `unknown` (undecided), `suggested` and
    `suggested_absent` where there is something to list, and `vocabulary` for tags on no picture.

    Returns
    -------
    int
        How many annotations the form cannot hold: 0.
    """
    _check_names(annotations, os.fspath(path))
    by_image = {image: _object(image, own) for image, own in annotations.by_image().items()}
    for image, tag in sorted(annotations.undecided):
        by_image[image].setdefault(jsonl.UNKNOWN, []).append(tag)
    lines = list(by_image.values())
    used = {one.tag for one in annotations} | {tag for _, tag in annotations.undecided}
    unused = sorted(set(annotations.tags) - used)
    if unused:
        # Other programs expect a picture on every line, so the first one carries the vocabulary.
        lines = lines or [{}]
        lines[0][jsonl.VOCABULARY] = unused
    _write(path, [f"{_json(line)}\n" for line in lines])
    return 0


def _object(image: str, annotations: Iterable[Annotation]) -> dict[str, Any]:
    line: dict[str, Any] = {"file_name": image, "tags": []}
    for one in annotations:
        if one.confidence is None:
            line.setdefault("tags" if one.present else jsonl.ABSENT, []).append(one.tag)
        else:
            key = jsonl.SUGGESTED if one.present else jsonl.SUGGESTED_ABSENT
            line.setdefault(key, {})[one.tag] = one.confidence
    return line


def _json(given: Any) -> str:
    text = json.dumps(given, ensure_ascii=False)
    # Names of files need not be Unicode; what UTF-8 cannot hold, escapes can.
    return text if _is_unicode(text) else json.dumps(given)


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _joined(tags: Sequence[str], in_brackets: bool) -> str:
    if in_brackets and tags:
        return json.dumps(tags, ensure_ascii=False, separators=(",", ":"))
    return _BETWEEN_TAGS.join(tags)


def _number(confidence: float | None) -> str:
    return "" if confidence is None else repr(confidence)


def _picture_title(tags: Iterable[str]) -> str:
    """Return a name for the column of pictures that is not a tag."""
    taken = {plain(tag) for tag in tags}
    free = next((name for name in PICTURE if name not in taken), None)
    if free is None:
        raise InvalidInputError(
            f"A wide table cannot tell its pictures from its tags where all of {PICTURE} are tags. "
            "Write a long table instead."
        )
    return free


def _write_rows(
    annotations: Annotations, path: Target, header: list[str], rows: Iterable[list[str]]
) -> None:
    place = os.fspath(path)
    _check_names(annotations, place)
    # Quote all of the header or none: a half-quoted header could be read with another separator.
    marked = any(_SPECIAL & set(name) for name in header)
    titles = map(defuse, header)
    first = ",".join(_quoted(name) if marked else _cell(name) for name in titles)
    lines = [first, *(",".join(map(_cell, _defused(row))) for row in rows)]
    for name in (*annotations.images, *annotations.tags):
        if "\0" in name or not _is_unicode(name):
            raise InvalidInputError(
                f"{place}: {name!r} cannot be written in a table of text. Write JSON lines "
                "instead, or rename it."
            )
    _write(path, [f"{line}\n" for line in lines])


def _defused(row: list[str]) -> list[str]:
    """Defuse names and tags; numbers, such as -1 for uncertain, are no formulas."""
    return [cell if cell == _UNCERTAIN else defuse(cell) for cell in row]


def _check_names(annotations: Annotations, place: str) -> None:
    for kind, names in (("picture", annotations.images), ("tag", annotations.tags)):
        blank = [name for name in names if not name.strip()]
        if blank:
            raise InvalidInputError(
                f"{place}: the name {blank[0]!r} of a {kind} is blank, and cannot be written. "
                "Give it a name or leave it out."
            )


def _cell(text: str) -> str:
    return _quoted(text) if _SPECIAL & set(text) or text != text.strip() else text


def _quoted(text: str) -> str:
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


def _write(path: Target, lines: Iterable[str]) -> None:
    with atomic_write(path) as part:
        Path(part).write_text("".join(lines), encoding="utf-8", newline="")
