"""Checking a sample of a run: drawn, stored in the journal, answered, and estimated from.

An answer is a decision of the review like any other: yes accepts, no rejects. So it is exported,
learned from and undone as such, and an entry that is decided elsewhere on the page counts as
answered. Only "don't know" is kept with the sample. A sample belongs to one run: once the run has
learned from the answers they say nothing about its new suggestions.
"""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tagloom.completion.check import Check, Estimate, describe, draw_check, estimate
from tagloom.completion.folder import claim
from tagloom.completion.journal import CheckedEntry, StoredCheck
from tagloom.errors import InvalidInputError
from tagloom.formats.tables.csv import defuse, undefuse
from tagloom.io import atomic_write
from tagloom.review.collection import HAS_TAG, LACKS_TAG
from tagloom.review.session import Decision, Json, Review

FILE = "check.csv"
COLUMNS = ("image", "tag", "answer")
YES, NO, UNSURE = "yes", "no", "unsure"
ANSWERS = (YES, NO, UNSURE)
_SPELLED = {
    **dict.fromkeys(("yes", "y", "1", "true", "known", "present"), YES),
    **dict.fromkeys(("no", "n", "0", "false", "absent"), NO),
    **dict.fromkeys(("?", "unsure", "unknown", "don't know"), UNSURE),
}
_VERDICTS = {YES: "accept", NO: "reject", UNSURE: "clear", None: "clear"}


class Question(NamedTuple):
    """An entry of a sample by its numbers, with the answer so far: yes, no, unsure or None."""

    image: int
    tag: int
    answer: str | None


