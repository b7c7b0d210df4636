"""Count what is odd by kind: a thousand dangling ids get one remark, not a thousand."""

from collections import Counter

from tagloom.formats.gathering import Gathering, Remark


class Tally:
    """Counts remarks of one kind, and keeps the first place of each."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    def add(self, where: str, what: str) -> None:
        """Count one more of this kind."""
        self._count[what] += 1
        self._first.setdefault(what, where)

    def remarks(self) -> list[Remark]:
        """Return one remark for each kind, with how often it was met."""
        return [
            Remark(_places(self._first[what], count), what) for what, count in self._count.items()
        ]

    def into(self, gathering: Gathering) -> None:
        """Hand all remarks over."""
        gathering.remarks.extend(self.remarks())


def _places(first: str, count: int) -> str:
    return first if count == 1 else f"{first} and {count - 1:,} more"
