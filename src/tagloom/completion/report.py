"""One page, and a folder of thumbnails beside it."""

import base64
import hashlib
import io
import json
import math
import os
import stat
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from html import escape
from importlib.resources import files
from numbers import Integral, Real
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from tagloom.completion.result import Bin, Completed, calibration_error
from tagloom.completion.suggestions import TagState
from tagloom.html import Markup, folded, heading, markup, paragraph, table
from tagloom.io import atomic_write
from tagloom.progress import progress_bar
from tagloom.vision.pictures import PictureError, decode, decoders_quiet

# §§ data
# What the page's script needs to know, in columns of small integers.


# A row of thumbnails; the number of all is told beside it.
_SHOWN = 4


def page_data(result: Completed, thumbnails: Sequence[str], photos: str) -> str:
    """Return JSON that can stand in a script element.

    Probabilities are in thousandths. Tags stand by picture, `count` of each; those that are more
    than known have reasons, in the same order.
    """
    table = result.table
    told = table.state != int(TagState.KNOWN)
    entries = {
        "count": np.bincount(table.rows, minlength=len(result.items)).tolist(),
        "label": table.columns.tolist(),
        "p": _thousandths(table.probability),
        "state": "".join(map(str, table.state.tolist())),
    }
    return _as_script(
        {
            "photos": photos,
            "items": result.items,
            "thumbnails": list(thumbnails),
            "near": _numbers_of_neighbors(result.affinities),
            "labels": result.labels,
            "quality": _qualities(result),
            "tags": entries,
            "reasons": _reasons(result, table.rows[told], table.columns[told]),
            "doubts": _doubts(result),
            "questions": _questions(result),
        }
    )


def _qualities(result: Completed) -> dict[str, list[Any]]:
    by_label = result.qualities
    return {
        "present": [one.n_present for one in by_label],
        "absent": [one.n_absent for one in by_label],
        "threshold": _thousandths(one.threshold for one in by_label),
        "won": _thousandths(one.roc_auc for one in by_label),
    }


def _reasons(result: Completed, rows: Iterable[Any], columns: Iterable[Any]) -> dict[str, Any]:
    """Return of each entry how many like pictures carry the label, and the likest of them."""
    counts, shown = [], []
    everyone = len(result.items)
    for row, column in zip(rows, columns, strict=True):
        carriers = result.carriers(int(row), int(column), everyone)
        counts.append(len(carriers))
        shown += carriers[:_SHOWN]
    return {"most": _SHOWN, "count": counts, "pictures": shown}


def _numbers_of_neighbors(S: Any) -> list[int]:
    """Count the neighbours of each picture, of which it is none itself."""
    return [int(n) for n in np.diff(S.indptr) - (S.diagonal() != 0)]


def _doubts(result: Completed) -> dict[str, Any]:
    doubts = result.doubts
    rows, columns = [one.row for one in doubts], [one.column for one in doubts]
    return {
        "picture": rows,
        "label": columns,
        "present": [int(one.present) for one in doubts],
        "p": _thousandths(one.probability for one in doubts),
        "chance": _thousandths(one.chance for one in doubts),
        "reasons": _reasons(result, rows, columns),
    }


def _questions(result: Completed) -> dict[str, Any]:
    rows = [one.row for one in result.questions]
    columns = [one.column for one in result.questions]
    return {
        "picture": rows,
        "label": columns,
        "p": _thousandths(result.P[rows, columns]) if rows else [],
        "reasons": _reasons(result, rows, columns),
    }


def _thousandths(values: Iterable[float] | npt.NDArray[Any]) -> list[int | None]:
    """Round to thousandths; None for what is no number or never reached.

    >>> _thousandths([0.25, float("inf")])
    [250, None]
    """
    return [round(1000 * float(p)) if math.isfinite(p) else None for p in values]


def _as_script(data: dict[str, Any]) -> str:
    """Return JSON in which nothing can end the script element or begin a comment."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


# §§ left
# What was left out, and why.


# More rows are folded away: they are looked up, not read.
_AT_ONCE = 40


def left_out(result: Completed) -> Markup:
    """Return tables of skipped pictures, of what was odd about the tags and of rare labels."""
    rare = sorted(result.too_rare.items(), key=lambda entry: (-entry[1], entry[0]))
    counts = [(label, f"{count:,}") for label, count in rare]
    odd = "What was odd about the tags"
    parts = [
        _part("Files that could not be used", ("File", "Why"), result.skipped),
        _part(odd, ("Where", "What, and what was done"), result.warnings),
        _part("Labels that are too rare to be learned", ("Label", "Pictures that have it"), counts),
    ]
    found = "\n".join(part for part in parts if part)
    return Markup(found or paragraph("Nothing was left out.", "lead"))


def _part(title: str, columns: tuple[str, str], rows: Sequence[tuple[str, str]]) -> Markup:
    if not rows:
        return Markup("")
    more = rows[_AT_ONCE:]
    rest = folded(f"{len(more):,} more", table(columns, more, words=(0, 1))) if more else ""
    shown = table(columns, rows[:_AT_ONCE], words=(0, 1))
    return Markup(heading(f"{title} ({len(rows):,})") + shown + rest)


# §§ words
# The head of the page: what was found, in words and in numbers.


def counted(number: int, one: str, many: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "picture", "pictures"), counted(5000, "picture", "pictures")
    ('1 picture', '5,000 pictures')
    """
    return f"{number:,} {one if number == 1 else many}"


