"""Make the layouts importable; keep the tests out of the user's cache."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session", autouse=True)
def _own_user_cache(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    patch.setenv("TAGLOOM_CACHE", str(tmp_path_factory.mktemp("user_cache")))
    yield
    patch.undo()
