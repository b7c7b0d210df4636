"""The web application: addresses, and who answers them."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from mimetypes import guess_type
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tagloom.errors import TagloomError
from tagloom.review import requests, views
from tagloom.review.learning import Learning
from tagloom.review.pictures import PLACEHOLDER, SIZES, VIEW_SIZE, OutsideError, Thumbnails
from tagloom.review.requests import RefusedError, as_json, numbered, refusal
from tagloom.review.security import BODY, Gate
from tagloom.review.session import Review
from tagloom.review.views import PICTURE_SORTS, PICTURE_STATES
from tagloom.vision.pictures import PictureError

# §§ api
# What the page asks, as JSON; every answer comes from memory.


class Api:
    """Answers questions about one review, and takes decisions on it."""

    def __init__(self, review: Review, learning: Learning, thumbnails: Thumbnails) -> None:
        self._review, self._learning, self._thumbnails = review, learning, thumbnails

    def collection(self, request: Request) -> Response:
        """Return names, thresholds and counts of everything."""
        review = self._review
        with review.lock:
            all_of_it = review.collection
            n_tags = len(all_of_it.tags)
            metadata = {
                "title": all_of_it.loaded.title,
                "version": review.version,
                "run": all_of_it.loaded.run,
                "boot": review.boot,
                "history": review.history,
                "images": all_of_it.images,
                "tags": list(all_of_it.tags),
                "thresholds": [all_of_it.threshold(t) for t in range(n_tags)],
                "counts": self._counts(),
                "completeness": all_of_it.loaded.completeness,
            }
        return _answer(request, metadata)

    def pictures(self, request: Request) -> Response:
        """Return a page of pictures."""
        query = request.query_params
        offset, limit = requests.page_of(query, 60)
        q = requests.text_of("q", query)
        state = requests.choice("state", query, PICTURE_STATES)
        sort = requests.choice("sort", query, PICTURE_SORTS)
        with self._review.lock:
            tag = self._tag(query["tag"]) if query.get("tag") else None
            metadata = self._review.pictures.page(
                q=q, state=state, sort=sort, tag=tag, offset=offset, limit=limit
            )
            metadata["version"] = self._review.version
        return _answer(request, metadata)

    def picture(self, request: Request) -> Response:
        """Return one picture with more tags that it may have."""
        with self._review.lock:
            i = self._image(request.path_params["i"])
            metadata = self._review.pictures.picture(i)
            metadata |= {
                "name": self._review.collection.images[i],
                "candidates": self._review.pictures.candidates(i),
                "version": self._review.version,
            }
        size = self._thumbnails.size_of(metadata["name"])
        if size is not None:
            metadata |= {"width": size[0], "height": size[1]}
        return _answer(request, metadata)

    def why(self, request: Request) -> Response:
        """Return the neighbours that speak for a tag, and those that do not."""
        query = request.query_params
        with self._review.lock:
            i, t = self._image(query.get("i", "")), self._tag(query.get("t", ""))
            return _answer(request, views.why(self._review.collection, i, t))

    def tags(self, request: Request) -> Response:
        """Return all tags with their counts."""
        query = request.query_params
        q, sort = requests.text_of("q", query), requests.choice("sort", query, views.TAG_SORTS)
        with self._review.lock:
            rows = views.tag_rows(self._review.collection, q, sort)
        return _answer(request, {"rows": rows})

    def tag(self, request: Request) -> Response:
        """Return the likeliest pictures of one tag."""
        query = request.query_params
        offset, limit = requests.page_of(query, 120)
        least = requests.share("least", query.get("least"))
        state = requests.choice("state", query, views.WALL_STATES)
        with self._review.lock:
            t = self._tag(request.path_params["t"])
            metadata = views.wall(
                self._review.collection, t, least=least, state=state, offset=offset, limit=limit
            )
            metadata["version"] = self._review.version
        return _answer(request, metadata)

    def doubts(self, request: Request) -> Response:
        """Return known tags that look wrong."""
        page = requests.page_of(request.query_params, 60)
        with self._review.lock:
            return _answer(request, views.doubts(self._review.collection, *page))

    def questions(self, request: Request) -> Response:
        """Return what to annotate next."""
        page = requests.page_of(request.query_params, 60)
        with self._review.lock:
            return _answer(request, views.questions(self._review.collection, *page))

    def changes(self, request: Request) -> Response:
        """Return what has changed since a version, by whoever."""
        query = request.query_params
        since = requests.whole("since", query.get("since"), below=10**9, default=0)
        known = requests.whole("tags", query.get("tags"), below=10**9, default=10**9)
        with self._review.lock:
            all_of_it = self._review.collection
            metadata: dict[str, Any] = {
                "version": self._review.version,
                "run": all_of_it.loaded.run,
                "boot": self._review.boot,
                "history": self._review.history,
                "n_tags": len(all_of_it.tags),
                "applied": self._review.changes(since),
                "counts": self._counts(),
            }
            if known < len(all_of_it.tags):
                metadata["tags"] = list(all_of_it.tags)
        return _answer(request, metadata)

    def decide(self, request: Request) -> Response:
        """Take decisions; they are on disk before the answer is sent."""
        body = requests.body_of(request.scope[BODY])
        client = requests.client_of(body)
        with self._review.lock:
            verdicts = requests.verdicts_of(body, self._review.collection)
            metadata = self._review.decide(verdicts, client)
            return _answer(request, metadata | {"counts": self._counts()})

    def undo(self, request: Request) -> Response:
        """Take back the latest batch."""
        requests.client_of(requests.body_of(request.scope[BODY]))
        with self._review.lock:
            return _answer(request, self._review.undo() | {"counts": self._counts()})

    def redo(self, request: Request) -> Response:
        """Bring back what was undone last."""
        requests.client_of(requests.body_of(request.scope[BODY]))
        with self._review.lock:
            return _answer(request, self._review.redo() | {"counts": self._counts()})

    def learning(self, request: Request) -> Response:
        """Return how far learning has come."""
        return _answer(request, self._learning.progress.metadata())

    def learn(self, request: Request) -> Response:
        """Begin to learn again."""
        requests.body_of(request.scope[BODY])
        self._learning.start()
        return _answer(request, {"started": True})

    def _counts(self) -> dict[str, Any]:
        return views.totals(self._review.collection)

    def _image(self, text: str) -> int:
        return requests.numbered("picture", text, len(self._review.collection.images))

    def _tag(self, text: str) -> int:
        return requests.numbered("tag", text, len(self._review.collection.tags))


def _answer(request: Request, metadata: Any) -> Response:
    return as_json(metadata, pack="gzip" in request.headers.get("accept-encoding", ""))


# §§ sights
# What the page shows: itself, and pictures.


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


# §§ main app


CACHE = ".thumbnails"


def make_app(review: Review, *, token: str, port: int) -> Starlette:
    """Return the application for one review.

    Parameters
    ----------
    token : str
        What the link holds; whoever has it may see and decide everything.
    port : int
        Where it will be served; other addresses are refused.
    """
    learning = Learning(review)
    thumbnails = Thumbnails(review.photos, review.out / CACHE)
    api, sights = Api(review, learning, thumbnails), Sights(review, thumbnails)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        learning.close()
        review.close()

    app = Starlette(
        routes=[*_api_routes(api), *_sight_routes(sights)],
        middleware=[Middleware(Gate, token=token, port=port)],
        exception_handlers={
            RefusedError: _refused,
            HTTPException: _not_there,
            TagloomError: _said_why,
        },
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.learning = learning
    return app


def _api_routes(api: Api) -> list[Route]:
    get = {
        "/api/collection": api.collection,
        "/api/pictures": api.pictures,
        "/api/pictures/{i}": api.picture,
        "/api/why": api.why,
        "/api/tags": api.tags,
        "/api/tags/{t}": api.tag,
        "/api/doubts": api.doubts,
        "/api/questions": api.questions,
        "/api/changes": api.changes,
        "/api/learn": api.learning,
    }
    post = {
        "/api/decide": api.decide,
        "/api/undo": api.undo,
        "/api/redo": api.redo,
        "/api/learn": api.learn,
    }
    routes = [Route(path, answer, methods=["GET"]) for path, answer in get.items()]
    return routes + [Route(path, answer, methods=["POST"]) for path, answer in post.items()]


def _sight_routes(sights: Sights) -> list[Route]:
    return [
        Route("/", sights.index, methods=["GET"]),
        Route("/static/{name:path}", sights.static, methods=["GET"]),
        Route("/thumb/{i}", sights.thumb, methods=["GET"]),
        Route("/picture/{i}", sights.picture, methods=["GET"]),
    ]


def _refused(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, RefusedError)
    return refusal(request.url.path, problem.status, problem.reason)


def _not_there(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    reason = "There is nothing at this address."
    if problem.status_code == 405:
        reason = "This address cannot be asked in this way."
    return refusal(request.url.path, problem.status_code, reason)


def _said_why(request: Request, problem: Exception) -> Response:
    """Tell the reason of an error that we raise on purpose: of the request, or of the disk."""
    status = 507 if isinstance(problem, OSError) else 400
    return refusal(request.url.path, status, str(problem))
