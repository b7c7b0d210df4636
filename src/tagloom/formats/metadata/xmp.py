"""The keywords of one XMP packet (ISO 16684-1), with the position of each element in its bytes.

The parser is our own because tags are added without changing any other byte of a packet: a tree
that is written out again would lose the layout, prefixes and encoding that other programs chose.
"""

import codecs
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.parsers import expat

from tagloom.errors import InvalidInputError
from tagloom.formats.base import normalize_name
from tagloom.formats.text import illegal_character, malformed

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XMPMETA = ("adobe:ns:meta/ xmpmeta", "adobe:ns:meta/ xapmeta")
CONTAINERS = tuple(f"{RDF} {kind}" for kind in ("Bag", "Seq", "Alt"))
ITEM = f"{RDF} li"
# xmpmeta, RDF, Description, field, list, item, Description, value: nothing is deeper by the book.
_DEEPEST = 8
_MOST_ELEMENTS = 100_000
# Possessive, so that a tag of many megabytes causes no backtracking.
_START_TAG = re.compile(rb"<([^\s/>]++)(?:[^\"'>]++|\"[^\"]*+\"|'[^']*+')*+>")
_DECLARED = re.compile(rb"<\?xml[^>]*?\sencoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
_ESCAPES = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    "\t": "&#9;",
    "\n": "&#10;",
    # Bare, it would be read as a line feed.
    "\r": "&#13;",
}


class Field(NamedTuple):
    """A property that holds keywords.

    Attributes
    ----------
    prefix, namespace, local : str
        Its usual prefix and its name.
    container : str
        The kind of list that its owner writes.
    separator : str
        What separates the steps of a path; empty where keywords have no path.
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
"""The fields that are read, and always written."""
COPIES = (
    Field("MicrosoftPhoto", "http://ns.microsoft.com/photo/1.0/", "LastKeywordXMP", "Bag", "/"),
    Field("mediapro", "http://ns.iview-multimedia.com/mediapro/1.0/", "CatalogSets", "Bag", "|"),
)
"""Fields in which digiKam repeats its tags: read, and kept in step where they are."""
SUGGESTED = Field("tagloom", "urn:tagloom:xmp:1.0/", "Suggested", "Bag", "")
"""Which of the keywords are a machine's suggestions, each after its probability: "0.93 beach"."""
_FIELD_NAMES = {field.name for field in (*FIELDS, *COPIES, SUGGESTED)}
_MARK = re.compile(r"(0(?:\.\d+)?|1(?:\.0+)?) (.+)", re.DOTALL)
# Of a mark that another program has rewritten no more is known than that it is a suggestion.
_UNKNOWN_PROBABILITY = 0.5


@dataclass(slots=True)
class Element:
    """An element and its bytes: `data[start:end]`, with the content `data[inner:inner_end]`.

    Attributes
    ----------
    name : str
        Namespace and local name, separated by a blank.
    written : str
        The name as it is written, with its prefix.
    attributes : dict
        Names like `name`, values.
    scope : dict
        Every prefix that is declared here ("" is the default) and its namespace.
    text : str
        The text directly inside, without that of the children.
    """

    name: str
    written: str
    attributes: dict[str, str]
    scope: dict[str, str]
    start: int
    inner: int
    inner_end: int = -1
    end: int = -1
    text: str = ""
    children: list["Element"] = field(default_factory=list)

    def closes_itself(self, data: bytes) -> bool:
        """Return whether it is written `<a/>`."""
        return data[self.inner - 2 : self.inner] == b"/>"


@dataclass(frozen=True)
class Place:
    """Where a field is: an element, or an attribute of the description `element`."""

    element: Element
    is_attribute: bool
    values: tuple[str, ...]


@dataclass(frozen=True)
class Packet:
    """A packet that was read.

    `descriptions` are those of the picture, not of something inside a field; `places` is where each
    field is, by the book once at most.
    """

    root: Element
    descriptions: tuple[Element, ...]
    places: dict[Field, tuple[Place, ...]]

    def entries(self, field: Field) -> list[str]:
        """Return the entries of a field, unchanged and in their order."""
        return [value for place in self.places[field] for value in place.values]

    def tags(self) -> list[str]:
        """Return the tags of all fields, each once; a path gives its last step."""
        flat = self.flat_entries()
        fields = (*FIELDS, *COPIES)
        read = (tag_of(entry, field, flat) for field in fields for entry in self.entries(field))
        return list(dict.fromkeys(tag for tag in read if tag))

    def flat_entries(self) -> set[str]:
        """Return the keywords that are no paths."""
        return {normalize_name(entry) for entry in self.entries(FIELDS[0])}

    def suggested(self) -> dict[str, float]:
        """Return the tags that are marked as suggestions, with their probabilities.

        A mark whose keyword somebody has removed since means nothing.
        """
        marks = dict(map(_read_mark, self.entries(SUGGESTED)))
        return {tag: marks[tag] for tag in self.tags() if tag in marks}


