"""Which rows lie nearest to which: the search that descriptors and graphs share."""

from tagloom.neighbours._result import Neighbours
from tagloom.neighbours._search import METHODS, METRICS, nearest_neighbours
from tagloom.neighbours._sparse import neighbour_table

__all__ = ["METHODS", "METRICS", "Neighbours", "nearest_neighbours", "neighbour_table"]
