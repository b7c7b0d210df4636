"""What is known about each (item, label): present, absent or unknown."""

from tagloom.labels._names import is_missing
from tagloom.labels._packing import pack_labels, unpack_labels
from tagloom.labels._partial import PartialLabels, as_partial_labels
from tagloom.labels._types import Counts, Entries, State, is_frame
from tagloom.labels.folds import split_items, split_known
from tagloom.labels.hiding import hide_per_class, hide_uniformly, keep_presences
from tagloom.labels.merging import add_known

__all__ = [
    "Counts",
    "Entries",
    "PartialLabels",
    "State",
    "add_known",
    "as_partial_labels",
    "hide_per_class",
    "hide_uniformly",
    "is_frame",
    "is_missing",
    "keep_presences",
    "pack_labels",
    "split_items",
    "split_known",
    "unpack_labels",
]