def mark_of(tag: str, probability: float) -> str:
    """Return the entry of `SUGGESTED` for a tag.

    >>> mark_of("beach", 0.9312)
    '0.931 beach'
    """
    return f"{probability:.3f} {tag}"


def _read_mark(entry: str) -> tuple[str, float]:
    found = _MARK.fullmatch(entry.strip())
    if found is None:
        return normalize_name(entry), _UNKNOWN_PROBABILITY
    return normalize_name(found[2]), float(found[1])


def tag_of(entry: str, field: Field, flat: Iterable[str]) -> str:
    """Return the tag that an entry of a field stands for.

    A path stands for its last step. An entry that is one of the `flat` keywords is not a path:
    "black/white" may be a keyword. Empty for an entry without a tag.

    >>> tag_of("Scene/beach", FIELDS[1], ["beach"]), tag_of("b/w", FIELDS[1], ["b/w"])
    ('beach', 'b/w')
    """
    whole = normalize_name(entry)
    if not field.separator or whole in flat:
        return whole
    steps = [step for step in map(normalize_name, whole.split(field.separator)) if step]
    return steps[-1] if steps else ""


def read_packet(data: bytes, where: str) -> Packet:
    """Read a packet; errors name `where`, line and column."""
    # Programs that embed a packet may pad it with zeros.
    return parsed_packet(packet_text(data, where).body.rstrip(b"\0"), where)


def parsed_packet(body: bytes, where: str) -> Packet:
    """Read a packet that has been converted to UTF-8."""
    root = _parse_tree(body, where, _may_hold_keywords)
    descriptions = tuple(
        child
        for rdf in rdf_elements(root)
        for child in rdf.children
        if child.name == f"{RDF} Description"
    )
    fields = (*FIELDS, *COPIES, SUGGESTED)
    places = {field: tuple(_places(field, descriptions)) for field in fields}
    return Packet(root, descriptions, places)


def rdf_elements(root: Element) -> list[Element]:
    """Return `rdf:RDF`, which is the root or a child of `x:xmpmeta`."""
    around = [root] if root.name not in XMPMETA else root.children
    return [element for element in around if element.name == f"{RDF} RDF"]


def _may_hold_keywords(elements: list[Element]) -> bool:
    """Return whether to look into an element; other fields may have a dc:subject of their own."""
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
    """Return the items of a list, or the only value of a field without a list."""
    if any(child.name in CONTAINERS for child in element.children):
        return [value_of(item) for item in items_of(element)]
    value = value_of(element)
    return [value] if value.strip() else []


def items_of(element: Element) -> list[Element]:
    """Return the items of the lists of a field."""
    containers = (child for child in element.children if child.name in CONTAINERS)
    return [item for one in containers for item in one.children if item.name == ITEM]


def value_of(element: Element) -> str:
    """Return the text of an item; that of a qualified item is in `rdf:value`."""
    if f"{RDF} value" in element.attributes:
        return element.attributes[f"{RDF} value"]
    for child in element.children:
        if child.name == f"{RDF} value":
            return child.text
        if child.name == f"{RDF} Description":
            return value_of(child)
    return element.text


def _parse_tree(data: bytes, where: str, interesting: Callable[[list[Element]], bool]) -> Element:
    """Return the root of well-formed UTF-8 XML; refuse document types and entities.

    `interesting` is asked with the open elements, outermost first, whether to look into the last.
    """
    parser = expat.ParserCreate("utf-8", namespace_separator=" ")
    parser.buffer_text = True
    builder = _Builder(data, where, parser, interesting)
    parser.StartNamespaceDeclHandler = builder.on_namespace
    parser.StartElementHandler = builder.on_start
    parser.EndElementHandler = builder.on_end
    parser.CharacterDataHandler = builder.on_text
    parser.StartDoctypeDeclHandler = builder.on_doctype
    try:
        parser.Parse(data, True)
    except expat.ExpatError as problem:
        raise malformed(where, problem, "an XMP packet") from problem
    assert builder.root is not None  # expat has refused a document without one
    return builder.root


