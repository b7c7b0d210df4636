"""Change the tags of an XMP packet; every byte that is not part of the keywords stays unchanged."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from tagloom.errors import InvalidInputError
from tagloom.formats.base import normalize_name
from tagloom.formats.metadata.xmp import (
    CONTAINERS,
    COPIES,
    FIELDS,
    ITEM,
    RDF,
    SUGGESTED,
    XMPMETA,
    Element,
    Field,
    Packet,
    Place,
    escaped,
    items_of,
    mark_of,
    packet_text,
    parsed_packet,
    rdf_elements,
    read_packet,
    tag_of,
    value_of,
    writable,
)
from tagloom.validation import some_of

_BLANK_BEFORE = re.compile(rb">([ \t\r\n]*)\Z")
_EMPTY = (
    '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>\n'
    '<x:xmpmeta xmlns:x="adobe:ns:meta/">\n'
    f' <rdf:RDF xmlns:rdf="{RDF}">\n'
    '  <rdf:Description rdf:about=""'
    + "".join(f'\n    xmlns:{field.prefix}="{field.namespace}"' for field in FIELDS)
    + "/>\n </rdf:RDF>\n</x:xmpmeta>\n"
    '<?xpacket end="w"?>\n'
).encode()


class Keywords(NamedTuple):
    """What is known of the tags of a picture.

    Attributes
    ----------
    known : sequence of str
        Tags that people gave or confirmed.
    suggested : mapping from str to float
        Tags that a machine suggests, with their probabilities; marked as such.
    rejected : collection of str
        Tags that the picture does not have: removed wherever they are.
    """

    known: Sequence[str] = ()
    suggested: Mapping[str, float] = {}
    rejected: Collection[str] = ()

    def normalized(self) -> "Keywords":
        """Return them as they are written; refuse what XML cannot hold, and tags said twice."""
        known = tuple(dict.fromkeys(map(writable, self.known)))
        suggested = {writable(tag): p for tag, p in self.suggested.items()}
        rejected = frozenset(map(normalize_name, self.rejected))
        twice = sorted({*known} & {*suggested} | {*known, *suggested} & rejected)
        if twice:
            raise InvalidInputError(
                f"A tag is known, suggested or rejected, and only one of them; got "
                f"{some_of(twice)}."
            )
        return Keywords(known, suggested, rejected)


def new_packet(tags: Iterable[str] | Keywords) -> bytes:
    """Return a packet with these tags in all three fields, and nothing else."""
    return merge_packet(_EMPTY, tags, "a new packet")


def merge_packet(data: bytes, tags: Iterable[str] | Keywords, where: str) -> bytes:
    """Add tags to a packet, and remove rejected ones.

    Afterwards each of the three fields holds all tags, those of the packet and the new ones, since
    programs read one or another of them. An existing path ("Scene/beach") is kept, stands for its
    last step, and is copied to a field that lacks it. Suggestions are marked (`SUGGESTED`), unless
    the packet already holds the tag as a person's; those that an earlier call has added, and that
    are not suggested any more, are removed. Where nothing is added or removed the bytes are the
    same.

    Parameters
    ----------
    data : bytes
        UTF-8 or UTF-16.
    tags : Keywords, or iterable of known tags
        Compared after `normalize_name`; a character that XML cannot hold is refused.
    where : str
        What messages call the packet.
    """
    wanted = (tags if isinstance(tags, Keywords) else Keywords(tuple(tags))).normalized()
    text = packet_text(data, where)
    packet = parsed_packet(text.body, where)
    target = _Target.of(packet, wanted)
    if not (wanted.known or wanted.suggested or target.gone):
        return data
    edits = _edits(text.body, packet, target, where)
    if not edits:
        return data
    merged = _apply_edits(text.body, edits)
    _check(parsed_packet(merged, where), target, where)
    return text.restored(merged)


class Difference(NamedTuple):
    """The tags that a merge adds as people's, adds as suggestions, and removes."""

    added: tuple[str, ...]
    suggested: tuple[str, ...]
    removed: tuple[str, ...]


