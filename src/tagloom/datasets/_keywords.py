"""The keywords in the metadata of an SVG drawing."""

from pathlib import Path

from tagloom.datasets._xml import walk_xml

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_SUBJECT = "http://purl.org/dc/elements/1.1/ subject"
_ENTRY = f"{_RDF} li"


def normalised(keyword: str) -> str:
    """Return a keyword in small letters, with single blanks inside and none around.

    >>> normalised("  Ice  CREAM ")
    'ice cream'
    """
    return " ".join(keyword.split()).casefold()


def svg_keywords(path: Path) -> set[str]:
    """Return the normalised keywords of a drawing: the entries of its `dc:subject`."""
    inside = 0
    found = set()

    def start(name: str, _: dict[str, str]) -> None:
        nonlocal inside
        inside += name == _SUBJECT

    def end(name: str, text: str) -> None:
        nonlocal inside
        if inside and name == _ENTRY:
            found.add(normalised(text))
        inside -= name == _SUBJECT

    walk_xml(path, start, end)
    return found - {""}
