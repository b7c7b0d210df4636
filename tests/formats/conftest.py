"""What the tests of all formats share."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def table(tmp_path):
    """Return a function that writes a text as a file and gives its path."""

    def write(text, name="labels.csv"):
        path = tmp_path / name
        path.write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
        return path

    return write