def packet_difference(before: bytes, after: bytes, where: str) -> Difference:
    """Compare the tags of two packets."""
    old, new = read_packet(before, where), read_packet(after, where)
    then, now, guessed = old.tags(), new.tags(), new.suggested()
    more = [tag for tag in now if tag not in then]
    return Difference(
        tuple(tag for tag in more if tag not in guessed),
        tuple(tag for tag in more if tag in guessed),
        tuple(tag for tag in then if tag not in now),
    )


class _Target(NamedTuple):
    """What a packet shall hold."""

    tags: list[str]
    marks: dict[str, float]
    gone: set[str]
    """Tags of the packet that are removed."""

    @classmethod
    def of(cls, packet: Packet, wanted: Keywords) -> "_Target":
        now, guessed = packet.tags(), packet.suggested()
        withdrawn = guessed.keys() - {*wanted.known, *wanted.suggested}
        gone = set(now) & (withdrawn | set(wanted.rejected))
        kept = [tag for tag in now if tag not in gone]
        by_people = set(kept) - guessed.keys()
        marks = {tag: p for tag, p in wanted.suggested.items() if tag not in by_people}
        tags = dict.fromkeys([*kept, *wanted.known, *wanted.suggested])
        return cls(list(tags), marks, gone)


def _check(packet: Packet, target: _Target, where: str) -> None:
    """Check that every field holds all tags, and no other, before anything is written."""
    expected = set(target.tags)
    for field in _fields_of(packet):
        held = {tag_of(entry, field, expected) for entry in packet.entries(field)} - {""}
        if held != expected:
            raise InvalidInputError(
                f"{where}: {field.prefix}:{field.local} would hold {sorted(held)} after merging, "
                f"not {sorted(expected)}. Nothing is changed; change the tags with the program "
                "that wrote the file."
            )
    if packet.suggested().keys() != target.marks.keys():
        raise InvalidInputError(
            f"{where}: the suggestions could not be marked as such. Nothing is changed."
        )


def _fields_of(packet: Packet) -> list[Field]:
    """Return the fields to write: a copy only where it is already."""
    return [*FIELDS, *(field for field in COPIES if packet.places[field])]


class _Edit(NamedTuple):
    """Replace `data[start:end]` by `text`."""

    start: int
    end: int
    text: str


def _edits(data: bytes, packet: Packet, target: _Target, where: str) -> list[_Edit]:
    flat, gone = packet.flat_entries(), target.gone
    kept = {
        field: [one for one in packet.entries(field) if tag_of(one, field, flat) not in gone]
        for field in _fields_of(packet)
    }
    new = _missing(kept, target.tags)
    marks = [mark_of(*mark) for mark in target.marks.items()]
    kept[SUGGESTED] = [entry for entry in packet.entries(SUGGESTED) if entry in marks]
    new[SUGGESTED] = [mark for mark in marks if mark not in kept[SUGGESTED]]
    edits: list[_Edit] = []
    absent: dict[Field, list[str]] = {}
    for field, entries in new.items():
        edits += _shrink_field(data, packet, field, kept[field], bool(entries))
        if not entries:
            continue
        elements = [place for place in packet.places[field] if not place.is_attribute]
        if elements:
            edits += _extend_field(data, elements[0], field, kept[field], entries, where)
            continue
        # A property may not be both attribute and element: the attribute becomes an element.
        attributes = packet.places[field]
        edits += [_remove_attribute(data, place.element, field) for place in attributes]
        absent[field] = [*kept[field], *entries]
    if absent:
        edits.append(_new_fields(data, packet, absent, where))
    return edits


def _missing(kept: Mapping[Field, Sequence[str]], tags: Sequence[str]) -> dict[Field, list[str]]:
    """Return the entries that each field lacks."""
    flat = set(tags)
    paths = [
        [normalize_name(step) for step in entry.split(field.separator)]
        for field, entries in kept.items()
        if field.separator
        for entry in entries
        if normalize_name(entry) not in flat
    ]
    # Prefer a path that ends in the tag to one that passes through it.
    starts = {step: path[: at + 1] for path in paths for at, step in enumerate(path)}
    starts |= {path[-1]: path for path in paths}
    missing = {}
    for field, entries in kept.items():
        held = {tag_of(entry, field, flat) for entry in entries}
        lacking = [tag for tag in tags if tag not in held]
        missing[field] = [_entry(tag, field, starts.get(tag, []), flat) for tag in lacking]
    return missing


