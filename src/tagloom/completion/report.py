"""The report of a completion: one HTML page, with a folder of thumbnails beside it."""

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
from importlib.resources import files
from numbers import Integral, Real
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from tagloom.completion.result import Bin, CompletionResult, calibration_error
from tagloom.completion.suggestions import TagState
from tagloom.io import atomic_write
from tagloom.progress import progress_bar
from tagloom.vision.pictures import PictureError, decode, decoders_quiet

# Concatenated to one script.
_SCRIPTS = ("data.js", "pieces.js", "reasons.js", "pictures.js", "tags.js", "lists.js", "views.js")
# Neighbours shown as the reason for a tag; the number of all is given beside them.
_NEIGHBORS_SHOWN = 4
# Further rows of a table are folded away: they are looked up, not read.
_ROWS_SHOWN = 40
# Bins with fewer entries are drawn hollow; with fewer entries in all, no conclusion is drawn.
_ENOUGH_IN_BIN, _ENOUGH = 20, 50
# Most entries are surely absent; how good the calibration is shows in the others.
_LIKELY = 0.2
_SIZE, _MARGIN, _LARGEST = 300, 46, 11
# Thumbnails: their longest side in pixels, and the quality of the JPEG.
SIDE = 240
_QUALITY = 72
# Raised whenever the same picture gives another thumbnail than before.
_PROTOCOL = 1
# An interrupt waits for at most so many thumbnails.
_BATCH = 256


def write_report(
    result: CompletionResult,
    out: Path,
    *,
    title: str,
    page: Path | None = None,
    verbose: bool = False,
) -> Path:
    """Write ``report.html`` and the folder ``thumbnails`` into a folder, which is made if needed.

    The page loads nothing but its thumbnails and runs no script but its own: its content security
    policy names the digests of the script and the style. Thumbnails of unchanged pictures are kept
    from an earlier report.

    Parameters
    ----------
    result : CompletionResult
    out : Path
        The folder to write to.
    title : str
        The heading of the page.
    page : Path, optional
        Where to write the page until it is moved to ``report.html`` in the folder.
    verbose : bool
        Show a progress bar while thumbnails are made.

    Returns
    -------
    Path
        The page.
    """
    out.mkdir(parents=True, exist_ok=True)
    thumbnails = write_thumbnails(result.photos, result.items, out / "thumbnails", verbose=verbose)
    script, style = "".join(map(_resource, _SCRIPTS)), _resource("report.css")
    text = _template().render(
        title=title,
        policy=_policy(script, style),
        style=Markup(style),
        script=Markup(script),
        data=Markup(page_data(result, thumbnails, _address(result.photos, out))),
        sentences=in_short(result),
        summary={name: _figure(value) for name, value in result.summary.items() if value},
        bins=result.bins,
        conclusion=conclusion(result.bins),
        listed_only=bool((result.label_frequencies < 1).any()),
        diagram=diagram(result.bins),
        words=_words(result),
        excluded=_excluded(result),
        rows_shown=_ROWS_SHOWN,
    )
    path = out / "report.html" if page is None else page
    with atomic_write(path) as part:
        # File names that are no valid text hold lone surrogates, which UTF-8 cannot encode.
        part.write_bytes(text.encode("utf-8", "replace"))
    return path


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_resource("report.html"))


def _resource(name: str) -> str:
    return (files("tagloom.completion") / "page" / name).read_text(encoding="utf-8")


