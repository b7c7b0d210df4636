"""The whole way: pictures and what is known of them in; scored labels, with reasons, out."""

from tagloom.tagger.explanation import Concept, Explanation, Neighbor, Reason
from tagloom.tagger.inputs import Aligned, align
from tagloom.tagger.semantic_tagger import SemanticTagger, Suggestion

__all__ = [
    "Aligned",
    "Concept",
    "Explanation",
    "Neighbor",
    "Reason",
    "SemanticTagger",
    "Suggestion",
    "align",
]
