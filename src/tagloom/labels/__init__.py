"""Partial labels: each (item, label) is present, absent or unknown."""

from tagloom.labels.parsing import checked_item_weights, is_missing
from tagloom.labels.partial import PartialLabels, as_partial_labels
from tagloom.labels.splits import (
    add_known,
    hide_per_class,
    hide_uniformly,
    keep_presences,
    keep_salient,
    split_items,
    split_known,
)
from tagloom.labels.storage import Counts, Entries, State
from tagloom.validation import is_column_table, is_frame, named_like

__all__ = [
    "Counts",
    "Entries",
    "PartialLabels",
    "State",
    "add_known",
    "as_partial_labels",
    "checked_item_weights",
    "hide_per_class",
    "hide_uniformly",
    "is_column_table",
    "is_frame",
    "is_missing",
    "keep_presences",
    "keep_salient",
    "named_like",
    "split_items",
    "split_known",
]
