"""Lists of pictures, page by page."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.review.collection import Collection
from tagloom.review.states import CARRIED, DECIDED, DOUBTS, SHOWN, EntryState, among

Array = npt.NDArray[Any]
Json = dict[str, Any]

PICTURE_STATES = ("all", "suggested", "doubtful", "untagged", "decided")
PICTURE_SORTS = ("name", "certain", "uncertain")
_CANDIDATES = 12
_IS_SHOWN = among(*SHOWN)
_IS_FOUND = among(*CARRIED, EntryState.SUGGESTED)


def rounded(p: float) -> float | None:
    """Return a number as the page is told; None for one that is not there."""
    return round(float(p), 4) if np.isfinite(p) else None


class Pictures:
    """Pictures of a collection, sought, filtered and sorted."""

    def __init__(self, collection: Collection) -> None:
        self._all = collection
        folded = [name.casefold() for name in collection.images]
        self._folded = folded
        self._by_name = np.array(sorted(range(len(folded)), key=folded.__getitem__), dtype=np.int64)

    def page(
        self, *, q: str, state: str, sort: str, tag: int | None, offset: int, limit: int
    ) -> Json:
        """Return a page of pictures, with how many there are in all."""
        found = self._by_name[self._matching(q, state, tag)[self._by_name]]
        if sort != "name":
            key = self._all.surest if sort == "certain" else self._all.unclear
            found = found[np.argsort(-key[found], kind="stable")]
        rows = [self.picture(int(i)) for i in found[offset : offset + limit]]
        return {"total": len(found), "rows": rows}

    def picture(self, i: int) -> Json:
        """Return a picture and its tags, likeliest first, those without a probability last."""
        state = self._all.states[i]
        tags = np.flatnonzero(_IS_SHOWN[state])
        p = self._all.probabilities_of(i, tags)
        order = np.lexsort((tags, -np.nan_to_num(p, nan=-1.0)))
        return {"i": i, "tags": [_tag(int(tags[k]), p[k], state[tags[k]]) for k in order]}

    def candidates(self, i: int) -> list[Json]:
        """Return the likeliest tags that are neither suggested nor decided."""
        tags = np.flatnonzero(self._all.states[i] == EntryState.OPEN)
        p = self._all.probabilities_of(i, tags)
        tags, p = tags[~np.isnan(p)], p[~np.isnan(p)]
        order = np.lexsort((tags, -p))[:_CANDIDATES]
        return [{"t": int(tags[k]), "p": rounded(p[k])} for k in order]

    def _matching(self, q: str, state: str, tag: int | None) -> npt.NDArray[np.bool_]:
        found = self._in_state(state)
        if tag is not None:
            found &= _IS_FOUND[self._all.states[:, tag]]
        for word in q.casefold().split():
            found &= self._about(word)
        return found

    def _in_state(self, state: str) -> npt.NDArray[np.bool_]:
        counts = self._all.per_image
        if state == "all":
            return np.ones(len(counts), dtype=bool)
        if state == "untagged":
            return np.asarray(counts[:, list(CARRIED)].sum(axis=1) == 0)
        wanted = {"suggested": (EntryState.SUGGESTED,), "doubtful": DOUBTS, "decided": DECIDED}
        return np.asarray(counts[:, list(wanted[state])].sum(axis=1) > 0)

    def _about(self, word: str) -> npt.NDArray[np.bool_]:
        """Say which pictures have a word in their name or in one of their tags."""
        about = np.fromiter((word in name for name in self._folded), bool, len(self._folded))
        states = self._all.states
        for t, tag in enumerate(self._all.tags):
            if word in tag.casefold():
                about |= _IS_FOUND[states[:, t]]
        return about


def _tag(t: int, p: float, code: int) -> Json:
    return {"t": t, "p": rounded(p), "state": EntryState(int(code)).told}
