"""One tag, one name: white space around it and its Unicode form make no difference."""

import unicodedata

from tagloom.checks import some_of
from tagloom.formats.gathering import Gathering


class Spellings:
    """Tidies names of tags and remembers which were written in several ways."""

    def __init__(self) -> None:
        self._tidy: dict[str, str] = {}

    def tidy(self, written: str) -> str:
        """Return the tag without white space around it, in Unicode's composed form (NFC)."""
        known = self._tidy.get(written)
        if known is None:
            known = self._tidy[written] = tidy_name(written)
        return known

    def note(self, gathering: Gathering, where: str) -> None:
        """Remark on tags that became one because they differed in nothing that can be seen."""
        ways: dict[str, int] = {}
        for tag in self._tidy.values():
            ways[tag] = ways.get(tag, 0) + 1
        several = sorted(tag for tag, number in ways.items() if number > 1 and tag)
        if several:
            gathering.note(
                where,
                f"{len(several):,} tags are written in several ways that look alike (white space "
                f"around them, or another Unicode form) and were taken as one each: "
                f"{some_of(several)}",
            )


def tidy_name(written: str) -> str:
    """Return a name without white space around it, in Unicode's composed form (NFC)."""
    return unicodedata.normalize("NFC", written).strip()


def tidy_picture(written: str) -> str:
    """Return a picture's name without white space around it, with forward slashes."""
    return written.strip().replace("\\", "/")
