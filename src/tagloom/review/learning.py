"""Learning again from the decisions of a review, in a background process.

The server starts `python -m tagloom.review.learning MODEL DECISIONS OUT VOCABULARY PHOTOS`, so that
the page stays responsive; the process reports its steps as JSON lines.
"""

import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagloom.completion.feedback import ABSENT, PRESENT, Place, files_read
from tagloom.completion.folder import claim
from tagloom.completion.outputs import (
    SNAPSHOT,
    digest_of_files,
    learned_from_snapshot,
    read_record,
    restore,
    restore_if_interrupted,
    snapshot_model,
    take_snapshot,
    vocabulary_of,
)
from tagloom.errors import InvalidInputError, TagloomError
from tagloom.formats import Annotation, Annotations, write_jsonl
from tagloom.review.collection import (
    HAS_TAG,
    LACKS_TAG,
    UNDECIDED,
    Collection,
    EntryState,
    membership,
)
from tagloom.review.session import Json, Review

FILE = "reviewed.jsonl"
_MAX_EXAMPLES = 12
_STEPS = {
    "begun": "Reading the decisions",
    "read": "Preparing the training labels",
    "training_labels": "Learning from all tags",
    "fitted": "Measuring on held-out tags",
    "written": "Comparing the suggestions",
}
# Within this share of a step the bar moves by the clock; the rest is left for a step that is late.
_BY_CLOCK = 0.9


class ReviewedLabel(NamedTuple):
    """The decision on an entry, and its label before the review."""

    present: bool
    before: bool | None


ReviewedLabels = dict[Place, ReviewedLabel]


@dataclass(frozen=True)
class Progress:
    """How far learning has come.

    The work is counted in fits: one to all tags, one for each fold, and what comes after them as
    another. A fit takes as long as those before it took on average; until the first is done, as
    long as one did the last time.
    """

    state: str = "idle"
    step: str = ""
    done: int = 0
    of: int = 0
    error: str | None = None
    changed: Json | None = None
    fit_seconds: float | None = None
    since: float = field(default_factory=time.monotonic)
    """When the current step began."""

    def to_json(self) -> Json:
        """Return it as the page expects it."""
        passed, left = 0.0, None
        if self.state == "running" and self.of and self.fit_seconds:
            passed = min(_BY_CLOCK, (time.monotonic() - self.since) / self.fit_seconds)
            left = round(max(self.of - self.done - passed, 0) * self.fit_seconds, 1)
        shown: Json = {"state": self.state, "step": self.step, "of": self.of, "seconds_left": left}
        shown["done"] = round(self.done + passed, 3)
        return shown | {"error": self.error, "changed": self.changed}


class Learning:
    """Learns again in the background, once at a time."""

    def __init__(self, review: Review) -> None:
        self._review = review
        self._lock = threading.Lock()
        self._progress = Progress()
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[str] | None = None
        self._closed = False
        self._began = 0.0
        self._fit_seconds: float | None = None

    @property
    def progress(self) -> Progress:
        """How far it has come."""
        return self._progress

    def start(self) -> None:
        """Start, unless it is already running or there is nothing to learn."""
        with self._lock:
            if self._progress.state == "running" or self._closed:
                return
            labels = reviewed_labels(self._review)
            read_files = files_read(read_record(self._review.out))
            learned = bool(self._review.journal.labels_before_learning(read_files))
            learned = learned or learned_from_snapshot(self._review.out)
            if not labels and not learned and not self._review.has_new_vocabulary:
                raise InvalidInputError(
                    "Nothing has been decided since the run, so there is nothing to learn. Accept "
                    "or reject some tags first."
                )
            self._step("begun")
            self._thread = threading.Thread(target=self._run, args=(labels, learned))
            self._thread.start()

    def wait(self) -> None:
        """Wait until it has ended."""
        if self._thread is not None:
            self._thread.join()

    def close(self) -> None:
        """Stop what is running; half-replaced files are restored from the snapshot."""
        with self._lock:
            self._closed = True
            if self._process is not None:
                self._process.terminate()
        if self._thread is not None:
            self._thread.join(30)

    def _step(self, step: str, done: int = 0, of: int = 0) -> None:
        """Begin a step; `done` of all fits are done."""
        now = time.monotonic()
        if step == "training_labels":
            self._began = now
        elif done:
            self._fit_seconds = (now - self._began) / done
        before = self._progress
        self._progress = Progress(
            "running",
            _STEPS[step],
            done or (before.done if before.state == "running" else 0),
            of or before.of,
            fit_seconds=self._fit_seconds,
        )

    def _run(self, labels: ReviewedLabels, has_learned: bool) -> None:
        try:
            before = suggested_entries(self._review.collection)
            self._learn(labels, has_learned)
            self._step("written")
            self._review.replace(self._review.reload())
            changed = changed_suggestions(self._review.collection, before)
            of = self._progress.of
            self._progress = Progress("done", "done", of, of, changed=changed)
        except Exception as problem:  # whatever it was, the page has to show it
            expected = isinstance(problem, TagloomError)
            reason = str(problem) if expected else f"{type(problem).__name__}: {problem}"
            self._progress = replace(self._progress, state="failed", error=reason)

    def _learn(self, labels: ReviewedLabels, has_learned: bool) -> None:
        review = self._review
        if not has_learned:
            take_snapshot(review.out)
        model = str(snapshot_model(review.out))
        vocabulary = review.tag_decisions.path
        base = vocabulary_of(read_record(review.out / SNAPSHOT))
        renamed = vocabulary.exists() and review.tag_decisions.current(base) != base
        if not labels and not renamed:
            restore(review.out)
            return
        path = claim(review.out, FILE)
        write_jsonl(
            Annotations.of(Annotation(*place, one.present) for place, one in labels.items()), path
        )
        digest = digest_of_files([path])[str(path)]
        decided = str(vocabulary) if renamed else ""
        decisions = str(path) if labels else ""
        before = {place: one.before for place, one in labels.items()}
        review.journal.add_learned(digest, before)
        try:
            self._run_process([model, decisions, str(review.out), decided])
        except BaseException:
            restore_if_interrupted(review.out)
            raise
        review.journal.keep_learned(digest)

    def _run_process(self, arguments: list[str]) -> None:
        with self._lock:
            if self._closed:
                raise InvalidInputError("The review was closed.")
            process = self._process = subprocess.Popen(
                [sys.executable, "-m", "tagloom.review.learning", *arguments,
                 str(self._review.photos)],
                # The process ends with its standard input, should the server be killed.
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                text=True, encoding="utf-8", errors="replace",
            )  # fmt: skip
        errors: list[str] = []
        with process:
            reader = threading.Thread(target=lambda: errors.extend(process.stderr or ()))
            reader.start()
            error = self._follow(process)
            status = process.wait()
            reader.join()
        if status or error:
            last = next((line.strip() for line in reversed(errors) if line.strip()), "")
            raise InvalidInputError(error or f"Learning ended early (status {status}). {last}")

    def _follow(self, process: "subprocess.Popen[str]") -> str | None:
        """Follow the steps of the process; return the error that it reports, if any."""
        for line in process.stdout or ():
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if "error" in message:
                return str(message["error"])
            if message.get("step") in _STEPS:
                self._step(message["step"], message.get("done", 0), message.get("of", 0))
        return None