def in_short(result: Completed) -> Markup:
    """Tell in a few sentences what the numbers of the account do not."""
    table = result.table
    helped = np.unique(table.rows[table.state == int(TagState.SUGGESTED)])
    given = np.isin(table.state, (int(TagState.KNOWN), int(TagState.DOUBTFUL_KNOWN)))
    first = np.setdiff1d(helped, table.rows[given])
    sentences = [
        f"{counted(table.count(TagState.SUGGESTED), 'tag is', 'tags are')} suggested for "
        f"{len(helped):,} of {counted(len(table.items), 'picture', 'pictures')}"
        + (f", {len(first):,} of which came without any." if len(first) else "."),
        _of_doubts(table.count(TagState.DOUBTFUL_KNOWN), table.count(TagState.DOUBTFUL_ABSENT)),
        _of_completeness(result.completeness),
        _of_skipped(len(result.skipped)),
    ]
    return paragraph(" ".join(sentence for sentence in sentences if sentence), "lead")


def account(result: Completed) -> Markup:
    """Return the account as names and numbers; what never happened is not worth a word."""
    entries = "".join(
        f"<div><dt>{markup(name)}</dt><dd>{markup(_figure(value))}</dd></div>"
        for name, value in result.account.items()
        if value
    )
    return Markup(f'<dl class="account">{entries}</dl>' if entries else "")


def _of_doubts(wrong: int, denied: int) -> str:
    if not wrong and not denied:
        return "Nothing that was said looks wrong."
    parts = [counted(wrong, "given tag looks", "given tags look") + " wrong"] if wrong else []
    if denied:
        parts.append(counted(denied, "denied tag looks", "denied tags look") + " right")
    return " and ".join(parts) + "."


def _of_completeness(share: float) -> str:
    if not math.isfinite(share) or share >= 1:
        return ""
    return f"By our estimate {share:.0%} of the tags that belong to the pictures had been given."


def _of_skipped(number: int) -> str:
    return f"{counted(number, 'file', 'files')} could not be used." if number else ""


def _figure(value: object) -> str:
    """Write numbers as people do; what is no number stays as it is."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return str(value)
    if isinstance(value, Integral):
        return f"{int(value):,}"
    return f"{float(value):,.3g}" if math.isfinite(value) else "unknown"


# §§ reliability
# How far the probabilities can be trusted: a drawing and a sentence that reads it.


# Entries of a bin below which its share is left to chance, and of all bins to be read at all.
_ENOUGH_IN_BIN, _ENOUGH = 20, 50
# Most entries are surely absent; how good the promises are shows in the others.
_LIKELY = 0.2
_SIZE, _MARGIN, _LARGEST = 300, 46, 11


def how_sure(result: Completed) -> Markup:
    """Return the reliability of the probabilities as drawing, sentence and table."""
    bins = result.bins
    if not bins:
        return paragraph("No entry could be hidden from the learner, so nothing was measured.")
    rows = [
        (
            f"{one.low:.0%} to {one.high:.0%}",
            f"{one.n:,}",
            f"{one.promised:.1%}",
            f"{one.came_true:.1%}",
        )
        for one in bins
    ]
    figures = table(("Probability", "Entries", "Promised", "Came true"), rows)
    share = ""
    if result.completeness < 1:
        share = paragraph(
            "Nobody listed what is absent. What came true is therefore estimated: the share that "
            f"had been given, divided by the {result.completeness:.0%} of tags that people give.",
            "note",
        )
    words = paragraph(reading(bins), "lead")
    beside = f"<div>{words}{share}{folded('The figures', figures)}</div>"
    return Markup(f'<div class="beside"><figure>{drawing(bins)}</figure>{beside}</div>')


def reading(bins: Sequence[Bin]) -> str:
    """Say in a sentence or two what the drawing shows, or that it shows nothing yet."""
    likely = [one for one in bins if one.low >= _LIKELY - 1e-9]
    n = sum(one.n for one in likely)
    if n < _ENOUGH:
        return (
            f"Only {counted(n, 'hidden entry has', 'hidden entries have')} a probability of "
            f"{_LIKELY:.0%} or more: too few to say how far the probabilities can be trusted."
        )
    error = calibration_error(list(likely))
    largest = max(likely, key=lambda one: (one.n * one.promised, one.low))
    return (
        f"Of {counted(n, 'hidden entry', 'hidden entries')} with a probability of {_LIKELY:.0%} "
        f"or more, promise and truth differ by {100 * error:.0f} percentage points on average. "
        f"Where about {largest.promised:.0%} was promised, {largest.came_true:.0%} came true."
    )


def drawing(bins: Sequence[Bin]) -> Markup:
    """Draw what came true against what was promised as SVG, each circle's area by its entries."""
    side = _SIZE + 2 * _MARGIN
    ticks = "".join(_tick(share) for share in (0.0, 0.25, 0.5, 0.75, 1.0))
    most = max((one.n for one in bins), default=1)
    circles = "".join(_circle(one, most) for one in bins)
    return Markup(
        f'<svg class="reliability" viewBox="0 0 {side} {side}" role="img" '
        'aria-label="What came true against what was promised">'
        f'{ticks}<line class="diagonal" x1="{_x(0)}" y1="{_y(0)}" x2="{_x(1)}" y2="{_y(1)}"/>'
        f"{circles}"
        f'<text class="axis" x="{_x(0.5)}" y="{side - 4}" text-anchor="middle">promised</text>'
        f'<text class="axis" x="{_x(0) - 38}" y="{_y(1) - 20}">came true</text></svg>'
    )


