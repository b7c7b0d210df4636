"""JSON files from untrusted sources; errors name the file and the place inside it."""

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any, NoReturn

from tagloom.errors import InvalidInputError
from tagloom.io import atomic_write

_KINDS = {
    dict: "an object",
    list: "a list",
    str: "a text",
    bool: "true or false",
    int: "an integer",
    float: "a number",
    type(None): "null",
}


def load_json(path: Path) -> Any:
    """Return what a JSON file holds; the same key twice in one object is refused."""
    try:
        return json.loads(path.read_bytes(), object_pairs_hook=_without_repeated_keys)
    except json.JSONDecodeError as problem:
        raise InvalidInputError(
            f"{path}, line {problem.lineno}, column {problem.colno}: expected JSON, found "
            f"something else ({problem.msg}). Export the file again."
        ) from problem
    except _RepeatedKeyError as problem:
        raise InvalidInputError(
            f"{path}: the key {problem.args[0]!r} is twice in one object, so that one of its "
            "values would be lost. Keep one of them."
        ) from problem
    except RecursionError as problem:
        raise InvalidInputError(
            f"{path}: lists or objects are nested too deeply to be read. Check where the file "
            "comes from."
        ) from problem
    except OSError as problem:
        raise InvalidInputError(f"{path} cannot be read: {problem.strerror}.") from problem
    except ValueError as problem:
        raise InvalidInputError(
            f"{path} cannot be read as JSON in UTF-8: {problem}. Save the file as UTF-8."
        ) from problem


def save_json(content: Any, path: Path) -> None:
    """Write JSON atomically, in ASCII: some programs read with the system's encoding."""
    with atomic_write(path) as part, part.open("w", encoding="ascii", newline="\n") as stream:
        json.dump(content, stream, indent=1, allow_nan=False)
        stream.write("\n")


class JsonValue:
    """A value in a JSON file that knows its place.

    >>> JsonValue([{"id": "x"}], Path("a.json")).items()[0].field("id").where
    'a.json: [0].id'
    """

    __slots__ = ("_above", "_step", "path", "value")

    def __init__(
        self, value: Any, path: Path, above: "JsonValue | None" = None, step: str | int = ""
    ) -> None:
        self.value = value
        self.path = path
        self._above = above
        self._step = step

    @property
    def inside(self) -> str:
        """The place inside the file; built on demand, since few are ever needed."""
        above = "" if self._above is None else self._above.inside
        step = f"[{self._step}]" if isinstance(self._step, int) else self._step
        return f"{above}{step}".removeprefix(".")

    @property
    def where(self) -> str:
        """The file and the place inside it."""
        return f"{self.path}: {self.inside or 'the whole file'}"

    def refuse(self, expected: str) -> NoReturn:
        """Raise the error with what was expected and what was found here."""
        raise InvalidInputError(
            f"{self.where}: expected {expected}, found {_shown(self.value)}. Correct the file or "
            "export it again."
        )

    def has(self, key: str) -> bool:
        """Return whether this is an object with a value other than null under the key."""
        return isinstance(self.value, dict) and self.value.get(key) is not None

    def field(self, key: str) -> "JsonValue":
        """Return the value of an object under a key; None where it is missing."""
        if not isinstance(self.value, dict):
            self.refuse("an object")
        return JsonValue(self.value.get(key), self.path, self, f".{key}")

    def fields(self) -> list[tuple[str, "JsonValue"]]:
        """Return the keys and values of an object."""
        if not isinstance(self.value, dict):
            self.refuse("an object")
        return [
            (_encodable(key, self), JsonValue(value, self.path, self, f"[{json.dumps(key)}]"))
            for key, value in self.value.items()
        ]

    def items(self) -> list["JsonValue"]:
        """Return the members of a list."""
        if not isinstance(self.value, list):
            self.refuse("a list")
        return [
            JsonValue(member, self.path, self, number) for number, member in enumerate(self.value)
        ]

    def listed(self, key: str) -> list["JsonValue"]:
        """Return the members of the list under a key; none where the key is missing or null."""
        return self.field(key).items() if self.has(key) else []

    def text(self) -> str:
        """Return a text that is not empty."""
        if not isinstance(self.value, str) or not self.value:
            self.refuse("a text that is not empty")
        return _encodable(self.value, self)

    def identity(self) -> int | str:
        """Return an integer or a text by which other places refer to this one."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | str):
            self.refuse("an integer or a text as id")
        return self.value

    def probability(self) -> float | None:
        """Return a number in [0, 1], None for any other number; refuse anything else."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            self.refuse("a number from 0 to 1")
        fits = math.isfinite(self.value) if isinstance(self.value, float) else True
        return float(self.value) if fits and 0 <= self.value <= 1 else None


class _RepeatedKeyError(Exception):
    pass


def _without_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise _RepeatedKeyError(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return table


def _encodable(text: str, place: JsonValue) -> str:
    # JSON can escape half of a surrogate pair, which UTF-8 cannot hold.
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            place.refuse("a text that can be written in UTF-8")
    return text


def _shown(value: Any) -> str:
    if isinstance(value, dict | list) or value is None:
        return _KINDS[type(value)]
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
