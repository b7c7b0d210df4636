"""Requests: who may make them, what they may hold, and how they are refused."""

import gzip
import hmac
import html
import json
import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn
from unicodedata import normalize
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tagloom.completion.check import N_ENTRIES
from tagloom.completion.export import FORMS, JOURNALS
from tagloom.review.checking import ANSWERS
from tagloom.review.collection import VERDICTS, Collection
from tagloom.review.session import Decision
from tagloom.review.vocabulary import ACTIONS

MAX_BODY = 1 << 20
BODY = "tagloom.body"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_LOG = logging.getLogger("tagloom.review")
_USE_THE_LINK = "Open the link that `tagloom review` printed: it holds the key to this page."
_REDIRECT_PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>tagloom review</title>'
    '<meta http-equiv="refresh" content="0;url=/"></head><body><a href="/">Open</a></body></html>'
)

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


def pattern_of(name: str, query: Mapping[str, str], pattern: re.Pattern[str], expected: str) -> str:
    """Read a text that matches a pattern; empty by default."""
    given = query.get(name, "")
    if given and not pattern.fullmatch(given):
        raise RefusedError(400, f"{name} must be {expected}.")
    return given


def numbers_of(name: str, query: Mapping[str, str], n: int) -> list[int]:
    """Read the numbers of existing pictures, separated by commas."""
    given = query.get(name, "").split(",", _MAX_ROWS)
    return [number_of("picture", text, n) for text in given]


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


def threshold_of(body: Mapping[str, Any]) -> float | None:
    """Read a threshold for the suggestions; null is the run's own."""
    given: Any = body.get("threshold", "")
    if given is None:
        return None
    if type(given) not in (int, float) or not 0 < given < 1:
        raise RefusedError(400, "threshold must be a number between 0 and 1, or null.")
    return float(given)


def export_of(body: Mapping[str, Any]) -> tuple[str, float | None]:
    """Read what to export to, and the least probability of suggestions; null is none of them."""
    to, suggested = body.get("to"), body.get("suggested")
    if not isinstance(to, str) or to not in (*FORMS, *JOURNALS):
        raise RefusedError(400, f"to must be one of {', '.join((*FORMS, *JOURNALS))}.")
    if suggested is None:
        return to, None
    if type(suggested) not in (int, float) or not 0 <= suggested <= 1:
        raise RefusedError(400, "suggested must be a number from 0 to 1, or null.")
    return to, float(suggested)


def sample_size_of(body: Mapping[str, Any]) -> int:
    """Read how many entries to check."""
    given = body.get("n", N_ENTRIES)
    if type(given) is not int or not 1 <= given <= MAX_DECISIONS:
        raise RefusedError(400, f"n must be an integer from 1 to {MAX_DECISIONS:,}.")
    return given


def answer_of(body: Mapping[str, Any], n: int) -> tuple[int, str | None]:
    """Read the place of a question of a sample, and the answer to it; null takes it back."""
    place, answer = body.get("place"), body.get("answer")
    if type(place) is not int or not 0 <= place < n:
        raise RefusedError(400, f"place must be an integer from 0 to {n - 1}.")
    if answer is not None and answer not in ANSWERS:
        raise RefusedError(400, f"answer must be one of {', '.join(ANSWERS)}, or null.")
    return place, answer


def tag_decision_of(body: Mapping[str, Any]) -> tuple[str, list[str], str]:
    """Read a decision about tags: what to do, with which tags, and the name of another."""
    action, tags, to = body.get("action"), body.get("tags", []), body.get("to", "")
    if action not in ACTIONS:
        raise RefusedError(400, f"action must be one of {', '.join(ACTIONS)}.")
    is_list = isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)
    if not is_list or len(tags) > MAX_DECISIONS:
        raise RefusedError(400, f"tags must be a list of at most {MAX_DECISIONS:,} names.")
    if action in ("ignore", "learn"):
        return action, tags, ""
    name = _typed_name(to)
    if name is None:
        raise RefusedError(400, f"to must be a text of 1 to {_MAX_TAG} printable characters.")
    return action, tags, to if to in tags else name


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
    name = _typed_name(tag)
    if name is None:
        raise RefusedError(
            400,
            f"Decision {number}: tag must be a text of 1 to {_MAX_TAG} printable characters.",
        )
    return name


def _typed_name(tag: Any) -> str | None:
    """Return the name of a tag that was typed; None for one that cannot be used.

    Normalised as the readers of tags do, so that one tag is not stored in two spellings; without
    control characters and lone surrogates, which some formats cannot hold.
    """
    name = normalize("NFC", " ".join(tag.split())) if isinstance(tag, str) else ""
    return name if name and len(name) <= _MAX_TAG and name.isprintable() else None