def _policy(script: str, style: str) -> str:
    """Forbid everything but thumbnails, the one script and the one style.

    Only some browsers treat a page that is opened as a file as its own origin, hence ``file:``.
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
    """Return the relative address of the pictures, so that page and pictures may move together."""
    try:
        way = Path(os.path.relpath(photos.resolve(), out.resolve()))
    except ValueError:  # on another drive
        return photos.resolve().as_uri()
    # "./" keeps a first folder with a colon from being read as a scheme.
    return "./" + quote(way.as_posix(), errors="replace")


def page_data(result: CompletionResult, thumbnails: Sequence[str], photos: str) -> str:
    """Return the data of the page's script as JSON that can stand in a script element.

    Probabilities are in thousandths. Tags are listed by picture, `count` of each; those that are
    not merely known have reasons, in the same order.
    """
    table = result.table
    with_reason = table.state != int(TagState.KNOWN)
    data = {
        "photos": photos,
        "items": result.items,
        "thumbnails": list(thumbnails),
        "near": _neighbor_counts(result.affinities),
        "labels": result.labels,
        "quality": {
            "present": [one.n_present for one in result.label_quality],
            "absent": [one.n_absent for one in result.label_quality],
            "threshold": _thousandths(one.threshold for one in result.label_quality),
            "roc_auc": _thousandths(one.roc_auc for one in result.label_quality),
            "label_frequency": _thousandths(one.label_frequency for one in result.label_quality),
        },
        "tags": {
            "count": np.bincount(table.rows, minlength=len(result.items)).tolist(),
            "label": table.columns.tolist(),
            "p": _thousandths(table.probability),
            "state": "".join(map(str, table.state.tolist())),
        },
        "reasons": _reasons(result, table.rows[with_reason], table.columns[with_reason]),
        "suspected_errors": _suspected_errors(result),
        "to_annotate": _to_annotate(result),
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Nothing can end the script element or begin a comment.
    return text.replace("<", "\\u003c")


def _neighbor_counts(S: Any) -> list[int]:
    """Count the neighbours of each picture, itself excluded."""
    return [int(n) for n in np.diff(S.indptr) - (S.diagonal() != 0)]


def _reasons(
    result: CompletionResult, rows: Iterable[Any], columns: Iterable[Any]
) -> dict[str, Any]:
    """Return for each entry how many neighbours have the label, and the nearest of them.

    `because` is the label of a known tag that implies it, and `looks` what the picture looks like
    where the name of the label is a reason, if there is one.
    """
    counts, shown, because, looks = [], [], [], []
    for row, column in zip(rows, columns, strict=True):
        neighbors = result.neighbors_with(int(row), int(column), count=None)
        counts.append(len(neighbors))
        shown += neighbors[:_NEIGHBORS_SHOWN]
        because.append(result.implied_by(int(row), int(column)))
        looks.append(result.looks_like(int(row), int(column)))
    texts = list(dict.fromkeys(filter(None, looks)))
    place: dict[str | None, int] = {text: n for n, text in enumerate(texts)}
    return {
        "most": _NEIGHBORS_SHOWN,
        "count": counts,
        "pictures": shown,
        "because": because,
        "looks": [place.get(text) for text in looks],
        "texts": texts,
    }


def _suspected_errors(result: CompletionResult) -> dict[str, Any]:
    errors = result.suspected_errors
    rows, columns = [one.row for one in errors], [one.column for one in errors]
    return {
        "picture": rows,
        "label": columns,
        "present": [int(one.present) for one in errors],
        "p": _thousandths(one.probability for one in errors),
        "error_p": _thousandths(one.error_probability for one in errors),
        "reasons": _reasons(result, rows, columns),
    }


def _to_annotate(result: CompletionResult) -> dict[str, Any]:
    rows = [one.row for one in result.to_annotate]
    columns = [one.column for one in result.to_annotate]
    return {
        "picture": rows,
        "label": columns,
        "p": _thousandths(result.P[rows, columns]) if rows else [],
        "reasons": _reasons(result, rows, columns),
    }


def _thousandths(values: Iterable[float] | npt.NDArray[Any]) -> list[int | None]:
    """Round to thousandths; None for values that are not finite.

    >>> _thousandths([0.25, float("inf")])
    [250, None]
    """
    return [round(1000 * float(p)) if math.isfinite(p) else None for p in values]


def in_short(result: CompletionResult) -> list[str]:
    """Return a few sentences about the result."""
    table = result.table
    suggested = np.unique(table.rows[table.state == int(TagState.SUGGESTED)])
    known = np.isin(table.state, (int(TagState.KNOWN), int(TagState.DOUBTFUL_KNOWN)))
    untagged = np.setdiff1d(suggested, table.rows[known])
    sentences = [
        f"{counted(table.count(TagState.SUGGESTED), 'tag is', 'tags are')} suggested for "
        f"{len(suggested):,} of {counted(len(table.items), 'picture', 'pictures')}"
        + (f", {len(untagged):,} of which had none." if len(untagged) else "."),
        _errors_in_words(
            table.count(TagState.DOUBTFUL_KNOWN), table.count(TagState.DOUBTFUL_ABSENT)
        ),
    ]
    sentences += result.claims()
    if result.skipped:
        sentences.append(f"{counted(len(result.skipped), 'file', 'files')} could not be used.")
    return sentences


def _errors_in_words(present: int, absent: int) -> str:
    if not present and not absent:
        return "No label errors are suspected."
    parts = [counted(present, "known tag looks", "known tags look") + " wrong"] if present else []
    if absent:
        parts.append(counted(absent, "known absence looks", "known absences look") + " wrong")
    return " and ".join(parts) + "."


def counted(number: int, one: str, many: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "picture", "pictures"), counted(5000, "picture", "pictures")
    ('1 picture', '5,000 pictures')
    """
    return f"{number:,} {one if number == 1 else many}"


