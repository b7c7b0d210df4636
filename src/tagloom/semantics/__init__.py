"""Semantic descriptors: selected concepts (global) and labels of visual neighbours (local)."""

from tagloom.semantics.concepts import ConceptSelector, mutual_information
from tagloom.semantics.descriptor import SemanticDescriptor
from tagloom.semantics.local import LocalDescriptor
from tagloom.semantics.pca import DescriptorPCA

__all__ = [
    "ConceptSelector",
    "DescriptorPCA",
    "LocalDescriptor",
    "SemanticDescriptor",
    "mutual_information",
]
