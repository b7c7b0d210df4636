"""Where things are kept between runs."""

import os
import sys
from pathlib import Path


def user_cache() -> Path:
    """Give tagloom's folder in the user's cache directory; ``TAGLOOM_CACHE`` overrides it."""
    override = os.environ.get("TAGLOOM_CACHE")
    return Path(override) if override else _system_cache() / "tagloom"


def _system_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
