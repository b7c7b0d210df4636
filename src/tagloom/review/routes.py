"""The web application: the JSON API, the files of the page, thumbnails, and their addresses."""

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

from tagloom.completion.export import JOURNALS
from tagloom.errors import TagloomError
from tagloom.review import requests, views
from tagloom.review.checking import SampleCheck
from tagloom.review.dates import PATTERN, PictureDates
from tagloom.review.exporting import Exporting
from tagloom.review.learning import Learning
from tagloom.review.pictures import (
    PLACEHOLDER,
    SIZES,
    VIEW_SIZE,
    ZOOM_SIZE,
    OutsideError,
    Thumbnails,
)
from tagloom.review.requests import BODY, Gate, RefusedError, as_json, number_of, refusal
from tagloom.review.session import Review
from tagloom.vision.pictures import PictureError

CACHE = ".thumbnails"
STATIC = Path(__file__).parent / "static"
_INDEX = "index.html"
_UNKNOWN_TYPE = "application/octet-stream"
# The address of a picture is its number, which means another picture after another run, with the
# mark of its content. Browsers keep it, and ask each time whether its digest is still the same.
_CACHED_IF_SAME = "private, no-cache"
# The types that the system has registered for file extensions are not to be relied on.
_MEDIA_TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}


class Api:
    """The JSON API of one review; answers come from memory, but for what pictures look like now."""

    def __init__(
        self,
        review: Review,
        learning: Learning,
        exporting: Exporting,
        thumbnails: Thumbnails,
        dates: PictureDates,
        start: str,
    ) -> None:
        self._review, self._learning, self._thumbnails = review, learning, thumbnails
        self._exporting, self._dates, self._start = exporting, dates, start

    def collection(self, request: Request) -> Response:
        """Return the names, thresholds and counts of the collection."""
        review = self._review
        with review.lock:
            collection = review.collection
            answer: dict[str, Any] = {
                "title": collection.loaded.title,
                "version": review.version,
                "run": collection.loaded.run,
                "boot": review.boot,
                "history": review.history,
                "images": collection.images,
                "tags": list(collection.tags),
                **self._suggested_from(),
                "label_frequency": collection.loaded.label_frequency,
                "start": self._start,
            }
        answer["marks"] = self._thumbnails.marks(answer["images"])
        return _answer(request, answer)

    def pictures(self, request: Request) -> Response:
        """Return a page of pictures."""
        query = request.query_params
        offset, limit = requests.page_of(query, 60)
        date = requests.pattern_of("date", query, PATTERN, "a year or a month, such as 2019-05")
        wanted = views.PictureQuery(
            q=requests.text_of("q", query),
            state=requests.choice("state", query, views.PICTURE_FILTERS),
            sort=requests.choice("sort", query, views.PICTURE_SORTS),
            folder=requests.text_of("folder", query),
            taken=self._dates.taken(date) if date else None,
        )
        with self._review.lock:
            tag = self._tag(query["tag"]) if query.get("tag") else None
            answer = self._review.pictures.page(wanted._replace(tag=tag), offset, limit)
            answer["version"] = self._review.version
        return _answer(request, answer)

    def rows(self, request: Request) -> Response:
        """Return pictures by their numbers, for a list that is followed as it was."""
        with self._review.lock:
            n = len(self._review.collection.images)
            numbers = requests.numbers_of("numbers", request.query_params, n)
            rows = [self._review.pictures.picture(i) for i in numbers]
            return _answer(request, {"rows": rows, "version": self._review.version})

    def filters(self, request: Request) -> Response:
        """Return the folders and dates to filter by, and how many of the dates have been read."""
        images = self._review.collection.images
        self._dates.start(self._thumbnails.marks(images))
        answer = {
            "folders": self._review.pictures.folders(),
            "dates": self._dates.counts(),
            "dates_read": round(self._dates.share_read, 3),
        }
        return _answer(request, answer)

    def picture(self, request: Request) -> Response:
        """Return one picture with less likely tags."""
        with self._review.lock:
            i = self._image(request.path_params["i"])
            alike = self._review.near_identical.of(i)
            answer = self._review.pictures.picture(i)
            answer |= {
                "alike": [self._review.pictures.picture(j, with_absent=True) for j in alike],
                "name": self._review.collection.images[i],
                "candidates": self._review.pictures.candidates(i),
                "version": self._review.version,
            }
        size = self._thumbnails.size_of(answer["name"])
        if size is not None:
            answer |= {"width": size[0], "height": size[1]}
        return _answer(request, answer)

    def why(self, request: Request) -> Response:
        """Return the neighbours that explain the probability of a tag."""
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

    def vocabulary(self, request: Request) -> Response:
        """Return what is decided about all tags, what they mean, and which may be one."""
        with self._review.lock:
            return _answer(request, self._vocabulary())

    def decide_tags(self, request: Request) -> Response:
        """Merge, rename, ignore, learn or add tags."""
        body = requests.body_of(request.scope[BODY])
        client, decision = requests.client_of(body), requests.tag_decision_of(body)
        with self._review.lock:
            answer = self._review.decide_tags(*decision, client)
            return _answer(request, answer | self._vocabulary())

    def _vocabulary(self) -> dict[str, Any]:
        return self._review.tag_decisions.to_json(self._review.collection)

    def tag(self, request: Request) -> Response:
        """Return the likeliest pictures of one tag."""
        query = request.query_params
        offset, limit = requests.page_of(query, 120)
        least = requests.fraction("least", query.get("least"))
        state = requests.choice("state", query, views.WALL_FILTERS)
        with self._review.lock:
            t = self._tag(request.path_params["t"])
            answer = views.wall(
                self._review.collection, t, least=least, state=state, offset=offset, limit=limit
            )
            answer["version"] = self._review.version
        return _answer(request, answer)

    def suspected_errors(self, request: Request) -> Response:
        """Return known labels that are suspected to be wrong."""
        page = requests.page_of(request.query_params, 60)
        with self._review.lock:
            return _answer(request, views.suspected_errors(self._review.collection, *page))

    def to_annotate(self, request: Request) -> Response:
        """Return what to annotate next."""
        page = requests.page_of(request.query_params, 60)
        with self._review.lock:
            return _answer(request, views.to_annotate(self._review.collection, *page))

    def changes(self, request: Request) -> Response:
        """Return what any tab has changed since a version."""
        query = request.query_params
        since = requests.integer("since", query.get("since"), below=10**9, default=0)
        known = requests.integer("tags", query.get("tags"), below=10**9, default=10**9)
        with self._review.lock:
            collection = self._review.collection
            answer: dict[str, Any] = {
                "version": self._review.version,
                "run": collection.loaded.run,
                "boot": self._review.boot,
                "history": self._review.history,
                "threshold": collection.chosen_threshold,
                "n_tags": len(collection.tags),
                "applied": self._review.changes(since),
                "counts": self._counts(),
            }
            if known < len(collection.tags):
                answer["tags"] = list(collection.tags)
        return _answer(request, answer)

    def decide(self, request: Request) -> Response:
        """Store decisions; they are on disk before the answer is sent."""
        body = requests.body_of(request.scope[BODY])
        client = requests.client_of(body)
        with self._review.lock:
            decisions = requests.decisions_of(body, self._review.collection)
            answer = self._review.decide(decisions, client)
            return _answer(request, answer | {"counts": self._counts()})

    def undo(self, request: Request) -> Response:
        """Undo the latest batch."""
        requests.client_of(requests.body_of(request.scope[BODY]))
        with self._review.lock:
            return _answer(request, self._review.undo() | {"counts": self._counts()})

    def redo(self, request: Request) -> Response:
        """Redo the batch that was undone last."""
        requests.client_of(requests.body_of(request.scope[BODY]))
        with self._review.lock:
            return _answer(request, self._review.redo() | {"counts": self._counts()})

    def thresholds(self, request: Request) -> Response:
        """Return how many suggestions each threshold would give, and how many of them are right."""
        with self._review.lock:
            return _answer(request, views.threshold_curve(self._review.collection))

    def suggest_from(self, request: Request) -> Response:
        """Choose a common threshold for all suggestions."""
        threshold = requests.threshold_of(requests.body_of(request.scope[BODY]))
        with self._review.lock:
            self._review.suggest_from(threshold)
            return _answer(request, self._suggested_from())

    def _suggested_from(self) -> dict[str, Any]:
        collection = self._review.collection
        return {
            "version": self._review.version,
            "threshold": collection.chosen_threshold,
            "thresholds": [collection.threshold(t) for t in range(len(collection.tags))],
            "counts": self._counts(),
        }

    def check(self, request: Request) -> Response:
        """Return the sample to check and its answers; null before it is drawn."""
        with self._review.lock:
            return _answer(request, {"check": self._check_json()})

    def draw_check(self, request: Request) -> Response:
        """Draw a new sample to check."""
        n = requests.sample_size_of(requests.body_of(request.scope[BODY]))
        with self._review.lock:
            SampleCheck.draw(self._review, n)
            return _answer(request, {"check": self._check_json()})

    def answer(self, request: Request) -> Response:
        """Store an answer to a question of the sample."""
        body = requests.body_of(request.scope[BODY])
        client = requests.client_of(body)
        with self._review.lock:
            check = SampleCheck.current(self._review)
            if check is None:
                raise RefusedError(400, "No sample was drawn from this run.")
            place, answer = requests.answer_of(body, len(check.questions))
            stored = check.answer([place], [answer], client)
            more = {"counts": self._counts(), "check": self._check_json()}
            return _answer(request, stored | more)

    def _check_json(self) -> dict[str, Any] | None:
        check = SampleCheck.current(self._review)
        return None if check is None else check.to_json()

    def learning(self, request: Request) -> Response:
        """Return how far learning has come."""
        return _answer(request, self._learning.progress.to_json())

    def learn(self, request: Request) -> Response:
        """Start to learn again."""
        requests.body_of(request.scope[BODY])
        self._learning.start()
        return _answer(request, {"started": True})

    def export_status(self, request: Request) -> Response:
        """Return what can be exported, and how far the last export has come."""
        return _answer(request, self._exporting.status())

    def preview_export(self, request: Request) -> Response:
        """Start to find out what an export would change."""
        to, suggested = requests.export_of(requests.body_of(request.scope[BODY]))
        self._exporting.start(to, suggested, preview=True)
        return _answer(request, {"started": True})

    def export(self, request: Request) -> Response:
        """Start an export."""
        to, suggested = requests.export_of(requests.body_of(request.scope[BODY]))
        self._exporting.start(to, suggested, preview=False)
        return _answer(request, {"started": True})

    def undo_export(self, request: Request) -> Response:
        """Start to restore the files that exports have changed."""
        to, _ = requests.export_of(requests.body_of(request.scope[BODY]))
        if to not in JOURNALS:
            raise RefusedError(400, f"to must be one of {', '.join(JOURNALS)}.")
        self._exporting.undo(to)
        return _answer(request, {"started": True})

    def _counts(self) -> dict[str, Any]:
        return views.totals(self._review.collection)

    def _image(self, text: str) -> int:
        return number_of("picture", text, len(self._review.collection.images))

    def _tag(self, text: str) -> int:
        return number_of("tag", text, len(self._review.collection.tags))


