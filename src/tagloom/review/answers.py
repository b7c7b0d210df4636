"""Answers: JSON, small pages, and the errors that end in one of them."""

import gzip
import html
import json
from typing import Any

from starlette.responses import Response

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


def as_json(facts: Any, *, status: int = 200, pack: bool = False) -> Response:
    """Return facts as JSON in pure ASCII: names of files need not be Unicode."""
    body = json.dumps(facts, allow_nan=False, separators=(",", ":")).encode("ascii")
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
