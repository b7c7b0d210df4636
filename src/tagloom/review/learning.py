"""Learn again from what was decided, while the page goes on."""

import json
import subprocess
import sys
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tagloom.completion.answers import ABSENT, PRESENT, Place, files_read
from tagloom.completion.options import digest_of_files, read_record
from tagloom.errors import InvalidInputError, TagloomError
from tagloom.formats import Annotation, Annotations, write_jsonl
from tagloom.review.collection import Collection
from tagloom.review.loading import keep_before, model_before, restore, restore_if_broken
from tagloom.review.session import Json, Review
from tagloom.review.states import CARRIED, DENIED, UNDECIDED, EntryState, among

FILE = "reviewed.jsonl"
_EXAMPLES = 12
_STEPS = {
    "begun": "reading what was decided",
    "read": "choosing what can be learned",
    "taught": "learning again, and measuring by hiding",
    "written": "looking at what has changed",
}
_OF = len(_STEPS)


class Learned(NamedTuple):
    """What is decided of an entry, and what was said of it before the review."""

    present: bool
    before: bool | None


Lesson = dict[Place, Learned]


@dataclass(frozen=True)
class Progress:
    """How far learning has come, as the page is told."""

    state: str = "idle"
    step: str = ""
    done: int = 0
    error: str | None = None
    changed: Json | None = None

    def metadata(self) -> Json:
        """Return it for the page."""
        told: Json = {"state": self.state, "step": self.step, "done": self.done, "of": _OF}
        return told | {"error": self.error, "changed": self.changed}


class Learning:
    """Learns again in the background, one at a time."""

    def __init__(self, review: Review) -> None:
        self._review = review
        self._lock = threading.Lock()
        self._progress = Progress()
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[str] | None = None
        self._closed = False

    @property
    def progress(self) -> Progress:
        """How far it has come."""
        return self._progress

    def start(self) -> None:
        """Begin, unless it is running already or there is nothing to learn."""
        with self._lock:
            if self._progress.state == "running" or self._closed:
                return
            entries = decided_now(self._review)
            learned = self._review.store.learned(files_read(read_record(self._review.out)))
            if not entries and not learned:
                raise InvalidInputError(
                    "Nothing has been decided since the run: there is nothing to learn. Accept or "
                    "reject some tags first."
                )
            self._step("begun")
            self._thread = threading.Thread(target=self._run, args=(entries, bool(learned)))
            self._thread.start()

    def close(self) -> None:
        """Break off what is running; half-replaced files are given back as before the review."""
        with self._lock:
            self._closed = True
            if self._process is not None:
                self._process.terminate()
        if self._thread is not None:
            self._thread.join(30)

    def _step(self, step: str) -> None:
        self._progress = Progress("running", _STEPS[step], list(_STEPS).index(step))

    def _run(self, entries: Lesson, has_learned: bool) -> None:
        try:
            before = suggested_now(self._review.collection)
            self._learn(entries, has_learned)
            self._step("written")
            self._review.replace(self._review.fresh())
            changed = what_changed(self._review.collection, before)
            self._progress = Progress("done", "done", _OF, changed=changed)
        except Exception as problem:  # the page must be told, whatever it was
            known = isinstance(problem, TagloomError)
            reason = str(problem) if known else f"{type(problem).__name__}: {problem}"
            self._progress = replace(self._progress, state="failed", error=reason)

    def _learn(self, entries: Lesson, has_learned: bool) -> None:
        review = self._review
        if not has_learned:
            keep_before(review.out)
        if not entries:
            restore(review.out)
            return
        path = review.out / FILE
        digest = _written(entries, path)
        before = {place: one.before for place, one in entries.items()}
        review.store.note_learned(digest, before)
        try:
            self._wait_for([str(model_before(review.out)), str(path), str(review.out)])
        except BaseException:
            restore_if_broken(review.out)
            raise
        review.store.forget_learned(but=digest)

    def _wait_for(self, arguments: list[str]) -> None:
        with self._lock:
            if self._closed:
                raise InvalidInputError("The review was closed.")
            process = self._process = subprocess.Popen(
                [sys.executable, "-m", "tagloom.review.relearn", *arguments,
                 str(self._review.photos)],
                # It ends when this end of its input does, should we be killed.
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                text=True, encoding="utf-8", errors="replace",
            )  # fmt: skip
        noise: list[str] = []
        with process:
            listener = threading.Thread(target=lambda: noise.extend(process.stderr or ()))
            listener.start()
            error = self._follow(process)
            status = process.wait()
            listener.join()
        if status or error:
            last = next((line.strip() for line in reversed(noise) if line.strip()), "")
            raise InvalidInputError(error or f"Learning ended early (status {status}). {last}")

    def _follow(self, process: "subprocess.Popen[str]") -> str | None:
        for line in process.stdout or ():
            try:
                metadata = json.loads(line)
            except ValueError:
                continue
            if "error" in metadata:
                return str(metadata["error"])
            if metadata.get("step") in _STEPS:
                self._step(metadata["step"])
        return None


def decided_now(review: Review) -> Lesson:
    """Return every entry that is decided now, with what was said of it before the review."""
    with review.lock:
        collection = review.collection
        found: Lesson = {}
        for (image, tag), word in review.store.current().items():
            i, t = collection.image(image), collection.tag(tag)
            if word in PRESENT | ABSENT and i is not None and t is not None:
                base = collection.base(i, t)
                before = True if base in CARRIED else False if base in DENIED else None
                found[image, tag] = Learned(word in PRESENT, before)
        return found


def _written(entries: Lesson, path: Path) -> str:
    """Write what is decided as JSON lines, and return the digest by which a run will know it."""
    said = [Annotation(*place, one.present) for place, one in entries.items()]
    write_jsonl(Annotations.of(said), path)
    return digest_of_files([path])[str(path)]


def suggested_now(collection: Collection) -> Any:
    """Return which entries are suggested and undecided."""
    return np.array(collection.states == EntryState.SUGGESTED)


def what_changed(collection: Collection, before: Any) -> Json:
    """Compare what is suggested with what was, except for what was decided meanwhile.

    Tags that were not there had no suggestions.
    """
    states = np.array(collection.states)
    after = states == EntryState.SUGGESTED
    then = np.zeros_like(after)
    then[:, : before.shape[1]] = before
    then &= among(*UNDECIDED)[states]
    rows, tags = np.nonzero(after & ~then)
    p = np.zeros(len(rows))
    for t in np.unique(tags).tolist():
        p[tags == t] = collection.probabilities(t)[rows[tags == t]]
    order = np.argsort(-p, kind="stable")[:_EXAMPLES]
    return {
        "suggested_before": int(then.sum()),
        "suggested_after": int(after.sum()),
        "new": len(rows),
        "gone": int((then & ~after).sum()),
        "examples": [
            {"i": int(rows[k]), "t": int(tags[k]), "p": round(float(p[k]), 4)} for k in order
        ],
    }
