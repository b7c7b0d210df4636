"""The vocabulary file: what the owner of a collection says about its tags.

TOML, because names of tags may hold any character, lists need no separator that a name could
contain, and a name that stands there twice is an error. A table for each tag::

    [tags.Hund]
    aliases = ["Hunde", "dog"]      # other names of the same tag
    wordnet = ["n02084071"]         # what it means: ids of WordNet 3.0; [] for nothing
    concepts = ["Eskimo dog"]       # or the concepts of the encoder, by name
    parents = ["Tier"]              # broader tags: whoever has this tag has those; [] for none
    ignore = false                  # true: do not learn it
    add = false                     # true: suggest it although no picture has it yet
    note = "Any remark."

All are optional. What is not said is found out by `link_tags`.
"""

import json
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, Self

from tagloom.errors import InvalidInputError
from tagloom.io import atomic_write, read_toml
from tagloom.validation import some_of
from tagloom.words.lexicon import load_lexicon

_HEAD = "# Decisions about tags.\n"


@dataclass(frozen=True)
class TagEntry:
    """What is decided about one tag. None: nothing is, and `link_tags` finds out."""

    aliases: tuple[str, ...] = ()
    wordnet: tuple[str, ...] | None = None
    concepts: tuple[str, ...] | None = None
    parents: tuple[str, ...] | None = None
    ignore: bool = False
    add: bool = False
    note: str = ""


@dataclass(frozen=True)
class Vocabulary:
    """Decisions about the tags of a collection; see the head of this file for their meaning.

    Immutable: methods that decide something return a new vocabulary.

    Examples
    --------
    >>> vocabulary = Vocabulary().merge(["plane", "Airplane"], into="airplane").ignore(["2019"])
    >>> vocabulary.resolve("plane"), vocabulary.resolve("boat")
    ('airplane', 'boat')
    >>> vocabulary.is_ignored("2019")
    True
    """

    entries: Mapping[str, TagEntry] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for tag, entry in self.entries.items():
            for name in (tag, *entry.aliases, *(entry.parents or ())):
                _check_name(name)
        _check_aliases(self.entries)
        _check_ids(self.entries)
        self._check_parents()

    def resolve(self, tag: str) -> str:
        """Return the tag that a name is an alias of, or the name itself."""
        return self.aliases.get(tag, tag)

    @cached_property
    def aliases(self) -> dict[str, str]:
        """The tag that each alias stands for."""
        return {alias: tag for tag, entry in self.entries.items() for alias in entry.aliases}

    def entry(self, tag: str) -> TagEntry:
        """Return what is decided about a tag or the tag that it is an alias of."""
        return self.entries.get(self.resolve(tag), TagEntry())

    def is_ignored(self, tag: str) -> bool:
        """Return whether a tag is not to be learned."""
        return self.entry(tag).ignore

    @cached_property
    def added(self) -> tuple[str, ...]:
        """The tags that are to be suggested although no picture may have them yet."""
        return tuple(tag for tag, entry in self.entries.items() if entry.add and not entry.ignore)

    def merge(self, tags: Iterable[str], *, into: str) -> Self:
        """Return a vocabulary in which these tags are aliases of the tag `into`.

        Their own aliases go with them; what else was decided about them is given up, but that they
        are wanted.
        """
        given = list(tags)
        gone = dict.fromkeys([*map(self.resolve, given), *given])
        target = into if self.resolve(into) in gone else self.resolve(into)
        names = dict.fromkeys(name for tag in (target, *gone) for name in self._names(tag))
        entries = {
            tag: replace(entry, aliases=tuple(a for a in entry.aliases if a not in names))
            for tag, entry in self.entries.items()
            if tag not in names or tag == target
        }
        own = entries.get(target, TagEntry())
        aliases = tuple(name for name in names if name != target)
        # A tag is not its own parent.
        above = own.parents and tuple(one for one in own.parents if one not in names)
        wanted = any(self.entries[name].add for name in names if name in self.entries)
        entries[target] = replace(own, aliases=aliases, parents=above, add=wanted)
        return type(self)(entries)

    def _names(self, tag: str) -> tuple[str, ...]:
        """Return a tag and its aliases."""
        return (tag, *(self.entries[tag].aliases if tag in self.entries else ()))

    def rename(self, tag: str, to: str) -> Self:
        """Return a vocabulary in which a tag has another name; what is decided about it stays."""
        if to == tag or self.resolve(to) != to:
            raise InvalidInputError(f"{to!r} is already a name of the tag {self.resolve(to)!r}.")
        merged = self.merge([tag], into=to)
        old, new = self.entry(tag), merged.entries[to]
        kept = replace(old, aliases=new.aliases) if to not in self.entries else new
        return type(self)({**merged.entries, to: kept})

    def ignore(self, tags: Iterable[str], *, ignore: bool = True) -> Self:
        """Return a vocabulary in which these tags are not learned, or are after all."""
        changed = {self.resolve(tag): replace(self.entry(tag), ignore=ignore) for tag in tags}
        return type(self)({**self.entries, **changed})

    def add(self, tags: Iterable[str]) -> Self:
        """Return a vocabulary with tags that no picture may have yet, and that are wanted."""
        changed = {
            self.resolve(tag): replace(self.entry(tag), add=True, ignore=False) for tag in tags
        }
        return type(self)({**self.entries, **changed})

    def metadata(self) -> dict[str, dict[str, Any]]:
        """Return what is decided about each tag as JSON values."""
        return {tag: _decided(entry) for tag, entry in self.entries.items()}

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> Self:
        """Return the vocabulary that `metadata` was made from."""
        return cls({tag: _read_entry(tag, value) for tag, value in metadata.items()})

    def _check_parents(self) -> None:
        above = {
            tag: [self.resolve(parent) for parent in entry.parents or ()]
            for tag, entry in self.entries.items()
        }
        try:
            TopologicalSorter(above).prepare()
        except CycleError as problem:
            circle = " -> ".join(repr(tag) for tag in reversed(problem.args[1]))
            raise InvalidInputError(
                f"Parents must not go in a circle: {circle}. Remove one of them."
            ) from None


