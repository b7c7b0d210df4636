"""Numbers and known labels to meaning: concepts (global) and neighbours' labels (local)."""

from tagloom.semantics.concepts import ConceptSelector, mutual_information
from tagloom.semantics.descriptor import SemanticDescriptor
from tagloom.semantics.features import DescriptorPCA
from tagloom.semantics.local import LocalDescriptor

__all__ = [
    "ConceptSelector",
    "DescriptorPCA",
    "LocalDescriptor",
    "SemanticDescriptor",
    "mutual_information",
]
