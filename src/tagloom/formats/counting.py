"""Things that are odd in the same way many times: one remark with a count and a first place."""

from tagloom.formats.gathering import Gathering


class Counts:
    """Counts oddities of a source while it is read."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._first: dict[str, str] = {}

    def add(self, what: str, where: str) -> None:
        """Count one more, at a place."""
        self._counts[what] = self._counts.get(what, 0) + 1
        self._first.setdefault(what, where)

    def note(self, gathering: Gathering) -> None:
        """Remark on all that was counted."""
        for what, number in self._counts.items():
            gathering.note(f"{self._first[what]} (the first)", f"{number:,} {what}")


NO_PICTURE = "rows name no picture: left out"
NO_TAG = "tags are blank: left out"
UNCERTAIN_CELLS = "cells say -1 (uncertain): read as unknown"
