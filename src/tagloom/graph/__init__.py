"""Meaning to neighbours to weights to Laplacian."""

from tagloom.graph.laplacian import check_weights, laplacian

__all__ = ["check_weights", "laplacian"]
