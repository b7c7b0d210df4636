"""Every error and warning that tagloom raises on purpose.

A message says what is wrong, where, what was expected, what was found and what to do.
"""

from importlib import import_module
from typing import Any

# §§ main errors


class TagloomError(Exception):
    """Base class of every error raised by tagloom."""


class InvalidInputError(TagloomError, ValueError):
    """Data or a parameter that cannot be used, with the place and the remedy."""


class ModelFileError(TagloomError, ValueError):
    """A model file that is damaged, altered, foreign or newer than this version can read."""


class UnwritableFileError(TagloomError, OSError):
    """A file that cannot be written where it was asked for."""


class TagloomWarning(UserWarning):
    """Base class of every warning raised by tagloom, but for ``ConvergenceWarning``."""


class UnlearnableLabelWarning(TagloomWarning):
    """A label of which too little is known to tell the items that have it from the others."""


# §§ extras
# The libraries that only some users install, and the message for the others.


class MissingExtraError(TagloomError, ImportError):
    """A part of tagloom whose libraries are not installed, with the command that brings them."""

    def __init__(self, purpose: str, library: str, extra: str) -> None:
        super().__init__(
            f"{purpose} needs {library}, which is not installed. "
            f"Install it with: pip install 'tagloom[{extra}]'"
        )


def import_extra(library: str, *, purpose: str, extra: str = "vision") -> Any:
    """Import a library of an extra, or say which extra brings it."""
    try:
        return import_module(library)
    except ModuleNotFoundError as problem:
        raise MissingExtraError(purpose, library, extra) from problem
