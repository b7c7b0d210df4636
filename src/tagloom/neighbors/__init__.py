"""Which rows lie nearest to which: the search that descriptors and graphs share."""

from tagloom.neighbors.exact import Neighbors, neighbor_table
from tagloom.neighbors.search import ALGORITHMS, METRICS, nearest_neighbors

__all__ = ["ALGORITHMS", "METRICS", "Neighbors", "nearest_neighbors", "neighbor_table"]
