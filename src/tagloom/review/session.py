"""One review: the collection in memory and the journal on disk, always saying the same."""

import secrets
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from tagloom.completion.answers import ABSENT, PRESENT, files_read
from tagloom.completion.options import read_record
from tagloom.errors import InvalidInputError
from tagloom.review.collection import Collection, Entry
from tagloom.review.journal import Batch, Change, Store
from tagloom.review.loading import check_is_run, load, restore_if_broken
from tagloom.review.states import EntryState, after_verdict, recalled
from tagloom.review.views import Pictures

Json = dict[str, Any]


class Verdict(NamedTuple):
    """What somebody decides of a picture and a tag; the tag by its number or its name."""

    image: int
    tag: int | str
    verdict: str


class Review:
    """A run that is being reviewed.

    All that changes it, or looks at several parts of it, holds `lock`. Memory follows the disk: a
    state changes here after it was written there.

    Attributes
    ----------
    out, photos : Path
    collection : Collection
    pictures : Pictures
    version : int
        Grows with every change.
    boot : str
        Tells this start of the review from any other: numbers of new tags hold for one only.
    history : dict
        What could be undone and redone, in short.
    """

    def __init__(self, out: Path, photos: Path | None = None) -> None:
        self.out, self._given_photos = out, photos
        self.lock = threading.RLock()
        check_is_run(out)
        self.store = Store(out)
        try:
            restore_if_broken(out)
            self._take(self.fresh())
        except BaseException:
            self.store.close()
            raise
        self.photos = self.collection.loaded.photos
        self._changes: list[Entry] = []
        self.boot = secrets.token_hex(8)
        self.history = self._history()

    collection: Collection
    pictures: Pictures

    @property
    def version(self) -> int:
        """How many changes there have been."""
        return len(self._changes)

    def fresh(self) -> Collection:
        """Read the run anew; tags keep the numbers by which pages know them."""
        before = getattr(self, "collection", None)
        learned = self.store.learned(files_read(read_record(self.out)))
        return Collection(
            load(
                self.out,
                photos=self._given_photos,
                learned=learned,
                tags_first=None if before is None else list(before.tags),
            )
        )

    def _take(self, collection: Collection) -> None:
        self.collection, self.pictures = collection, Pictures(collection)
        collection.put(self._placed(self.store.current().items()))

    def replace(self, collection: Collection) -> None:
        """Go on with what `fresh` has read, with all that was decided meanwhile."""
        with self.lock:
            for tag in self.collection.tags:
                if collection.tag(tag) is None:
                    collection.add_tag(tag)
            self._take(collection)

    def decide(self, verdicts: Iterable[Verdict], client: str) -> Json:
        """Write decisions as one batch; of several on one entry the last counts."""
        with self.lock:
            n_tags = len(self.collection.tags)
            wanted = {self._named(one): one for one in verdicts}
            after = {place: self._after(*place, one) for place, one in wanted.items()}
            changes = [
                Change(self.collection.images[i], tag, self._word(i, tag), state.word)
                for (i, tag), state in after.items()
                if self._word(i, tag) != state.word
            ]
            batch = self.store.add(client, changes) if changes else None
            placed = ((self.collection.images[i], tag) for i, tag in after)
            words = (state.word for state in after.values())
            entries = self._follow(zip(placed, words, strict=True))
            return self._answer({"batch": batch, "applied": entries}, n_tags)

    def undo(self) -> Json:
        """Take back the latest batch in effect, whoever made it."""
        return self._turn("undone", back=True)

    def redo(self) -> Json:
        """Bring back the batch that was undone last."""
        return self._turn("redone", back=False)

    def _turn(self, word: str, *, back: bool) -> Json:
        with self.lock:
            n_tags = len(self.collection.tags)
            batch = self.store.undo() if back else self.store.redo()
            if batch is None:
                return self._answer({word: None}, n_tags)
            states = (
                ((one.image, one.tag), one.before if back else one.after) for one in batch.changes
            )
            return self._answer(
                {word: {"batch": batch.id, "applied": self._follow(states)}}, n_tags
            )

    def changes(self, since: int) -> list[Json]:
        """Return the entries that changed after a version, as they are now."""
        with self.lock:
            return [self._told(i, t) for i, t in dict.fromkeys(self._changes[since:])]

    def close(self) -> None:
        """Close the journal."""
        self.store.close()

    def _named(self, one: Verdict) -> tuple[int, str]:
        tag = one.tag
        return one.image, tag if isinstance(tag, str) else self.collection.tags[tag]

    def _after(self, i: int, tag: str, one: Verdict) -> EntryState:
        t = self.collection.tag(tag)
        if t is None and one.verdict != "accept":
            raise InvalidInputError(f"There is no tag {tag!r}: it can only be accepted.")
        base = EntryState.OPEN if t is None else self.collection.base(i, t)
        after = after_verdict(base, one.verdict, typed=isinstance(one.tag, str))
        # Typed or not, what is accepted already stays as it is.
        now = base if t is None else self.collection.state(i, t)
        alike = {after, now} == {EntryState.ACCEPTED, EntryState.ADDED}
        return now if alike else after

    def _word(self, i: int, tag: str) -> str:
        t = self.collection.tag(tag)
        return (EntryState.OPEN if t is None else self.collection.state(i, t)).word

    def _placed(
        self, states: Iterable[tuple[tuple[str, str], str]]
    ) -> list[tuple[int, int, EntryState]]:
        """Find the places of names; a picture that is gone has none, a tag that is new gets one."""
        placed = []
        for (image, tag), word in states:
            i, t = self.collection.image(image), self.collection.tag(tag)
            if i is None:
                continue
            if t is None:
                if recalled(word, EntryState.OPEN) == EntryState.OPEN:
                    continue
                t = self.collection.add_tag(tag)
            placed.append((i, t, recalled(word, self.collection.base(i, t))))
        return placed

    def _follow(self, states: Iterable[tuple[tuple[str, str], str]]) -> list[Json]:
        placed = self._placed(states)
        self._changes += self.collection.put(placed)
        return [self._told(i, t) for i, t, _ in placed]

    def _told(self, i: int, t: int) -> Json:
        return {"i": i, "t": t, "state": self.collection.state(i, t).told}

    def _answer(self, metadata: Json, n_tags_before: int) -> Json:
        tags = self.collection.tags
        new = {"tags": list(tags)} if len(tags) > n_tags_before else {}
        self.history = self._history()
        return {"version": self.version, **metadata, **new, "history": self.history}

    def _history(self) -> Json:
        back, forth = self.store.to_undo(), self.store.to_redo()
        return {"undo": self._in_short(back), "redo": self._in_short(forth)}

    def _in_short(self, batch: Batch | None) -> Json | None:
        """Say in short what a batch has decided: of how many, which way, and of what."""
        if batch is None:
            return None
        images = {one.image for one in batch.changes}
        tags = {one.tag for one in batch.changes}
        verdicts = {_verdict(one.after) for one in batch.changes}
        return {
            "batch": batch.id,
            "n": len(batch.changes),
            "verdict": verdicts.pop() if len(verdicts) == 1 else "mixed",
            "i": self.collection.image(images.pop()) if len(images) == 1 else None,
            "t": self.collection.tag(tags.pop()) if len(tags) == 1 else None,
        }


def _verdict(word: str) -> str:
    return "accept" if word in PRESENT else "reject" if word in ABSENT else "clear"
