"""Request validation, and the answers to requests: JSON, small pages and refusals.

Every number, word and body of a request is checked before anything is looked up.
"""

import gzip
import html
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn
from unicodedata import normalize

from starlette.responses import Response

from tagloom.review.collection import VERDICTS, Collection
from tagloom.review.session import Decision

MAX_DECISIONS = 2000
_MAX_ROWS = 2000
_MAX_TEXT, _MAX_TAG, _MAX_CLIENT = 500, 200, 100
_MIN_COMPRESSED = 4096
_INTEGER = re.compile(r"[0-9]{1,9}", re.ASCII)
_FRACTION = re.compile(r"(0(\.[0-9]{0,9})?|1(\.0{0,9})?|\.[0-9]{1,9})", re.ASCII)
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>tagloom review</title></head><body><h1>{title}</h1><p>{text}</p></body></html>
"""


class RefusedError(Exception):
    """A request that is refused, with the status and the reason to send."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


def as_json(content: Any, *, status: int = 200, compress: bool = False) -> Response:
    """Return an answer in pure ASCII JSON, because names of files need not be Unicode."""
    body = json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")
    headers = {"Cache-Control": "no-store", "Vary": "Accept-Encoding"}
    if compress and len(body) >= _MIN_COMPRESSED:
        body = gzip.compress(body, compresslevel=1, mtime=0)
        headers["Content-Encoding"] = "gzip"
    return Response(body, status, headers, media_type="application/json")


def refusal(path: str, status: int, reason: str) -> Response:
    """Return an error: as JSON under `/api/`, as a small page elsewhere."""
    if path.startswith("/api/"):
        return as_json({"error": reason}, status=status)
    page = _PAGE.format(title="This cannot be shown", text=html.escape(reason))
    return Response(page, status, {"Cache-Control": "no-store"}, media_type="text/html")


def integer(name: str, text: str | None, *, below: int, default: int | None = None) -> int:
    """Read an integer from 0 on."""
    if text is None and default is not None:
        return default
    if text is None or not _INTEGER.fullmatch(text) or int(text) >= below:
        raise RefusedError(400, f"{name} must be an integer from 0 to {below - 1}.")
    return int(text)


def number_of(name: str, text: str, n: int) -> int:
    """Read the number of an existing picture or tag."""
    if not _INTEGER.fullmatch(text) or int(text) >= n:
        raise RefusedError(404, f"There is no such {name}: they are numbered from 0 to {n - 1}.")
    return int(text)


def page_of(query: Mapping[str, str], default: int) -> tuple[int, int]:
    """Read offset and limit."""
    offset = integer("offset", query.get("offset"), below=10**9, default=0)
    limit = integer("limit", query.get("limit"), below=_MAX_ROWS + 1, default=default)
    return offset, limit


def fraction(name: str, text: str | None) -> float:
    """Read a number from 0 to 1; 0 by default."""
    if text is None:
        return 0.0
    if not _FRACTION.fullmatch(text):
        raise RefusedError(400, f"{name} must be a number from 0 to 1, such as 0.35.")
    return float(text)


def choice(name: str, query: Mapping[str, str], options: Sequence[str]) -> str:
    """Read one of some words; the first by default."""
    given = query.get(name, options[0])
    if given not in options:
        raise RefusedError(400, f"{name} must be one of {', '.join(options)}.")
    return given


def text_of(name: str, query: Mapping[str, str]) -> str:
    """Read a text of limited length."""
    given = query.get(name, "")
    if len(given) > _MAX_TEXT:
        raise RefusedError(400, f"{name} may have {_MAX_TEXT} characters at most.")
    return given


def body_of(content: bytes) -> dict[str, Any]:
    """Read the JSON object in the body of a request."""
    try:
        body = json.loads(content or b"{}", parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise RefusedError(400, "The body must be JSON.") from None
    if not isinstance(body, dict):
        raise RefusedError(400, "The body must be a JSON object.")
    return body


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number in JSON")


def client_of(body: Mapping[str, Any]) -> str:
    """Read the name that a tab has given itself."""
    client = body.get("client", "")
    if not isinstance(client, str) or len(client) > _MAX_CLIENT or not client.isprintable():
        raise RefusedError(400, f"client must be a text of {_MAX_CLIENT} characters at most.")
    return client


def decisions_of(body: Mapping[str, Any], collection: Collection) -> list[Decision]:
    """Read decisions; all are refused if one of them is wrong."""
    given = body.get("decisions")
    if not isinstance(given, list) or not 1 <= len(given) <= MAX_DECISIONS:
        raise RefusedError(400, f"decisions must be a list of 1 to {MAX_DECISIONS:,} objects.")
    return [_decision(number, one, collection) for number, one in enumerate(given)]


def _decision(number: int, one: Any, collection: Collection) -> Decision:
    if not isinstance(one, dict):
        raise RefusedError(400, f"Decision {number} must be an object.")
    image, verdict = one.get("i"), one.get("verdict")
    if type(image) is not int or not 0 <= image < len(collection.images):
        raise RefusedError(400, f"Decision {number}: i must be the number of a picture.")
    if verdict not in VERDICTS:
        raise RefusedError(400, f"Decision {number}: verdict is one of {', '.join(VERDICTS)}.")
    if ("t" in one) == ("tag" in one):
        raise RefusedError(400, f"Decision {number}: give either t or tag.")
    if "tag" in one:
        return Decision(image, _tag_name(number, one["tag"], collection), verdict)
    tag = one["t"]
    if type(tag) is not int or not 0 <= tag < len(collection.tags):
        raise RefusedError(400, f"Decision {number}: t must be the number of a tag.")
    return Decision(image, tag, verdict)


def _tag_name(number: int, tag: Any, collection: Collection) -> str:
    # A tag from a file may have a name that could not be typed here.
    if isinstance(tag, str) and collection.tag(tag) is not None:
        return tag
    # Normalised as the readers of tags do, so that one tag is not stored in two spellings.
    name = normalize("NFC", " ".join(tag.split())) if isinstance(tag, str) else ""
    # Without control characters and lone surrogates, which some formats cannot hold.
    if not name or len(name) > _MAX_TAG or not name.isprintable():
        raise RefusedError(
            400,
            f"Decision {number}: tag must be a text of 1 to {_MAX_TAG} printable characters.",
        )
    return name
