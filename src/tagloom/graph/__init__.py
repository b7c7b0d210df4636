"""Meaning to neighbours to weights to Laplacian."""

from tagloom.graph.diffusion import AffinityGraph, affinity_graph, diffuse
from tagloom.graph.knn import check_weights, laplacian, semantic_graph
from tagloom.graph.label_graph import label_graph_from_cooccurrence, label_graph_from_edges

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