def _figure(value: object) -> str:
    """Format a number for reading; other values stay as they are."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return str(value)
    if isinstance(value, Integral):
        return f"{int(value):,}"
    return f"{float(value):,.3g}" if math.isfinite(value) else "unknown"


def conclusion(bins: Sequence[Bin]) -> str:
    """Say in a sentence or two what the reliability diagram shows, or that it shows nothing yet."""
    likely = [one for one in bins if one.low >= _LIKELY - 1e-9]
    n = sum(one.n for one in likely)
    if n < _ENOUGH:
        return (
            f"Only {counted(n, 'held-out entry has', 'held-out entries have')} a probability of "
            f"{_LIKELY:.0%} or more: too few to say how far the probabilities can be trusted."
        )
    error = calibration_error(list(likely))
    largest = max(likely, key=lambda one: (one.n * one.confidence, one.low))
    return (
        f"Over {counted(n, 'held-out entry', 'held-out entries')} with a confidence of "
        f"{_LIKELY:.0%} or more, the confidence and the share that was right differ by "
        f"{100 * error:.0f} percentage points on average. Of those with a confidence of about "
        f"{largest.confidence:.0%}, {largest.observed:.0%} were right."
    )


def diagram(bins: Sequence[Bin]) -> dict[str, Any]:
    """Return the coordinates of the reliability diagram; areas of circles grow with the entries."""
    most = max((one.n for one in bins), default=1)
    return {
        "side": _SIZE + 2 * _MARGIN,
        "left": _x(0),
        "right": _x(1),
        "middle": _x(0.5),
        "bottom": _y(0),
        "top": _y(1),
        "ticks": [
            {"x": _x(share), "y": _y(share), "text": f"{100 * share:.0f}%"}
            for share in (0.0, 0.25, 0.5, 0.75, 1.0)
        ],
        "circles": [_circle(one, most) for one in bins],
    }


def _circle(one: Bin, most: int) -> dict[str, Any]:
    # Surely absent entries outnumber the rest by far: areas grow with the square root.
    radius = max(4.0, _LARGEST * math.sqrt(math.sqrt(one.n / most)))
    return {
        "kind": "bin" if one.n >= _ENOUGH_IN_BIN else "bin few",
        "x": _x(one.confidence),
        "y": _y(one.observed),
        "radius": f"{radius:.1f}",
        "title": f"{counted(one.n, 'entry', 'entries')}: confidence {one.confidence:.0%}, "
        f"was right {one.observed:.0%}",
    }


def _x(share: float) -> float:
    return round(_MARGIN + _SIZE * share, 1)


def _y(share: float) -> float:
    return round(_MARGIN + _SIZE * (1 - share), 1)


def _excluded(result: CompletionResult) -> list[dict[str, Any]]:
    """Return the tables of skipped pictures, warnings about the tags and rare labels."""
    rare = sorted(result.too_rare.items(), key=lambda entry: (-entry[1], entry[0]))
    tables: list[tuple[str, tuple[str, ...], Sequence[Any]]] = [
        ("Files that could not be used", ("File", "Reason"), result.skipped),
        ("Warnings about the tags", ("Where", "Warning"), result.warnings),
        (
            "Labels that are too rare to be learned",
            ("Label", "Pictures"),
            [(label, f"{count:,}") for label, count in rare],
        ),
        (
            "Added labels that are not linked",
            ("Label", "Meaning"),
            [
                (label, "not linked, nothing to learn from until you tag a picture")
                for label in result.unlinked
            ],
        ),
        (
            "Labels that the vocabulary ignores",
            ("Label", "Pictures"),
            [(label, f"{count:,}") for label, count in result.ignored.items()],
        ),
    ]
    return _without_empty(tables)


def _words(result: CompletionResult) -> list[dict[str, Any]]:
    """Return the tables of tags that may be one and of what each tag means."""
    if result.links is None:
        return []
    merges = [(", ".join(one.tags), one.why) for one in result.links.merges]
    links = sorted(result.links.links, key=lambda link: link.tag)
    meanings = [(link.tag, link.how, ", ".join(link.parents)) for link in links]
    return _without_empty(
        [
            ("Tags that may be one", ("Tags", "Why"), merges),
            ("Meaning", ("Tag", "Meaning and concepts that show it", "Implies"), meanings),
        ]
    )


def _without_empty(
    tables: Iterable[tuple[str, tuple[str, ...], Sequence[Any]]],
) -> list[dict[str, Any]]:
    return [
        {"title": title, "columns": columns, "rows": rows}
        for title, columns, rows in tables
        if rows
    ]


def write_thumbnails(
    photos: Path, items: Sequence[str], folder: Path, *, verbose: bool = False
) -> list[str]:
    """Write ``<two digits>/<digest>.jpg`` for each item, and return the digests.

    The digest is of the picture's name, size and modification time: existing thumbnails are kept,
    so that a second report is quick. The digest is empty where there is no picture to show.
    """
    root = photos.resolve()
    digests = [_content_digest(root, item) for item in items]
    missing = {
        digest: item
        for digest, item in zip(digests, items, strict=True)
        if digest and not _is_made(thumbnail_path(folder, digest))
    }
    broken = _make(root, missing, folder, verbose)
    return ["" if digest in broken else digest for digest in digests]


def thumbnail_path(folder: Path, digest: str) -> Path:
    """Return the path of a thumbnail; folders by two digits stay small enough to browse."""
    return folder / digest[:2] / f"{digest}.jpg"


def _is_made(path: Path) -> bool:
    """Return whether a thumbnail is there; a power cut may leave an empty file."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size > 0


