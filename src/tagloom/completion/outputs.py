"""The files of a run: checkpoints of interrupted work, tables, model, record, and a snapshot."""

import hashlib
import json
import math
import os
import platform
import shutil
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import tagloom
from tagloom.completion.folder import (
    RECORD,
    check_may_write,
    check_photos,
    finish_switch,
    mark,
    remove_checkpoints,
    replacing,
)
from tagloom.completion.suggestions import (
    write_queries,
    write_suggestions,
    write_suggestions_parquet,
    write_suspected_errors,
)
from tagloom.errors import InvalidInputError, UnwritableFileError
from tagloom.formats import Reading
from tagloom.io import atomic_write, file_digest, parse_json
from tagloom.words.vocabulary import Vocabulary

if TYPE_CHECKING:
    from tagloom.completion.model import CompletionModel
    from tagloom.completion.result import CompletionResult, LabelQuality

Array = npt.NDArray[Any]

MODEL = "model.tagloom"
SUGGESTIONS = "suggestions.csv"
PARQUET = "suggestions.parquet"
SUSPECTED_ERRORS = "suspected_errors.csv"
ANNOTATE_NEXT = "annotate_next.csv"
REPORT = "report.html"
VOCABULARY = "vocabulary.toml"
"""Where decisions about tags go if the run was given no vocabulary file. It is no result."""
NAMES = (SUGGESTIONS, PARQUET, SUSPECTED_ERRORS, ANNOTATE_NEXT, MODEL, REPORT, RECORD)
"""All names that the files of a run may have."""
SNAPSHOT = ".before-review"
_RECORD_TYPES = {"inputs": dict, "files": list, "photos": str, "options": dict, "labels": list}
_PACKAGES = ("numpy", "scipy", "scikit-learn", "onnxruntime", "pillow", "pyarrow")


def prepare_out(out: Path, photos: Path) -> None:
    """Make the folder of the results; refuse one that holds files of the user."""
    check_photos(photos, out)
    check_may_write(out, NAMES)
    mark(out)


def is_done(out: Path, digest: str) -> bool:
    """Return whether the folder holds the complete result of the run with this digest."""
    if not (out / RECORD).exists():
        return False
    record = read_record(out)
    files = record.get("files", [])
    return record.get("digest") == digest and all((out / str(name)).exists() for name in files)


def write_outputs(
    out: Path,
    result: "CompletionResult",
    model: "CompletionModel",
    *,
    digest: str,
    inputs: dict[str, Any],
    readings: Sequence[Reading],
    verbose: bool,
) -> None:
    """Write all files beside those of an earlier run, then switch over in one step."""
    files = [SUGGESTIONS, SUSPECTED_ERRORS, ANNOTATE_NEXT, MODEL, REPORT]
    if _has_pyarrow():
        files.insert(1, PARQUET)
    with replacing(out, NAMES, taken=set(inputs["tags"].values())) as new:
        write_suggestions(result.table, new / SUGGESTIONS)
        if PARQUET in files:
            write_suggestions_parquet(result.table, new / PARQUET)
        write_suspected_errors(result.table, result.suspected_errors, new / SUSPECTED_ERRORS)
        write_queries(result.table, result.to_annotate, result.P, new / ANNOTATE_NEXT)
        model.save(new / MODEL)
        title = result.photos.resolve().name
        write_report(result, out, page=new / REPORT, title=title, verbose=verbose)
        metadata = _run_metadata(result, model, readings)
        write_record(new, metadata | {"digest": digest, "inputs": inputs, "files": files})


def write_report(*given: Any, **options: Any) -> None:
    """Write the report; imported late, because a review reads outputs and writes none."""
    from tagloom.completion import report

    report.write_report(*given, **options)


def _has_pyarrow() -> bool:
    return find_spec("pyarrow") is not None


