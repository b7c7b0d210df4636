"""Exporting from the review page, in a background thread: preview, export and undo."""

import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tagloom.completion.export import FORMS, JOURNALS, Exported, export, undo_export
from tagloom.errors import InvalidInputError, TagloomError
from tagloom.formats import InputWarning
from tagloom.formats.metadata.changes import UndoReport
from tagloom.review.collection import HAS_TAG, Collection, EntryState
from tagloom.review.session import Json, Review

_MOST_SHOWN = 12
_N_STEPS = 100
_DECIDED_PRESENT = (EntryState.ACCEPTED, EntryState.ADDED)
_DECIDED_ABSENT = (EntryState.REJECTED, EntryState.REMOVED)


@dataclass(frozen=True)
class ExportProgress:
    """How far an export has come; `job` is what was asked for: preview, export or undo."""

    state: str = "idle"
    job: str = ""
    to: str = ""
    done: int = 0
    of: int = 0
    error: str | None = None
    result: Json | None = None


class Exporting:
    """Exports the tags of a review, once at a time."""

    def __init__(self, review: Review) -> None:
        self._review = review
        self._lock = threading.Lock()
        self._progress = ExportProgress()
        self._thread: threading.Thread | None = None

    def status(self) -> Json:
        """Return the choices, what would be exported, and how far the last export has come."""
        out = self._review.out
        with self._review.lock:
            counts = export_counts(self._review.collection)
        return {
            "counts": counts,
            "files": {form: str(out / name) for form, name in FORMS.items()},
            "undo": [form for form, name in JOURNALS.items() if (out / name).exists()],
            "exiftool": shutil.which("exiftool") is not None,
            "progress": vars(self._progress),
        }

    def start(self, to: str, suggested: float | None, *, preview: bool) -> None:
        """Start a preview, or an export."""
        out, photos = self._review.out, self._review.photos
        job = "preview" if preview else "export"

        def run() -> Json:
            done = export(
                out, to, suggested=suggested, photos=photos, dry_run=preview, on_file=self._count
            )
            return _exported(done)

        self._start(ExportProgress("running", job, to), run)

    def undo(self, to: str) -> None:
        """Start to restore the files that exports have changed."""
        out, photos = self._review.out, self._review.photos
        self._start(
            ExportProgress("running", "undo", to), lambda: _undone(undo_export(out, to, photos))
        )

    def wait(self) -> None:
        """Wait until the last job has ended."""
        if self._thread is not None:
            self._thread.join()

    def _start(self, progress: ExportProgress, run: Callable[[], Json]) -> None:
        with self._lock:
            if self._progress.state == "running":
                raise InvalidInputError("An export is still running. Wait until it has ended.")
            self._progress = progress
        # Not a daemon: a file that is being written is finished before the server ends.
        self._thread = threading.Thread(target=self._run, args=(run,))
        self._thread.start()

    def _run(self, run: Callable[[], Json]) -> None:
        try:
            result = run()
            self._progress = replace(self._progress, state="done", result=result)
        except Exception as problem:  # whatever it was, the page has to show it
            expected = isinstance(problem, TagloomError | OSError)
            reason = str(problem) if expected else f"{type(problem).__name__}: {problem}"
            self._progress = replace(self._progress, state="failed", error=reason)

    def _count(self, done: int, of: int) -> None:
        self._progress = replace(self._progress, done=done, of=of)


def export_counts(collection: Collection) -> Json:
    """Return how many tags are known, accepted, rejected, and suggested by least probability.

    `suggested[k]` is the number of suggestions with a probability of at least k / 100.
    """
    by_state = collection.per_tag.sum(axis=0)
    accepted = int(by_state[list(_DECIDED_PRESENT)].sum())
    is_suggested = np.asarray(collection.states) == EntryState.SUGGESTED
    steps = np.zeros(_N_STEPS + 1, dtype=np.int64)
    for t in np.flatnonzero(is_suggested.any(axis=0)).tolist():
        p = collection.probabilities(t)[is_suggested[:, t]].astype(np.float64)
        np.add.at(steps, np.floor(np.nan_to_num(p) * _N_STEPS + 1e-6).astype(np.int64), 1)
    return {
        "known": int(by_state[list(HAS_TAG)].sum()) - accepted,
        "accepted": accepted,
        "rejected": int(by_state[list(_DECIDED_ABSENT)].sum()),
        "suggested": steps[::-1].cumsum()[::-1].tolist(),
    }


def _exported(done: Exported) -> Json:
    return {
        "counts": done.counts._asdict(),
        "n_files": len(done.files),
        "files": done.files[:_MOST_SHOWN],
        "changes": [one._asdict() for one in done.changes[:_MOST_SHOWN]],
        "warnings": _shown(done.warnings),
        "n_refused": len(done.refused),
        "refused": _shown(done.refused),
    }


def _undone(done: UndoReport) -> Json:
    return {
        "n_restored": len(done.restored),
        "n_deleted": len(done.deleted),
        "n_unchanged": len(done.unchanged),
        "n_refused": len(done.refused),
        "refused": _shown(done.refused),
    }


def _shown(found: list[InputWarning]) -> list[dict[str, Any]]:
    return [one._asdict() for one in found[:_MOST_SHOWN]]
