"""The elements of an XMP packet, with the bytes at which each begins and ends."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from xml.parsers import expat

from tagloom.errors import InvalidInputError

MOST_ELEMENTS = 100_000
# Possessive, so that a tag of many megabytes leaves no trail to go back on.
_START_TAG = re.compile(rb"<([^\s/>]++)(?:[^\"'>]++|\"[^\"]*+\"|'[^']*+')*+>")


@dataclass(slots=True)
class Element:
    """An element and where it stands: `data[start:end]`, its content `data[inner:inner_end]`.

    Attributes
    ----------
    name : str
        Namespace and local name, separated by a blank.
    written : str
        The name as it is written, with its prefix.
    attributes : dict
        Names like `name`, values.
    scope : dict
        Every prefix that holds here ("" the default) and its namespace.
    text : str
        What is written directly inside, without the text of the children.
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
        """Tell whether it is written `<a/>`."""
        return data[self.inner - 2 : self.inner] == b"/>"


class _Builder:
    """Takes expat's events; what lies inside elements that are of no interest is passed over."""

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
        self.passed_over = 0
        self.kept = 0
        self.declared: dict[str, str] = {}

    def on_namespace(self, prefix: str | None, namespace: str | None) -> None:
        self.declared[prefix or ""] = namespace or ""

    def on_start(self, name: str, attributes: dict[str, str]) -> None:
        declared, self.declared = self.declared, {}
        if self.passed_over:
            self.passed_over += 1
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
        if self.kept > MOST_ELEMENTS:
            raise InvalidInputError(
                f"{self.where} holds more than {MOST_ELEMENTS} elements where keywords are "
                "expected; it is not read."
            )
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)
        self.texts.append([])
        if not self.interesting(self.open):
            self.passed_over = 1

    def on_end(self, _: str) -> None:
        if self.passed_over:
            self.passed_over -= 1
            if self.passed_over:
                return
        element = self.open.pop()
        element.text = "".join(self.texts.pop())
        if element.closes_itself(self.data):
            element.inner_end = element.end = element.inner
        else:
            element.inner_end = self.parser.CurrentByteIndex
            element.end = self.data.index(b">", element.inner_end) + 1

    def on_text(self, text: str) -> None:
        if self.open and not self.passed_over:
            self.texts[-1].append(text)

    def on_doctype(self, *_: object) -> None:
        raise InvalidInputError(
            f"{self.where}, line {self.parser.CurrentLineNumber}: a DOCTYPE. XMP has none, and it "
            "is not read: remove it."
        )


def parse_tree(data: bytes, where: str, interesting: Callable[[list[Element]], bool]) -> Element:
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
        raise InvalidInputError(
            f"{where}, line {problem.lineno}, column {problem.offset + 1}: malformed XML, "
            f"{expat.ErrorString(problem.code)}. Expected an XMP packet."
        ) from problem
    assert builder.root is not None  # expat has refused a document without one
    return builder.root