def _shrink_field(
    data: bytes, packet: Packet, field: Field, kept: Sequence[str], is_extended: bool
) -> list[_Edit]:
    """Return the edits that remove all entries but `kept`; of an empty field nothing remains.

    A place that is not a list is left to `_extend_field` where the field is extended.
    """
    edits = []
    for place in packet.places[field]:
        if all(value in kept for value in place.values):
            continue
        items = [item for item in items_of(place.element) if not place.is_attribute]
        if any(value in kept for value in place.values) or (items and is_extended):
            going = [item for item in items if value_of(item) not in kept]
            edits += [_removal(data, item) for item in going]
        elif not is_extended:
            edits.append(
                _remove_attribute(data, place.element, field)
                if place.is_attribute
                else _removal(data, place.element)
            )
    return edits


def _removal(data: bytes, element: Element) -> _Edit:
    """Remove an element with the white space before it."""
    indent = _indentation_before(data, element.start)
    return _Edit(element.start - len(indent), element.end, "")


def _entry(tag: str, field: Field, path: list[str], flat: set[str]) -> str:
    """Return the path of a tag if the field has paths and reads it as this tag; else the tag."""
    if field.separator and not any(field.separator in step for step in path):
        entry = field.separator.join(path)
        if tag_of(entry, field, flat) == tag:
            return entry
    return tag


def _new_fields(data: bytes, packet: Packet, absent: dict[Field, list[str]], where: str) -> _Edit:
    if not packet.descriptions:
        return _new_description(data, packet.root, absent, where)
    description = _best_description(packet)
    if description.children:
        indent = _indentation_before(data, description.children[-1].start)
        at = description.children[-1].end
    else:
        indent = f"{_indentation_before(data, description.start) or _line_end(data)} "
        at = description.inner
    text = "".join(
        _new_field(description.scope, field, entries, indent) for field, entries in absent.items()
    )
    if description.closes_itself(data):
        text += indent[:-1]
    return _insert(data, description, at, text)


def _best_description(packet: Packet) -> Element:
    """Return the first description with keywords, else the first."""
    for description in packet.descriptions:
        names = {*description.attributes, *(child.name for child in description.children)}
        if any(field.name in names for field in FIELDS):
            return description
    return packet.descriptions[0]


def _new_description(
    data: bytes, root: Element, absent: dict[Field, list[str]], where: str
) -> _Edit:
    """Return a new description, inside a new rdf:RDF where there is none."""
    around = next(iter(rdf_elements(root)), root)
    if around is root and root.name not in (*XMPMETA, f"{RDF} RDF"):
        raise InvalidInputError(
            f"{where}, line 1: the first element is {root.written}. Expected x:xmpmeta or rdf:RDF: "
            "this is not an XMP packet."
        )
    name, declaration = _qualified(around.scope, RDF, "Description", "rdf")
    scope = {**around.scope, name.rpartition(":")[0]: RDF}
    end = _line_end(data)
    fields = "".join(
        _new_field(scope, field, entries, f"{end}   ") for field, entries in absent.items()
    )
    prefix = name.removesuffix("Description")
    text = f"{end}  <{name}{declaration} {_about(prefix, scope)}>{fields}{end}  </{name}>{end}"
    if around.name in XMPMETA:
        text = f'{end} <rdf:RDF xmlns:rdf="{RDF}">{text} </rdf:RDF>{end}'
    return _insert(data, around, around.inner, text)


def _about(prefix: str, scope: dict[str, str]) -> str:
    """Return rdf:about, which needs a prefix even where RDF is the default namespace."""
    if prefix:
        return f'{prefix}about=""'
    held = [known for known, uri in scope.items() if known and uri == RDF]
    return f'{held[0]}:about=""' if held else f'xmlns:rdf="{RDF}" rdf:about=""'


def _line_end(data: bytes) -> str:
    return "\r\n" if b"\r\n" in data else "\n"


def _new_field(scope: dict[str, str], field: Field, entries: Sequence[str], indent: str) -> str:
    """Return a new field."""
    name, declaration = _qualified(scope, field.namespace, field.local, field.prefix)
    inside = _new_list(scope, field.container, entries, indent)
    return f"{indent}<{name}{declaration}>{inside}</{name}>"


