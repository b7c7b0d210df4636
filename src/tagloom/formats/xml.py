"""XML files from untrusted sources, read as a tree; entities are never declared nor expanded.

Entities make a small file expand without bound ("billion laughs") or read other files. XMP packets
are the one kind of XML that is not read here: they are edited in place, byte by byte, by
`tagloom.formats.metadata.xmp`.
"""

import re
from pathlib import Path
from xml.etree import ElementTree
from xml.parsers import expat

from tagloom.errors import InvalidInputError
from tagloom.formats.text import read_bytes

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def read_xml(path: Path, *, allow_doctype: bool = False) -> ElementTree.Element:
    """Return the root of an XML file.

    Parameters
    ----------
    path
        The file.
    allow_doctype
        Accept a document type, as SVG drawings have one, as long as it declares no entities.
    """
    tree = ElementTree.TreeBuilder()
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True

    def on_start(name: str, attributes: dict[str, str]) -> None:
        tree.start(_qualified(name), {_qualified(key): attributes[key] for key in attributes})

    def on_doctype(*_: object) -> None:
        raise InvalidInputError(
            f"{path} declares a document type, through which entities could be expanded. Remove "
            "the DOCTYPE."
        )

    def on_entity(*_: object) -> None:
        raise InvalidInputError(f"{path} declares entities, which are not expanded here.")

    parser.StartElementHandler = on_start
    parser.EndElementHandler = lambda name: tree.end(_qualified(name))
    parser.CharacterDataHandler = tree.data
    parser.EntityDeclHandler = on_entity
    if not allow_doctype:
        parser.StartDoctypeDeclHandler = on_doctype
    try:
        parser.Parse(read_bytes(path), True)
    except expat.ExpatError as problem:
        raise malformed(str(path), problem) from problem
    except (ValueError, LookupError) as problem:
        if isinstance(problem, InvalidInputError):
            raise
        raise InvalidInputError(f"{path} cannot be read as XML: {problem}.") from problem
    return tree.close()


def _qualified(name: str) -> str:
    """Return a name as ElementTree writes it: `{namespace}local`."""
    return f"{{{name}" if "}" in name else name


def malformed(
    where: str, problem: expat.ExpatError, expected: str = "an XML file"
) -> InvalidInputError:
    """Return the error for what is not XML, with its place."""
    return InvalidInputError(
        f"{where}, line {problem.lineno}, column {problem.offset + 1}: malformed XML, "
        f"{expat.ErrorString(problem.code)}. Expected {expected}."
    )


def illegal_character(text: str) -> str | None:
    """Return the first character that XML cannot hold; None if there is none."""
    found = _ILLEGAL.search(text)
    return found[0] if found else None
