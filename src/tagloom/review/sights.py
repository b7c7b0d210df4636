"""What the page shows: itself, and pictures."""

import hashlib
from mimetypes import guess_type
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from tagloom.review.answers import RefusedError
from tagloom.review.asking import numbered
from tagloom.review.inside import OutsideError
from tagloom.review.session import Review
from tagloom.review.thumbs import PLACEHOLDER, SIZES, VIEW_SIZE, PictureError, Thumbnails

STATIC = Path(__file__).parent / "static"
_INDEX = "index.html"
_KEPT = "private, max-age=86400"
# What a system believes about endings of names is no business of ours.
_KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}


class Sights:
    """Shows the files of the page, and views of the pictures of one review."""

    def __init__(self, review: Review, thumbnails: Thumbnails) -> None:
        self._review, self._thumbnails = review, thumbnails
        # Files are known by their names from the start: no name of a request is ever a path.
        self._files = {
            path.relative_to(STATIC).as_posix(): path
            for path in sorted(STATIC.rglob("*"))
            if path.is_file() and not path.is_symlink()
        }

    def index(self, request: Request) -> Response:
        """Return the page itself."""
        return self._file(request, _INDEX)

    def static(self, request: Request) -> Response:
        """Return a file of the page."""
        return self._file(request, request.path_params["name"])

    def thumb(self, request: Request) -> Response:
        """Return a small view of a picture."""
        size = request.query_params.get("size", str(SIZES[0]))
        if size not in map(str, SIZES):
            raise RefusedError(400, f"size must be one of {', '.join(map(str, SIZES))}.")
        return self._view(request, int(size))

    def picture(self, request: Request) -> Response:
        """Return a picture at the size of a screen."""
        return self._view(request, VIEW_SIZE)

    def _view(self, request: Request, size: int) -> Response:
        images = self._review.collection.images
        name = images[numbered("picture", request.path_params["i"], len(images))]
        try:
            mark = self._thumbnails.mark(name, size)
            if _has_it(request, mark):
                return Response(status_code=304, headers=_headers(mark, _KEPT))
            view = self._thumbnails.view(name, size, mark)
        except OutsideError:
            raise RefusedError(404, "This picture does not lie in the collection.") from None
        except (PictureError, OSError):
            return Response(
                PLACEHOLDER, headers={"Cache-Control": "no-store"}, media_type="image/svg+xml"
            )
        return Response(view, headers=_headers(mark, _KEPT), media_type="image/jpeg")

    def _file(self, request: Request, name: str) -> Response:
        path = self._files.get(name)
        if path is None:
            raise RefusedError(404, "There is nothing at this address.")
        content = path.read_bytes()
        mark = hashlib.sha256(content).hexdigest()[:32]
        headers = _headers(mark, "no-cache")
        if _has_it(request, mark):
            return Response(status_code=304, headers=headers)
        kind = _KINDS.get(path.suffix) or guess_type(name)[0] or "application/octet-stream"
        return Response(content, headers=headers, media_type=kind)


def _headers(mark: str, keep: str) -> dict[str, str]:
    return {"ETag": f'"{mark}"', "Cache-Control": keep}


def _has_it(request: Request, mark: str) -> bool:
    return request.headers.get("if-none-match", "") == f'"{mark}"'