def _new_list(scope: dict[str, str], kind: str, entries: Sequence[str], indent: str) -> str:
    """Return a list of entries, indented like the lines around it."""
    list_name, declaration = _qualified(scope, RDF, kind, "rdf")
    item_name = list_name.removesuffix(kind) + "li"
    step = f"{indent} " if indent else ""
    items = "".join(
        f"{step and step + ' '}<{item_name}>{escaped(entry)}</{item_name}>" for entry in entries
    )
    return f"{step}<{list_name}{declaration}>{items}{step}</{list_name}>{indent}"


def _extend_field(
    data: bytes,
    place: Place,
    field: Field,
    kept: Sequence[str],
    entries: Sequence[str],
    where: str,
) -> list[_Edit]:
    """Return the edits that add entries to a field that is an element."""
    element = place.element
    lists = [child for child in element.children if child.name in CONTAINERS]
    if lists:
        return [_extend_list(data, lists[0], entries)]
    if element.children or any(name.startswith(f"{RDF} ") for name in element.attributes):
        raise InvalidInputError(
            f"{where}: {element.written} has a form to which nothing can be added. "
            "Expected rdf:Bag, rdf:Seq or plain text in it; add a keyword with the program that "
            "wrote the file, or remove the field."
        )
    indent = _indentation_before(data, element.start)
    held = [value for value in place.values if value in kept]
    whole = _new_list(element.scope, field.container, [*held, *entries], indent)
    if element.closes_itself(data):
        return [_insert(data, element, element.end, whole)]
    return [_Edit(element.inner, element.inner_end, whole)]


def _extend_list(data: bytes, element: Element, entries: Sequence[str]) -> _Edit:
    stem, colon, _ = element.written.rpartition(":")
    name = f"{stem}{colon}li"
    items = [child for child in element.children if child.name == ITEM]
    lead = _indentation_before(data, items[-1].start) if items else ""
    text = "".join(f"{lead}<{name}>{escaped(entry)}</{name}>" for entry in entries)
    return _insert(data, element, items[-1].end if items else element.inner, text)


def _remove_attribute(data: bytes, element: Element, field: Field) -> _Edit:
    """Remove the attribute form of a field, with the white space before it."""
    tag = data[element.start : element.inner]
    prefixes = {known for known, uri in element.scope.items() if uri == field.namespace}
    for found in re.finditer(rb"\s+([^\s=\"'<>]+)\s*=\s*(?:\"[^\"]*\"|'[^']*')", tag):
        prefix, _, local = found[1].decode("utf-8").rpartition(":")
        if local == field.local and prefix in prefixes:
            return _Edit(element.start + found.start(), element.start + found.end(), "")
    raise AssertionError(f"{field.local} is an attribute of {element.written}")


def _insert(data: bytes, element: Element, at: int, text: str) -> _Edit:
    """Insert text in an element, at `at` or, where it is written `<a/>`, by opening it."""
    if element.closes_itself(data):
        return _Edit(element.end - 2, element.end, f">{text}</{element.written}>")
    return _Edit(at, at, text)


def _indentation_before(data: bytes, position: int) -> str:
    """Return the white space between a tag and the tag before it: the indentation."""
    found = _BLANK_BEFORE.search(data[max(0, position - 200) : position])
    return found[1].decode("ascii") if found else ""


def _qualified(scope: dict[str, str], namespace: str, local: str, prefix: str) -> tuple[str, str]:
    """Return a name as written in a scope, and the declaration that it needs there."""
    held = [known for known, uri in scope.items() if uri == namespace]
    if held:
        chosen = prefix if prefix in held else max(held)
        return (f"{chosen}:{local}" if chosen else local), ""
    return f"{prefix}:{local}", f' xmlns:{prefix}="{namespace}"'


def _apply_edits(data: bytes, edits: Iterable[_Edit]) -> bytes:
    """Return the data with all edits made; edits must not overlap."""
    pieces, at = [], 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        pieces += [data[at : edit.start], edit.text.encode("utf-8")]
        at = edit.end
    return b"".join([*pieces, data[at:]])
