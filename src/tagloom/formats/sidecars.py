"""XMP sidecars of a folder: reading them, and planning what tags would change in them."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tagloom.errors import InvalidInputError
from tagloom.formats.annotations import Annotation
from tagloom.formats.gathering import Gathering, Reading, Remark
from tagloom.formats.sidecar_places import SidecarPlaces, chosen, sidecar_bytes, why_outside
from tagloom.formats.xmp import read_packet
from tagloom.formats.xmp_merge import merge_packet, new_packet
from tagloom.formats.xmp_text import writable
from tagloom.vision import find_pictures


@dataclass(frozen=True)
class SidecarChange:
    """What would become of one sidecar.

    Attributes
    ----------
    image, path : str
        The picture and its sidecar, relative to the folder.
    tags : tuple of str
        All that were asked for.
    added : tuple of str
        Those that no field has yet. May be empty: then tags that stand in one field only are
        written to the others.
    before : str or None
        The SHA-256 of the sidecar as it is, None if it would be created.
    """

    image: str
    path: str
    tags: tuple[str, ...]
    added: tuple[str, ...]
    before: str | None

    def merged(self, data: bytes | None) -> bytes:
        """Return the sidecar with the tags, given what it holds now."""
        return new_packet(self.tags) if data is None else merge_packet(data, self.tags, self.path)


@dataclass(frozen=True)
class SidecarPlan:
    """What would be written, and what not; iterates over its changes.

    Attributes
    ----------
    folder : Path
    changes : list of SidecarChange
    refused : list of Remark
        Pictures whose tags would not be written, and why.
    remarks : list of Remark
    """

    folder: Path
    changes: list[SidecarChange] = field(default_factory=list)
    refused: list[Remark] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)

    def __iter__(self) -> Iterator[SidecarChange]:
        return iter(self.changes)

    def __len__(self) -> int:
        return len(self.changes)


def has_sidecars(folder: str | os.PathLike[str]) -> bool:
    """Tell whether a picture in the folder has a sidecar."""
    places = SidecarPlaces(find_pictures(folder))
    return any(places.of(image).existing for image in places.pictures)


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
    places = SidecarPlaces(found)
    gathering = Gathering()
    for image in chosen(found, pictures):
        gathering.images.setdefault(image)
        belonging = places.of(image)
        if belonging.remark:
            gathering.note(image, belonging.remark)
        if belonging.existing:
            _read_one(root, image, belonging.existing, gathering)
    if pictures is None:
        for item in places.orphans():
            gathering.note(item, "no picture belongs to this sidecar: not read")
    return gathering.finish(root, "XMP sidecars", can_say_absent=False)


def _read_one(root: Path, image: str, item: str, gathering: Gathering) -> None:
    try:
        data = sidecar_bytes(root / item)
        tags = [] if data is None else read_packet(data, item).tags()
    except (OSError, InvalidInputError) as problem:
        gathering.note(item, f"not read: {problem}")
        return
    for tag in tags:
        gathering.add(Annotation(image, tag), item)


def plan_sidecars(folder: str | os.PathLike[str], tags: Mapping[str, Sequence[str]]) -> SidecarPlan:
    """Say what adding tags to pictures would change; nothing is written.

    Parameters
    ----------
    folder : path
    tags : mapping of str to sequence of str
        For pictures, named relative to the folder, the tags to add.
    """
    root = Path(folder)
    places = SidecarPlaces(find_pictures(root))
    plan = SidecarPlan(root)
    for image, wanted in tags.items():
        if isinstance(wanted, str):
            raise InvalidInputError(f"The tags of {image} are one text. Expected a list of tags.")
        if wanted:
            _plan_one(plan, places, image, wanted)
    return plan


def _plan_one(plan: SidecarPlan, places: SidecarPlaces, image: str, wanted: Sequence[str]) -> None:
    if image not in places.pictures:
        plan.refused.append(Remark(image, "there is no such picture in the folder"))
        return
    belonging = places.of(image)
    reason = why_outside(plan.folder, belonging.to_write)
    if belonging.to_write in places.pictures:
        reason = "its sidecar's name is that of a picture"
    if reason:
        plan.refused.append(Remark(belonging.to_write, f"not written: {reason}"))
        return
    if belonging.remark:
        plan.remarks.append(Remark(image, belonging.remark))
    try:
        change = _change(plan.folder, image, belonging.to_write, wanted)
    except (OSError, InvalidInputError) as problem:
        plan.refused.append(Remark(belonging.to_write, f"not written: {problem}"))
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


def sha256_of(data: bytes | None) -> str | None:
    """Return the SHA-256 of a file's bytes, None where there is no file."""
    return None if data is None else hashlib.sha256(data).hexdigest()
