"""JSON lines: one object for each picture."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tagloom.errors import InvalidInputError
from tagloom.formats import base
from tagloom.formats.tables.csv import NO_PICTURE, NO_TAG, PICTURE, TAG, TAGS, plain, table_format
from tagloom.formats.text import Text, read_text

TITLE = "JSON lines"
ABSENT, UNKNOWN, VOCABULARY = "absent", "unknown", "vocabulary"
SUGGESTED, SUGGESTED_ABSENT = "suggested", "suggested_absent"
_PRESENT = (*TAGS, *TAG)
_EXAMPLE = '{"file_name": "a.jpg", "tags": ["sea"]}'
_EXTENSIONS = (".jsonl", ".ndjson")


def read_jsonl(path: str | Path) -> base.Reading:
    """Read lines such as `{"file_name": "a.jpg", "tags": ["sea"]}`.

    `absent` may list tags that the picture does not have, `unknown` tags that are undecided, and
    `vocabulary` tags that need not be on any picture; `suggested` gives a machine's probability
    for each tag, `suggested_absent` that of its absence. Other keys are ignored with a warning.
    """
    text = read_text(Path(path))
    builder, counter, names = base.AnnotationBuilder(), base.WarningCounter(), base.TagNames()
    text.warn_of_guess(builder)
    lists_absences = False
    for number, line in enumerate(text.lines(), 1):
        if not line or line.isspace():
            continue
        where = f"{text.path}, line {number}"
        given = _object(line, where)
        lists_absences = lists_absences or ABSENT in given
        _add_object(given, where, builder, counter, names)
    names.add_to(builder, str(text.path))
    counter.add_to(builder)
    return builder.finish(text.path, TITLE, lists_absences=lists_absences, encoding=text.encoding)


def _is_jsonl(text: Text) -> bool:
    """Return whether the first line is a JSON object that names a picture."""
    first = next(line for line in text.lines() if line.strip())
    try:
        return _picture_key(_parse(first)) is not None
    except (ValueError, RecursionError):
        # The reader reports a broken line with its place, which helps more than no format at all.
        return text.path.suffix.lower() in _EXTENSIONS


FORMAT = table_format(
    "jsonl",
    TITLE,
    'lines such as {"file_name": "a.jpg", "tags": ["sea"]}',
    _is_jsonl,
    read_jsonl,
)


def _picture_key(given: dict[str, Any]) -> str | None:
    """Return the key under which an object names its picture."""
    return next((key for key in given if plain(key) in PICTURE), None)


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        return _parse(line)
    except json.JSONDecodeError as problem:
        raise InvalidInputError(
            f"{where}, column {problem.colno}: expected a JSON object such as {_EXAMPLE} on a "
            f"line of its own, found otherwise ({problem.msg}). Correct or remove the line."
        ) from problem
    except (ValueError, RecursionError) as problem:
        raise InvalidInputError(
            f"{where}, column 1: expected a JSON object such as {_EXAMPLE} on a line of its own; "
            f"{problem}. Correct or remove the line."
        ) from problem


def _parse(line: str) -> dict[str, Any]:
    """Return the JSON object of a line; `ValueError` if there is none."""
    given = _DECODER.decode(line)
    if not isinstance(given, dict):
        raise ValueError(f"it is {type(given).__name__}, not an object")
    return given


def _without_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    given = dict(pairs)
    if len(given) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {repeated!r} is twice in one object")
    return given


# Made once: json.loads would make a new one for every line.
_DECODER = json.JSONDecoder(object_pairs_hook=_without_repeated_keys)


def _add_object(
    given: dict[str, Any],
    where: str,
    builder: base.AnnotationBuilder,
    counter: base.WarningCounter,
    names: base.TagNames,
) -> None:
    key = _picture_key(given)
    name = "" if key is None else _text(given[key], f"{where}, key {key!r}")
    image = base.picture_name(name)
    if image:
        builder.images.setdefault(image)
    elif set(given) != {VOCABULARY}:
        counter.add(where, NO_PICTURE)
        return
    for used, written, present, confidence in _entries(given, key, where, counter):
        tag = names.normalize(written)
        if not tag:
            counter.add(where, NO_TAG)
        elif used == VOCABULARY:
            builder.tags.setdefault(tag)
        elif used == UNKNOWN:
            builder.leave_undecided(image, tag)
        else:
            builder.add(base.Annotation(image, tag, present, confidence), where)


def _entries(
    given: dict[str, Any], picture: str | None, where: str, counter: base.WarningCounter
) -> Iterator[tuple[str, str, bool, float | None]]:
    """Yield key, tag, presence and confidence."""
    for key, value in given.items():
        name, place = plain(key), f"{where}, key {key!r}"
        if name in {SUGGESTED, SUGGESTED_ABSENT}:
            for tag, probability in _probabilities(value, place).items():
                yield name, tag, name == SUGGESTED, probability
        elif name in _PRESENT or name in {ABSENT, UNKNOWN, VOCABULARY}:
            for tag in _tags(value, place):
                yield name, tag, name in _PRESENT, None
        elif key != picture:
            counter.add(where, f"the key {key!r} is not about tags: not used")


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
