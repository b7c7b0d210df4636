"""Methods, data sets and encoders that other packages bring, found by their entry points.

A package announces what it brings in its `pyproject.toml` (the entry points of the Python packaging
specifications); nothing of it is imported before its name is used. What it brings runs with the
rights of whoever uses it, like any package that is installed.
"""

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from tagloom.errors import InvalidInputError

METHODS = "tagloom.methods"
DATASETS = "tagloom.datasets"
ENCODERS = "tagloom.encoders"


def plugin_names(group: str) -> list[str]:
    """Return the names that installed packages bring, sorted."""
    return sorted(entry_points(group=group).names)


def find_plugin(group: str, name: str) -> EntryPoint | None:
    """Return the entry point of that name, not yet loaded; None if there is none.

    One name in two packages is an error: which one is meant cannot be told.
    """
    found = {point.value: point for point in entry_points(group=group, name=name)}
    if len(found) > 1:
        packages = " and ".join(sorted(map(_origin, found.values())))
        raise InvalidInputError(
            f"The name {name!r} is given by several packages ({group}): {packages}. Remove one."
        )
    return next(iter(found.values()), None)


def load_plugin(point: EntryPoint) -> Any:
    """Import what an entry point names."""
    try:
        return point.load()
    except Exception as problem:  # a foreign module may raise anything
        raise InvalidInputError(
            f"{point.name!r} of {_origin(point)} cannot be loaded: {point.value} "
            f"({type(problem).__name__}: {problem}). Repair or remove that package."
        ) from problem


def _origin(point: EntryPoint) -> str:
    return f"package {point.dist.name}" if point.dist is not None else point.value
