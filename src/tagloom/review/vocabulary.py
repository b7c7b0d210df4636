"""Decisions about tags on the review page: merged, renamed, not learned, added.

They go into the vocabulary file of the run and take effect when it learns again. Like decisions on
pictures they are steps of the journal, and undone with them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tagloom.completion.journal import TagChange
from tagloom.completion.outputs import MODEL, VOCABULARY
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels
from tagloom.review.collection import HAS_TAG, Collection
from tagloom.words.vocabulary import Vocabulary, read_vocabulary, write_vocabulary

if TYPE_CHECKING:
    from tagloom.tagger.texts import Texts
    from tagloom.vision import Features
    from tagloom.words import TagLinks

Json = dict[str, Any]

ACTIONS = ("merge", "rename", "ignore", "learn", "add")
_MOST_NAMED = 3


class _Run(NamedTuple):
    """What the meaning of tags is found from."""

    digest: str
    known: PartialLabels
    features: "Features"
    texts: "Texts | None"


class TagDecisions:
    """The vocabulary file of a run under review.

    Attributes
    ----------
    path : Path
        The file that the run was given, or `vocabulary.toml` in its folder.
    """

    def __init__(self, out: Path, record: Mapping[str, Any]) -> None:
        given = (record.get("inputs") or {}).get("vocabulary")
        is_there = given is not None and Path(str(given)).is_file()
        self._out = out
        self.path = Path(str(given)) if is_there else out / VOCABULARY
        self._run: _Run | None = None
        self._links: tuple[Vocabulary, TagLinks, PartialLabels] | None = None

    def current(self, of_run: Vocabulary) -> Vocabulary:
        """Return what is decided by now; that of the run where there is no file."""
        return read_vocabulary(self.path) if self.path.exists() else of_run

    def change(
        self, of_run: Vocabulary, collection: Collection, action: str, tags: Sequence[str], to: str
    ) -> TagChange:
        """Return what a decision changes, without doing it."""
        before = self.current(of_run)
        names = {*collection.tags, *before.entries, *before.aliases}
        unknown = [tag for tag in tags if tag not in names]
        if unknown or (action != "add" and not tags):
            raise InvalidInputError(
                f"There is no tag {unknown[0]!r}." if unknown else "Name a tag."
            )
        after, text = _decided(before, names, action, list(tags), to)
        old, new = before.metadata(), after.metadata()
        changed = [tag for tag in {**old, **new} if old.get(tag) != new.get(tag)]
        return TagChange(text, {tag: (old.get(tag), new.get(tag)) for tag in changed})

    def apply(self, of_run: Vocabulary, change: TagChange, *, back: bool = False) -> None:
        """Write a change, or take it back; whatever else the file holds stays."""
        entries = self.current(of_run).metadata()
        for tag, (before, after) in change.entries.items():
            wanted = before if back else after
            if wanted is None:
                entries.pop(tag, None)
            else:
                entries[tag] = wanted
        write_vocabulary(self.path, Vocabulary.of(entries))

    def to_json(self, collection: Collection) -> Json:
        """Return all tags with what is decided about them, what they mean, and offered merges."""
        of_run = collection.loaded.vocabulary
        vocabulary = self.current(of_run)
        from tagloom.tagger.texts import say_compared

        links, known = self._linked(vocabulary, collection)
        texts = self._loaded(collection.loaded.run).texts
        links = say_compared(links, texts)
        compared = texts.knows(links.tags) if texts is not None else [False] * len(links.tags)
        n = dict(zip(known.labels, known.counts().present.tolist(), strict=True))
        return {
            "file": str(self.path),
            "pending": vocabulary != of_run,
            "rows": [
                {
                    "tag": link.tag,
                    "n": max(n[link.tag], _n_now(collection, link.tag)),
                    "aliases": list(vocabulary.entry(link.tag).aliases),
                    "ignored": vocabulary.is_ignored(link.tag),
                    "added": vocabulary.entry(link.tag).add,
                    "linked": bool(link.concepts) or by_text,
                    "how": link.how,
                    "implies": list(link.parents),
                }
                for link, by_text in zip(links.links, compared, strict=True)
            ],
            "merges": [{"tags": list(one.tags), "why": one.why} for one in links.merges],
        }

    def _linked(
        self, vocabulary: Vocabulary, collection: Collection
    ) -> "tuple[TagLinks, PartialLabels]":
        from tagloom.completion.inputs import labels_under_vocabulary
        from tagloom.words import link_tags

        run = self._loaded(collection.loaded.run)
        more = [tag for t, tag in enumerate(collection.tags) if collection.per_tag[t, 2:].any()]
        known = _with_tags(labels_under_vocabulary(run.known, vocabulary), vocabulary, more)
        if self._links is None or self._links[0] != vocabulary or self._links[2] != known:
            links = link_tags(
                map(str, known.labels),
                run.features.concepts,
                vocabulary=vocabulary,
                labels=known,
                posteriors=run.features.posteriors,
            )
            self._links = vocabulary, links, known
        return self._links[1], known

    def _loaded(self, digest: str) -> _Run:
        if self._run is None or self._run.digest != digest:
            from tagloom.completion.model import CompletionModel

            model = CompletionModel.load(self._out / MODEL)
            features = model.tagger.training_set_.features
            texts = model.tagger.texts() if model.options.words else None
            self._run, self._links = _Run(digest, model.known, features, texts), None
        return self._run


def _decided(
    vocabulary: Vocabulary, names: set[str], action: str, tags: list[str], to: str
) -> tuple[Vocabulary, str]:
    """Return the vocabulary after a decision, and the decision in words."""
    listed = ", ".join(tags[:_MOST_NAMED]) + (" and others" if len(tags) > _MOST_NAMED else "")
    if action == "merge":
        return vocabulary.merge([tag for tag in tags if tag != to], into=to), (
            f"merged {', '.join(tag for tag in tags if tag != to)} into {to}"
        )
    if action == "rename":
        if to in names:
            raise InvalidInputError(f"There is already a tag {to!r}: merge them instead.")
        return vocabulary.rename(tags[0], to), f"renamed {tags[0]} to {to}"
    if action == "add":
        return vocabulary.add([to]), f"added the tag {to}"
    if action == "ignore":
        return vocabulary.ignore(tags), f"do not learn {listed}"
    return vocabulary.ignore(tags, ignore=False), f"learn {listed}"


def _with_tags(known: PartialLabels, vocabulary: Vocabulary, more: Sequence[str]) -> PartialLabels:
    """Return the presences, with columns for tags that only the vocabulary or the review has."""
    aliases = vocabulary.aliases
    wanted = (*map(str, known.labels), *vocabulary.added, *(aliases.get(t, t) for t in more))
    labels = list(dict.fromkeys(wanted))
    entries = known.entries()
    return PartialLabels.from_entries(
        entries.rows[entries.present],
        entries.columns[entries.present],
        True,
        shape=(known.n_items, len(labels)),
        labels=labels,
        items=known.items,
    )


def _n_now(collection: Collection, tag: str) -> int:
    t = collection.tag(tag)
    return 0 if t is None else int(np.sum(collection.per_tag[t, list(HAS_TAG)]))