class _Builder:
    """Builds the tree from expat's events; skips the content of elements without interest."""

    def __init__(
        self,
        data: bytes,
        where: str,
        parser: expat.XMLParserType,
        interesting: Callable[[list[Element]], bool],
    ) -> None:
        self.data, self.where, self.parser = data, where, parser
        self.interesting = interesting
        self.open: list[Element] = []
        self.texts: list[list[str]] = []
        self.root: Element | None = None
        self.skipped = 0
        self.kept = 0
        self.declared: dict[str, str] = {}

    def on_namespace(self, prefix: str | None, namespace: str | None) -> None:
        self.declared[prefix or ""] = namespace or ""

    def on_start(self, name: str, attributes: dict[str, str]) -> None:
        declared, self.declared = self.declared, {}
        if self.skipped:
            self.skipped += 1
            return
        outer = self.open[-1].scope if self.open else {}
        start = self.parser.CurrentByteIndex
        tag = _START_TAG.match(self.data, start)
        if tag is None:
            raise InvalidInputError(f"{self.where}: no start tag could be read at byte {start}.")
        element = Element(
            name,
            tag[1].decode("utf-8"),
            attributes,
            {**outer, **declared} if declared else outer,
            start,
            tag.end(),
        )
        self._attach(element)

    def _attach(self, element: Element) -> None:
        self.kept += 1
        if self.kept > _MOST_ELEMENTS:
            raise InvalidInputError(
                f"{self.where} holds more than {_MOST_ELEMENTS} elements where keywords are "
                "expected; it is not read."
            )
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)
        self.texts.append([])
        if not self.interesting(self.open):
            self.skipped = 1

    def on_end(self, _: str) -> None:
        if self.skipped:
            self.skipped -= 1
            if self.skipped:
                return
        element = self.open.pop()
        element.text = "".join(self.texts.pop())
        if element.closes_itself(self.data):
            element.inner_end = element.end = element.inner
        else:
            element.inner_end = self.parser.CurrentByteIndex
            element.end = self.data.index(b">", element.inner_end) + 1

    def on_text(self, text: str) -> None:
        if self.open and not self.skipped:
            self.texts[-1].append(text)

    def on_doctype(self, *_: object) -> None:
        raise InvalidInputError(
            f"{self.where}, line {self.parser.CurrentLineNumber}: a DOCTYPE. XMP has none, and it "
            "is not read: remove it."
        )


class PacketText(NamedTuple):
    """A packet as UTF-8, with the encoding of the original.

    Attributes
    ----------
    body : bytes
        UTF-8 without a byte order mark.
    codec : str
        The encoding of the original.
    mark : bytes
        The byte order mark of the original, or nothing.
    """

    body: bytes
    codec: str
    mark: bytes

    def restored(self, body: bytes) -> bytes:
        """Return another body in the encoding of the original."""
        if self.codec == "utf-8":
            return self.mark + body
        return self.mark + body.decode("utf-8").encode(self.codec)


def packet_text(data: bytes, where: str) -> PacketText:
    """Decode a packet in UTF-8 or UTF-16, with or without a byte order mark; refuse all else."""
    codec, mark = _encoding(data, where)
    try:
        body = data[len(mark) :].decode(codec).encode("utf-8")
    except UnicodeDecodeError as problem:
        line = data[: len(mark) + problem.start].count(b"\n") + 1
        raise InvalidInputError(
            f"{where}, line {line}: byte {len(mark) + problem.start} is not {codec.upper()}. "
            "XMP is UTF-8 or UTF-16; save the file as one of these."
        ) from problem
    declared = _DECLARED.match(body)
    name = declared[1].decode("ascii") if declared else "utf-8"
    if not name.lower().replace("-", "").startswith(("utf8", "utf16")):
        raise InvalidInputError(
            f"{where}, line 1: the declared encoding is {name}. "
            "Expected UTF-8 or UTF-16; save the file as one of these."
        )
    return PacketText(body, codec, mark)


def _encoding(data: bytes, where: str) -> tuple[str, bytes]:
    # The byte order mark of UTF-32 begins with that of UTF-16.
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, b"<\0\0\0", b"\0\0\0<")):
        raise InvalidInputError(
            f"{where} is UTF-32. Expected UTF-8 or UTF-16; save the file as one of these."
        )
    for codec, mark in (
        ("utf-8", codecs.BOM_UTF8),
        ("utf-16-le", codecs.BOM_UTF16_LE),
        ("utf-16-be", codecs.BOM_UTF16_BE),
    ):
        if data.startswith(mark):
            return codec, mark
    unmarked = {b"<\0": "utf-16-le", b"\0<": "utf-16-be"}
    return unmarked.get(data[:2], "utf-8"), b""


def writable(tag: str) -> str:
    """Return the normalised form of a tag to write; refuse what XML cannot hold."""
    illegal = illegal_character(tag)
    if illegal is not None:
        raise InvalidInputError(
            f"The tag {tag!r} holds the character {illegal!r}, which XML cannot hold. "
            "Rename the tag."
        )
    normalized = normalize_name(tag)
    if not normalized:
        raise InvalidInputError(f"The tag {tag!r} is empty. A tag needs at least one character.")
    return normalized


def escaped(text: str) -> str:
    """Return text escaped for XML.

    >>> escaped("rock & roll")
    'rock &amp; roll'
    """
    return "".join(_ESCAPES.get(character, character) for character in text)
