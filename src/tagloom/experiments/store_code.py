"""Which code a result comes from, told by the text of the modules that decide its numbers."""

import hashlib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

# What pictures look like to a network is told by the features themselves; the rest of the library
# reads, draws or prints.
_DECIDING = ("labels", "metrics", "neighbours", "semantics", "graph", "optim", "models", "tagger")
_DECIDING_EXPERIMENTS = ("cells", "hiding", "inputs", "methods")


@cache
def code_digest() -> str:
    """Return a short name for the code: between releases a version alone does not tell.

    A learner that was changed must not inherit the results of what it was.
    """
    package = files("tagloom")
    found = [one for name in _DECIDING for one in _modules(package / name)]
    found += [
        one
        for one in _modules(package / "experiments")
        if one.name.startswith(_DECIDING_EXPERIMENTS)
    ]
    seen = hashlib.sha256()
    for module in found:
        seen.update(module.name.encode() + b"\0" + module.read_bytes() + b"\0")
    return seen.hexdigest()[:16]


def _modules(folder: Traversable) -> list[Traversable]:
    found: list[Traversable] = []
    for one in sorted(folder.iterdir(), key=lambda inside: inside.name):
        if one.is_dir():
            found += _modules(one)
        elif one.name.endswith(".py"):
            found.append(one)
    return found
