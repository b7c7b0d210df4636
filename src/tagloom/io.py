"""Files are written whole or not at all."""

import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tagloom.errors import UnwritableFileError

# §§ main files


_UMASK = threading.Lock()


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path beside `path`; what is written there takes the name `path` at the end.

    An error or an interrupt inside the block leaves whatever stood at `path` untouched and removes
    the unfinished file. The data reach the disk before the name does, so that a power cut cannot
    leave an empty file under the final name.
    """
    target = Path(path)
    if target.is_dir():
        raise UnwritableFileError(f"{target} is a folder: a file cannot be written under its name.")
    if not target.absolute().parent.is_dir():
        raise UnwritableFileError(f"The folder of {target} does not exist. Make it first.")
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    os.close(handle)
    part = Path(name)
    try:
        yield part
        with part.open("rb") as finished:
            os.fsync(finished.fileno())
        os.chmod(part, _mode_for(target))
        part.replace(target)
    finally:
        with suppress(FileNotFoundError):
            part.unlink()


def _mode_for(target: Path) -> int:
    """Keep the permissions of the file that is replaced; else those the user's umask gives."""
    with suppress(FileNotFoundError):
        return target.stat().st_mode & 0o777
    # The mask can only be read by setting it, for all threads at once.
    with _UMASK:
        umask = os.umask(0)
        os.umask(umask)
    return 0o666 & ~umask


# §§ places
# Where things are kept between runs.


def user_cache() -> Path:
    """Give tagloom's folder in the user's cache directory; ``TAGLOOM_CACHE`` overrides it."""
    override = os.environ.get("TAGLOOM_CACHE")
    return Path(override) if override else _system_cache() / "tagloom"


def _system_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
