"""Keywords inside pictures, written by ExifTool.

Pictures are written only by ExifTool (https://exiftool.org, Phil Harvey), which knows the layouts
of files; what it is to write is decided here, by the same rules as for sidecars. It never sees a
name that a user chose: it works on copies in a folder of its own.
"""

import io
import json
import os
import queue
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple

from tagloom.errors import InvalidInputError, TagloomError
from tagloom.formats.base import InputWarning, normalize_name
from tagloom.formats.metadata.embedded import Blocks, iptc_keywords, is_cut, picture_blocks
from tagloom.formats.metadata.sidecars import FilePlan, SidecarFinder, why_outside
from tagloom.formats.metadata.xmp import SUGGESTED, read_packet
from tagloom.formats.metadata.xmp_merge import (
    Keywords,
    merge_packet,
    new_packet,
    packet_difference,
)
from tagloom.vision import find_pictures
from tagloom.vision.pictures import SIGNATURE_LENGTH, named_format, picture_format

_SUFFIXES = {"JPEG": "jpg", "TIFF": "tif", "PNG": "png", "HEIC": "heic", "WEBP": "webp"}
# Earlier versions could be made to run code by a picture (CVE-2021-22204).
_OLDEST = (12, 24)
_SECONDS_FOR_ONE = 120.0
_UTF8 = b"\x1b%G"
_SUMMARY = re.compile(r"\d+ (?:image )?files? ")
_INSTALL = (
    "Install it (Debian and Ubuntu: apt install libimage-exiftool-perl; Fedora: dnf install "
    "perl-Image-ExifTool; macOS: brew install exiftool; Windows: exiftool.org), or write sidecars "
    "with --to xmp."
)


class ExifToolError(TagloomError):
    """ExifTool is not installed, is too old, or does not answer."""


class _Contents(NamedTuple):
    """The blocks of a picture that hold keywords.

    Attributes
    ----------
    packet : bytes or None
        Its XMP packet.
    iptc : list of str or None
        Its IPTC keywords, None without an IPTC record.
    iptc_is_utf8 : bool
        Whether the record declares UTF-8.
    """

    packet: bytes | None
    iptc: list[str] | None
    iptc_is_utf8: bool

    @classmethod
    def of(cls, stream: IO[bytes]) -> "_Contents":
        """Read a picture, but not its pixels; refuse one that writing could damage."""
        kind = picture_format(stream.read(SIGNATURE_LENGTH))
        if kind not in _SUFFIXES:
            raise InvalidInputError(
                f"keywords cannot be written into {kind or 'such'} files: write a sidecar"
            )
        stream.seek(0)
        blocks = picture_blocks(stream)
        if blocks.problem:
            raise InvalidInputError(blocks.problem)
        if len(blocks.xmp) > 1 or any(b"HasExtendedXMP" in packet for packet in blocks.xmp):
            raise InvalidInputError("its XMP is in several parts: write a sidecar")
        return cls._of_blocks(blocks)

    @classmethod
    def _of_blocks(cls, blocks: Blocks) -> "_Contents":
        # Programs that embed a packet may pad it with zeros.
        packet = blocks.xmp[0].rstrip(b"\0") if blocks.xmp else None
        if not blocks.iptc:
            return cls(packet, None, False)
        keywords = [normalize_name(one) for record in blocks.iptc for one in iptc_keywords(record)]
        is_utf8 = any(_UTF8 in record[:64] for record in blocks.iptc)
        return cls(packet, list(dict.fromkeys(filter(None, keywords))), is_utf8)

    def merged(self, wanted: Keywords) -> "_Contents":
        """Return what the picture shall hold: the same tags in all places.

        Keywords that only IPTC has are people's, and are copied to XMP. IPTC is written only where
        it is already (Metadata Working Group, 2010: readers take XMP where there is no IPTC).
        """
        held = [] if self.packet is None else read_packet(self.packet, "its XMP").tags()
        own = [one for one in self.iptc or () if one not in held and not is_cut(one, held)]
        own = [one for one in own if one not in wanted.rejected]
        known = tuple(dict.fromkeys([*own, *wanted.known]))
        suggested = {tag: p for tag, p in wanted.suggested.items() if tag not in own}
        keywords = Keywords(known, suggested, wanted.rejected)
        if self.packet is None and not (known or suggested):
            return self._replace(iptc=None if self.iptc is None else [])
        if self.packet is None:
            packet = new_packet(keywords)
        else:
            packet = merge_packet(self.packet, keywords, "its XMP")
        return self._replace(packet=packet, iptc=self._merged_iptc(packet))

    def _merged_iptc(self, packet: bytes) -> list[str] | None:
        if self.iptc is None:
            return None
        tags = read_packet(packet, "its XMP").tags()
        same = all(one in tags or is_cut(one, tags) for one in self.iptc)
        whole = {tag for tag in tags if not any(one and tag.startswith(one) for one in self.iptc)}
        return self.iptc if same and not whole else tags