def _content_digest(root: Path, item: str) -> str:
    """Return a digest that changes with the picture; empty if the file must not be opened.

    As in the search for pictures, links to files are followed and links to folders are not; no
    name leads out of the folder.
    """
    path = root / item
    try:
        inside = path.parent.resolve().is_relative_to(root) and path.name not in ("", "..")
        metadata = path.stat() if inside else None
    except (OSError, ValueError, RuntimeError):
        return ""
    # Opening a pipe would block until something writes to it.
    if metadata is None or not stat.S_ISREG(metadata.st_mode):
        return ""
    content = f"{_PROTOCOL}\0{metadata.st_size}\0{metadata.st_mtime_ns}\0{item}"
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _make(root: Path, missing: dict[str, str], folder: Path, verbose: bool) -> set[str]:
    """Make thumbnails and return the digests of those that failed."""
    if not missing:
        return set()
    broken = set()
    pending = list(missing)
    with (
        decoders_quiet(),
        ThreadPoolExecutor(os.cpu_count(), "tagloom-thumbnail") as makers,
        progress_bar(len(pending), "Thumbnails", show=verbose, unit="pictures") as step,
    ):
        make = partial(_write_thumbnail, root, folder)
        for start in range(0, len(pending), _BATCH):
            batch = pending[start : start + _BATCH]
            made = makers.map(make, batch, (missing[digest] for digest in batch))
            for digest, is_made in zip(batch, made, strict=True):
                if not is_made:
                    broken.add(digest)
                step()
    return broken


def _write_thumbnail(root: Path, folder: Path, digest: str, item: str) -> bool:
    """Make a thumbnail; return whether there was a picture to make it of."""
    content = _thumbnail(root, item)
    if content is None:
        return False
    path = thumbnail_path(folder, digest)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, flush=False) as part:
        part.write_bytes(content)
    return True


def _thumbnail(root: Path, item: str) -> bytes | None:
    """Return a JPEG whose longest side is at most `SIDE`; None if the file holds no picture."""
    try:
        # Half the side is enough to request: the decoder keeps twice as much.
        picture = decode((root / item).read_bytes(), needed=SIDE // 2)
    except (PictureError, OSError):
        return None
    picture.thumbnail((SIDE, SIDE))
    stream = io.BytesIO()
    # Metadata of the original, such as EXIF, is not copied.
    picture.save(stream, format="JPEG", quality=_QUALITY, optimize=True)
    return stream.getvalue()
