"""What the page lists, as JSON.

Pictures, tags, the wall of a tag, suspected label errors, what to annotate next, and the neighbours
that explain a suggestion.
"""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagloom.io import natural_order
from tagloom.review.collection import (
    DECIDED,
    HAS_TAG,
    LACKS_TAG,
    LISTED,
    SUSPECTED,
    UNDECIDED,
    Collection,
    EntryState,
    SuspectedError,
    ToAnnotate,
    membership,
)

Json = dict[str, Any]
Mask = npt.NDArray[np.bool_]

PICTURE_FILTERS = ("all", "open", "suggested", "suspected", "untagged", "decided")
PICTURE_SORTS = ("name", "certain", "uncertain")
TAG_SORTS = ("name", "open", "known")
WALL_FILTERS = ("open", "all")
_N_CANDIDATES = 12
_N_BINS = 50
_MAX_NEIGHBORS = 24
_IS_LISTED = membership(*LISTED)
_IS_FOUND = membership(*HAS_TAG, EntryState.SUGGESTED)
_IS_UNDECIDED = membership(*UNDECIDED)
_HAS_TAG, _LACKS_TAG = membership(*HAS_TAG), membership(*LACKS_TAG)
_PAGE_WORDS = [state.page_word for state in EntryState]
_COUNTED = {
    "known": (EntryState.PRESENT, EntryState.SUSPECTED_PRESENT, EntryState.CONFIRMED),
    "suggested": (EntryState.SUGGESTED,),
    "accepted": (EntryState.ACCEPTED, EntryState.ADDED),
    "rejected": (EntryState.REJECTED, EntryState.REMOVED),
}


class PictureQuery(NamedTuple):
    """Which pictures are wanted, and in which order.

    `q` holds words of names and tags, `taken` which pictures are of the wanted year or month. In
    the state "open" a picture has a suggestion or a suspected error to decide on.
    """

    q: str = ""
    state: str = "all"
    sort: str = "name"
    tag: int | None = None
    folder: str = ""
    taken: Mask | None = None


