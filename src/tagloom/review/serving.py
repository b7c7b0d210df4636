"""Serve a review to the browser of this machine, and to nobody else."""

import logging
import os
import secrets
import socket
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

from tagloom.errors import InvalidInputError
from tagloom.review.opening import opened
from tagloom.vision.extras import import_extra

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
    from tagloom.review.app import make_app
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
