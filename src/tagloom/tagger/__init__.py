"""Pictures and partial labels in; scored labels, with explanations, out."""

from tagloom.tagger.explanation import Concept, Explanation, Neighbor, Reason
from tagloom.tagger.inputs import Alignment, align
from tagloom.tagger.semantic_tagger import SemanticTagger, Suggestion

__all__ = [
    "Alignment",
    "Concept",
    "Explanation",
    "Neighbor",
    "Reason",
    "SemanticTagger",
    "Suggestion",
    "align",
]
