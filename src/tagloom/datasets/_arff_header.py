"""The header of an ARFF file: the names and kinds of the attributes."""

import re
from dataclasses import dataclass, field

from tagloom.datasets._arff_fields import Place, take_word, words_between_commas

_NUMERIC = {"numeric", "real", "integer"}


@dataclass(frozen=True)
class Attribute:
    """A column: numbers, or one of `values` where there are any."""

    name: str
    values: tuple[str, ...] = ()
    code: dict[str, int] = field(default_factory=dict, compare=False)

    @property
    def is_nominal(self) -> bool:
        """Say whether the values are names."""
        return bool(self.values)


def read_attribute(line: str, place: Place) -> Attribute:
    """Read a line `@attribute name type`."""
    name, at = take_word(line, len("@attribute"), place)
    kind = line[at:].strip()
    column = at + len(line[at:]) - len(line[at:].lstrip()) + 1
    if kind.startswith("{"):
        return _nominal(name.text, line.rstrip(), column, place)
    if kind.lower() in _NUMERIC:
        return Attribute(name.text)
    raise place.error(
        column,
        f"the attribute {name.text!r} is of the type {kind!r}; expected numeric, real, integer or "
        "a list of values in braces. Remove the attribute or turn it into numbers.",
    )


def _nominal(name: str, line: str, column: int, place: Place) -> Attribute:
    if not line.endswith("}"):
        raise place.error(column, "the list of values in braces is never closed.")
    values = [word.text for word in words_between_commas(line[:-1], place, offset=column)]
    repeated = sorted({value for value in values if values.count(value) > 1})
    if repeated:
        raise place.error(column, f"the attribute {name!r} has the value {repeated[0]!r} twice.")
    return Attribute(name, tuple(values), {value: code for code, value in enumerate(values)})


def keyword_of(line: str) -> str:
    """Return the keyword at the beginning of a line, in small letters; empty where there is none.

    >>> keyword_of("@ATTRIBUTE x numeric")
    '@attribute'
    """
    match = re.match(r"@[A-Za-z]+(?=\s|$|['\"{])", line)
    return match[0].lower() if match else ""
