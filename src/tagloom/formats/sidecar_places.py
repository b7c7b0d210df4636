"""Which sidecar belongs to which picture, and whether it may be written."""

import os
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from tagloom.errors import InvalidInputError
from tagloom.vision import Found

LARGEST_SIDECAR = 16 * 2**20
# A raw picture or a film keeps its notes in IMG.xmp too, beside an IMG.jpg of the same moment.
_TWINS = re.compile(
    r"\.(3fr|arw|avi|cr[23w]|dng|erf|kdc|mef|mos|mov|mp4|mrw|nef|nrw|orf|pef|raf|raw|rw2|sr[2fw]|x3f)",
    re.IGNORECASE,
)


class Belonging(NamedTuple):
    """The sidecar of a picture.

    Attributes
    ----------
    existing : str or None
        The sidecar that is there, relative to the folder.
    to_write : str
        The one to write: `existing`, or else the picture's name with ".xmp".
    remark : str
        What is odd about it; empty as a rule.
    """

    existing: str | None
    to_write: str
    remark: str


class SidecarPlaces:
    """Finds the sidecars of the pictures in a folder.

    `IMG.jpg.xmp` goes before `IMG.xmp`; `IMG.xmp` counts only where no second picture, raw picture
    or film is called `IMG`.
    """

    def __init__(self, found: Found) -> None:
        self.pictures = frozenset(found.pictures)
        self.sidecars: dict[str, str] = {}
        for item in sorted(found.others, reverse=True):
            if is_sidecar(item):
                # In sorted order ".XMP" comes first; ".xmp", the usual, is to win.
                self.sidecars.setdefault(item[:-4], item)
        self._sharing: dict[str, list[str]] = defaultdict(list)
        for item in found.pictures:
            self._sharing[_stem(item)].append(item)
        for item in found.others:
            if _TWINS.fullmatch(PurePosixPath(item).suffix):
                self._sharing[_stem(item)].append(item)

    def of(self, image: str) -> Belonging:
        """Return the sidecar of a picture."""
        usual = f"{image}.xmp"
        stem = _stem(image)
        long = self.sidecars.get(image)
        short = self.sidecars.get(stem) if stem != image else None
        sharing = [other for other in self._sharing.get(stem, ()) if other != image]
        if long and short and not sharing:
            return Belonging(long, long, f"{short} is there as well: only {long} is used")
        if long or not short:
            return Belonging(long, long or usual, "")
        if sharing:
            remark = f"{short} may belong to {sharing[0]} as well: it is not used, {usual} would be"
            return Belonging(None, usual, remark)
        return Belonging(short, short, "")

    def orphans(self) -> list[str]:
        """Return the sidecars that belong to no picture."""
        stems = {_stem(image) for image in self.pictures}
        return sorted(
            item
            for named, item in self.sidecars.items()
            if named not in self.pictures and named not in stems
        )


def is_sidecar(item: str) -> bool:
    """Tell whether a file is a sidecar by its name."""
    name = item.rpartition("/")[2].lower()
    return name.endswith(".xmp") and name != ".xmp"


def _stem(item: str) -> str:
    return item.removesuffix(PurePosixPath(item).suffix)


def why_outside(folder: Path, item: str) -> str:
    """Say why a relative path may not be written in a folder; empty if it may."""
    steps = item.split("/")
    if "\0" in item or any(step in ("", ".", "..") for step in steps) or Path(item).is_absolute():
        return "it is no plain path inside the folder"
    if os.sep != "/" and os.sep in item:
        return "steps of a path are separated by forward slashes"
    if not is_sidecar(item):
        return "it is no sidecar by its name"
    target = folder / item
    if not target.parent.resolve().is_relative_to(folder.resolve()):
        return "a link leads out of the folder"
    if target.is_symlink():
        return "it is a link; links are neither followed nor replaced"
    if target.exists() and not target.is_file():
        return "it is not a regular file"
    return ""


def sidecar_bytes(path: Path) -> bytes | None:
    """Return what a sidecar holds, None if it is not there; refuse what is too large to be one."""
    try:
        with path.open("rb") as stream:
            data = stream.read(LARGEST_SIDECAR + 1)
    except FileNotFoundError:
        return None
    if len(data) > LARGEST_SIDECAR:
        raise InvalidInputError(
            f"{path} is larger than {LARGEST_SIDECAR // 2**20} MiB, which no sidecar should be."
        )
    return data


def chosen(found: Found, pictures: Iterable[str] | None) -> list[str]:
    """Return the pictures that were asked for, all if none were named."""
    return list(found.pictures if pictures is None else dict.fromkeys(pictures))