def _run_metadata(
    result: "CompletionResult", model: "CompletionModel", readings: Sequence[Reading]
) -> dict[str, Any]:
    from tagloom.completion.result import calibration_error

    tuning = model.tagger.tuning_
    best = {} if tuning is None else tuning.best.params
    return {
        "options": model.options.metadata(),
        "parameters": {name: _storable(value) for name, value in best.items()},
        "summary": result.summary,
        "label_frequency": result.label_frequency,
        "precision": {name: _or_none(value) for name, value in result.precision._asdict().items()},
        "calibration_error": _or_none(calibration_error(result.bins)),
        "calibration_error_of_suggestions": _or_none(calibration_error(result.bins, least=0.3)),
        "tags_read_as": [
            {"source": str(one.source), "format": one.format, **one.details} for one in readings
        ],
        "photos": str(model.photos),
        "skipped": [one._asdict() for one in result.skipped],
        "warnings": [one._asdict() for one in result.warnings],
        "too_rare": result.too_rare,
        "ignored": result.ignored,
        "labels": [_label_metadata(one) for one in result.label_quality],
        "random_state": model.options.random_state,
    }


def _label_metadata(one: "LabelQuality") -> dict[str, Any]:
    return {
        "label": one.label,
        "present": one.n_present,
        "absent": one.n_absent,
        "threshold": _or_none(one.threshold),
        "roc_auc": _or_none(one.roc_auc),
        "label_frequency": _or_none(one.label_frequency),
    }


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _storable(value: Any) -> Any:
    """Return the value of a parameter as JSON has it: names and finite numbers as they are."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def write_record(out: Path, metadata: dict[str, Any]) -> None:
    """Write run.json, the last file of a run: where it exists, the run is complete."""
    record: dict[str, Any] = {
        "tagloom": tagloom.__version__,
        "python": platform.python_version(),
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "packages": _versions(),
        **metadata,
    }
    with atomic_write(out / RECORD) as part:
        part.write_text(json.dumps(record, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def read_record(out: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the record of a finished run."""
    path = Path(out) / RECORD
    with suppress(OSError):
        finish_switch(Path(out))
    try:
        record = parse_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidInputError(
            f"{out} is not the result of a finished run: there is no {RECORD} in it. "
            "Run `tagloom complete` first."
        ) from None
    except (OSError, ValueError) as problem:
        raise InvalidInputError(f"{path} cannot be read: {problem}.") from None
    if not isinstance(record, dict):
        raise InvalidInputError(f"{path} is not a record of tagloom.")
    _check_record(path, record)
    return record


def _check_record(path: Path, record: dict[str, Any]) -> None:
    """Refuse values of other types than we write, as another program or a slip may leave them."""
    inputs = record.get("inputs") or {}
    found = [(name, record.get(name), kind) for name, kind in _RECORD_TYPES.items()]
    if isinstance(inputs, dict):
        found.append(("tags of inputs", inputs.get("tags"), dict))
    for name, value, kind in found:
        if value is not None and not isinstance(value, kind):
            raise InvalidInputError(
                f"{path}: expected a {kind.__name__} for {name}, found {str(value)[:60]!r}. "
                "Restore the file from a copy, or run `tagloom complete` with another folder."
            )


def vocabulary_of(record: Mapping[str, Any]) -> Vocabulary:
    """Return the vocabulary that a run has learned with, by its record."""
    return Vocabulary.of((record.get("options") or {}).get("vocabulary") or {})


def learned_from_snapshot(out: Path) -> bool:
    """Return whether a run has learned again since its snapshot was taken."""
    models = (read_record(out).get("inputs") or {}).get("model") or {}
    return any(Path(path).resolve() == (out / SNAPSHOT / MODEL).resolve() for path in models)


def take_snapshot(out: Path) -> None:
    """Keep the files of a run; hard links suffice, as files are replaced and never altered.

    Learning again always starts from the snapshot, with all decisions made by then: labels that a
    model has learned could not be taken back from it.
    """
    folder = out / SNAPSHOT
    if folder.is_symlink():
        raise UnwritableFileError(f"{folder} is a link: nothing is written through links.")
    folder.mkdir(exist_ok=True)
    (folder / RECORD).unlink(missing_ok=True)
    for name in _files(out):
        _link_or_copy(out / name, folder / name)


