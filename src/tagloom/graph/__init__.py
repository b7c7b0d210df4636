"""Meaning to neighbours to weights to Laplacian."""

from tagloom.graph.diffusion import AffinityGraph, affinity_graph, diffuse
from tagloom.graph.labels import label_graph_from_cooccurrence, label_graph_from_edges
from tagloom.graph.laplacian import check_weights, laplacian
from tagloom.graph.semantic import semantic_graph

__all__ = [
    "AffinityGraph",
    "affinity_graph",
    "check_weights",
    "diffuse",
    "label_graph_from_cooccurrence",
    "label_graph_from_edges",
    "laplacian",
    "semantic_graph",
]
