"""The libraries that only some users install, and the message for the others."""

from importlib import import_module
from typing import Any

from tagloom.errors import TagloomError


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
