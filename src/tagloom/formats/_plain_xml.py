"""XML from strangers, read as a tree; entities can be neither declared nor expanded."""

from pathlib import Path
from xml.etree import ElementTree

from tagloom.errors import InvalidInputError


class _NoDoctype(ElementTree.TreeBuilder):
    """Builds a tree, unless entities might be declared: they expand without bound or read files."""

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        raise _DoctypeError


class _DoctypeError(Exception):
    pass


def read_xml(path: Path) -> ElementTree.Element:
    """Return the root of an XML file that declares no document type."""
    parser = ElementTree.XMLParser(target=_NoDoctype())
    try:
        parser.feed(path.read_bytes())
        return parser.close()
    except _DoctypeError as problem:
        raise InvalidInputError(
            f"{path} declares a document type, through which entities could be expanded. Remove "
            "the DOCTYPE."
        ) from problem
    except ElementTree.ParseError as problem:
        raise InvalidInputError(f"{path}: expected XML, found {problem}.") from problem
    except OSError as problem:
        raise InvalidInputError(f"{path} cannot be read: {problem.strerror}.") from problem
    except (ValueError, LookupError) as problem:
        raise InvalidInputError(f"{path} cannot be read as XML: {problem}.") from problem
