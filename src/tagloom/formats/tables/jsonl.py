"""JSON lines: one object for each picture."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tagloom.errors import InvalidInputError
from tagloom.formats.annotations import (
    Annotation,
    AnnotationBuilder,
    Reading,
    Spellings,
    tidy_picture,
)
from tagloom.formats.tables.csv import NO_PICTURE, NO_TAG, PICTURE, TAG, TAGS, Counts, plain
from tagloom.formats.tables.text import read_text

TITLE = "JSON lines"
ABSENT, UNKNOWN, VOCABULARY = "absent", "unknown", "vocabulary"
SUGGESTED, NOT_SUGGESTED = "suggested", "suggested_absent"
_PRESENT = (*TAGS, *TAG)
_EXAMPLE = '{"file_name": "a.jpg", "tags": ["sea"]}'


def read_jsonl(path: str | Path) -> Reading:
    """Read lines such as `{"file_name": "a.jpg", "tags": ["sea"]}`.

    `absent` may list tags that the picture has not, `unknown` tags that are left open, and
    `vocabulary` tags that need be on no picture; `suggested` gives a machine's probability for
    each tag, `suggested_absent` that for its absence. Other keys are not used, and remarked on.
    """
    text = read_text(Path(path))
    builder, counts, spellings = AnnotationBuilder(), Counts(), Spellings()
    text.note_guess(builder)
    says_absent = False
    for number, line in enumerate(text.lines(), 1):
        if not line or line.isspace():
            continue
        where = f"{text.path}, line {number}"
        given = _object(line, where)
        says_absent = says_absent or ABSENT in given
        _gather(given, where, builder, counts, spellings)
    spellings.note(builder, str(text.path))
    counts.note(builder)
    return builder.finish(text.path, TITLE, lists_absences=says_absent, encoding=text.encoding)


def picture_key(given: dict[str, Any]) -> str | None:
    """Return the key under which an object names its picture."""
    return next((key for key in given if plain(key) in PICTURE), None)


def parsed_object(line: str) -> dict[str, Any]:
    """Return the JSON object that a line is; `ValueError` if it is none."""
    given = _DECODER.decode(line)
    if not isinstance(given, dict):
        raise ValueError(f"it is {type(given).__name__}, not an object")
    return given


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    given = dict(pairs)
    if len(given) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return given


# Made once: json.loads would make a new one for every line.
_DECODER = json.JSONDecoder(object_pairs_hook=_once)


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        return parsed_object(line)
    except json.JSONDecodeError as problem:
        raise InvalidInputError(
            f"{where}, column {problem.colno}: expected a JSON object such as {_EXAMPLE} on a "
            f"line of its own, found otherwise ({problem.msg}). Mend or remove the line."
        ) from problem
    except (ValueError, RecursionError) as problem:
        raise InvalidInputError(
            f"{where}, column 1: expected a JSON object such as {_EXAMPLE} on a line of its own; "
            f"{problem}. Mend or remove the line."
        ) from problem


def _gather(
    given: dict[str, Any],
    where: str,
    builder: AnnotationBuilder,
    counts: Counts,
    spellings: Spellings,
) -> None:
    key = picture_key(given)
    image = "" if key is None else tidy_picture(_text(given[key], f"{where}, key {key!r}"))
    if image:
        builder.images.setdefault(image)
    elif set(given) != {VOCABULARY}:
        counts.add(NO_PICTURE, where)
        return
    for used, written, present, confidence in _said(given, key, where, counts):
        tag = spellings.tidy(written)
        if not tag:
            counts.add(NO_TAG, where)
        elif used == VOCABULARY:
            builder.tags.setdefault(tag)
        elif used == UNKNOWN:
            builder.leave_undecided(image, tag)
        else:
            builder.add(Annotation(image, tag, present, confidence), where)


def _said(
    given: dict[str, Any], picture: str | None, where: str, counts: Counts
) -> Iterator[tuple[str, str, bool, float | None]]:
    """Yield key, tag, presence and confidence."""
    for key, value in given.items():
        name, place = plain(key), f"{where}, key {key!r}"
        if name in {SUGGESTED, NOT_SUGGESTED}:
            for tag, probability in _probabilities(value, place).items():
                yield name, tag, name == SUGGESTED, probability
        elif name in _PRESENT or name in {ABSENT, UNKNOWN, VOCABULARY}:
            for tag in _tags(value, place):
                yield name, tag, name in _PRESENT, None
        elif key != picture:
            counts.add(f"lines have a key {key!r}, which says nothing of tags: not used", where)


def _text(value: Any, place: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidInputError(
            f"{place}: expected the picture's name as a text, found {value!r:.80}. Put it in "
            "quotation marks."
        )
    return value


def _tags(value: Any, place: str) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str) and not any(mark in value for mark in ";,|"):
        return [value]
    if not isinstance(value, list) or not all(isinstance(tag, str) for tag in value):
        raise InvalidInputError(
            f'{place}: expected a list of tags such as ["sea", "sky"], found {value!r:.80}. Write '
            "each tag as a text of its own."
        )
    return value


def _probabilities(value: Any, place: str) -> dict[str, float]:
    if not isinstance(value, dict) or not all(map(_is_probability, value.values())):
        raise InvalidInputError(
            f'{place}: expected probabilities from 0 to 1 such as {{"sea": 0.8}}, found '
            f"{value!r:.80}. Correct the numbers."
        )
    return {tag: float(number) for tag, number in value.items()}


def _is_probability(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
