"""The errors and warnings that tagloom raises on purpose.

A message says what is wrong, where, what was expected, what was found and what to do.
"""

from importlib import import_module
from typing import Any


class TagloomError(Exception):
    """Base class of every error raised by tagloom."""


class InvalidInputError(TagloomError, ValueError):
    """Data or a parameter that cannot be used, with the place and the remedy."""


class ModelFileError(TagloomError, ValueError):
    """A model file that is damaged, altered, foreign or newer than this version can read."""


class UnwritableFileError(TagloomError, OSError):
    """A file that cannot be written where it was asked for."""


class MissingExtraError(TagloomError, ImportError):
    """An optional dependency that is not installed, with the command that installs it."""

    def __init__(self, purpose: str, library: str, extra: str) -> None:
        super().__init__(
            f"{purpose} needs {library}, which is not installed. "
            f"Install it with: pip install 'tagloom[{extra}]'"
        )


def first_line(problem: BaseException) -> str:
    """Return the first line of what an error says; other libraries say much more."""
    return str(problem).strip().split("\n")[0]


def import_extra(library: str, *, purpose: str, extra: str = "vision") -> Any:
    """Import an optional dependency, or raise an error that names the extra to install."""
    try:
        return import_module(library)
    except ModuleNotFoundError as problem:
        raise MissingExtraError(purpose, library, extra) from problem


class TagloomWarning(UserWarning):
    """Base class of every warning raised by tagloom, except ``ConvergenceWarning``."""


class UnlearnableLabelWarning(TagloomWarning):
    """A label with too few known presences or absences to learn from."""
