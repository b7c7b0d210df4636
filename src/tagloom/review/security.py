"""Access control: only the browser that was given the link, and only from our own page."""

import hmac
import logging
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tagloom.review.requests import RefusedError, refusal

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
