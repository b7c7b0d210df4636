"""What can be asked of a completion."""

import hashlib
import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import tagloom
from tagloom.errors import InvalidInputError
from tagloom.io import atomic_write
from tagloom.validation import check_choice, check_integer, check_number

# §§ main options


UNTAGGED = ("auto", "seen", "unseen")


@dataclass(frozen=True)
class Options:
    """How to complete a collection.

    Parameters
    ----------
    unlisted : "unknown", "absent" or float in (0, 1]
        What a tag means that is not on a picture's list; a number is the weight with which it is
        absent. "unknown" never takes it for an absence, though where no absence is known at all the
        learner has to presume one; probabilities then allow for forgotten tags.
    untagged : {"auto", "seen", "unseen"}
        Whether somebody has looked at pictures that have no tag at all. "auto" believes it as long
        as there are not many more of them than forgetting single tags would leave.
    precision : float in (0, 1), optional
        Share of the suggestions that shall be right; without it thresholds are chosen for F1.
    completeness : float in (0, 1], optional
        Share of the tags that should be there that are there; estimated where it is not given.
    minutes : float
        After so long the search for parameters begins no further candidate.
    least_pictures : int
        A label on fewer pictures is not learned.
    folds : int
        Into how many parts what is known is split to measure the result.
    questions : int
        How many entries to propose for a person to look at next.
    seed : int
    """

    unlisted: str | float = "unknown"
    untagged: str = "auto"
    precision: float | None = None
    completeness: float | None = None
    minutes: float = 15.0
    least_pictures: int = 3
    folds: int = 4
    questions: int = 50
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "unlisted", read_unlisted(self.unlisted))
        check_choice("untagged", self.untagged, UNTAGGED)
        if self.precision is not None:
            check_number("precision", self.precision, low=0, high=1, inclusive=False)
            if self.precision == 1:
                raise InvalidInputError("precision must be below 1: nothing is ever certain.")
        if self.completeness is not None:
            check_number("completeness", self.completeness, low=0, high=1, inclusive=False)
        check_number("minutes", self.minutes, low=0)
        check_integer("least_pictures", self.least_pictures, at_least=2)
        check_integer("folds", self.folds, at_least=2)
        check_integer("questions", self.questions, at_least=0)
        check_integer("seed", self.seed, at_least=0)

    def metadata(self) -> dict[str, Any]:
        """Return the options as JSON can hold them."""
        return asdict(self)

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> "Options":
        """Return the options of which `metadata` told."""
        return cls(**{one.name: metadata[one.name] for one in fields(cls)})


def read_unlisted(value: str | float) -> str | float:
    """Return what `--unlisted` says: a word, or a weight.

    >>> read_unlisted("0.2"), read_unlisted("absent")
    (0.2, 'absent')
    """
    if value in ("unknown", "absent"):
        return value
    try:
        weight = float(value)
    except (TypeError, ValueError):
        weight = -1.0
    if not 0 < weight <= 1:
        raise InvalidInputError(
            f"unlisted must be 'unknown', 'absent' or a weight in (0, 1]; got {value!r}."
        )
    return weight


# §§ record
# The record of a run: what went in, with what it was made, what came out.


NAME = "run.json"
_PACKAGES = ("numpy", "scipy", "scikit-learn", "onnxruntime", "pillow", "pyarrow")


def digest_of(*parts: Any) -> str:
    """Return a digest of arrays, bytes and whatever JSON can hold."""
    digest = hashlib.sha256()
    for part in parts:
        if hasattr(part, "tobytes"):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(part.tobytes())
        else:
            digest.update(json.dumps(part, sort_keys=True, default=str).encode())
    return digest.hexdigest()


def digest_of_files(paths: Sequence[Path]) -> dict[str, str]:
    """Return the SHA-256 of each file by its path; a folder has none."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths if path.is_file()
    }


def write_record(out: Path, metadata: dict[str, Any]) -> None:
    """Write run.json, the last file of a run: where it stands, the run is whole."""
    record: dict[str, Any] = {
        "tagloom": tagloom.__version__,
        "python": platform.python_version(),
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "packages": _versions(),
        **metadata,
    }
    with atomic_write(out / NAME) as part:
        part.write_text(json.dumps(record, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def read_record(out: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the record of a finished run."""
    path = Path(out) / NAME
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidInputError(
            f"{out} is not the result of a finished run: there is no {NAME} in it. "
            "Run `tagloom complete` first."
        ) from None
    except (OSError, ValueError) as problem:
        raise InvalidInputError(f"{path} cannot be read: {problem}.") from None
    if not isinstance(record, dict):
        raise InvalidInputError(f"{path} is not a record of tagloom.")
    return record


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