def read_vocabulary(path: str | os.PathLike[str]) -> Vocabulary:
    """Read a vocabulary file."""
    try:
        content = read_toml(path)
    except InvalidInputError as problem:
        raise InvalidInputError(
            f"{problem} Names with other characters than a-z, digits, - and _ need quotes: "
            '[tags."Bär"].'
        ) from None
    unknown = content.keys() - {"tags"}
    if unknown or not isinstance(content.get("tags", {}), dict):
        raise InvalidInputError(
            f"{path} must have one table for each tag, [tags.NAME]; found {some_of(unknown)}."
        )
    try:
        return Vocabulary.of(content.get("tags", {}))
    except InvalidInputError as problem:
        raise InvalidInputError(f"{path}: {problem}") from None


def write_vocabulary(path: str | os.PathLike[str], vocabulary: Vocabulary) -> None:
    """Write a vocabulary file, whole or not at all.

    Of a file that is there already, comments stay, and so do lines that still hold. Only where
    values go over several lines the file is written anew, without comments.
    """
    decided = vocabulary.metadata()
    text = _edited(Path(path), vocabulary)
    if text is None:
        text = _HEAD + "".join(_table(tag, value) for tag, value in decided.items())
    with atomic_write(path) as part:
        part.write_bytes(text.encode("utf-8"))


@dataclass
class _Block:
    """A table of a vocabulary file: the comments before it, its header and its lines."""

    lead: list[str]
    header: str = ""
    body: list[str] = field(default_factory=list)


def _edited(path: Path, vocabulary: Vocabulary) -> str | None:
    """Return the text of a file with other decisions; None where lines cannot be told apart."""
    decided = vocabulary.metadata()
    try:
        first, *tables = _blocks(path.read_text(encoding="utf-8"))
        text, names = "".join([*first.lead, *first.body]), set()
        for number, block in enumerate(tables):
            (name,) = tomllib.loads(block.header)["tags"]
            names.add(name)
            if name in decided:
                body = _changed(block.body, decided[name])
                text += "".join([*block.lead, block.header.rstrip("\r\n") + "\n", *body])
            elif not number:
                text += "".join(block.lead)
        text += "".join(_table(tag, value) for tag, value in decided.items() if tag not in names)
        same = Vocabulary.of(tomllib.loads(text).get("tags", {})) == vocabulary
    except (OSError, ValueError, KeyError):
        return None
    return text if same else None


