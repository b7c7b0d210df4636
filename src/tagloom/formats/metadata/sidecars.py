"""XMP sidecars of a folder of pictures: finding them, reading them, and planning changes."""

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from tagloom.errors import InvalidInputError
from tagloom.formats.base import Annotation, AnnotationBuilder, Format, InputWarning, Reading
from tagloom.formats.metadata.xmp import read_packet, writable
from tagloom.formats.metadata.xmp_merge import merge_packet, new_packet
from tagloom.vision import Found, find_pictures

TITLE = "XMP sidecars"
_LARGEST_SIDECAR = 16 * 2**20
# A raw picture or a film has its metadata in IMG.xmp too, beside an IMG.jpg of the same moment.
_COMPANIONS = re.compile(
    r"\.(3fr|arw|avi|cr[23w]|dng|erf|kdc|mef|mos|mov|mp4|mrw|nef|nrw|orf|pef|raf|raw|rw2|sr[2fw]|x3f)",
    re.IGNORECASE,
)


def read_sidecars(folder: str | os.PathLike[str], pictures: Iterable[str] | None = None) -> Reading:
    """Read the tags of pictures from the sidecars beside them.

    Parameters
    ----------
    folder : path
    pictures : iterable of str, optional
        Names relative to the folder; all pictures in it by default.
    """
    root = Path(folder)
    found = find_pictures(root)
    finder = SidecarFinder(found)
    builder = AnnotationBuilder()
    for image in select_pictures(found, pictures):
        builder.images.setdefault(image)
        sidecar = finder.of(image)
        if sidecar.warning:
            builder.warn(image, sidecar.warning)
        if sidecar.existing:
            _read_one(root, image, sidecar.existing, builder)
    if pictures is None:
        for item in finder.orphans():
            builder.warn(item, "no picture belongs to this sidecar: not read")
    return builder.finish(root, TITLE, lists_absences=False)


def has_sidecars(folder: str | os.PathLike[str]) -> bool:
    """Return whether a picture in the folder has a sidecar."""
    finder = SidecarFinder(find_pictures(folder))
    return any(finder.of(image).existing for image in finder.pictures)


FORMAT = Format.of_folder(
    "xmp",
    TITLE,
    "a folder of pictures with files such as a.jpg.xmp beside them",
    has_sidecars,
    read_sidecars,
)


def _read_one(root: Path, image: str, item: str, builder: AnnotationBuilder) -> None:
    try:
        data = sidecar_bytes(root / item)
        tags = [] if data is None else read_packet(data, item).tags()
    except (OSError, InvalidInputError) as problem:
        builder.warn(item, f"not read: {problem}")
        return
    for tag in tags:
        builder.add(Annotation(image, tag), item)


def select_pictures(found: Found, pictures: Iterable[str] | None) -> list[str]:
    """Return the given pictures, all if none are given."""
    return list(found.pictures if pictures is None else dict.fromkeys(pictures))


class Sidecar(NamedTuple):
    """The sidecar of a picture.

    Attributes
    ----------
    existing : str or None
        The sidecar in the folder, relative to it.
    to_write : str
        The one to write: `existing`, or else the picture's name with ".xmp".
    warning : str
        What is unusual about it; empty as a rule.
    """

    existing: str | None
    to_write: str
    warning: str


class SidecarFinder:
    """Finds the sidecars of the pictures in a folder.

    `IMG.jpg.xmp` takes precedence over `IMG.xmp`; `IMG.xmp` is used only where no second picture,
    raw picture or film is called `IMG`.
    """

    def __init__(self, found: Found) -> None:
        self.pictures = frozenset(found.pictures)
        self.sidecars: dict[str, str] = {}
        for item in sorted(found.others, reverse=True):
            if is_sidecar(item):
                # In reverse order ".xmp", the usual, comes before ".XMP".
                self.sidecars.setdefault(item[:-4], item)
        self._sharing: dict[str, list[str]] = defaultdict(list)
        for item in found.pictures:
            self._sharing[_stem(item)].append(item)
        for item in found.others:
            if _COMPANIONS.fullmatch(PurePosixPath(item).suffix):
                self._sharing[_stem(item)].append(item)

    def of(self, image: str) -> Sidecar:
        """Return the sidecar of a picture."""
        usual = f"{image}.xmp"
        stem = _stem(image)
        long = self.sidecars.get(image)
        short = self.sidecars.get(stem) if stem != image else None
        sharing = [other for other in self._sharing.get(stem, ()) if other != image]
        if long and short and not sharing:
            return Sidecar(long, long, f"{short} exists as well: only {long} is used")
        if long or not short:
            return Sidecar(long, long or usual, "")
        if sharing:
            warning = (
                f"{short} may belong to {sharing[0]} as well: it is not used, {usual} would be"
            )
            return Sidecar(None, usual, warning)
        return Sidecar(short, short, "")

    def orphans(self) -> list[str]:
        """Return the sidecars that belong to no picture."""
        stems = {_stem(image) for image in self.pictures}
        return sorted(
            item
            for named, item in self.sidecars.items()
            if named not in self.pictures and named not in stems
        )


