"""What the page asks, as JSON; every answer comes from memory."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tagloom.review import asking, walls
from tagloom.review.answers import as_json
from tagloom.review.learning import Learning
from tagloom.review.listing import PICTURE_SORTS, PICTURE_STATES
from tagloom.review.security import BODY
from tagloom.review.session import Review
from tagloom.review.thumbs import Thumbnails


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
            facts = {
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
        return _answer(request, facts)

    def pictures(self, request: Request) -> Response:
        """Return a page of pictures."""
        query = request.query_params
        offset, limit = asking.page_of(query, 60)
        q = asking.text_of("q", query)
        state = asking.choice("state", query, PICTURE_STATES)
        sort = asking.choice("sort", query, PICTURE_SORTS)
        with self._review.lock:
            tag = self._tag(query["tag"]) if query.get("tag") else None
            facts = self._review.pictures.page(
                q=q, state=state, sort=sort, tag=tag, offset=offset, limit=limit
            )
            facts["version"] = self._review.version
        return _answer(request, facts)

    def picture(self, request: Request) -> Response:
        """Return one picture with more tags that it may have."""
        with self._review.lock:
            i = self._image(request.path_params["i"])
            facts = self._review.pictures.picture(i)
            facts |= {
                "name": self._review.collection.images[i],
                "candidates": self._review.pictures.candidates(i),
                "version": self._review.version,
            }
        size = self._thumbnails.size_of(facts["name"])
        if size is not None:
            facts |= {"width": size[0], "height": size[1]}
        return _answer(request, facts)

    def why(self, request: Request) -> Response:
        """Return the neighbours that speak for a tag, and those that do not."""
        query = request.query_params
        with self._review.lock:
            i, t = self._image(query.get("i", "")), self._tag(query.get("t", ""))
            return _answer(request, walls.why(self._review.collection, i, t))

    def tags(self, request: Request) -> Response:
        """Return all tags with their counts."""
        query = request.query_params
        q, sort = asking.text_of("q", query), asking.choice("sort", query, walls.TAG_SORTS)
        with self._review.lock:
            rows = walls.tag_rows(self._review.collection, q, sort)
        return _answer(request, {"rows": rows})

    def tag(self, request: Request) -> Response:
        """Return the likeliest pictures of one tag."""
        query = request.query_params
        offset, limit = asking.page_of(query, 120)
        least = asking.share("least", query.get("least"))
        state = asking.choice("state", query, walls.WALL_STATES)
        with self._review.lock:
            t = self._tag(request.path_params["t"])
            facts = walls.wall(
                self._review.collection, t, least=least, state=state, offset=offset, limit=limit
            )
            facts["version"] = self._review.version
        return _answer(request, facts)

    def doubts(self, request: Request) -> Response:
        """Return known tags that look wrong."""
        page = asking.page_of(request.query_params, 60)
        with self._review.lock:
            return _answer(request, walls.doubts(self._review.collection, *page))

    def questions(self, request: Request) -> Response:
        """Return what to annotate next."""
        page = asking.page_of(request.query_params, 60)
        with self._review.lock:
            return _answer(request, walls.questions(self._review.collection, *page))

    def changes(self, request: Request) -> Response:
        """Return what has changed since a version, by whoever."""
        query = request.query_params
        since = asking.whole("since", query.get("since"), below=10**9, default=0)
        known = asking.whole("tags", query.get("tags"), below=10**9, default=10**9)
        with self._review.lock:
            all_of_it = self._review.collection
            facts: dict[str, Any] = {
                "version": self._review.version,
                "run": all_of_it.loaded.run,
                "boot": self._review.boot,
                "history": self._review.history,
                "n_tags": len(all_of_it.tags),
                "applied": self._review.changes(since),
                "counts": self._counts(),
            }
            if known < len(all_of_it.tags):
                facts["tags"] = list(all_of_it.tags)
        return _answer(request, facts)

    def decide(self, request: Request) -> Response:
        """Take decisions; they are on disk before the answer is sent."""
        body = asking.body_of(request.scope[BODY])
        client = asking.client_of(body)
        with self._review.lock:
            verdicts = asking.verdicts_of(body, self._review.collection)
            facts = self._review.decide(verdicts, client)
            return _answer(request, facts | {"counts": self._counts()})

    def undo(self, request: Request) -> Response:
        """Take back the latest batch."""
        asking.client_of(asking.body_of(request.scope[BODY]))
        with self._review.lock:
            return _answer(request, self._review.undo() | {"counts": self._counts()})

    def redo(self, request: Request) -> Response:
        """Bring back what was undone last."""
        asking.client_of(asking.body_of(request.scope[BODY]))
        with self._review.lock:
            return _answer(request, self._review.redo() | {"counts": self._counts()})

    def learning(self, request: Request) -> Response:
        """Return how far learning has come."""
        return _answer(request, self._learning.progress.facts())

    def learn(self, request: Request) -> Response:
        """Begin to learn again."""
        asking.body_of(request.scope[BODY])
        self._learning.start()
        return _answer(request, {"started": True})

    def _counts(self) -> dict[str, Any]:
        return walls.totals(self._review.collection)

    def _image(self, text: str) -> int:
        return asking.numbered("picture", text, len(self._review.collection.images))

    def _tag(self, text: str) -> int:
        return asking.numbered("tag", text, len(self._review.collection.tags))


def _answer(request: Request, facts: Any) -> Response:
    return as_json(facts, pack="gzip" in request.headers.get("accept-encoding", ""))
