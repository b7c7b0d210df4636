"""When the pictures were taken, read in the background.

The date is that of the camera (EXIF 2.32: DateTimeOriginal, else DateTimeDigitized, else DateTime),
or that of the file where the camera left none. Reading thousands of files takes a while: what was
read is kept beside the thumbnails, and read again only for files that have changed.
"""

import json
import re
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.errors import UnwritableFileError
from tagloom.io import atomic_write
from tagloom.review.pictures import OutsideError, opened_picture, picture_file

Json = dict[str, Any]
FILE = "dates.json"
PATTERN = re.compile(r"([0-9]{4})(?:-(0[1-9]|1[0-2]))?", re.ASCII)
"""A year, or a month of it."""
_CAMERA_DATE = re.compile(r"\s*([12][0-9]{3})[:\-./](0[1-9]|1[0-2])[:\-./ ]")
_EXIF_FOLDER, _ORIGINAL, _DIGITIZED, _CHANGED = 0x8769, 0x9003, 0x9004, 0x0132
_UNREAD = 0
# So often the thread that reads lets the page go first.
_PAUSE_AFTER, _PAUSE_SECONDS = 20, 0.005


class PictureDates:
    """The month in which each picture was taken, as the integer 100 * year + month.

    Parameters
    ----------
    photos : path of the folder of the pictures
    images : list of str
    cache : path of a folder
        Where the dates are kept; a date counts as long as the mark of its picture is the same.
    """

    def __init__(self, photos: Path, images: list[str], cache: Path) -> None:
        self._photos, self._images, self._path = photos, images, cache / FILE
        self._months = np.full(len(images), _UNREAD, dtype=np.int32)
        self._n_read = 0
        self._thread: threading.Thread | None = None
        self._lock, self._closed = threading.Lock(), False

    def start(self, marks: list[str]) -> None:
        """Begin to read, unless it has begun; `marks` identify the contents of the pictures."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._read, args=(marks,), daemon=True)
                self._thread.start()

    def wait(self) -> None:
        """Wait until all dates are read."""
        if self._thread is not None:
            self._thread.join()

    def close(self) -> None:
        """Stop reading."""
        self._closed = True
        self.wait()

    @property
    def share_read(self) -> float:
        """The share of the pictures whose date is known."""
        return self._n_read / len(self._images) if self._images else 1.0

    def counts(self) -> list[Json]:
        """Return the years and months with their numbers of pictures, latest first."""
        months = self._months[self._months != _UNREAD]
        counts = Counter(f"{month // 100:04}-{month % 100:02}" for month in months.tolist())
        for month, n in list(counts.items()):
            counts[month[:4]] += n
        # A year stands before its months.
        order = sorted(counts, key=lambda date: (-int(date[:4]), len(date), _falling(date)))
        return [{"date": date, "n": counts[date]} for date in order]

    def taken(self, date: str) -> npt.NDArray[np.bool_]:
        """Return which pictures were taken in a year ("2019") or in a month ("2019-05")."""
        year, _, month = date.partition("-")
        if month:
            return np.asarray(self._months == 100 * int(year) + int(month))
        return np.asarray(self._months // 100 == int(year))

    def _read(self, marks: list[str]) -> None:
        stored = self._stored()
        for i, (name, mark) in enumerate(zip(self._images, marks, strict=True)):
            if self._closed:
                return
            known = stored.get(name)
            if known is not None and known[0] == mark:
                self._months[i] = known[1]
            else:
                self._months[i] = month_taken(self._photos, name)
                if i % _PAUSE_AFTER == 0:
                    time.sleep(_PAUSE_SECONDS)
            self._n_read = i + 1
        self._store(marks)

    def _stored(self) -> dict[str, list[Any]]:
        with suppress(OSError, ValueError, AttributeError):
            found = json.loads(self._path.read_text(encoding="utf-8"))
            return {
                name: entry
                for name, entry in found.items()
                if isinstance(entry, list)
                and len(entry) == 2
                and type(entry[1]) is int
                and 0 <= entry[1] <= 999_912
            }
        return {}

    def _store(self, marks: list[str]) -> None:
        entries = zip(self._images, marks, self._months.tolist(), strict=True)
        content = json.dumps({name: [mark, month] for name, mark, month in entries})
        # With a full disk they are read again the next time.
        with suppress(OSError, UnwritableFileError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if self._path.parent.is_symlink():
                return
            with atomic_write(self._path) as part:
                part.write_text(content, encoding="utf-8")


def _falling(date: str) -> int:
    return -int(date[5:] or 0)


def month_taken(photos: Path, name: str) -> int:
    """Return the month of a picture as 100 * year + month; 0 if there is no such file."""
    try:
        with opened_picture(photos, name) as picture:
            exif = picture.getexif()
            camera = exif.get_ifd(_EXIF_FOLDER)
            found = (camera.get(_ORIGINAL), camera.get(_DIGITIZED), exif.get(_CHANGED))
        for text in found:
            match = _CAMERA_DATE.match(text) if isinstance(text, str) else None
            if match:
                return 100 * int(match[1]) + int(match[2])
    except Exception:  # damaged files make decoders raise nearly everything
        pass
    try:
        changed = time.localtime(picture_file(photos, name).stat().st_mtime)
    except (OSError, OutsideError, ValueError, OverflowError):
        return _UNREAD
    return 100 * changed.tm_year + changed.tm_mon
