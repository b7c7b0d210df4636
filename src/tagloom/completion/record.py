"""The record of a run: what went in, with what it was made, what came out."""

import hashlib
import json
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import tagloom
from tagloom.errors import InvalidInputError
from tagloom.files import written_whole

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


def write_record(out: Path, facts: dict[str, Any]) -> None:
    """Write run.json, the last file of a run: where it stands, the run is whole."""
    record: dict[str, Any] = {
        "tagloom": tagloom.__version__,
        "python": platform.python_version(),
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "packages": _versions(),
        **facts,
    }
    with written_whole(out / NAME) as part:
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