def is_sidecar(item: str) -> bool:
    """Return whether a file is a sidecar by its name."""
    name = item.rpartition("/")[2].lower()
    return name.endswith(".xmp") and name != ".xmp"


def _stem(item: str) -> str:
    return item.removesuffix(PurePosixPath(item).suffix)


@dataclass(frozen=True)
class SidecarChange:
    """A planned change of one sidecar.

    Attributes
    ----------
    image, path : str
        The picture and its sidecar, relative to the folder.
    tags : tuple of str
        All tags to add.
    added : tuple of str
        Those that no field has yet. May be empty: then tags of one field are copied to the
        others.
    before : str or None
        The SHA-256 of the sidecar now, None if it will be created.
    """

    image: str
    path: str
    tags: tuple[str, ...]
    added: tuple[str, ...]
    before: str | None

    def merged(self, data: bytes | None) -> bytes:
        """Return the sidecar with the tags added, given its bytes now."""
        return new_packet(self.tags) if data is None else merge_packet(data, self.tags, self.path)


@dataclass(frozen=True)
class SidecarPlan:
    """What will be written and what not; iterates over its changes.

    Attributes
    ----------
    folder : Path
    changes : list of SidecarChange
    refused : list of InputWarning
        Pictures whose tags will not be written, and why.
    warnings : list of InputWarning
    """

    folder: Path
    changes: list[SidecarChange] = field(default_factory=list)
    refused: list[InputWarning] = field(default_factory=list)
    warnings: list[InputWarning] = field(default_factory=list)

    def __iter__(self) -> Iterator[SidecarChange]:
        return iter(self.changes)

    def __len__(self) -> int:
        return len(self.changes)


def plan_sidecars(folder: str | os.PathLike[str], tags: Mapping[str, Sequence[str]]) -> SidecarPlan:
    """Return what adding tags to pictures would change; nothing is written.

    Parameters
    ----------
    folder : path
    tags : mapping of str to sequence of str
        The tags to add to each picture, named relative to the folder.
    """
    root = Path(folder)
    finder = SidecarFinder(find_pictures(root))
    plan = SidecarPlan(root)
    for image, wanted in tags.items():
        if isinstance(wanted, str):
            raise InvalidInputError(f"The tags of {image} are one text. Expected a list of tags.")
        if wanted:
            _plan_one(plan, finder, image, wanted)
    return plan


def _plan_one(plan: SidecarPlan, finder: SidecarFinder, image: str, wanted: Sequence[str]) -> None:
    if image not in finder.pictures:
        plan.refused.append(InputWarning(image, "there is no such picture in the folder"))
        return
    sidecar = finder.of(image)
    reason = why_outside(plan.folder, sidecar.to_write)
    if sidecar.to_write in finder.pictures:
        reason = "its sidecar's name is that of a picture"
    if reason:
        plan.refused.append(InputWarning(sidecar.to_write, f"not written: {reason}"))
        return
    if sidecar.warning:
        plan.warnings.append(InputWarning(image, sidecar.warning))
    try:
        change = _change(plan.folder, image, sidecar.to_write, wanted)
    except (OSError, InvalidInputError) as problem:
        plan.refused.append(InputWarning(sidecar.to_write, f"not written: {problem}"))
        return
    if change is not None:
        plan.changes.append(change)


def _change(root: Path, image: str, item: str, wanted: Sequence[str]) -> SidecarChange | None:
    cleaned = tuple(dict.fromkeys(writable(tag) for tag in wanted))
    data = sidecar_bytes(root / item)
    if data is None:
        return SidecarChange(image, item, cleaned, cleaned, None)
    known = set(read_packet(data, item).tags())
    added = tuple(tag for tag in cleaned if tag not in known)
    change = SidecarChange(image, item, cleaned, added, sha256_of(data))
    return None if change.merged(data) == data else change


def why_outside(folder: Path, item: str) -> str:
    """Return why a relative path must not be written in a folder; empty if it may be."""
    steps = item.split("/")
    if "\0" in item or any(step in ("", ".", "..") for step in steps) or Path(item).is_absolute():
        return "it is not a plain path inside the folder"
    if os.sep != "/" and os.sep in item:
        return "steps of a path are separated by forward slashes"
    if not is_sidecar(item):
        return "its name is not that of a sidecar"
    target = folder / item
    if not target.parent.resolve().is_relative_to(folder.resolve()):
        return "a link leads out of the folder"
    if target.is_symlink():
        return "it is a link; links are neither followed nor replaced"
    if target.exists() and not target.is_file():
        return "it is not a regular file"
    return ""


def sidecar_bytes(path: Path) -> bytes | None:
    """Return the bytes of a sidecar, None if there is none; refuse what is too large to be one."""
    try:
        with path.open("rb") as stream:
            data = stream.read(_LARGEST_SIDECAR + 1)
    except FileNotFoundError:
        return None
    if len(data) > _LARGEST_SIDECAR:
        raise InvalidInputError(
            f"{path} is larger than {_LARGEST_SIDECAR // 2**20} MiB, which no sidecar should be."
        )
    return data


def sha256_of(data: bytes | None) -> str | None:
    """Return the SHA-256 of a file's bytes; None where there is no file."""
    return None if data is None else hashlib.sha256(data).hexdigest()