@dataclass(frozen=True)
class PictureChange:
    """A planned change of one picture; see `SidecarChange`."""

    path: str
    keywords: Keywords
    added: tuple[str, ...]
    suggested: tuple[str, ...]
    removed: tuple[str, ...]
    before: _Contents
    tool: "ExifTool"

    def is_current(self, data: bytes | None) -> bool:
        """Return whether the picture holds what it held when the change was planned."""
        return data is not None and _Contents.of(io.BytesIO(data)) == self.before

    def merged(self, data: bytes | None) -> bytes:
        """Return the picture with its keywords changed, given its bytes now."""
        if data is None:
            raise InvalidInputError(f"{self.path} was removed since the plan was made.")
        now = _Contents.of(io.BytesIO(data))
        wanted = now.merged(self.keywords)
        if wanted == now:
            return data
        written = self.tool.write(data, now, wanted)
        if _tags(_Contents.of(io.BytesIO(written))) != _tags(wanted):
            raise InvalidInputError("ExifTool did not write all keywords: left as it is")
        return written


PicturePlan = FilePlan[PictureChange]


def plan_pictures(
    folder: str | os.PathLike[str], tags: Mapping[str, Keywords], tool: "ExifTool"
) -> PicturePlan:
    """Return what writing tags into pictures would change; nothing is written.

    The parameters are those of `plan_sidecars`. Sidecars stay as they are; a warning says how many
    of the pictures have one, which programs may prefer.
    """
    root = Path(folder)
    found = find_pictures(root)
    finder = SidecarFinder(found)
    plan = PicturePlan(root)
    for image, wanted in tags.items():
        adds = bool(wanted.known or wanted.suggested)
        if image not in finder.pictures:
            if adds:
                plan.refused.append(InputWarning(image, "there is no such picture in the folder"))
            continue
        try:
            change = _change(root, image, wanted.normalized(), tool)
        except (OSError, InvalidInputError) as problem:
            if adds or wanted.rejected:
                plan.refused.append(InputWarning(image, f"not written: {problem}"))
            continue
        if change is not None:
            plan.changes.append(change)
    beside = [one.path for one in plan if finder.of(one.path).existing]
    if beside:
        what = "of these pictures have sidecars, which stay as they are: use --to xmp for them"
        plan.warnings.append(InputWarning(f"{root}", f"{len(beside):,} {what}"))
    return plan


def _change(root: Path, image: str, wanted: Keywords, tool: "ExifTool") -> PictureChange | None:
    reason = why_outside(root, image)
    if reason or named_format(image) is None:
        raise InvalidInputError(reason or "its name is not that of a picture")
    with (root / image).open("rb") as stream:
        now = _Contents.of(stream)
    if not any(wanted) and SUGGESTED.namespace.encode() not in (now.packet or b""):
        return None
    after = now.merged(wanted)
    if after == now:
        return None
    then = new_packet([]) if now.packet is None else now.packet
    new = then if after.packet is None else after.packet
    difference = packet_difference(then, new, "its XMP")
    # What was in IPTC alone is not new to the picture, and may be removed from it.
    lost = [one for one in now.iptc or () if one in wanted.rejected]
    return PictureChange(
        image,
        wanted,
        tuple(tag for tag in difference.added if tag not in (now.iptc or ())),
        difference.suggested,
        tuple(dict.fromkeys([*difference.removed, *lost])),
        now,
        tool,
    )


def _tags(contents: _Contents) -> tuple[list[str], dict[str, float], list[str] | None]:
    """Return the tags of a picture, comparable between what was wanted and what was written."""
    iptc = None if contents.iptc is None else sorted(one[:16] for one in contents.iptc)
    if contents.packet is None:
        return [], {}, iptc
    packet = read_packet(contents.packet, "its XMP")
    return packet.tags(), packet.suggested(), iptc


