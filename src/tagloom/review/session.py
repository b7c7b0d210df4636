"""One review: the collection in memory and the journal on disk, kept in step."""

import secrets
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from tagloom.completion.feedback import ABSENT, PRESENT, answers_in_tables, files_read
from tagloom.completion.journal import Batch, Change, Journal
from tagloom.completion.outputs import digest_of, read_record, restore_if_interrupted
from tagloom.errors import InvalidInputError
from tagloom.review.collection import (
    HAS_TAG,
    LACKS_TAG,
    Collection,
    Entry,
    EntryState,
    after_verdict,
    from_journal,
)
from tagloom.review.loading import check_is_run, load
from tagloom.review.near_identical import NearIdentical
from tagloom.review.views import Pictures
from tagloom.review.vocabulary import TagDecisions

Json = dict[str, Any]


class Decision(NamedTuple):
    """A verdict on a picture and a tag, which is given by its number or its name."""

    image: int
    tag: int | str
    verdict: str


class Review:
    """A run that is being reviewed.

    Whatever changes it, or reads several parts of it, holds `lock`. A state changes in memory only
    after it was written to disk.

    Attributes
    ----------
    out, photos : Path
    collection : Collection
    pictures : Pictures
    near_identical : NearIdentical
    version : int
        How many changes there have been.
    boot : str
        Identifies this start of the server: the numbers of new tags are only valid for one.
    history : dict
        Summaries of the batches that undo and redo would affect.
    """

    collection: Collection
    pictures: Pictures

    def __init__(self, out: Path, photos: Path | None = None) -> None:
        self.out, self._given_photos = out, photos
        self.lock = threading.RLock()
        check_is_run(out)
        self.journal = Journal(out)
        try:
            restore_if_interrupted(out)
            self._use(self.reload())
        except BaseException:
            self.journal.close()
            raise
        self.photos = self.collection.loaded.photos
        # Learning again computes no new features.
        self.near_identical = NearIdentical(self.collection.loaded.visual)
        self._changes: list[Entry] = []
        self.boot = secrets.token_hex(8)
        self.tag_decisions = TagDecisions(out, read_record(out))
        self.history = self._history()
        self._take_up_tables()

    def _take_up_tables(self) -> None:
        """Store what people have written into the tables of the run, like decisions made here.

        Once for each version of the tables: what is undone here stays undone.
        """
        answers = answers_in_tables(self.out)
        client = f"tables {digest_of(sorted(answers.items()))[:16]}"
        if not answers or self.journal.knows(client):
            return
        numbers = {image: i for i, image in enumerate(self.collection.images)}
        decisions = [
            Decision(numbers[image], tag, "accept" if present else "reject")
            for (image, tag), present in answers.items()
            if image in numbers and self._differs(numbers[image], tag, present)
        ]
        if decisions:
            self.decide(decisions, client)

    def _differs(self, image: int, tag: str, present: bool) -> bool:
        """Return whether an answer says anything else than what is known or decided."""
        t = self.collection.tag(tag)
        state = EntryState.UNKNOWN if t is None else self.collection.state(image, t)
        return state not in (HAS_TAG if present else LACKS_TAG)

    @property
    def version(self) -> int:
        """How many changes there have been."""
        return len(self._changes)

    def reload(self) -> Collection:
        """Read the run again; tags keep their numbers, because open pages refer to them."""
        before = getattr(self, "collection", None)
        read_files = files_read(read_record(self.out))
        learned = self.journal.labels_before_learning(read_files)
        return Collection(
            load(
                self.out,
                photos=self._given_photos,
                learned=learned,
                tags_first=None if before is None else list(before.tags),
            )
        )

    def _use(self, collection: Collection) -> None:
        chosen = self.journal.threshold(collection.loaded.run)
        if chosen is not None:
            collection.suggest_from(chosen)
        self.collection, self.pictures = collection, Pictures(collection)
        collection.put(self._placed(self.journal.current().items()))

    def replace(self, collection: Collection) -> None:
        """Continue with a reloaded collection and all decisions made meanwhile."""
        with self.lock:
            for tag in self.collection.tags:
                if collection.tag(tag) is None:
                    collection.add_tag(tag)
            chosen = self.collection.chosen_threshold
            if chosen is not None:
                # A run that has learned again is shown with the threshold chosen for the last one.
                self.journal.set_threshold(collection.loaded.run, chosen)
            self._use(collection)

    def decide(self, decisions: Iterable[Decision], client: str) -> Json:
        """Write decisions as one batch; of several on the same entry the last one counts."""
        with self.lock:
            n_tags = len(self.collection.tags)
            wanted = {self._named(one): one for one in decisions}
            after = {place: self._after(*place, one) for place, one in wanted.items()}
            words = {place: state.journal_word for place, state in after.items()}
            changes = [
                Change(self.collection.images[i], tag, self._journal_word(i, tag), word)
                for (i, tag), word in words.items()
                if self._journal_word(i, tag) != word
            ]
            batch = self.journal.add(client, changes) if changes else None
            entries = self._apply(
                ((self.collection.images[i], tag), word) for (i, tag), word in words.items()
            )
            return self._answer({"batch": batch, "applied": entries}, n_tags)

    def suggest_from(self, threshold: float | None) -> None:
        """Choose a common threshold for the suggestions; None for the run's own."""
        with self.lock:
            self.journal.set_threshold(self.collection.loaded.run, threshold)
            self.collection.suggest_from(threshold)

    @property
    def has_new_vocabulary(self) -> bool:
        """Whether decisions about tags wait to be learned."""
        of_run = self.collection.loaded.vocabulary
        return self.tag_decisions.current(of_run) != of_run

    def decide_tags(self, action: str, tags: list[str], to: str, client: str) -> Json:
        """Merge, rename, ignore, learn or add tags: in the vocabulary file, for the next learning.

        The file is written first: what the journal can undo was done.
        """
        with self.lock:
            of_run = self.collection.loaded.vocabulary
            change = self.tag_decisions.change(of_run, self.collection, action, tags, to)
            if change.entries:
                self.tag_decisions.apply(of_run, change)
                self.journal.add(client, [], change)
            return self._answer({}, len(self.collection.tags))

    def undo(self) -> Json:
        """Undo the latest batch in effect, whichever tab made it."""
        return self._step("undone", back=True)

    def redo(self) -> Json:
        """Redo the batch that was undone last."""
        return self._step("redone", back=False)

    def _step(self, word: str, *, back: bool) -> Json:
        with self.lock:
            n_tags = len(self.collection.tags)
            coming = self.journal.to_undo() if back else self.journal.to_redo()
            if coming is not None and coming.tag_change is not None:
                of_run = self.collection.loaded.vocabulary
                self.tag_decisions.apply(of_run, coming.tag_change, back=back)
            batch = self.journal.undo() if back else self.journal.redo()
            if batch is None:
                return self._answer({word: None}, n_tags)
            states = (
                ((one.image, one.tag), one.before if back else one.after) for one in batch.changes
            )
            return self._answer({word: {"batch": batch.id, "applied": self._apply(states)}}, n_tags)

    def changes(self, since: int) -> list[Json]:
        """Return the entries that changed after a version, with their current states."""
        with self.lock:
            return [self._row(i, t) for i, t in dict.fromkeys(self._changes[since:])]

    def close(self) -> None:
        """Close the journal."""
        self.journal.close()

    def _named(self, one: Decision) -> tuple[int, str]:
        tag = one.tag
        return one.image, tag if isinstance(tag, str) else self.collection.tags[tag]

    def _after(self, i: int, tag: str, one: Decision) -> EntryState:
        t = self.collection.tag(tag)
        if t is None and one.verdict != "accept":
            raise InvalidInputError(f"There is no tag {tag!r}, so it can only be accepted.")
        base = EntryState.UNKNOWN if t is None else self.collection.base(i, t)
        after = after_verdict(base, one.verdict, typed=isinstance(one.tag, str))
        # An entry that is already accepted stays as it is, typed or not.
        now = base if t is None else self.collection.state(i, t)
        same = {after, now} == {EntryState.ACCEPTED, EntryState.ADDED}
        return now if same else after

    def _journal_word(self, i: int, tag: str) -> str:
        t = self.collection.tag(tag)
        return (EntryState.UNKNOWN if t is None else self.collection.state(i, t)).journal_word

    def _placed(
        self, states: Iterable[tuple[tuple[str, str], str]]
    ) -> list[tuple[int, int, EntryState]]:
        """Turn names into numbers; unknown pictures are left out, new tags are added."""
        placed = []
        for (image, tag), word in states:
            i, t = self.collection.image(image), self.collection.tag(tag)
            if i is None:
                continue
            if t is None:
                if from_journal(word, EntryState.UNKNOWN) == EntryState.UNKNOWN:
                    continue
                t = self.collection.add_tag(tag)
            placed.append((i, t, from_journal(word, self.collection.base(i, t))))
        return placed

    def _apply(self, states: Iterable[tuple[tuple[str, str], str]]) -> list[Json]:
        placed = self._placed(states)
        self._changes += self.collection.put(placed)
        return [self._row(i, t) for i, t, _ in placed]

    def _row(self, i: int, t: int) -> Json:
        return {"i": i, "t": t, "state": self.collection.state(i, t).page_word}

    def _answer(self, answer: Json, n_tags_before: int) -> Json:
        tags = self.collection.tags
        new = {"tags": list(tags)} if len(tags) > n_tags_before else {}
        self.history = self._history()
        return {"version": self.version, **answer, **new, "history": self.history}

    def _history(self) -> Json:
        back, forth = self.journal.to_undo(), self.journal.to_redo()
        return {"undo": self._summary(back), "redo": self._summary(forth)}

    def _summary(self, batch: Batch | None) -> Json | None:
        """Summarise a batch: how many decisions, which verdict, and on which picture or tag."""
        if batch is None:
            return None
        if batch.tag_change is not None:
            text = batch.tag_change.text
            return {
                "batch": batch.id,
                "n": 0,
                "verdict": "tags",
                "text": text,
                "i": None,
                "t": None,
            }
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
