"""Nearest neighbours, exact and approximate."""

from tagloom.neighbors.search import (
    ALGORITHMS,
    METRICS,
    Neighbors,
    nearest_neighbors,
    neighbor_table,
)

__all__ = ["ALGORITHMS", "METRICS", "Neighbors", "nearest_neighbors", "neighbor_table"]