def _answer(request: Request, content: Any) -> Response:
    return as_json(content, compress="gzip" in request.headers.get("accept-encoding", ""))


class Files:
    """The files of the page, and downscaled pictures of one review."""

    def __init__(self, review: Review, thumbnails: Thumbnails) -> None:
        self._review, self._thumbnails = review, thumbnails
        # Listed once: no name in a request is ever used as a path.
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
        """Return a thumbnail of a picture."""
        size = request.query_params.get("size", str(SIZES[0]))
        if size not in map(str, SIZES):
            raise RefusedError(400, f"size must be one of {', '.join(map(str, SIZES))}.")
        return self._image(request, int(size))

    def picture(self, request: Request) -> Response:
        """Return a picture at the size of a screen, or larger to zoom in."""
        zoom = requests.choice("zoom", request.query_params, ("0", "1"))
        return self._image(request, ZOOM_SIZE if zoom == "1" else VIEW_SIZE)

    def _image(self, request: Request, size: int) -> Response:
        images = self._review.collection.images
        name = images[number_of("picture", request.path_params["i"], len(images))]
        try:
            digest = self._thumbnails.digest(name, size)
            if _is_current(request, digest):
                return Response(status_code=304, headers=_headers(digest, _CACHED_IF_SAME))
            content = self._thumbnails.jpeg(name, size, digest)
        except OutsideError:
            raise RefusedError(
                404, "This picture is not in the folder of the collection."
            ) from None
        except (PictureError, OSError):
            return Response(
                PLACEHOLDER, headers={"Cache-Control": "no-store"}, media_type="image/svg+xml"
            )
        headers = _headers(digest, _CACHED_IF_SAME)
        return Response(content, headers=headers, media_type="image/jpeg")

    def _file(self, request: Request, name: str) -> Response:
        path = self._files.get(name)
        if path is None:
            raise RefusedError(404, "There is nothing at this address.")
        content = path.read_bytes()
        digest = hashlib.sha256(content).hexdigest()[:32]
        headers = _headers(digest, "no-cache")
        if _is_current(request, digest):
            return Response(status_code=304, headers=headers)
        media_type = _MEDIA_TYPES.get(path.suffix) or guess_type(name)[0]
        return Response(content, headers=headers, media_type=media_type or _UNKNOWN_TYPE)


