"""Examples for the tests of all formats: annotations of every kind, and malformed values."""

import json

from hypothesis import strategies as st

from tagloom.errors import InvalidInputError
from tagloom.formats import Annotation, Annotations

LETTERS = st.characters(codec="utf-8", exclude_characters="\\\0", exclude_categories=["Cs"])
PRINTABLE = st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Cn", "Co"])
WRONG = [None, True, 3, -1, 2.5, float("nan"), "", "x", [], [[]], {}, {"a": []}, "\ud800"]


def names(letters=LETTERS):
    return st.text(letters, min_size=1, max_size=8)


def pictures(letters=LETTERS):
    """Names that stay different without their extension."""
    stem = st.text(letters, min_size=1, max_size=8).filter(lambda text: text.strip("./"))
    return st.lists(stem, max_size=5, unique_by=lambda s: s.casefold()).map(
        lambda stems: [f"p{number}-{stem}.jpg" for number, stem in enumerate(stems)]
    )


@st.composite
def annotations(draw, images=None, tags=None, *, machine=True, absent=True):
    listed = draw(images if images is not None else st.lists(names(), max_size=5, unique=True))
    vocabulary = draw(tags if tags is not None else st.lists(names(), max_size=5, unique=True))
    confidence = st.none() | st.floats(0, 1) if machine else st.none()
    present = st.booleans() if absent else st.just(True)
    original = [
        Annotation(image, tag, draw(present), draw(confidence))
        for image in listed
        for tag in vocabulary
        if draw(st.booleans())
    ]
    return Annotations.of(original, images=listed, tags=vocabulary)


def damaged(content):
    """Yield copies of a JSON value, each with one place of it replaced or taken away."""
    for way in list(_ways(content)):
        for wrong in [*WRONG, _GONE]:
            copy = json.loads(json.dumps(content))
            if not way:
                if wrong is not _GONE:
                    yield way, wrong
                continue
            holder = copy
            for step in way[:-1]:
                holder = holder[step]
            if wrong is _GONE:
                del holder[way[-1]]
            else:
                holder[way[-1]] = wrong
            yield (way, wrong), copy


_GONE = object()


def _ways(content, way=()):
    yield way
    if isinstance(content, dict):
        for key, value in content.items():
            yield from _ways(value, (*way, key))
    elif isinstance(content, list):
        for number, value in enumerate(content):
            yield from _ways(value, (*way, number))


def refusal_of(read, path):
    """Return the error message of a reader for a file; None where it reads it."""
    try:
        read(path)
    except InvalidInputError as problem:
        return str(problem)
    return None


NO_JSON = [
    b"",
    b"{",
    b"\xff\xfe\xfa",
    b"{'a': 1}",
    b'{"images": [}',
    b"[" * 100_000 + b"]" * 100_000,
    b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    b"1" * 5000,
    b'"text"',
    b"null",
    b"7",
    b'{"images": [], "images": []}',
    b'{"labels": {"a": 0, "a": 1}}',
]
