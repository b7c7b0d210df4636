"""Changes to the text of a packet that leave every other byte where it was."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tagloom.errors import InvalidInputError
from tagloom.formats.xmp import CONTAINERS, ITEM, RDF, Field, Place
from tagloom.formats.xmp_text import escaped
from tagloom.formats.xmp_tree import Element

_BLANK_BEFORE = re.compile(rb">([ \t\r\n]*)\Z")


class Edit(NamedTuple):
    """Replace `data[start:end]` by `text`."""

    start: int
    end: int
    text: str


def spliced(data: bytes, edits: Iterable[Edit]) -> bytes:
    """Return the data with all edits made; they may touch, but not overlap."""
    pieces, at = [], 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        pieces += [data[at : edit.start], edit.text.encode("utf-8")]
        at = edit.end
    return b"".join([*pieces, data[at:]])


def content(data: bytes, element: Element, at: int, text: str) -> Edit:
    """Put text inside an element, at `at` or, where it is written `<a/>`, by opening it."""
    if element.closes_itself(data):
        return Edit(element.end - 2, element.end, f">{text}</{element.written}>")
    return Edit(at, at, text)


def blank_before(data: bytes, position: int) -> str:
    """Return the white space between a tag and the tag before it: how the file is indented."""
    found = _BLANK_BEFORE.search(data[max(0, position - 200) : position])
    return found[1].decode("ascii") if found else ""


def qualified(scope: dict[str, str], namespace: str, local: str, prefix: str) -> tuple[str, str]:
    """Return a name as it is to be written in a scope, and the declaration that it needs there."""
    held = [known for known, meant in scope.items() if meant == namespace]
    if held:
        chosen = prefix if prefix in held else max(held)
        return (f"{chosen}:{local}" if chosen else local), ""
    return f"{prefix}:{local}", f' xmlns:{prefix}="{namespace}"'


def new_list(scope: dict[str, str], kind: str, entries: Sequence[str], indent: str) -> str:
    """Return a whole list of entries, indented like the lines around it."""
    list_name, declaration = qualified(scope, RDF, kind, "rdf")
    item_name = list_name.removesuffix(kind) + "li"
    step = f"{indent} " if indent else ""
    items = "".join(
        f"{step and step + ' '}<{item_name}>{escaped(entry)}</{item_name}>" for entry in entries
    )
    return f"{step}<{list_name}{declaration}>{items}{step}</{list_name}>{indent}"


def new_field(scope: dict[str, str], field: Field, entries: Sequence[str], indent: str) -> str:
    """Return a field that is not there yet."""
    name, declaration = qualified(scope, field.namespace, field.local, field.prefix)
    inside = new_list(scope, field.container, entries, indent)
    return f"{indent}<{name}{declaration}>{inside}</{name}>"


def longer_field(
    data: bytes, place: Place, field: Field, entries: Sequence[str], where: str
) -> list[Edit]:
    """Return the edits that add entries to a field which stands as an element."""
    element = place.element
    lists = [child for child in element.children if child.name in CONTAINERS]
    if lists:
        return [_longer_list(data, lists[0], entries)]
    if element.children or any(name.startswith(f"{RDF} ") for name in element.attributes):
        raise InvalidInputError(
            f"{where}: {element.written} stands in a form to which nothing can be added. "
            "Expected rdf:Bag, rdf:Seq or plain text in it; add a keyword with the program that "
            "wrote the file, or remove the field."
        )
    indent = blank_before(data, element.start)
    whole = new_list(element.scope, field.container, [*place.values, *entries], indent)
    if element.closes_itself(data):
        return [content(data, element, element.end, whole)]
    return [Edit(element.inner, element.inner_end, whole)]


def _longer_list(data: bytes, element: Element, entries: Sequence[str]) -> Edit:
    stem, colon, _ = element.written.rpartition(":")
    name = f"{stem}{colon}li"
    items = [child for child in element.children if child.name == ITEM]
    lead = blank_before(data, items[-1].start) if items else ""
    text = "".join(f"{lead}<{name}>{escaped(entry)}</{name}>" for entry in entries)
    return content(data, element, items[-1].end if items else element.inner, text)


def without_attribute(data: bytes, element: Element, field: Field) -> Edit:
    """Take out the attribute form of a field, with the white space before it."""
    tag = data[element.start : element.inner]
    prefixes = {known for known, meant in element.scope.items() if meant == field.namespace}
    for found in re.finditer(rb"\s+([^\s=\"'<>]+)\s*=\s*(?:\"[^\"]*\"|'[^']*')", tag):
        prefix, _, local = found[1].decode("utf-8").rpartition(":")
        if local == field.local and prefix in prefixes:
            return Edit(element.start + found.start(), element.start + found.end(), "")
    raise AssertionError(f"{field.local} is an attribute of {element.written}")