def reviewed_labels(review: Review) -> ReviewedLabels:
    """Return every entry with a decision in effect, with its label before the review."""
    with review.lock:
        collection = review.collection
        found: ReviewedLabels = {}
        for (image, tag), word in review.journal.current().items():
            i, t = collection.image(image), collection.tag(tag)
            if word in PRESENT | ABSENT and i is not None and t is not None:
                base = collection.base(i, t)
                before = True if base in HAS_TAG else False if base in LACKS_TAG else None
                found[image, tag] = ReviewedLabel(word in PRESENT, before)
        return found


def suggested_entries(collection: Collection) -> npt.NDArray[np.bool_]:
    """Return which entries are suggested and undecided."""
    return np.array(collection.states == EntryState.SUGGESTED)


def changed_suggestions(collection: Collection, before: npt.NDArray[np.bool_]) -> Json:
    """Compare the suggestions with those before, leaving out entries decided meanwhile.

    Tags that are new had no suggestions before.
    """
    states = np.array(collection.states)
    after = states == EntryState.SUGGESTED
    then = np.zeros_like(after)
    then[:, : before.shape[1]] = before
    then &= membership(*UNDECIDED)[states]
    rows, tags = np.nonzero(after & ~then)
    p = np.zeros(len(rows))
    for t in np.unique(tags).tolist():
        p[tags == t] = collection.probabilities(t)[rows[tags == t]]
    order = np.argsort(-p, kind="stable")[:_MAX_EXAMPLES]
    return {
        "suggested_before": int(then.sum()),
        "suggested_after": int(after.sum()),
        "new": len(rows),
        "gone": int((then & ~after).sum()),
        "examples": [
            {"i": int(rows[k]), "t": int(tags[k]), "p": round(float(p[k]), 4)} for k in order
        ],
    }


def main(model: str, decisions: str, out: str, vocabulary: str, photos: str) -> int:
    """Learn from a file of decisions on top of a model, and replace the files of the run.

    Decisions on pictures and a vocabulary file are left out where their names are empty.
    """
    from tagloom.completion.pipeline import update
    from tagloom.words import read_vocabulary

    if hasattr(os, "nice"):
        # The page is in use meanwhile.
        os.nice(5)
    try:
        update(
            Path(model),
            [Path(decisions)] if decisions else [],
            Path(out),
            vocabulary=read_vocabulary(vocabulary) if vocabulary else None,
            photos=Path(photos),
            tag_format="jsonl",
            on_step=_report_step,
        )
    except TagloomError as problem:
        _report(error=str(problem))
        return 1
    _report(step="written")
    return 0


def _report_step(step: str, findings: dict[str, Any]) -> None:
    _report(step=step, **(findings if step == "fitted" else {}))


def _report(**message: Any) -> None:
    print(json.dumps(message), flush=True)


def _exit_with_parent() -> None:
    """Exit as soon as the other end of standard input is closed.

    The learning of a killed server must not replace the run under a server started since.
    """
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    sys.exit(main(*sys.argv[1:]))
