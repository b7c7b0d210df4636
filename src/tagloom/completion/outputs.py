"""What comes out: tables, the report, the model, and the record that tells that all is there."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tagloom.completion.model import CompletionModel
from tagloom.completion.options import NAME, read_record, write_record
from tagloom.completion.report import write_report
from tagloom.completion.result import Completed, LabelQuality, calibration_error
from tagloom.completion.suggestions import write_csv, write_parquet, write_rows
from tagloom.errors import InvalidInputError, UnwritableFileError
from tagloom.formats import Reading

MODEL = "model.tagloom"
SUGGESTIONS = "suggestions.csv"
TABLE = "suggestions.parquet"
QUESTIONS = "annotate_next.csv"


def prepare_out(out: Path, photos: Path) -> None:
    """Make the folder of the results; refuse one that holds anything of the user's."""
    if not photos.is_dir():
        state = "is not a folder" if photos.exists() else "does not exist"
        raise InvalidInputError(f"{photos} {state}. Expected a folder with pictures.")
    if out.resolve().is_relative_to(photos.resolve()):
        raise InvalidInputError(
            f"{out} lies in {photos}: its thumbnails would be taken for pictures of yours. Choose "
            "a folder beside it."
        )
    if out.exists() and not out.is_dir():
        raise UnwritableFileError(f"{out} is a file. Choose the name of a folder.")
    ours = (out / NAME).exists() or (out / ".work").is_dir()
    if out.is_dir() and not ours and any(out.iterdir()):
        raise UnwritableFileError(
            f"{out} is not empty and not the result of an earlier run: nothing is written there. "
            "Choose another folder."
        )
    try:
        (out / ".work").mkdir(parents=True, exist_ok=True)
        # Only a run that was killed leaves unfinished files.
        for unfinished in out.rglob(".*.part"):
            unfinished.unlink(missing_ok=True)
    except OSError as problem:
        raise UnwritableFileError(f"{out} cannot be written: {problem.strerror}.") from None


def is_done(out: Path, digest: str) -> bool:
    """Say whether the folder holds the whole result of this very run."""
    if not (out / NAME).exists():
        return False
    record = read_record(out)
    files = record.get("files", [])
    return record.get("digest") == digest and all((out / str(name)).exists() for name in files)


def write_outputs(
    out: Path,
    result: Completed,
    model: CompletionModel,
    *,
    digest: str,
    inputs: dict[str, Any],
    readings: Sequence[Reading],
    show_progress: bool,
) -> None:
    """Write all files, each whole or not at all, the record last."""
    # While files are being replaced, no record must say that they belong together.
    (out / NAME).unlink(missing_ok=True)
    files = [SUGGESTIONS, QUESTIONS, MODEL, "report.html"]
    write_csv(result.table, out / SUGGESTIONS)
    # A table that an earlier run left there must not stand beside this one.
    (out / TABLE).unlink(missing_ok=True)
    if _has_pyarrow():
        write_parquet(result.table, out / TABLE)
        files.insert(1, TABLE)
    _write_questions(result, out / QUESTIONS)
    model.save(out / MODEL)
    write_report(result, out, title=result.photos.resolve().name, show_progress=show_progress)
    write_record(out, _facts(result, model, readings) | {
        "digest": digest, "inputs": inputs, "files": files,
    })  # fmt: skip


def _facts(
    result: Completed, model: CompletionModel, readings: Sequence[Reading]
) -> dict[str, Any]:
    tuning = model.tagger.tuning_
    best = {} if tuning is None else tuning.best.params
    return {
        "options": model.options.metadata(),
        "parameters": {k: v if math.isfinite(v) else str(v) for k, v in best.items()},
        "account": result.account,
        "completeness": result.completeness,
        "calibration_error": _or_none(calibration_error(result.bins)),
        "calibration_error_of_suggestions": _or_none(calibration_error(result.bins, least=0.3)),
        "tags_read_as": [
            {"source": str(one.source), "format": one.format, **one.details} for one in readings
        ],
        "photos": str(model.photos),
        "skipped": [one._asdict() for one in result.skipped],
        "warnings": [one._asdict() for one in result.warnings],
        "too_rare": result.too_rare,
        "labels": [_label_facts(one) for one in result.qualities],
        "seed": model.options.seed,
    }


def _write_questions(result: Completed, path: Path) -> None:
    items, labels = result.items, result.labels
    rows = (
        (items[one.row], labels[one.column], f"{result.P[one.row, one.column]:.4f}",
         f"{one.value:.4f}", "")
        for one in result.questions
    )  # fmt: skip
    write_rows(path, ("image", "tag", "probability", "worth", "state"), rows)


def _has_pyarrow() -> bool:
    from importlib.util import find_spec

    return find_spec("pyarrow") is not None


def _label_facts(one: LabelQuality) -> dict[str, Any]:
    return {
        "label": one.label,
        "given": one.n_present,
        "denied": one.n_absent,
        "threshold": _or_none(one.threshold),
        "roc_auc": _or_none(one.roc_auc),
    }


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
