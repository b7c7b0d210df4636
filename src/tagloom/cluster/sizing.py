"""How much memory our objects hold, which Dask has to know.

It takes an object of an unknown class for a few bytes: it would send partitions around as if that
cost nothing, and never think of a worker as full.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from tagloom.cluster.running import part_of_dask
from tagloom.labels import PartialLabels
from tagloom.optim import LossSums, Part, ProductSums

_DEEPEST = 6


@cache
def teach_sizes(*kinds: type) -> None:
    """Tell Dask, in this process, how large objects of these classes are, and of those below."""
    sizeof = part_of_dask("dask.sizeof").sizeof
    for kind in (Part, LossSums, ProductSums, PartialLabels, *kinds):
        sizeof.register(kind)(bytes_held)


def bytes_held(thing: object) -> int:
    """Return the bytes of all arrays that an object holds, each counted once.

    >>> part = Part(np.zeros((10, 2)), PartialLabels.from_array(np.ones((10, 3))))
    >>> bytes_held(part) >= 10 * 2 * 8
    True
    """
    arrays = {id(array): array.nbytes for array in _arrays_in(thing, _DEEPEST)}
    return 64 + sum(arrays.values())


def _arrays_in(thing: object, depth: int) -> Iterator[np.ndarray[Any, Any]]:
    if isinstance(thing, np.ndarray):
        yield thing
    elif depth:
        for inner in _inside(thing):
            yield from _arrays_in(inner, depth - 1)


def _inside(thing: object) -> list[object]:
    """Return what an object is made of; names and numbers are made of nothing that counts."""
    if isinstance(thing, list | tuple):
        return [] if thing and isinstance(thing[0], str | int) else list(thing)
    if not type(thing).__module__.startswith("tagloom"):
        return []
    slots = [slot for kind in type(thing).__mro__ for slot in getattr(kind, "__slots__", ())]
    held = [getattr(thing, slot) for slot in slots if hasattr(thing, slot)]
    return held + list(getattr(thing, "__dict__", {}).values())
