"""Files: atomic writes, TOML, JSON, the order of names and the user's cache folder."""

import hashlib
import json
import os
import re
import tempfile
import threading
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platformdirs import user_cache_path

from tagloom.errors import InvalidInputError, UnwritableFileError

if TYPE_CHECKING:
    import numpy.typing as npt

_NAME_BYTES = 200
_UMASK_LOCK = threading.Lock()
_DIGITS = re.compile(r"([0-9]+)")


@contextmanager
def atomic_write(path: str | os.PathLike[str], *, flush: bool = True) -> Iterator[Path]:
    """Yield a temporary path beside `path`, and rename it to `path` at the end of the block.

    An error or an interrupt inside the block removes the temporary file and leaves any existing
    file at `path` untouched. The data is flushed to disk before the rename, so a power cut cannot
    leave an empty file under the final name. That takes milliseconds: thousands of files that can
    be made again, and whose reader takes an empty one for missing, do without.
    """
    target = Path(path)
    if target.is_dir():
        raise UnwritableFileError(f"{target} is a folder: a file cannot be written under its name.")
    if not target.absolute().parent.is_dir():
        raise UnwritableFileError(f"The folder of {target} does not exist. Make it first.")
    # A name may have 255 bytes; with all of a long one, that of the temporary file would have more.
    start = os.fsdecode(os.fsencode(target.name)[:_NAME_BYTES])
    handle, name = tempfile.mkstemp(prefix=f".{start}.", suffix=".part", dir=target.parent)
    os.close(handle)
    part = Path(name)
    try:
        yield part
        if flush:
            with part.open("rb") as finished:
                os.fsync(finished.fileno())
        os.chmod(part, _mode_for(target))
        part.replace(target)
    finally:
        with suppress(FileNotFoundError):
            part.unlink()


def _mode_for(target: Path) -> int:
    """Return the permissions of the file to replace, or those that the user's umask gives."""
    with suppress(FileNotFoundError):
        return target.stat().st_mode & 0o777
    # The umask can only be read by setting it, which affects all threads.
    with _UMASK_LOCK:
        umask = os.umask(0)
        os.umask(umask)
    return 0o666 & ~umask


def file_digest(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_arrays(path: str | os.PathLike[str]) -> "dict[str, npt.NDArray[Any]]":
    """Return the arrays of a `.npz` file; arrays of objects, which are pickles, are refused."""
    import numpy as np

    try:
        # numpy leaves a damaged file open if it has opened it itself; ZipFile refuses a file that
        # is a single array.
        with Path(path).open("rb") as stream, zipfile.ZipFile(stream):
            stream.seek(0)
            with np.load(stream, allow_pickle=False) as archive:
                return {name: archive[name] for name in archive.files}
    except Exception as problem:  # damaged archives make readers raise nearly anything
        raise InvalidInputError(
            f"{path} cannot be read as a .npz file of plain arrays: {problem}."
        ) from problem


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a TOML file in UTF-8, with or without a byte order mark."""
    source = Path(path)
    try:
        return tomllib.loads(source.read_text(encoding="utf-8-sig"))
    except OSError as problem:
        raise InvalidInputError(f"{source} cannot be read: {problem.strerror}.") from None
    except (ValueError, RecursionError) as problem:
        # Besides syntax errors: bytes that are no text, numbers of thousands of digits, and values
        # nested beyond what Python can follow.
        raise InvalidInputError(f"{source} is not valid TOML: {problem}.") from None


def natural_order(name: str) -> tuple[Any, ...]:
    """Return a sort key by which numbers in names count as numbers, and folders stay together.

    >>> sorted(["img10.jpg", "img2.jpg", "IMG1.jpg", "b/1.jpg"], key=natural_order)
    ['b/1.jpg', 'IMG1.jpg', 'img2.jpg', 'img10.jpg']
    """
    return tuple(map(_texts_and_numbers, name.casefold().split("/"))), name


def _texts_and_numbers(text: str) -> tuple[Any, ...]:
    """Split into texts and numbers, which alternate.

    A number is given as its length and digits: there may be too many of them for an integer.
    """
    parts: list[Any] = _DIGITS.split(text)
    digits = [part.lstrip("0") for part in parts[1::2]]
    parts[1::2] = [(len(number), number) for number in digits]
    return tuple(parts)


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text; nested beyond what Python can follow, it is a ValueError."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None


def user_cache() -> Path:
    """Return tagloom's folder in the user's cache directory; ``TAGLOOM_CACHE`` overrides it."""
    override = os.environ.get("TAGLOOM_CACHE")
    if override:
        return Path(override)
    return user_cache_path("tagloom", appauthor=False, opinion=False)