def restore(out: Path) -> None:
    """Bring back the run from the snapshot, with all its tables."""
    kept = _files(out / SNAPSHOT)
    with replacing(out, NAMES) as new:
        for name in kept:
            _link_or_copy(out / SNAPSHOT / name, new / name)


def restore_if_interrupted(out: Path) -> bool:
    """Bring back the run if learning was interrupted while its files were being replaced."""
    interrupted = not (out / RECORD).exists() and (out / SNAPSHOT / RECORD).exists()
    if interrupted:
        restore(out)
    return interrupted


def snapshot_model(out: Path) -> Path:
    """Return the path of the model from before the review, from which to learn again."""
    path = out / SNAPSHOT / MODEL
    if not path.exists():
        raise InvalidInputError(
            f"The run from before the review is no longer in {path.parent}; learning again starts "
            "from it. Restore the folder from a copy, or run `tagloom complete` again; decisions "
            "are kept."
        )
    return path


def _files(folder: Path) -> list[str]:
    """Return the existing files of a run, the record last: if it exists, all files do."""
    listed = [str(name) for name in read_record(folder).get("files", [])]
    plain = [name for name in listed if Path(name).name == name]
    return [name for name in plain if (folder / name).is_file()] + [RECORD]


def _link_or_copy(source: Path, target: Path) -> None:
    part = target.with_name(f".{target.name}.part")
    part.unlink(missing_ok=True)
    with suppress(OSError):
        os.link(source, part)
    if not part.exists():
        shutil.copyfile(source, part)
    part.replace(target)
    # Renaming does nothing if both names already refer to the same file.
    part.unlink(missing_ok=True)


def digest_of_files(paths: Sequence[Path]) -> dict[str, str]:
    """Return the SHA-256 of each file by its path; folders are left out."""
    return {str(path): file_digest(path) for path in paths if path.is_file()}


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


class Checkpoint:
    """A folder for the intermediate results of one run, which its digest identifies.

    Results of other runs are removed.
    """

    def __init__(self, folder: Path, digest: str) -> None:
        self.folder = folder / digest
        remove_checkpoints(folder, keep=digest)
        self.folder.mkdir(parents=True, exist_ok=True)

    def array(self, name: str, make: Callable[[], Array]) -> Array:
        """Return the stored array, or make and store it."""
        path = self.folder / f"{name}.npy"
        try:
            return np.asarray(np.load(path, allow_pickle=False))
        except (FileNotFoundError, ValueError, EOFError):
            made = make()
        with atomic_write(path) as part, part.open("wb") as stream:
            np.save(stream, made, allow_pickle=False)
        return made

    def results(self, name: str) -> "StoredResults":
        """Return a mapping that is kept in a file of this folder."""
        return StoredResults(self.folder / name)

    def remove(self) -> None:
        """Remove all intermediate results: the run is complete."""
        remove_checkpoints(self.folder.parent)


class StoredResults(MutableMapping[str, Any]):
    """A mapping from strings to JSON values, on disk as soon as a value is set.

    Each value is a line of one file; a line that a crash has cut off is ignored.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, Any] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
                self._take(line)

    def _take(self, line: str) -> None:
        try:
            match parse_json(line):
                case [str(key), value]:
                    self._known[key] = value
        except ValueError:
            return

    def __getitem__(self, key: str) -> Any:
        return self._known[key]

    def __setitem__(self, key: str, value: Any) -> None:
        with self._path.open("a", encoding="utf-8") as stream:
            # The leading line break ends a line that was cut off.
            stream.write(f"\n{json.dumps([key, value])}\n")
        self._known[key] = value

    def __delitem__(self, key: str) -> None:
        raise TypeError("stored results are never deleted")

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def digest_of(*parts: Any) -> str:
    """Return a digest of arrays, bytes and JSON values."""
    digest = hashlib.sha256()
    for part in parts:
        if hasattr(part, "tobytes"):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(part.tobytes())
        else:
            digest.update(json.dumps(part, sort_keys=True, default=str).encode())
    return digest.hexdigest()
