"""Which rows lie nearest to which: the search that descriptors and graphs share."""

from tagloom.neighbors.exact import Neighbours, neighbour_table
from tagloom.neighbors.search import METHODS, METRICS, nearest_neighbours

__all__ = ["METHODS", "METRICS", "Neighbours", "nearest_neighbours", "neighbour_table"]
