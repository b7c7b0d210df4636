"""The names of the 1000 classes of ILSVRC 2012, in the order every network of that data uses."""

from functools import cache
from importlib.resources import files


@cache
def imagenet_classes() -> tuple[str, ...]:
    """Give the 1000 names; no two are the same.

    Each is the first WordNet name of its class. The two cranes and the two maillots, which
    WordNet calls alike, are told apart.

    >>> imagenet_classes()[967]
    'espresso'
    """
    text = (files("tagloom.vision") / "data" / "imagenet_classes.txt").read_text("utf-8")
    return tuple(text.splitlines())
