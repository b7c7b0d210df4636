"""Files: atomic writes, stores by URL, TOML, JSON, the order of names and the user's cache."""

import hashlib
import json
import os
import re
import tempfile
import threading
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname
from uuid import uuid4

from platformdirs import user_cache_path

from tagloom.errors import InvalidInputError, UnwritableFileError, first_line, import_extra

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


# Stores in which an object exists once it is uploaded as a whole, and not before.
_OBJECT_STORES = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "oss", "memory"})
_READ_ONLY = frozenset({"http", "https"})


def is_url(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is the URL of a store, and none of this machine's file system."""
    return "://" in str(path) and not str(path).startswith("file://")


def local_path(path: str | os.PathLike[str]) -> Path:
    """Return a path of this machine's file system, which may be given as a file:// URL."""
    text = str(path)
    return Path(url2pathname(urlsplit(text).path)) if text.startswith("file://") else Path(text)


def open_store(url: str, storage_options: Mapping[str, Any]) -> tuple[Any, str]:
    """Return fsspec's file system for a URL, and the path in it; only a URL connects anywhere."""
    fsspec = import_extra("fsspec", purpose=f"Reading and writing {url}", extra="dask")
    try:
        fs, path = fsspec.core.url_to_fs(url, **storage_options)
    except ImportError as problem:
        raise InvalidInputError(f"{url} cannot be opened: {problem}.") from None
    except (ValueError, TypeError) as problem:
        raise InvalidInputError(
            f"{url} cannot be opened: {problem}. Expected a URL that fsspec knows, such as "
            "s3://bucket/folder, and storage_options that its file system takes."
        ) from None
    fs.invalidate_cache()  # listings that were read before would hide changes
    return fs, path


def write_whole(url: str, data: bytes, storage_options: Mapping[str, Any]) -> None:
    """Write a file at a URL, whole or not at all.

    Object stores show an object once its upload is complete. Elsewhere the data is written under
    another name, beside it, and renamed, which is as safe as the store's own renaming.
    """
    protocol = url.partition("://")[0]
    check_writable(url)
    fs, path = open_store(url, storage_options)
    try:
        if protocol in _OBJECT_STORES:
            fs.pipe_file(path, data)
        else:
            _write_and_rename(fs, path, data)
    except Exception as problem:  # every store has errors of its own
        raise UnwritableFileError(f"{url} cannot be written: {first_line(problem)}") from problem


def check_writable(url: str) -> None:
    """Refuse a URL of a protocol by which files are only read, before anything connects."""
    protocol = url.partition("://")[0]
    if protocol in _READ_ONLY:
        raise UnwritableFileError(
            f"{url} cannot be written: over {protocol} files are only read. Write to a folder of "
            "this machine or to a URL of an object store, such as s3://bucket/folder."
        )


def _write_and_rename(fs: Any, path: str, data: bytes) -> None:
    folder, _, name = path.rpartition("/")
    part = f"{folder}/.{name}.{uuid4().hex}.part"
    fs.makedirs(folder, exist_ok=True)
    try:
        fs.pipe_file(part, data)
        fs.mv(part, path)
    except BaseException:
        with suppress(Exception):  # the first error is the one to tell
            fs.rm_file(part)
        raise


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
