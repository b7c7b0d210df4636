"""The most memory that a piece of work took."""

import ctypes
import math
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


class PeakMemory:
    """Measure by how many MiB a process grew at most inside a `with` block: `mib`.

    Linux tells the peak of a process and lets it be reset; elsewhere `mib` is NaN.
    """

    mib: float = math.nan

    def __enter__(self) -> Self:
        _give_back_freed_memory()
        self._before = _reset_peak()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.mib = _peak() - self._before


def _give_back_freed_memory() -> None:
    """Return to the system what earlier work freed: else later work would seem to need less."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _reset_peak() -> float:
    """Set the peak to what is held now and return it; NaN where that cannot be done."""
    try:
        _CLEAR.write_text("5", encoding="ascii")
    except OSError:
        return math.nan
    return _peak()


def _peak() -> float:
    with suppress(OSError):
        for line in _STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return math.nan
