"""Methods as people read them: titles, order, and which are ours."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tagloom.experiments.methods import DESCRIPTORS, METHODS

if TYPE_CHECKING:
    import pandas as pd

_KNOWN = {method.name: method for method in (*METHODS, *DESCRIPTORS)}
_DESCRIPTOR_NAMES = frozenset(method.name for method in DESCRIPTORS)
OURS = tuple(method.name for method in METHODS if method.ours)


def title_of(method: str) -> str:
    """Return the title of a method; a foreign one goes by its name."""
    return _KNOWN[method].title if method in _KNOWN else str(method)


def in_order(methods: Iterable[str]) -> list[str]:
    """Return each method once: foreign ones by name, then baselines, then ours, as in tables."""
    places = {name: place for place, name in enumerate(_KNOWN)}
    return sorted(set(methods), key=lambda name: (places.get(name, -1), name))


def learners_only(table: "pd.DataFrame") -> "pd.DataFrame":
    """Return the rows of methods that compete with each other."""
    return table[~table["method"].isin(_DESCRIPTOR_NAMES)]


def descriptors_only(table: "pd.DataFrame") -> "pd.DataFrame":
    """Return the rows that judge a descriptor by itself."""
    return table[table["method"].isin(_DESCRIPTOR_NAMES)]


def rate_as_text(rate: float) -> str:
    """Write a share of labels for people.

    >>> rate_as_text(0.1), rate_as_text(0.125)
    ('10%', '12.5%')
    """
    return f"{100 * rate:.4g}%"


def with_sign(points: float) -> str:
    """Write a difference in points with its sign, a true minus.

    >>> with_sign(0.0123), with_sign(-0.5)
    ('+1.2', '−50.0')
    """
    return f"{100 * points:+.1f}".replace("-", "−")
