"""XMP sidecars of a folder of pictures: finding them, reading them, and planning changes."""

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Generic, NamedTuple, TypeVar

from tagloom.errors import InvalidInputError
from tagloom.formats.base import Annotation, AnnotationBuilder, Format, InputWarning, Reading
from tagloom.formats.metadata.xmp import SUGGESTED, read_packet
from tagloom.formats.metadata.xmp_merge import (
    Keywords,
    merge_packet,
    new_packet,
    packet_difference,
)
from tagloom.vision import Found, find_pictures
from tagloom.vision.pictures import named_format

TITLE = "XMP sidecars"
Change = TypeVar("Change")
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
        if data is None:
            return
        packet = read_packet(data, item)
    except (OSError, InvalidInputError) as problem:
        builder.warn(item, f"not read: {problem}")
        return
    suggested = packet.suggested()
    for tag in packet.tags():
        builder.add(Annotation(image, tag, confidence=suggested.get(tag)), item)


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
    keywords : Keywords
        What the sidecar shall hold.
    added, suggested, removed : tuple of str
        Tags of people that no field has yet, suggestions that are not in it yet, and tags that
        will be removed: rejected ones, and earlier suggestions. May all be empty: then tags of one
        field are copied to the others, or a suggestion becomes a person's tag.
    before : str or None
        The SHA-256 of the sidecar now, None if it will be created.
    """

    image: str
    path: str
    keywords: Keywords
    added: tuple[str, ...]
    suggested: tuple[str, ...]
    removed: tuple[str, ...]
    before: str | None

    def is_current(self, data: bytes | None) -> bool:
        """Return whether the sidecar is as it was when the change was planned."""
        return sha256_of(data) == self.before

    def merged(self, data: bytes | None) -> bytes:
        """Return the sidecar with its tags changed, given its bytes now."""
        if data is None:
            return new_packet(self.keywords)
        return merge_packet(data, self.keywords, self.path)


@dataclass(frozen=True)
class FilePlan(Generic[Change]):
    """What will be written and what not; iterates over its changes.

    Attributes
    ----------
    folder : Path
    changes : list of changes of one file each
    refused : list of InputWarning
        Pictures whose tags will not be written, and why.
    warnings : list of InputWarning
    """

    folder: Path
    changes: list[Change] = field(default_factory=list)
    refused: list[InputWarning] = field(default_factory=list)
    warnings: list[InputWarning] = field(default_factory=list)

    def __iter__(self) -> Iterator[Change]:
        return iter(self.changes)

    def __len__(self) -> int:
        return len(self.changes)


SidecarPlan = FilePlan[SidecarChange]


def plan_sidecars(
    folder: str | os.PathLike[str], tags: Mapping[str, Sequence[str] | Keywords]
) -> SidecarPlan:
    """Return what writing the tags of pictures to their sidecars would change; nothing is written.

    Parameters
    ----------
    folder : path
    tags : mapping from str to Keywords or sequence of str
        The tags of each picture, named relative to the folder. A sequence holds known tags. Other
        tags in a sidecar stay, but for suggestions that were written to it earlier.
    """
    root = Path(folder)
    finder = SidecarFinder(find_pictures(root))
    plan = SidecarPlan(root)
    for image, wanted in tags.items():
        if isinstance(wanted, str):
            raise InvalidInputError(f"The tags of {image} are one text. Expected a list of tags.")
        keywords = wanted if isinstance(wanted, Keywords) else Keywords(tuple(wanted))
        _plan_one(plan, finder, image, keywords)
    return plan


def _plan_one(plan: SidecarPlan, finder: SidecarFinder, image: str, wanted: Keywords) -> None:
    adds = bool(wanted.known or wanted.suggested)
    if image not in finder.pictures:
        if adds:
            plan.refused.append(InputWarning(image, "there is no such picture in the folder"))
        return
    sidecar = finder.of(image)
    if not (adds or sidecar.existing):
        return
    reason = why_outside(plan.folder, sidecar.to_write)
    if sidecar.to_write in finder.pictures:
        reason = "its sidecar's name is that of a picture"
    if reason:
        if adds:
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


def _change(root: Path, image: str, item: str, wanted: Keywords) -> SidecarChange | None:
    keywords = wanted.normalized()
    data = sidecar_bytes(root / item)
    if data is None:
        added, suggested = tuple(keywords.known), tuple(keywords.suggested)
        return SidecarChange(image, item, keywords, added, suggested, (), None)
    if not any(keywords) and SUGGESTED.namespace.encode() not in data:
        return None
    after = merge_packet(data, keywords, item)
    if after == data:
        return None
    difference = packet_difference(data, after, item)
    return SidecarChange(image, item, keywords, *difference, sha256_of(data))


def why_outside(folder: Path, item: str) -> str:
    """Return why a relative path must not be written in a folder; empty if it may be."""
    steps = item.split("/")
    if "\0" in item or any(step in ("", ".", "..") for step in steps) or Path(item).is_absolute():
        return "it is not a plain path inside the folder"
    if os.sep != "/" and os.sep in item:
        return "steps of a path are separated by forward slashes"
    if not (is_sidecar(item) or named_format(item)):
        return "its name is neither that of a sidecar nor that of a picture"
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
