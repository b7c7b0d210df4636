import sys
from pathlib import Path

# Networks that the tests of other packages use as well.
sys.path.insert(0, str(Path(__file__).parents[2]))
