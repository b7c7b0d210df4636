"""Serve a review to the browser of this machine, and to nobody else."""

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
from typing import NamedTuple

from tagloom.errors import InvalidInputError, import_extra

# §§ opening
# Open the link in the browser without showing its key to other users of the machine.


FILE = "open-review.html"
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<title>tagloom review</title><meta http-equiv="refresh" content="0;url={url}"></head>
<body><a href="{url}">Open the review</a></body></html>
"""


@contextmanager
def opened(url: str, out: Path) -> Iterator[None]:
    """Open a link, by way of a file that only its owner can read where processes can be listed.

    The command that opens a browser has what it opens among its arguments, which every user of the
    machine may see. The file lies with the run and not among those of the system for a while, where
    browsers that are packed in a box of their own could not read it. It is removed in the end.
    """
    path = out / FILE
    address = url
    if _lists_arguments():
        # Without a file the link does, as the person asked for the page to be opened.
        with suppress(OSError):
            _write_private(path, _PAGE.format(url=html.escape(url)))
            address = path.resolve().as_uri()
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    try:
        yield
    finally:
        if address != url:
            with suppress(OSError):
                path.unlink(missing_ok=True)


def _lists_arguments() -> bool:
    """Say whether others see arguments here, and a browser of this system can read our files."""
    return sys.platform == "linux" and "microsoft" not in platform.release().lower()


def _write_private(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    # Made anew and never followed: what somebody else put there is not written to.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8") as stream:
        stream.write(text)


# §§ main serving


HOST = "127.0.0.1"


class Address(NamedTuple):
    """Where a review is served; the link holds the key."""

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
    say: Callable[[Address], None],
) -> None:
    """Serve the review of a run until interrupted.

    Parameters
    ----------
    out : path of the folder of a run
    photos : path, optional
        Where the pictures lie now, if they have moved.
    port : int
        0 for one that is free.
    say : callable
        Is told the address as soon as it answers.
    """
    uvicorn = import_extra("uvicorn", purpose="The review page", extra="review")
    import_extra("starlette", purpose="The review page", extra="review")
    import_extra("PIL.Image", purpose="Reading pictures")
    from tagloom.review.routes import make_app
    from tagloom.review.session import Review
    from tagloom.vision.pictures import decoders_quiet

    # Before the run is read, for that takes longer than to find a port taken.
    listening = _bound(port)
    with listening, decoders_quiet():
        review = Review(out, photos)
        address = Address(listening.getsockname()[1], secrets.token_urlsafe(32))
        app = make_app(review, token=address.token, port=address.port)
        logging.getLogger("tagloom.review").addHandler(logging.StreamHandler())
        server = uvicorn.Server(
            uvicorn.Config(
                app, log_level="warning", access_log=False, server_header=False,
                lifespan="on", timeout_graceful_shutdown=2, ws="none",
            )
        )  # fmt: skip
        listening.listen(128)
        say(address)
        try:
            with opened(address.url, out) if open_browser else nullcontext():
                server.run(sockets=[listening])
        except KeyboardInterrupt:
            pass
        finally:
            review.close()


def _bound(port: int) -> socket.socket:
    # Only of a socket that is said to be TCP does asyncio switch off the wait for fuller packets,
    # which would cost 40 ms an answer.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":
        # Else a port stays taken for a minute after the last review on it has ended.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except (OSError, OverflowError) as problem:
        listening.close()
        raise InvalidInputError(
            f"Port {port} cannot be used: {problem}. Choose another with --port, or leave it out."
        ) from None
    return listening
