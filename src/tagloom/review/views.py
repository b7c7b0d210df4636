"""Lists of tags, of one tag's pictures, of doubts and of questions; and why a tag is likely."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.review.collection import Collection
from tagloom.review.states import (
    CARRIED,
    DECIDED,
    DENIED,
    DOUBTS,
    SHOWN,
    UNDECIDED,
    EntryState,
    among,
)

# §§ listing
# Lists of pictures, page by page.


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


# §§ main walls


TAG_SORTS = ("name", "open", "known")
WALL_STATES = ("open", "all")
_BINS = 50
_NEIGHBOURS = 24
_IS_UNDECIDED, _IS_CARRIED, _IS_DENIED = among(*UNDECIDED), among(*CARRIED), among(*DENIED)
_TOLD = [state.told for state in EntryState]
_COUNTED = {
    "known": (EntryState.KNOWN, EntryState.DOUBTFUL, EntryState.CONFIRMED),
    "suggested": (EntryState.SUGGESTED,),
    "accepted": (EntryState.ACCEPTED, EntryState.ADDED),
    "rejected": (EntryState.REJECTED, EntryState.REMOVED),
}


def tag_rows(collection: Collection, q: str, sort: str) -> list[Json]:
    """Return the tags whose names hold all words of `q`, with their counts."""
    words = q.casefold().split()
    names = [tag.casefold() for tag in collection.tags]
    rows: list[Json] = []
    for t, name in enumerate(names):
        if all(word in name for word in words):
            counts = collection.per_tag[t].tolist()
            row: Json = {key: sum(counts[s] for s in which) for key, which in _COUNTED.items()}
            learned = {"threshold": collection.threshold(t), "quality": collection.quality(t)}
            rows.append({"t": t, **row, **learned})
    rows.sort(key=lambda row: names[row["t"]])
    if sort != "name":
        key = "suggested" if sort == "open" else "known"
        rows.sort(key=lambda row: -row[key])
    return rows


def totals(collection: Collection) -> Json:
    """Return how many entries of the whole collection are known, suggested, doubtful, decided."""
    counts = collection.per_tag.sum(axis=0).tolist()
    told: Json = {key: sum(counts[s] for s in which) for key, which in _COUNTED.items()}
    doubtful = counts[EntryState.DOUBTFUL] + counts[EntryState.DOUBTFUL_ABSENT]
    untagged = int((collection.per_image[:, list(CARRIED)].sum(axis=1) == 0).sum())
    sizes = {"pictures": len(collection.images), "tags": len(collection.tags)}
    return sizes | told | {"doubtful": doubtful, "untagged": untagged}


def wall(
    collection: Collection, t: int, *, least: float, state: str, offset: int, limit: int
) -> Json:
    """Return the pictures of one tag by falling probability, and how probable all open ones are."""
    p, states = collection.probabilities(t), collection.states[:, t]
    undecided = _IS_UNDECIDED[states]
    known = ~np.isnan(p)
    bins = np.minimum((p[undecided & known] * _BINS).astype(np.int64), _BINS - 1)
    shown = undecided if state == "open" else np.ones(len(states), dtype=bool)
    if least > 0:
        shown &= known & (np.nan_to_num(p, nan=-1.0) >= least)
    found = np.flatnonzero(shown)
    found = found[np.argsort(-np.nan_to_num(p[found], nan=-1.0), kind="stable")]
    return {
        "total": len(found),
        "histogram": np.bincount(bins, minlength=_BINS).tolist(),
        "rows": [
            {"i": int(i), "p": rounded(p[i]), "state": _TOLD[states[i]]}
            for i in found[offset : offset + limit]
        ],
    }


def doubts(collection: Collection, offset: int, limit: int) -> Json:
    """Return statements that look wrong, surest first, decided ones at their places."""
    found = collection.loaded.doubts
    rows = [
        {
            "i": one.image,
            "t": one.tag,
            "p": rounded(one.p),
            "chance": rounded(one.chance),
            "said": "present" if one.present else "absent",
            "state": collection.state(one.image, one.tag).told,
        }
        for one in found[offset : offset + limit]
    ]
    return {"total": len(found), "rows": rows}


def questions(collection: Collection, offset: int, limit: int) -> Json:
    """Return what to annotate next, decided ones at their places."""
    found = collection.loaded.questions
    rows = [
        {
            "i": one.image,
            "t": one.tag,
            "p": rounded(one.p),
            "worth": rounded(one.worth),
            "state": collection.state(one.image, one.tag).told,
        }
        for one in found[offset : offset + limit]
    ]
    return {"total": len(found), "rows": rows}


def why(collection: Collection, i: int, t: int) -> Json:
    """Return the pictures that are like one, those that carry the tag first."""
    S: Any = collection.loaded.affinities
    near = slice(int(S.indptr[i]), int(S.indptr[i + 1]))
    neighbours, affinity = S.indices[near], S.data[near]
    states = collection.states[neighbours, t]
    carries, denied = _IS_CARRIED[states], _IS_DENIED[states]
    order = np.lexsort((neighbours, -affinity, ~carries))[:_NEIGHBOURS]
    words = np.where(carries, "present", np.where(denied, "absent", "unknown"))
    rows = [
        {"i": int(neighbours[k]), "affinity": rounded(affinity[k]), "state": str(words[k])}
        for k in order
    ]
    p = rounded(collection.probabilities(t)[i])
    return {"p": p, "neighbours": rows, "n_neighbors": len(neighbours)}
