"""Learn from incomplete labels: fill in what is missing, tag what is new, show why."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from tagloom.labels import PartialLabels as PartialLabels

# Names are fetched on first use: `import tagloom` costs nothing, and the program's --help needs
# none of the numerical libraries.
_HOME = {
    "PartialLabels": "tagloom.labels",
}

__all__ = ["PartialLabels", "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tagloom' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