class Gate:
    """Middleware that checks every request, reads its body and handles all failures.

    Whatever goes wrong behind it, the client gets a clear error and the log one line.
    """

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self._app, self._token, self._cookie = app, token, f"tagloom_{port}"
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        secured = _SecureSend(send)
        try:
            answer = self._token_answer(scope)
            if answer is None:
                self._check(scope)
                scope[BODY] = await _body(Headers(scope=scope), receive)
                await self._app(scope, receive, secured)
                return
        except RefusedError as problem:
            answer = refusal(scope["path"], problem.status, problem.reason)
        except Exception as problem:
            _LOG.error("%s failed: %s: %r", scope["path"], type(problem).__name__, str(problem))
            if secured.started:
                return
            answer = refusal(
                scope["path"], 500, "Something went wrong on the server; nothing was changed."
            )
        await answer(scope, receive, secured)

    def _token_answer(self, scope: Scope) -> Response | None:
        """Exchange the token in the link for a cookie, so that it does not stay in the address."""
        request = (scope["path"], scope["method"])
        if request != ("/", "GET") or b"token=" not in scope["query_string"]:
            return None
        self._check_host(Headers(scope=scope))
        if not self._is_token(_token_in(scope["query_string"])):
            raise RefusedError(403, f"The key in this link is wrong. {_USE_THE_LINK}")
        answer: Response = RedirectResponse("/", 303, {"Cache-Control": "no-store"})
        if not _is_same_origin(Headers(scope=scope)):
            # After a link on another page, a strict cookie is only sent with our own redirect.
            answer = Response(_REDIRECT_PAGE, 200, {"Cache-Control": "no-store"}, "text/html")
        answer.set_cookie(self._cookie, self._token, httponly=True, samesite="strict", path="/")
        return answer

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        self._check_host(headers)
        if not scope["query_string"].isascii():
            raise RefusedError(400, "The query string must be percent-encoded.")
        if not any(map(self._is_token, _cookies(headers, self._cookie))):
            raise RefusedError(403, _USE_THE_LINK)
        if not _is_same_origin(headers):
            raise RefusedError(403, f"Another page sent this request. {_USE_THE_LINK}")
        if scope["method"] not in ("GET", "HEAD"):
            self._check_write(headers)

    def _check_host(self, headers: Headers) -> None:
        if len(headers.getlist("host")) != 1 or headers["host"] not in self._hosts:
            raise RefusedError(421, f"This page has a different address. {_USE_THE_LINK}")

    def _check_write(self, headers: Headers) -> None:
        origins = {f"http://{host}" for host in self._hosts}
        if headers.get("origin", f"http://{headers['host']}") not in origins:
            raise RefusedError(403, "Only this page may change anything.")
        if headers.get("x-tagloom") != "1":
            raise RefusedError(403, "Changes need the header X-Tagloom: 1.")
        kind = headers.get("content-type", "").split(";")[0].strip().lower()
        if kind != "application/json":
            raise RefusedError(415, "Changes must be sent as application/json.")

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token.encode())


class _SecureSend:
    """Adds the security headers to every answer, and knows whether one has started."""

    def __init__(self, send: Send) -> None:
        self._send, self.started = send, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)


def _is_same_origin(headers: Headers) -> bool:
    """Return whether the user or our own page sent the request, as far as the browser says."""
    return headers.get("sec-fetch-site", "none") in ("none", "same-origin")


def _token_in(query: bytes) -> str:
    try:
        given = parse_qs(query.decode("latin-1"), max_num_fields=10)
    except ValueError:
        return ""
    return given.get("token", [""])[0]


def _cookies(headers: Headers, name: str) -> list[str]:
    """Return all values of a cookie.

    Browsers share cookies between all ports of a host. Those of other servers, malformed or of the
    same name, must not hide ours.
    """
    parts = [part.strip() for line in headers.getlist("cookie") for part in line.split(";")]
    return [part.removeprefix(f"{name}=") for part in parts if part.startswith(f"{name}=")]


async def _body(headers: Headers, receive: Receive) -> bytes:
    """Read a body of limited length, whatever length it claims to have."""
    too_long = RefusedError(413, f"A request may hold {MAX_BODY:,} bytes at most.")
    claimed = headers.get("content-length", "0")
    if not claimed.isdecimal() or len(claimed) > 12 or int(claimed) > MAX_BODY:
        raise too_long
    parts: list[bytes] = []
    length, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RefusedError(400, "The request ended early.")
        parts.append(message.get("body", b""))
        length += len(parts[-1])
        if length > MAX_BODY:
            raise too_long
        more = bool(message.get("more_body", False))
    return b"".join(parts)