def _tick(share: float) -> str:
    x, y = _x(share), _y(share)
    return (
        f'<line class="grid" x1="{x}" y1="{_y(0)}" x2="{x}" y2="{_y(1)}"/>'
        f'<line class="grid" x1="{_x(0)}" y1="{y}" x2="{_x(1)}" y2="{y}"/>'
        f'<text x="{x}" y="{_y(0) + 24}" text-anchor="middle">{100 * share:.0f}%</text>'
        f'<text x="{_x(0) - 13}" y="{y + 4}" text-anchor="end">{100 * share:.0f}%</text>'
    )


def _circle(one: Bin, most: int) -> str:
    """Draw a bin: hollow where it holds too few entries to mean much."""
    # The surely absent outnumber the rest by far: areas grow with the root of the number.
    radius = max(4.0, _LARGEST * math.sqrt(math.sqrt(one.n / most)))
    kind = "bin" if one.n >= _ENOUGH_IN_BIN else "bin few"
    entries = counted(one.n, "entry", "entries")
    return (
        f'<circle class="{kind}" cx="{_x(one.promised)}" cy="{_y(one.came_true)}" '
        f'r="{radius:.1f}"><title>{entries}: {one.promised:.0%} promised, '
        f"{one.came_true:.0%} came true</title></circle>"
    )


def _x(share: float) -> float:
    return round(_MARGIN + _SIZE * share, 1)


def _y(share: float) -> float:
    return round(_MARGIN + _SIZE * (1 - share), 1)


# §§ thumbnails
# Small copies of the pictures, made once.


SIDE = 240
_QUALITY = 72
# Raised whenever the same picture comes to give another thumbnail.
_PROTOCOL = 1
# As many thumbnails at most wait in memory for being written.
_BATCH = 256


def write_thumbnails(
    photos: Path, items: Sequence[str], folder: Path, *, show_progress: bool = False
) -> list[str]:
    """Write ``<two digits>/<digest>.jpg`` for each item, and return the digests.

    The digest is of the picture's name, size and time of change: a file of that name is kept, so
    that a second report is quick. The digest is empty where there is no picture to show.
    """
    root = photos.resolve()
    digests = [_content_digest(root, item) for item in items]
    missing = {
        digest: item
        for digest, item in zip(digests, items, strict=True)
        if digest and not thumbnail_path(folder, digest).is_file()
    }
    broken = _make(root, missing, folder, show_progress)
    return ["" if digest in broken else digest for digest in digests]


def thumbnail_path(folder: Path, digest: str) -> Path:
    """Return where a thumbnail lies; two digits make folders that no file manager chokes on."""
    return folder / digest[:2] / f"{digest}.jpg"


