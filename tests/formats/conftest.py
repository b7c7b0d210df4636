"""Make what the tests of all formats share importable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
