"""What is known about each (item, label): present, absent or unknown."""

from tagloom.labels._partial import PartialLabels, as_partial_labels
from tagloom.labels._types import Counts, Entries, State

__all__ = ["Counts", "Entries", "PartialLabels", "State", "as_partial_labels"]
