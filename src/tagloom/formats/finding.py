"""Which picture is meant by a name that may lack folders or ending, or be written otherwise."""

import posixpath
import unicodedata
from collections.abc import Iterable, Iterator


class PictureIndex:
    r"""Pictures by all ends of their paths, with and without the file's ending.

    A name and a picture's path may each begin with folders that the other lacks: `images/abc` and
    `C:\photos\abc.jpg` find `abc.jpg`, and `00/25` finds `images/00/25.jpg`.
    """

    def __init__(self, pictures: Iterable[str]) -> None:
        self._whole: dict[str, list[str]] = {}
        self._ends: dict[str, list[str]] = {}
        for picture in dict.fromkeys(pictures):
            for spelt in dict.fromkeys((picture, _bare(picture))):
                own, *shorter = _ends(_key(spelt))
                self._whole.setdefault(own, []).append(picture)
                for end in shorter:
                    self._ends.setdefault(end, []).append(picture)

    def fitting(self, name: str) -> list[str]:
        """Return the pictures that fit a name best: one if it is clear, none if there is none.

        The whole path fits better than its end, and a longer end better than a shorter one; among
        these the same case better than another, and the file's ending better than none. Where the
        longer end differs in case and a shorter one does not, both may be meant.
        """
        listed = plain_path(name)
        ranks = list(self._ranks(listed))
        for place, fitting in enumerate(ranks):
            exact = _in_same_case(fitting, listed)
            if exact:
                return exact if place == 0 else list(dict.fromkeys([*ranks[0], *exact]))
        return list(ranks[0]) if ranks else []

    def _ranks(self, listed: str) -> Iterator[list[str]]:
        """Yield pictures whatever their case, from the best fit to the worst."""
        own, *shorter = _ends(_key(listed))
        for table, key in (
            (self._whole, own),
            (self._ends, own),
            *((self._whole, end) for end in shorter),
        ):
            if key in table:
                yield table[key]


def plain_path(name: str) -> str:
    r"""Return a name with forward slashes, without `./` and needless folders.

    >>> plain_path("C:\\photos\\.\\2019\\a.jpg"), plain_path("../b/../c.jpg")
    ('C:/photos/2019/a.jpg', 'c.jpg')
    """
    path = posixpath.normpath(unicodedata.normalize("NFC", name).replace("\\", "/")).lstrip("/")
    while path.startswith("../"):
        path = path[3:]
    return path


def _key(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _bare(picture: str) -> str:
    """Return a path without the file's ending; a dot in front begins a name and no ending."""
    bare, dot, ending = picture.rpartition(".")
    return bare if dot and ending and "/" not in ending and bare.rpartition("/")[2] else picture


def _ends(path: str) -> list[str]:
    """Return a path and all its ends, the longest first."""
    ends = [path]
    while "/" in path:
        path = path.partition("/")[2]
        ends.append(path)
    return ends


def _in_same_case(pictures: Iterable[str], listed: str) -> list[str]:
    """Return the pictures whose ends are written as listed: with the file's ending, or without."""
    named = [picture for picture in pictures if _same_end(picture, listed)]
    return named or [picture for picture in pictures if _same_end(_bare(picture), listed)]


def _same_end(path: str, listed: str) -> bool:
    """Say whether the shorter of both paths is the end of the longer."""
    own = unicodedata.normalize("NFC", path)
    return f"/{own}".endswith(f"/{listed}") or f"/{listed}".endswith(f"/{own}")