class ExifTool:
    """One process of ExifTool, started when first needed, to write many pictures."""

    def __init__(self) -> None:
        found = shutil.which("exiftool")
        if found is None:
            raise ExifToolError(
                f"ExifTool, which writes keywords into pictures, is not installed. {_INSTALL}"
            )
        self._program = found
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> "ExifTool":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process and remove its copies."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def write(self, data: bytes, now: _Contents, wanted: _Contents) -> bytes:
        """Return a picture with other keywords."""
        folder = self._start()
        suffix = _SUFFIXES[picture_format(data[:SIGNATURE_LENGTH]) or "JPEG"]
        source, target = folder / f"in.{suffix}", folder / f"out.{suffix}"
        target.unlink(missing_ok=True)
        source.write_bytes(data)
        arguments = []
        if wanted.packet is not None and wanted.packet != now.packet:
            (folder / "in.xmp").write_bytes(wanted.packet)
            arguments.append("-XMP<=in.xmp")
        if wanted.iptc is not None and wanted.iptc != now.iptc:
            arguments += _iptc_arguments(folder, now, wanted.iptc)
        said = self._run([*arguments, "-o", target.name, source.name])
        try:
            return target.read_bytes()
        except FileNotFoundError:
            raise InvalidInputError(f"ExifTool refuses it: {said or 'no reason given'}") from None

    def _start(self) -> Path:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="tagloom-exiftool-")
        if self._process is None:
            self._check_version()
            # No configuration of the user's, and no signal of the terminal: we end the process.
            self._process = subprocess.Popen(
                [self._program, "-config", "", "-stay_open", "True", "-@", "-"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                cwd=self._folder.name, text=True, encoding="utf-8", errors="replace",
                start_new_session=True,
            )  # fmt: skip
            self._lines = queue.Queue()
            follow = threading.Thread(
                target=_follow, args=(self._process, self._lines), daemon=True
            )
            follow.start()
        return Path(self._folder.name)

    def _check_version(self) -> None:
        answer = subprocess.run(
            [self._program, "-config", "", "-ver"], capture_output=True, text=True, check=False
        )
        found = re.fullmatch(r"(\d+)\.(\d+)", answer.stdout.strip())
        version = (int(found[1]), int(found[2])) if found else (0, 0)
        if version < _OLDEST:
            raise ExifToolError(
                f"{self._program} is version {answer.stdout.strip() or 'unknown'}. Expected "
                f"{_OLDEST[0]}.{_OLDEST[1]} or later: a picture can make earlier ones run code. "
                f"{_INSTALL}"
            )

    def _run(self, arguments: list[str]) -> str:
        """Run one command and return what it says, on one line."""
        assert self._process is not None
        said: list[str] = []
        try:
            print(*arguments, "-execute", sep="\n", file=self._process.stdin, flush=True)
            while True:
                line = self._lines.get(timeout=_SECONDS_FOR_ONE)
                if line is None or line.strip() == "{ready}":
                    break
                said.append(line.strip())
        except (queue.Empty, OSError):
            line = None
        if line is None:
            self.close()
            raise InvalidInputError("ExifTool ended or did not answer")
        return " ".join(one for one in said if one and not _SUMMARY.match(one))


def _iptc_arguments(folder: Path, now: _Contents, keywords: list[str]) -> list[str]:
    """Return the arguments that replace the IPTC keywords; the record becomes UTF-8 if need be."""
    if not keywords:
        return ["-IPTC:Keywords="]
    # As JSON, a keyword may hold any character.
    content = [{"SourceFile": "*", "IPTC:Keywords": keywords}]
    (folder / "in.json").write_text(json.dumps(content), encoding="utf-8")
    arguments = ["-j=in.json"]
    if not now.iptc_is_utf8 and not all(one.isascii() for one in keywords):
        others = ["-IPTC:all", "--IPTC:Keywords", "-IPTC:CodedCharacterSet=UTF8"]
        arguments[:0] = ["-tagsFromFile", "@", *others]
    return arguments


def _follow(process: "subprocess.Popen[str]", lines: "queue.Queue[str | None]") -> None:
    """Pass on the lines of a process, and None at its end."""
    for line in process.stdout or ():
        lines.put(line)
    lines.put(None)
