"""What may be asked: every number, word and body is checked before anything is looked up."""

import gzip
import html
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn
from unicodedata import normalize

from starlette.responses import Response

from tagloom.review.collection import Collection
from tagloom.review.session import Verdict
from tagloom.review.states import VERDICTS

# §§ answers
# Answers: JSON, small pages, and the errors that end in one of them.


_WORTH_PACKING = 4096
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>tagloom review</title></head><body><h1>{title}</h1><p>{text}</p></body></html>
"""


class RefusedError(Exception):
    """A request that is not answered, with the status and the reason that is told."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


def as_json(metadata: Any, *, status: int = 200, pack: bool = False) -> Response:
    """Return metadata as JSON in pure ASCII: names of files need not be Unicode."""
    body = json.dumps(metadata, allow_nan=False, separators=(",", ":")).encode("ascii")
    headers = {"Cache-Control": "no-store", "Vary": "Accept-Encoding"}
    if pack and len(body) >= _WORTH_PACKING:
        body = gzip.compress(body, compresslevel=1, mtime=0)
        headers["Content-Encoding"] = "gzip"
    return Response(body, status, headers, media_type="application/json")


def as_page(title: str, text: str, *, status: int) -> Response:
    """Return a small page that says one thing."""
    page = _PAGE.format(title=html.escape(title), text=html.escape(text))
    return Response(page, status, {"Cache-Control": "no-store"}, media_type="text/html")


def refusal(path: str, status: int, reason: str) -> Response:
    """Return an error as the asker can read it: programs get JSON, people a page."""
    if path.startswith("/api/"):
        return as_json({"error": reason}, status=status)
    return as_page("This cannot be shown", reason, status=status)


# §§ main asking


MOST_DECISIONS = 2000
_MOST_ROWS = 2000
_LONGEST_TEXT, _LONGEST_TAG = 500, 200
_WHOLE = re.compile(r"[0-9]{1,9}", re.ASCII)
_SHARE = re.compile(r"(0(\.[0-9]{0,9})?|1(\.0{0,9})?|\.[0-9]{1,9})", re.ASCII)


def whole(name: str, text: str | None, *, below: int, default: int | None = None) -> int:
    """Read a number from 0 on."""
    if text is None and default is not None:
        return default
    if text is None or not _WHOLE.fullmatch(text) or int(text) >= below:
        raise RefusedError(400, f"{name} must be an integer from 0 to {below - 1}.")
    return int(text)


def numbered(name: str, text: str, n: int) -> int:
    """Read the number of a picture or a tag that there is."""
    if not _WHOLE.fullmatch(text) or int(text) >= n:
        raise RefusedError(404, f"There is no such {name}: they are numbered from 0 to {n - 1}.")
    return int(text)


def page_of(query: Mapping[str, str], default: int) -> tuple[int, int]:
    """Read offset and limit."""
    offset = whole("offset", query.get("offset"), below=10**9, default=0)
    limit = whole("limit", query.get("limit"), below=_MOST_ROWS + 1, default=default)
    return offset, limit


def share(name: str, text: str | None) -> float:
    """Read a number from 0 to 1, 0 by default."""
    if text is None:
        return 0.0
    if not _SHARE.fullmatch(text):
        raise RefusedError(400, f"{name} must be a number from 0 to 1, such as 0.35.")
    return float(text)


def choice(name: str, query: Mapping[str, str], options: Sequence[str]) -> str:
    """Read one of some words, the first by default."""
    given = query.get(name, options[0])
    if given not in options:
        raise RefusedError(400, f"{name} must be one of {', '.join(options)}.")
    return given


def text_of(name: str, query: Mapping[str, str]) -> str:
    """Read a text that is not too long."""
    given = query.get(name, "")
    if len(given) > _LONGEST_TEXT:
        raise RefusedError(400, f"{name} may have {_LONGEST_TEXT} characters at most.")
    return given


def body_of(content: bytes) -> dict[str, Any]:
    """Read the JSON object that a change is sent as."""
    try:
        body = json.loads(content or b"{}", parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise RefusedError(400, "The body must be JSON.") from None
    if not isinstance(body, dict):
        raise RefusedError(400, "The body must be a JSON object.")
    return body


def client_of(body: Mapping[str, Any]) -> str:
    """Read who asks; a name of the tab's own choice."""
    client = body.get("client", "")
    if not isinstance(client, str) or len(client) > 100 or not _is_plain(client):
        raise RefusedError(400, "client must be a text of 100 characters at most.")
    return client


def verdicts_of(body: Mapping[str, Any], collection: Collection) -> list[Verdict]:
    """Read decisions; nothing is done if one of them is wrong."""
    given = body.get("decisions")
    if not isinstance(given, list) or not 1 <= len(given) <= MOST_DECISIONS:
        raise RefusedError(400, f"decisions must be a list of 1 to {MOST_DECISIONS:,} objects.")
    return [_verdict(number, one, collection) for number, one in enumerate(given)]


def _verdict(number: int, one: Any, collection: Collection) -> Verdict:
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
        return Verdict(image, _tag_name(number, one["tag"], collection), verdict)
    tag = one["t"]
    if type(tag) is not int or not 0 <= tag < len(collection.tags):
        raise RefusedError(400, f"Decision {number}: t must be the number of a tag.")
    return Verdict(image, tag, verdict)


def _tag_name(number: int, tag: Any, collection: Collection) -> str:
    # What a file calls a tag need not be what we would let anybody type.
    if isinstance(tag, str) and collection.tag(tag) is not None:
        return tag
    # As readers of tags do: the same letters are the same tag, however they were typed.
    name = normalize("NFC", " ".join(tag.split())) if isinstance(tag, str) else ""
    if not name or len(name) > _LONGEST_TAG or not _is_plain(name):
        raise RefusedError(
            400,
            f"Decision {number}: tag must be a text of 1 to {_LONGEST_TAG} printable characters.",
        )
    return name


def _is_plain(text: str) -> bool:
    """Say whether a text can be written everywhere: no control characters, no half characters."""
    return text.isprintable()


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")
