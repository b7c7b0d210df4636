import sys
from pathlib import Path

# The toys are a module of their own: worker processes import the learners by name.
sys.path.insert(0, str(Path(__file__).parent))
