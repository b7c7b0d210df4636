"""XML from strangers: elements are reported one by one, entities are never expanded."""

from collections.abc import Callable
from pathlib import Path
from xml.parsers import expat

from tagloom.errors import InvalidInputError

Start = Callable[[str, dict[str, str]], None]
End = Callable[[str, str], None]


def walk_xml(path: Path, start: Start, end: End) -> None:
    """Call `start` with name and attributes and `end` with name and text of each element.

    Names are `namespace local`, separated by a blank. The text is what stands between the last
    tag and the end of the element. A file that declares entities is refused, for they are the way
    to make a small file expand without bound or read other files.
    """
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    text: list[str] = []

    def on_start(name: str, attributes: dict[str, str]) -> None:
        text.clear()
        start(name, attributes)

    def on_end(name: str) -> None:
        end(name, "".join(text))
        text.clear()

    def on_entity(*_: object) -> None:
        raise InvalidInputError(f"{path} declares entities, which are not expanded here.")

    parser.StartElementHandler = on_start
    parser.EndElementHandler = on_end
    parser.CharacterDataHandler = text.append
    parser.EntityDeclHandler = on_entity
    try:
        parser.Parse(path.read_bytes(), True)
    except expat.ExpatError as problem:
        raise InvalidInputError(
            f"{path}, line {problem.lineno}, column {problem.offset + 1}: malformed XML, "
            f"{expat.ErrorString(problem.code)}."
        ) from problem
    except (OSError, ValueError, LookupError) as problem:
        if isinstance(problem, InvalidInputError):
            raise
        raise InvalidInputError(f"{path} cannot be read as XML: {problem}.") from problem