class Pictures:
    """The pictures of a collection: searched, filtered and sorted."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._folded = [name.casefold() for name in collection.images]
        order = sorted(range(len(self._folded)), key=lambda i: natural_order(collection.images[i]))
        self._by_name = np.array(order, dtype=np.int64)

    def found(self, query: PictureQuery) -> npt.NDArray[np.int64]:
        """Return the numbers of the pictures that match, in order."""
        found = self._by_name[self._matching(query)[self._by_name]]
        if query.sort != "name":
            collection = self._collection
            by = collection.highest if query.sort == "certain" else collection.uncertainty
            found = found[np.argsort(-by()[found], kind="stable")]
        return found

    def page(self, query: PictureQuery, offset: int, limit: int) -> Json:
        """Return a page of pictures; the first one comes with the numbers of all that match.

        Decided pictures may no longer match: whoever goes through a list follows these numbers.
        """
        found = self.found(query)
        rows = [self.picture(int(i)) for i in found[offset : offset + limit]]
        numbers = {} if offset else {"numbers": found.tolist()}
        return {"total": len(found), "rows": rows, **numbers}

    def folders(self) -> list[Json]:
        """Return every folder with the number of pictures in it and in the folders below."""
        counts: Counter[str] = Counter()
        for name in self._collection.images:
            parts = name.split("/")[:-1]
            counts.update("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
        return [{"folder": one, "n": counts[one]} for one in sorted(counts, key=natural_order)]

    def picture(self, i: int, *, with_absent: bool = False) -> Json:
        """Return a picture and its tags, likeliest first, those without a probability last."""
        state = self._collection.states[i]
        tags = np.flatnonzero(state if with_absent else _IS_LISTED[state])
        p = self._collection.probabilities_of(i, tags)
        order = np.lexsort((tags, -np.nan_to_num(p, nan=-1.0)))
        rows = [
            {"t": int(tags[k]), "p": _rounded(p[k]), "state": _PAGE_WORDS[state[tags[k]]]}
            for k in order
        ]
        return {"i": i, "tags": rows}

    def candidates(self, i: int) -> list[Json]:
        """Return the likeliest tags that are neither suggested nor decided."""
        tags = np.flatnonzero(self._collection.states[i] == EntryState.UNKNOWN)
        p = self._collection.probabilities_of(i, tags)
        tags, p = tags[~np.isnan(p)], p[~np.isnan(p)]
        order = np.lexsort((tags, -p))[:_N_CANDIDATES]
        return [{"t": int(tags[k]), "p": _rounded(p[k])} for k in order]

    def _matching(self, query: PictureQuery) -> Mask:
        found = self._in_state(query.state)
        if query.tag is not None:
            found &= _IS_FOUND[self._collection.states[:, query.tag]]
        if query.folder:
            inside = f"{query.folder}/"
            names = self._collection.images
            found &= np.fromiter((name.startswith(inside) for name in names), bool, len(names))
        if query.taken is not None:
            found &= query.taken
        for word in query.q.casefold().split():
            found &= self._contains(word)
        return found

    def _in_state(self, state: str) -> Mask:
        counts = self._collection.per_image
        if state == "all":
            return np.ones(len(counts), dtype=bool)
        if state == "untagged":
            return np.asarray(counts[:, list(HAS_TAG)].sum(axis=1) == 0)
        wanted = {
            "open": (EntryState.SUGGESTED, *SUSPECTED),
            "suggested": (EntryState.SUGGESTED,),
            "suspected": SUSPECTED,
            "decided": DECIDED,
        }
        return np.asarray(counts[:, list(wanted[state])].sum(axis=1) > 0)

    def _contains(self, word: str) -> Mask:
        """Return which pictures contain a word in their name or in one of their tags."""
        found = np.fromiter((word in name for name in self._folded), bool, len(self._folded))
        states = self._collection.states
        for t, tag in enumerate(self._collection.tags):
            if word in tag.casefold():
                found |= _IS_FOUND[states[:, t]]
        return found


def tag_rows(collection: Collection, q: str, sort: str) -> list[Json]:
    """Return the tags whose names contain all words of `q`, with their counts."""
    words = q.casefold().split()
    names = [tag.casefold() for tag in collection.tags]
    rows: list[Json] = []
    for t, name in enumerate(names):
        if all(word in name for word in words) and not collection.is_merged(t):
            counts = _counts(collection.per_tag[t].tolist())
            learned = {"threshold": collection.threshold(t), "roc_auc": collection.roc_auc(t)}
            rows.append({"t": t, **counts, **learned})
    rows.sort(key=lambda row: natural_order(names[row["t"]]))
    if sort != "name":
        key = "suggested" if sort == "open" else "known"
        rows.sort(key=lambda row: -row[key])
    return rows


def totals(collection: Collection) -> Json:
    """Return how many entries of the collection are known, suggested, suspected and decided."""
    by_state = collection.per_tag.sum(axis=0).tolist()
    suspected = sum(by_state[state] for state in SUSPECTED)
    untagged = int((collection.per_image[:, list(HAS_TAG)].sum(axis=1) == 0).sum())
    sizes = {"pictures": len(collection.images), "tags": len(collection.tags)}
    return sizes | _counts(by_state) | {"suspected": suspected, "untagged": untagged}


def _counts(by_state: list[int]) -> Json:
    return {key: sum(by_state[state] for state in which) for key, which in _COUNTED.items()}


def threshold_curve(collection: Collection) -> Json:
    """Return what would be suggested from each threshold 0.01, ..., 0.99 on, by expectation.

    With p the probabilities of the undecided entries, the k entries from a threshold on are right
    with a mean probability sum(p from it on) / k, and find sum(p from it on) / sum(p) of what is
    missing. `current` is what is suggested now.
    """
    histogram = collection.histogram
    above, right = (one[::-1].cumsum()[::-1].tolist() for one in (histogram.counts, histogram.sums))
    rows = [
        {"threshold": k / histogram.N_BINS, **_expected(above[k], right[k], right[0])}
        for k in range(1, histogram.N_BINS)
    ]
    return {
        "threshold": collection.chosen_threshold,
        "current": _expected(histogram.n_suggested, histogram.sum_suggested, right[0]),
        "rows": rows,
    }


def _expected(n: int, right: float, total: float) -> Json:
    precision = _rounded(right / n) if n else None
    return {"n": n, "precision": precision, "recall": _rounded(right / total) if total > 0 else 0}


def wall(
    collection: Collection, t: int, *, least: float, state: str, offset: int, limit: int
) -> Json:
    """Return the pictures of a tag by falling probability, and a histogram of undecided ones."""
    p, states = collection.probabilities(t), collection.states[:, t]
    undecided = _IS_UNDECIDED[states]
    known = ~np.isnan(p)
    bins = np.minimum((p[undecided & known] * _N_BINS).astype(np.int64), _N_BINS - 1)
    shown = undecided if state == "open" else np.ones(len(states), dtype=bool)
    if least > 0:
        shown &= known & (np.nan_to_num(p, nan=-1.0) >= least)
    found = np.flatnonzero(shown)
    found = found[np.argsort(-np.nan_to_num(p[found], nan=-1.0), kind="stable")]
    return {
        "total": len(found),
        "histogram": np.bincount(bins, minlength=_N_BINS).tolist(),
        "rows": [
            {"i": int(i), "p": _rounded(p[i]), "state": _PAGE_WORDS[states[i]]}
            for i in found[offset : offset + limit]
        ],
    }


def suspected_errors(collection: Collection, offset: int, limit: int) -> Json:
    """Return known labels that are suspected to be wrong; decided ones keep their places."""
    found = collection.loaded.suspected_errors
    rows = [
        _entry_row(
            collection,
            one,
            error_probability=_rounded(one.error_probability),
            annotation="present" if one.present else "absent",
        )
        for one in found[offset : offset + limit]
    ]
    return {"total": len(found), "rows": rows}


def to_annotate(collection: Collection, offset: int, limit: int) -> Json:
    """Return what to annotate next; decided entries keep their places."""
    found = collection.loaded.to_annotate
    rows = [
        _entry_row(collection, one, acquisition_score=_rounded(one.acquisition_score))
        for one in found[offset : offset + limit]
    ]
    return {"total": len(found), "rows": rows}


def _entry_row(collection: Collection, one: SuspectedError | ToAnnotate, **more: Any) -> Json:
    state = collection.state(one.image, one.tag).page_word
    return {"i": one.image, "t": one.tag, "p": _rounded(one.p), **more, "state": state}


def why(collection: Collection, i: int, t: int) -> Json:
    """Return what the picture looks like, and the most similar pictures, with the tag first."""
    S: Any = collection.loaded.affinities
    near = slice(int(S.indptr[i]), int(S.indptr[i + 1]))
    neighbors, affinity = S.indices[near], S.data[near]
    states = collection.states[neighbors, t]
    present, absent = _HAS_TAG[states], _LACKS_TAG[states]
    order = np.lexsort((neighbors, -affinity, ~present))[:_MAX_NEIGHBORS]
    words = np.where(present, "present", np.where(absent, "absent", "unknown"))
    rows = [
        {"i": int(neighbors[k]), "affinity": _rounded(affinity[k]), "state": str(words[k])}
        for k in order
    ]
    p = _rounded(collection.probabilities(t)[i])
    looks = collection.looks_like(i, t)
    return {"p": p, "looks_like": looks, "neighbors": rows, "n_neighbors": len(neighbors)}


def _rounded(p: float) -> float | None:
    """Return a number with four decimals; None for NaN."""
    return round(float(p), 4) if np.isfinite(p) else None