def _content_digest(root: Path, item: str) -> str:
    """Name a picture by what tells that it is unchanged; nothing if it is not to be looked at.

    As in the search for pictures, links to files are followed and links to folders are not; no
    name leads out of the folder.
    """
    path = root / item
    try:
        inside = path.parent.resolve().is_relative_to(root) and path.name not in ("", "..")
        metadata = path.stat() if inside else None
    except (OSError, ValueError, RuntimeError):
        return ""
    # Opening a pipe would wait for somebody to write to it.
    if metadata is None or not stat.S_ISREG(metadata.st_mode):
        return ""
    said = f"{_PROTOCOL}\0{metadata.st_size}\0{metadata.st_mtime_ns}\0{item}"
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _make(root: Path, missing: dict[str, str], folder: Path, show_progress: bool) -> set[str]:
    """Make thumbnails and return the digests of those that could not be made."""
    if not missing:
        return set()
    broken = set()
    pending = list(missing)
    with (
        decoders_quiet(),
        ThreadPoolExecutor(os.cpu_count(), "tagloom-thumbnail") as makers,
        progress_bar(len(pending), "Thumbnails", show=show_progress, unit="pictures") as step,
    ):
        make = partial(_thumbnail, root)
        for start in range(0, len(pending), _BATCH):
            batch = pending[start : start + _BATCH]
            made = makers.map(make, (missing[digest] for digest in batch))
            for digest, content in zip(batch, made, strict=True):
                if content is None:
                    broken.add(digest)
                else:
                    _write(thumbnail_path(folder, digest), content)
                step()
    return broken


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as part:
        part.write_bytes(content)


def _thumbnail(root: Path, item: str) -> bytes | None:
    """Return a JPEG whose longest side is `SIDE` at most; None if the file gives no picture."""
    try:
        # Half the side is enough to ask for: the decoder keeps twice as much.
        picture = decode((root / item).read_bytes(), needed=SIDE // 2)
    except (PictureError, OSError):
        return None
    picture.thumbnail((SIDE, SIDE))
    stream = io.BytesIO()
    # Nothing else of the original, its EXIF data say, goes into the copy.
    picture.save(stream, format="JPEG", quality=_QUALITY, optimize=True)
    return stream.getvalue()


# §§ main write


# One after the other they make one script.
_SCRIPTS = ("data.js", "pieces.js", "reasons.js", "pictures.js", "tags.js", "lists.js", "views.js")


def write_report(result: Completed, out: Path, *, title: str, show_progress: bool = False) -> Path:
    """Write ``report.html`` and the folder ``thumbnails`` into a folder, which is made if need be.

    The page asks for nothing but its thumbnails and runs no script but its own: its policy names
    the script's and the style's digest. Thumbnails of unchanged pictures are kept from an earlier
    report.

    Parameters
    ----------
    result : Completed
        What to report.
    out : Path
        The folder to write to.
    title : str
        Stands at the head of the page.
    show_progress : bool
        Draw a bar while thumbnails are made.

    Returns
    -------
    Path
        The page.
    """
    out.mkdir(parents=True, exist_ok=True)
    thumbnails = write_thumbnails(
        result.photos, result.items, out / "thumbnails", show_progress=show_progress
    )
    data = page_data(result, thumbnails, _address(result.photos, out))
    script, style = "".join(map(_resource, _SCRIPTS)), _resource("page.css")
    # A template is filled in one pass: what stands in a file name is never taken for a place.
    page = Template(_resource("page.html")).substitute(
        title=escape(title),
        policy=_policy(script, style),
        style=style,
        script=script,
        data=data,
        in_short=in_short(result),
        account=account(result),
        how_sure=how_sure(result),
        left_out=left_out(result),
    )
    path = out / "report.html"
    with atomic_write(path) as part:
        # Names that are no text on this system hold lone surrogates, which UTF-8 cannot say.
        part.write_bytes(page.encode("utf-8", "replace"))
    return path


def _resource(name: str) -> str:
    return (files("tagloom.completion") / "page" / name).read_text(encoding="utf-8")


def _policy(script: str, style: str) -> str:
    """Forbid everything but thumbnails, the one script and the one style.

    A page that is opened as a file is its own origin in some browsers only: hence ``file:``.
    """
    return "; ".join(
        (
            "default-src 'none'",
            "img-src 'self' file: data:",
            f"script-src {_digest(script)}",
            f"style-src {_digest(style)}",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _address(photos: Path, out: Path) -> str:
    """Return the way from the page to the pictures, so that both may be moved together."""
    try:
        way = Path(os.path.relpath(photos.resolve(), out.resolve()))
    except ValueError:  # on another drive
        return photos.resolve().as_uri()
    # "./" keeps a first folder that holds a colon from being read as a scheme.
    return "./" + quote(way.as_posix(), errors="replace")
