"""The local web server of a review, and opening its link in the browser."""

import html
import logging
import os
import platform
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple

from tagloom.errors import InvalidInputError, import_extra

HOST = "127.0.0.1"
_MOST_CONNECTIONS = 256
_FIRST_REQUEST_SECONDS = 10.0
LINK_FILE = "open-review.html"
_LINK_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<title>tagloom review</title><meta http-equiv="refresh" content="0;url={url}"></head>
<body><a href="{url}">Open the review</a></body></html>
"""
_LINK_START = _LINK_PAGE.partition("{")[0].encode()


class Address(NamedTuple):
    """The port and the secret token of a served review."""

    port: int
    token: str

    @property
    def url(self) -> str:
        """The link to open."""
        return f"http://{HOST}:{self.port}/?token={self.token}"


def serve(
    out: Path,
    *,
    photos: Path | None = None,
    port: int = 0,
    open_browser: bool = True,
    start: str = "pictures",
    on_ready: Callable[[Address], None],
) -> None:
    """Serve the review of a run until interrupted.

    Parameters
    ----------
    out : path of the folder of a run
    photos : path, optional
        Where the pictures are now, if they have moved.
    port : int
        0 for any free port.
    start : str
        The view that the page opens on.
    on_ready : callable
        Called with the address as soon as the server answers.
    """
    uvicorn = import_extra("uvicorn", purpose="The review page", extra="review")
    import_extra("starlette", purpose="The review page", extra="review")
    import_extra("PIL.Image", purpose="Reading pictures")
    from tagloom.review.routes import make_app
    from tagloom.review.session import Review
    from tagloom.vision.pictures import decoders_quiet

    # Bound before the run is read, so that a port in use is reported at once.
    listening = _bind(port)
    with listening, decoders_quiet():
        review = Review(out, photos)
        address = Address(listening.getsockname()[1], secrets.token_urlsafe(32))
        app = make_app(review, token=address.token, port=address.port, start=start)
        logging.getLogger("tagloom.review").addHandler(logging.StreamHandler())
        server = uvicorn.Server(
            uvicorn.Config(
                app, log_level="warning", access_log=False, server_header=False,
                lifespan="on", timeout_graceful_shutdown=2, ws="none", http=_limited_protocol(),
            )
        )  # fmt: skip
        listening.listen(128)
        on_ready(address)
        try:
            with browser_opened(address.url, out) if open_browser else nullcontext():
                server.run(sockets=[listening])
        except KeyboardInterrupt:
            pass
        finally:
            review.close()


def _limited_protocol() -> type[Any]:
    """Return uvicorn's protocol with limits on connections that do not ask for anything.

    Whoever opens a connection need not have the key. One without a request is closed after some
    seconds; beyond a number of connections the oldest such is closed for each new one, so that the
    page is answered and the process never runs out of files.
    """
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    class LimitedProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.since = self.loop.time()
            self.loop.call_later(_FIRST_REQUEST_SECONDS, self._close_if_silent)
            # One that is closing stays among the connections until the loop comes round.
            others = [one for one in self.connections if not one.transport.is_closing()]
            silent = [one for one in others if one is not self and one.cycle is None]
            if len(others) > _MOST_CONNECTIONS and silent:
                min(silent, key=lambda one: one.since).transport.abort()

        def _close_if_silent(self) -> None:
            if self.cycle is None and not self.transport.is_closing():
                self.transport.abort()

    return LimitedProtocol


def _bind(port: int) -> socket.socket:
    # asyncio disables Nagle's algorithm, which would cost 40 ms an answer, only for sockets that
    # are explicitly TCP.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":
        # Otherwise the port stays in use for a minute after the last review on it has ended.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except (OSError, OverflowError) as problem:
        listening.close()
        raise InvalidInputError(
            f"Port {port} cannot be used: {problem}. Choose another with --port, or omit it."
        ) from None
    return listening


@contextmanager
def browser_opened(url: str, out: Path) -> Iterator[None]:
    """Open a link in the browser without showing its key to other users of the machine.

    Where every user can list the arguments of processes, the browser is given a private file that
    redirects to the link. It is in the folder of the run, because sandboxed browsers cannot read
    temporary folders, and is removed in the end.
    """
    path = out / LINK_FILE
    address = url
    if _arguments_are_visible():
        # If the file cannot be written, the link itself is opened.
        with suppress(OSError):
            _write_private(path, _LINK_PAGE.format(url=html.escape(url)))
            address = path.resolve().as_uri()
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    try:
        yield
    finally:
        if address != url:
            with suppress(OSError):
                path.unlink(missing_ok=True)


def _arguments_are_visible() -> bool:
    """Return whether other users see our arguments, and the browser can read our files."""
    return sys.platform == "linux" and "microsoft" not in platform.release().lower()


def _write_private(path: Path, text: str) -> None:
    if path.is_symlink() or _is_left_over(path):
        path.unlink()
    # O_EXCL creates a new file and never replaces one, nor follows a link that somebody put there.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8") as stream:
        stream.write(text)


def _is_left_over(path: Path) -> bool:
    """Return whether a file is a page that redirects to a review, whose server was killed."""
    try:
        with path.open("rb") as stream:
            start = stream.read(len(_LINK_START))
    except OSError:
        return False
    return start == _LINK_START
