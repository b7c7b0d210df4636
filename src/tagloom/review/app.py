"""The web application: addresses, and who answers them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tagloom.errors import TagloomError
from tagloom.review.answers import RefusedError, refusal
from tagloom.review.api import Api
from tagloom.review.learning import Learning
from tagloom.review.security import Gate
from tagloom.review.session import Review
from tagloom.review.sights import Sights
from tagloom.review.thumbs import Thumbnails

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
