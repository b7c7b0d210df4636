"""The run as the page needs it, kept beside the thumbnails, so that the next review opens at once.

Reading the model of a large run, scoring all entries and reading its tables takes seconds, and
gives the same each time. The cache is believed only while version, files and what was learned are
the same; it may be deleted at any time.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import tagloom
from tagloom.completion.folder import RECORD
from tagloom.completion.outputs import (
    ANNOTATE_NEXT,
    MODEL,
    SUGGESTIONS,
    SUSPECTED_ERRORS,
    digest_of,
)
from tagloom.errors import UnwritableFileError
from tagloom.io import atomic_write, read_arrays
from tagloom.review.collection import LoadedRun, SuspectedError, ToAnnotate
from tagloom.words.vocabulary import Vocabulary

FOLDER = ".thumbnails"
FILE, FEATURES_FILE = "run.npz", "features.npy"
_READ = (RECORD, MODEL, SUGGESTIONS, SUSPECTED_ERRORS, ANNOTATE_NEXT)
_ARRAYS = ("P", "column", "states", "thresholds", "roc_auc")
_BY_COLUMNS = ("P", "states")
_SPARSE = ("data", "indices", "indptr")


def key_of(out: Path, learned: Mapping[tuple[str, str], Any], tags_first: list[str] | None) -> str:
    """Return a digest of everything that a loaded run depends on."""
    files = [(name, status.st_mtime_ns, status.st_size) for name, status in _statuses(out)]
    changed = sorted([*place, before] for place, before in learned.items())
    return digest_of([tagloom.__version__, files, changed, tags_first])


def _statuses(out: Path) -> list[tuple[str, os.stat_result]]:
    return [(name, (out / name).stat()) for name in _READ if (out / name).exists()]


def read(out: Path, key: str) -> LoadedRun | None:
    """Return the run that was stored under this key; None if there is none, or it is damaged."""
    folder = out / FOLDER
    if _leads_elsewhere(folder):
        return None
    try:
        stored = read_arrays(folder / FILE)
        texts = json.loads(bytes(stored["texts"]))
        if texts["key"] != key:
            return None
        return _deserialized(stored, texts, _features(folder, texts))
    except Exception:  # damaged archives make readers raise nearly anything
        return None


def _features(folder: Path, texts: Mapping[str, Any]) -> Any:
    """Map the features into memory: they are only read where near-identical pictures are."""
    visual = np.load(folder / FEATURES_FILE, mmap_mode="r", allow_pickle=False)
    if visual.ndim != 2 or len(visual) != len(texts["images"]):
        raise ValueError("these are not the features of the run")
    return visual


def _deserialized(stored: Mapping[str, Any], texts: dict[str, Any], visual: Any) -> LoadedRun:
    from scipy import sparse

    arrays = {name: stored[name].T if name in _BY_COLUMNS else stored[name] for name in _ARRAYS}
    n = len(texts["images"])
    parts = tuple(stored[f"affinities_{name}"] for name in _SPARSE)
    affinities = sparse.csr_array(parts, shape=(n, n))
    affinities.check_format(full_check=True)
    _check_shapes(arrays, n, len(texts["tags"]))
    return LoadedRun(
        **arrays,
        title=texts["title"],
        run=texts["run"],
        photos=Path(texts["photos"]),
        images=texts["images"],
        tags=texts["tags"],
        suspected_errors=[SuspectedError(*one) for one in texts["suspected_errors"]],
        to_annotate=[ToAnnotate(*one) for one in texts["to_annotate"]],
        affinities=affinities,
        label_frequency=texts["label_frequency"],
        visual=visual,
        names=partial(_names, stored, texts["names"]),
        vocabulary=Vocabulary.of(texts["vocabulary"]),
    )


def _names(stored: Mapping[str, Any], texts: dict[str, Any] | None) -> Any:
    """Return the reasons that are names, when they are asked for."""
    from tagloom.tagger.words import NameReasons

    return None if texts is None else NameReasons.from_state(stored, texts)


def _check_shapes(arrays: Mapping[str, Any], n_images: int, n_tags: int) -> None:
    shapes = [arrays["states"].shape == (n_images, n_tags), len(arrays["P"]) == n_images]
    shapes += [arrays[name].shape == (n_tags,) for name in ("column", "thresholds", "roc_auc")]
    if not all(shapes) or arrays["column"].max(initial=-1) >= arrays["P"].shape[1]:
        raise ValueError("these are not the tables of one run")


def write(out: Path, key: str, loaded: LoadedRun) -> None:
    """Store a run; without room on the disk it is loaded in full the next time."""
    folder = out / FOLDER
    texts = {
        "key": key,
        "photos": str(loaded.photos),
        "suspected_errors": loaded.suspected_errors,
        "to_annotate": loaded.to_annotate,
        **{name: getattr(loaded, name) for name in ("title", "run", "images", "tags")},
        "label_frequency": loaded.label_frequency,
        "vocabulary": loaded.vocabulary.metadata(),
    }
    names = loaded.names()
    of_names: dict[str, Any] = {}
    texts["names"] = None
    if names is not None:
        of_names, texts["names"] = names.to_state()
    arrays = {name: getattr(loaded, name) for name in _ARRAYS}
    arrays |= {name: arrays[name].T for name in _BY_COLUMNS}
    arrays |= {f"affinities_{name}": getattr(loaded.affinities, name) for name in _SPARSE}
    arrays |= of_names
    content = json.dumps(texts).encode("ascii")
    with suppress(OSError, UnwritableFileError):
        folder.mkdir(exist_ok=True)
        if _leads_elsewhere(folder):
            return
        with atomic_write(folder / FEATURES_FILE) as part, part.open("wb") as stream:
            np.save(stream, np.asarray(loaded.visual), allow_pickle=False)
        with atomic_write(folder / FILE) as part, part.open("wb") as stream:
            np.savez(stream, texts=np.frombuffer(content, dtype=np.uint8), **arrays)


def at(loaded: LoadedRun, photos: Path) -> LoadedRun:
    """Return the run with its pictures in another folder."""
    return replace(loaded, photos=photos, title=photos.name or str(photos))


def _leads_elsewhere(folder: Path) -> bool:
    return any(place.is_symlink() for place in (folder, folder / FILE, folder / FEATURES_FILE))
