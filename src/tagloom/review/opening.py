"""Open the link in the browser without showing its key to other users of the machine."""

import html
import os
import platform
import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

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
