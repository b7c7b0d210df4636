"""Every error and warning that tagloom raises on purpose.

A message says what is wrong, where, what was expected, what was found and what to do.
"""


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
