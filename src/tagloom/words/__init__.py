"""Words: what the names of tags and concepts mean, by WordNet and by the owner's vocabulary."""

from tagloom.words.lexicon import Lexicon, load_lexicon
from tagloom.words.links import (
    Implication,
    Merge,
    TagLink,
    TagLinks,
    concept_synsets,
    link_tags,
)
from tagloom.words.vocabulary import TagEntry, Vocabulary, read_vocabulary, write_vocabulary

__all__ = [
    "Implication",
    "Lexicon",
    "Merge",
    "TagEntry",
    "TagLink",
    "TagLinks",
    "Vocabulary",
    "concept_synsets",
    "link_tags",
    "load_lexicon",
    "read_vocabulary",
    "write_vocabulary",
]
