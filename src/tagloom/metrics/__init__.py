"""How good scores are, judged only where the truth is known.

A label with no known presence has no average precision and no recall: it is left out of every mean
over labels, and NaN or a count says so. `docs/metrics.md` gives the conventions in short.
"""

from tagloom.metrics._error import squared_error
from tagloom.metrics._ranking import (
    average_precision,
    average_precision_per_item,
    mean_average_precision,
    mean_average_precision_per_item,
)
from tagloom.metrics._top import TopK, at_top_k, top_labels

__all__ = [
    "TopK",
    "at_top_k",
    "average_precision",
    "average_precision_per_item",
    "mean_average_precision",
    "mean_average_precision_per_item",
    "squared_error",
    "top_labels",
]
