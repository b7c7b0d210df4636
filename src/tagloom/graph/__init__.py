"""Meaning to neighbours to weights to Laplacian."""

from tagloom.graph.labels import label_graph_from_cooccurrence, label_graph_from_edges
from tagloom.graph.laplacian import check_weights, laplacian
from tagloom.graph.semantic import semantic_graph

__all__ = [
    "check_weights",
    "label_graph_from_cooccurrence",
    "label_graph_from_edges",
    "laplacian",
    "semantic_graph",
]
