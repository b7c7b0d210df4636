"""Graphs of items and of labels, their Laplacians, and diffusion over them."""

from tagloom.graph.diffusion import AffinityGraph, affinity_graph, diffuse
from tagloom.graph.label_graph import label_graph_from_cooccurrence, label_graph_from_edges
from tagloom.graph.semantic import ItemGraph, check_weights, laplacian, semantic_graph

__all__ = [
    "AffinityGraph",
    "ItemGraph",
    "affinity_graph",
    "check_weights",
    "diffuse",
    "label_graph_from_cooccurrence",
    "label_graph_from_edges",
    "laplacian",
    "semantic_graph",
]
