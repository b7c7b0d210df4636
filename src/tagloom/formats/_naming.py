"""Names of pictures: as a source has them, or as they lie in the folder that its owner names."""

import posixpath
from collections.abc import Iterable
from pathlib import Path

from tagloom.checks import some_of
from tagloom.errors import InvalidInputError
from tagloom.formats.annotations import Annotations


def with_slashes(name: str) -> str:
    """Return a name with forward slashes, whichever system wrote it."""
    return name.replace("\\", "/")


def without_ending(name: str) -> str:
    """Return a name without its extension: "a/b.jpg" is "a/b".

    >>> without_ending("a.b/c.tar.gz"), without_ending(".hidden")
    ('a.b/c.tar', '.hidden')
    """
    return posixpath.splitext(name)[0]


def refuse_unwritable(annotations: Annotations) -> None:
    """Refuse names of pictures and tags that are empty or cannot be written in UTF-8."""
    odd = [*_unwritable(annotations.images), *_unwritable(annotations.tags)]
    if odd:
        raise InvalidInputError(
            "Names of pictures and tags must be texts that can be written in UTF-8 and are not "
            f"empty; these are not: {some_of(odd)}. Rename them."
        )


def _unwritable(names: Iterable[str]) -> list[str]:
    # File names that are no UTF-8 reach Python with halves of surrogate pairs in them.
    return [name for name in names if not name or name.encode(errors="ignore").decode() != name]


class Names:
    """Finds the picture that a source means among those that lie in a folder.

    Without a folder, or where nothing in it fits, names stay as the source has them.
    """

    def __init__(self, pictures: Path | None) -> None:
        self.folder = pictures
        self._known: set[str] = set()
        self._by_stem: dict[str, list[str]] = {}
        if pictures is not None:
            # Not needed, and therefore not loaded, where there is no folder.
            from tagloom.vision import find_pictures

            self._known.update(find_pictures(pictures).pictures)
        for name in sorted(self._known):
            self._by_stem.setdefault(without_ending(name), []).append(name)

    def of_path(self, name: str) -> str:
        """Return the picture at the end of a path: what stands before it may differ by machine."""
        plain = with_slashes(name)
        rest = plain
        while rest and rest not in self._known:
            rest = rest.partition("/")[2]
        return rest or plain

    def of_stem(self, stem: str) -> str | None:
        """Return the one picture whose name without extension is this; None if none or several."""
        found = self._by_stem.get(with_slashes(stem), [])
        return found[0] if len(found) == 1 else None