class SampleCheck:
    """The latest sample of a run.

    Attributes
    ----------
    questions : list of Question
        In the order in which they are asked.
    threshold : float or None
        The threshold that had been chosen when the sample was drawn; None for the run's own.
    """

    def __init__(self, review: Review, stored: StoredCheck) -> None:
        self._review, self._stored = review, stored
        self.threshold: float | None = stored.summary["threshold"]
        self.questions = [self._question(one) for one in stored.entries]

    @classmethod
    def current(cls, review: Review) -> "SampleCheck | None":
        """Return the latest sample of the run, if one was drawn."""
        stored = review.journal.last_check(review.collection.loaded.run)
        return None if stored is None else cls(review, stored)

    @classmethod
    def draw(cls, review: Review, n: int) -> "SampleCheck":
        """Draw a new sample from what is undecided."""
        with review.lock:
            collection, run = review.collection, review.collection.loaded.run
            P, is_open, thresholds, tags = collection.open_entries()
            drawn = draw_check(P, is_open, thresholds, n, random_state=review.journal.n_checks(run))
            entries = [
                CheckedEntry(collection.images[i], collection.tags[tags[column]], *more)
                for i, column, *more in zip(
                    drawn.rows.tolist(),
                    drawn.columns.tolist(),
                    drawn.is_suggested.tolist(),
                    drawn.probability.tolist(),
                    drawn.stratum_size.tolist(),
                    strict=True,
                )
            ]
            summary = {
                "threshold": collection.chosen_threshold,
                "n_suggestions": drawn.n_suggestions,
                "expected_right": drawn.expected_right,
                "expected_covered": drawn.expected_covered,
                "expected_rest": drawn.expected_rest,
            }
            review.journal.add_check(run, summary, entries)
            found = cls.current(review)
        assert found is not None
        return found

    def _question(self, one: CheckedEntry) -> Question:
        collection = self._review.collection
        i, t = collection.image(one.image), collection.tag(one.tag)
        if i is None or t is None:
            raise InvalidInputError(
                f"{one.tag} of {one.image}, which was drawn to be checked, is not in the run any "
                "more. Draw a new sample."
            )
        state = collection.state(i, t)
        answer = YES if state in HAS_TAG else NO if state in LACKS_TAG else None
        return Question(i, t, UNSURE if answer is None and one.unsure else answer)

    def answer(self, places: Sequence[int], answers: Sequence[str | None], client: str) -> Json:
        """Store answers to some of the questions; None takes an answer back."""
        review = self._review
        with review.lock:
            decisions = []
            for place, answer in zip(places, answers, strict=True):
                question = self.questions[place]
                decisions.append(Decision(question.image, question.tag, _VERDICTS[answer]))
                review.journal.set_unsure(self._stored.id, place, answer == UNSURE)
            return review.decide(decisions, client)

    def estimate(self) -> Estimate:
        """Return what the answers so far say."""
        spelled = {YES: True, NO: False}
        answers = [spelled.get(one.answer or "") for one in self.questions]
        return estimate(self._as_check(), answers)

    def _as_check(self) -> Check:
        entries, summary = self._stored.entries, self._stored.summary
        return Check(
            np.array([one.image for one in self.questions], dtype=np.int64),
            np.array([one.tag for one in self.questions], dtype=np.int64),
            np.array([one.is_suggested for one in entries], dtype=bool),
            np.array([one.probability for one in entries], dtype=np.float64),
            np.array([one.stratum_size for one in entries], dtype=np.int64),
            **{name: summary[name] for name in _NUMBERS},
        )

    def to_json(self) -> Json:
        """Return the questions with their answers, and the result once there is an answer.

        Probabilities are left out: whoever answers must not be led by them.
        """
        found = self.estimate()
        return {
            "questions": [{"i": i, "t": t, "answer": answer} for i, t, answer in self.questions],
            "threshold": self.threshold,
            "estimate": found.metadata(),
            "sentences": describe(found),
        }

    def write(self, out: Path) -> None:
        """Write the questions with their answers to check.csv."""
        collection = self._review.collection
        rows = [
            (
                defuse(collection.images[i]),
                defuse(collection.tags[t]),
                "?" if answer == UNSURE else answer or "",
            )
            for i, t, answer in self.questions
        ]
        with (
            atomic_write(claim(out, FILE)) as part,
            part.open("w", encoding="utf-8", errors="surrogateescape", newline="") as stream,
        ):
            csv.writer(stream).writerows([COLUMNS, *rows])

    def read(self, out: Path) -> dict[int, str]:
        """Return the answers in check.csv by the places of their questions."""
        collection = self._review.collection
        places = {
            (collection.images[i], collection.tags[t]): place
            for place, (i, t, _) in enumerate(self.questions)
        }
        found: dict[int, str] = {}
        for line, image, tag, answer in answers_in(out / FILE):
            place = places.get((image, tag))
            if place is None:
                raise InvalidInputError(
                    f"{out / FILE}, line {line}: {tag} of {image} is not in the sample that was "
                    "drawn. Fill in the file as it was written, or draw a new sample with --new."
                )
            if found.get(place, answer) != answer:
                raise InvalidInputError(
                    f"{out / FILE}, line {line}: there are two answers about {tag} of {image}. "
                    "Keep one of them."
                )
            found[place] = answer
        return found


_NUMBERS = ("n_suggestions", "expected_right", "expected_covered", "expected_rest")


def answers_in(path: Path) -> list[tuple[int, str, str, str]]:
    """Return line, image, tag and answer of the rows of a check.csv that have an answer."""
    found = []
    try:
        with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as stream:
            table = csv.DictReader(stream)
            if not set(COLUMNS) <= set(table.fieldnames or ()):
                raise InvalidInputError(
                    f"{path}: expected the columns {', '.join(COLUMNS)}; found "
                    f"{', '.join(table.fieldnames or ()) or 'none'}."
                )
            for row in table:
                text = (row["answer"] or "").strip()
                answer = _SPELLED.get(text.casefold())
                if text and answer is None:
                    raise InvalidInputError(
                        f"{path}, line {table.line_num}: the answer must be yes, no, ? or blank; "
                        f"found {text!r}."
                    )
                if answer is not None:
                    image, tag = (undefuse(row[name] or "") for name in ("image", "tag"))
                    found.append((table.line_num, image, tag, answer))
    except (OSError, UnicodeError, csv.Error) as problem:
        raise InvalidInputError(f"{path} cannot be read: {problem}.") from None
    return found