def _blocks(text: str) -> list[_Block]:
    """Return the tables, the first without a header; comments before a header go with it."""
    blocks, comments = [_Block([])], list[str]()
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            blocks.append(_Block(comments, line))
            comments = []
        elif not line.strip() or line.lstrip().startswith("#"):
            comments.append(line)
        else:
            blocks[-1].body += [*comments, line]
            comments = []
    blocks[-1].body += comments
    return blocks


def _changed(body: Iterable[str], decided: Mapping[str, Any]) -> list[str]:
    """Return the lines of a table, those that do not hold any more replaced or removed."""
    lines, left = list[str](), dict(decided)
    for line in body:
        given = tomllib.loads(line)
        if not given:
            lines.append(line)
        for key, value in given.items():
            wanted = left.pop(key, None)
            if wanted is None and value:
                continue
            same = wanted is None or wanted == ([value] if isinstance(value, str) else value)
            kept = line if line.endswith("\n") else line + "\n"
            lines.append(kept if same or wanted == value else _line(key, wanted))
    return [*lines, *(_line(key, value) for key, value in left.items())]


def _decided(entry: TagEntry) -> dict[str, Any]:
    values = ((one.name, getattr(entry, one.name), one.default) for one in fields(TagEntry))
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value, default in values
        if value != default
    }


def _read_entry(tag: str, value: Any) -> TagEntry:
    names = [one.name for one in fields(TagEntry)]
    if not isinstance(value, dict) or value.keys() - set(names):
        found = some_of(value.keys() - set(names)) if isinstance(value, dict) else repr(value)
        raise InvalidInputError(
            f"The tag {tag!r} must be a table with {', '.join(names)}; found {found}."
        )
    return TagEntry(**{name: _read_field(tag, name, given) for name, given in value.items()})


def _read_field(tag: str, name: str, given: Any) -> Any:
    yes_or_no = (bool, "true or false")
    expected = {"ignore": yes_or_no, "add": yes_or_no, "note": (str, "a text")}
    if name in expected:
        kind, description = expected[name]
        if not isinstance(given, kind):
            raise InvalidInputError(f"{name} of {tag!r} must be {description}; found {given!r}.")
        return given
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        raise InvalidInputError(f"{name} of {tag!r} must be a list of texts; found {given!r}.")
    return tuple(listed)


def _table(tag: str, decided: Mapping[str, Any]) -> str:
    lines = [_line(name, value) for name, value in decided.items()]
    return f"\n[tags.{_quoted(tag)}]\n{''.join(lines)}"


def _line(name: str, value: Any) -> str:
    return f"{name} = {_value_text(value)}\n"


def _value_text(value: bool | str | list[str]) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _quoted(value) if isinstance(value, str) else f"[{', '.join(map(_quoted, value))}]"


def _quoted(text: str) -> str:
    """Return a basic string of TOML, which escapes as JSON does, and the delete character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _check_name(name: str) -> None:
    if not name.strip():
        raise InvalidInputError("A tag must have a name; found an empty one.")
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidInputError(f"Names of tags must be valid Unicode; found {name!a}.") from None


def _check_aliases(entries: Mapping[str, TagEntry]) -> None:
    """Require that no name means two tags."""
    owner: dict[str, str] = {}
    for tag, entry in entries.items():
        for alias in entry.aliases:
            other = alias if alias in entries else owner.get(alias)
            if other is not None:
                raise InvalidInputError(
                    f"{alias!r} is an alias of {tag!r}, and also a name of {other!r}. A name can "
                    "mean one tag only: remove one of them."
                )
            owner[alias] = tag


def _check_ids(entries: Mapping[str, TagEntry]) -> None:
    for tag, entry in entries.items():
        for wordnet_id in entry.wordnet or ():
            try:
                load_lexicon().row_of(wordnet_id)
            except InvalidInputError as problem:
                raise InvalidInputError(f"wordnet of {tag!r}: {problem}") from None