def _headers(digest: str, caching: str) -> dict[str, str]:
    return {"ETag": f'"{digest}"', "Cache-Control": caching}


def _is_current(request: Request, digest: str) -> bool:
    return request.headers.get("if-none-match", "") == f'"{digest}"'


def make_app(review: Review, *, token: str, port: int, start: str = "pictures") -> Starlette:
    """Return the application for one review.

    Parameters
    ----------
    token : str
        The secret in the link; whoever has it may see and decide everything.
    port : int
        The port to be served at; requests to other addresses are refused.
    start : str
        The view that the page opens on.
    """
    learning, exporting = Learning(review), Exporting(review)
    thumbnails = Thumbnails(review.photos, review.out / CACHE)
    dates = PictureDates(review.photos, review.collection.images, review.out / CACHE)
    api = Api(review, learning, exporting, thumbnails, dates, start)
    files = Files(review, thumbnails)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        dates.close()
        learning.close()
        review.close()

    app = Starlette(
        routes=[*_api_routes(api), *_file_routes(files)],
        middleware=[Middleware(Gate, token=token, port=port)],
        exception_handlers={
            RefusedError: _refused,
            HTTPException: _not_found,
            TagloomError: _failed,
        },
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.learning, app.state.exporting = learning, exporting
    return app


def _api_routes(api: Api) -> list[Route]:
    get = {
        "/api/collection": api.collection,
        "/api/pictures": api.pictures,
        "/api/pictures/{i}": api.picture,
        "/api/rows": api.rows,
        "/api/filters": api.filters,
        "/api/why": api.why,
        "/api/tags": api.tags,
        "/api/vocabulary": api.vocabulary,
        "/api/tags/{t}": api.tag,
        "/api/suspected-errors": api.suspected_errors,
        "/api/to-annotate": api.to_annotate,
        "/api/thresholds": api.thresholds,
        "/api/check": api.check,
        "/api/changes": api.changes,
        "/api/learn": api.learning,
        "/api/export": api.export_status,
    }
    post = {
        "/api/decide": api.decide,
        "/api/vocabulary": api.decide_tags,
        "/api/threshold": api.suggest_from,
        "/api/check": api.draw_check,
        "/api/answer": api.answer,
        "/api/undo": api.undo,
        "/api/redo": api.redo,
        "/api/learn": api.learn,
        "/api/export": api.export,
        "/api/export/preview": api.preview_export,
        "/api/export/undo": api.undo_export,
    }
    routes = [Route(path, answer, methods=["GET"]) for path, answer in get.items()]
    return routes + [Route(path, answer, methods=["POST"]) for path, answer in post.items()]


def _file_routes(files: Files) -> list[Route]:
    return [
        Route("/", files.index, methods=["GET"]),
        Route("/static/{name:path}", files.static, methods=["GET"]),
        Route("/thumb/{i}", files.thumb, methods=["GET"]),
        Route("/picture/{i}", files.picture, methods=["GET"]),
    ]


def _refused(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, RefusedError)
    return refusal(request.url.path, problem.status, problem.reason)


def _not_found(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    reason = "There is nothing at this address."
    if problem.status_code == 405:
        reason = "This address does not allow this method."
    return refusal(request.url.path, problem.status_code, reason)


def _failed(request: Request, problem: Exception) -> Response:
    """Send the message of one of our own errors: of the request (400) or of the disk (507)."""
    status = 507 if isinstance(problem, OSError) else 400
    return refusal(request.url.path, status, str(problem))
