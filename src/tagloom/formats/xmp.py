"""The keywords of one XMP packet."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tagloom.formats.xmp_text import clean, packet_text
from tagloom.formats.xmp_tree import Element, parse_tree

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XMPMETA = ("adobe:ns:meta/ xmpmeta", "adobe:ns:meta/ xapmeta")
CONTAINERS = tuple(f"{RDF} {kind}" for kind in ("Bag", "Seq", "Alt"))
ITEM = f"{RDF} li"


class Field(NamedTuple):
    """A property that holds keywords.

    Attributes
    ----------
    prefix, namespace, local : str
        Its usual prefix and its name.
    container : str
        The kind of list that its owner writes.
    separator : str
        What stands between the steps of a path; empty where keywords have no path.
    """

    prefix: str
    namespace: str
    local: str
    container: str
    separator: str

    @property
    def name(self) -> str:
        """Return namespace and local name, as elements have them."""
        return f"{self.namespace} {self.local}"


FIELDS = (
    Field("dc", "http://purl.org/dc/elements/1.1/", "subject", "Bag", ""),
    Field("digiKam", "http://www.digikam.org/ns/1.0/", "TagsList", "Seq", "/"),
    Field("lr", "http://ns.adobe.com/lightroom/1.0/", "hierarchicalSubject", "Bag", "|"),
)
# xmpmeta, RDF, Description, field, list, item, Description, value: nothing is deeper by the book.
_DEEPEST = 8
_FIELD_NAMES = {field.name for field in FIELDS}


@dataclass(frozen=True)
class Place:
    """Where a field stands: an element, or an attribute of the description `element`."""

    element: Element
    is_attribute: bool
    values: tuple[str, ...]


@dataclass(frozen=True)
class Packet:
    """A packet that was read.

    Attributes
    ----------
    root : Element
    descriptions : tuple of Element
        Those that speak of the picture, not of something inside a field.
    places : dict
        For each of `FIELDS` where it stands; by the book once at most.
    """

    root: Element
    descriptions: tuple[Element, ...]
    places: dict[Field, tuple[Place, ...]]

    def entries(self, field: Field) -> list[str]:
        """Return what a field holds, as it stands, in its order."""
        return [value for place in self.places[field] for value in place.values]

    def tags(self) -> list[str]:
        """Return the tags of all fields, each once; of a path its last step."""
        flat = {clean(entry) for entry in self.entries(FIELDS[0])}
        read = (tag_of(entry, field, flat) for field in FIELDS for entry in self.entries(field))
        return list(dict.fromkeys(tag for tag in read if tag))


def tag_of(entry: str, field: Field, flat: Iterable[str]) -> str:
    """Return the tag that an entry of a field stands for.

    A path stands for its last step. But what stands among the `flat` keywords as it is, is no path:
    "black/white" may be a keyword. Empty where the entry says nothing.

    >>> tag_of("Scene/beach", FIELDS[1], ["beach"]), tag_of("b/w", FIELDS[1], ["b/w"])
    ('beach', 'b/w')
    """
    whole = clean(entry)
    if not field.separator or whole in flat:
        return whole
    steps = [step for step in map(clean, whole.split(field.separator)) if step]
    return steps[-1] if steps else ""


def read_packet(data: bytes, where: str) -> Packet:
    """Read a packet: `InvalidInputError` with `where`, line and column for what is no XML."""
    # Writers that embed a packet may fill the room that was set aside for it with zeros.
    return parsed_packet(packet_text(data, where).body.rstrip(b"\0"), where)


def parsed_packet(body: bytes, where: str) -> Packet:
    """Read a packet that has been brought to UTF-8."""
    root = parse_tree(body, where, _may_hold_keywords)
    descriptions = tuple(
        child
        for rdf in rdf_elements(root)
        for child in rdf.children
        if child.name == f"{RDF} Description"
    )
    places = {field: tuple(_places(field, descriptions)) for field in FIELDS}
    return Packet(root, descriptions, places)


def rdf_elements(root: Element) -> list[Element]:
    """Return `rdf:RDF`, which is the root or a child of `x:xmpmeta`."""
    around = [root] if root.name not in XMPMETA else root.children
    return [element for element in around if element.name == f"{RDF} RDF"]


def _may_hold_keywords(elements: list[Element]) -> bool:
    """Pass over other fields: they may be large, and have a dc:subject of their own."""
    if len(elements) > _DEEPEST:
        return False
    under_description = len(elements) > 1 and elements[-2].name == f"{RDF} Description"
    in_field = any(element.name in _FIELD_NAMES for element in elements)
    return in_field or not under_description


def _places(field: Field, descriptions: tuple[Element, ...]) -> Iterable[Place]:
    for description in descriptions:
        if field.name in description.attributes:
            yield Place(description, True, (description.attributes[field.name],))
        for child in description.children:
            if child.name == field.name:
                yield Place(child, False, tuple(_values(child)))


def _values(element: Element) -> list[str]:
    """Return the items of a list, or the one value of a field that has no list."""
    containers = [child for child in element.children if child.name in CONTAINERS]
    if not containers:
        value = _value(element)
        return [value] if value.strip() else []
    return [
        _value(item) for container in containers for item in container.children if item.name == ITEM
    ]


def _value(element: Element) -> str:
    """Return the text of an item, which may be qualified and then stands in `rdf:value`."""
    if f"{RDF} value" in element.attributes:
        return element.attributes[f"{RDF} value"]
    for child in element.children:
        if child.name == f"{RDF} value":
            return child.text
        if child.name == f"{RDF} Description":
            return _value(child)
    return element.text
