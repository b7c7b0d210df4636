"""How often the data were gone through, told while it happens."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tagloom.progress import progress_bar


class Passes:
    """Counts passes over the data, and moves a bar where somebody looks."""

    def __init__(self) -> None:
        self.number = 0
        self._advance: Callable[[], None] | None = None

    def count(self) -> None:
        """Note that all partitions were gone through once more."""
        self.number += 1
        if self._advance is not None:
            self._advance()

    @contextmanager
    def shown(self, at_most: int, show: bool) -> Iterator[None]:
        """Draw a bar meanwhile; how many passes there will be nobody knows, but not more."""
        with progress_bar(at_most, "fitting", show=show, unit="passes") as advance:
            self._advance = advance
            yield
        self._advance = None
