"""Word senses: how probable each meaning of a tag is.

Three things speak for a sense: how often texts use the word in it, whether other tags of the
collection mean similar things (as Resnik 1995 tells apart the senses of nouns in a group), and
whether the pictures with the tag show it.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.words.forms import TagText, WordForm, recognise
from tagloom.words.lexicon import Lexicon, Sense

Senses = dict[int, float]
"""Probability of each synset that a tag may mean. What is missing from 1 is no noun at all."""

# Lexicographer files of WordNet (manual page lexnames(5WN)) by how likely tags of pictures mean
# them: what can be seen, what can be inferred from what is seen, and the rest.
_VISIBLE = frozenset((3, 5, 6, 7, 8, 13, 15, 17, 18, 19, 20, 27))
_INFERRED = frozenset((4, 10, 11, 14, 25, 28))
_INFERRED_WEIGHT = 0.3
_REST_WEIGHT = 0.1
# A word in small letters is rarely a name: "crane" is not Stephen Crane.
_NAME_WEIGHT = 0.05
# A person called by the name of an animal or plant is a figure of speech: "tiger", "whale".
_LIVING, _PERSON = frozenset((5, 20)), 18
_FIGURATIVE_WEIGHT = 0.2
_FIGURATIVE_COUNT = 5
# Tags are nouns more often than the words of a text are.
_ADJECTIVE_WEIGHT = 0.5
# "glasses" is the word itself rather than the plural of "glass".
_OWN_WEIGHT = 4.0
# A pseudo-count of tags for the agreement with other tags, and of pictures for that with pictures.
_TAGS_SHRINKAGE = 1.0
_PICTURES_SHRINKAGE = 10.0
# Nats for each unit of ROC AUC above that of a sense which is neither confirmed nor refuted.
_NATS_PER_AUC = 8.0
_NEUTRAL_AUC = 0.6


def prior_senses(tag: str, text: TagText, word: WordForm, lexicon: Lexicon) -> Senses:
    """Return the probabilities of the senses of a word before anything else is known.

    The weight of a sense is (count + 1/rank) v: its frequency in hand-tagged texts with a
    pseudo-count that falls with its rank, and v, small for what cannot be seen, for names in small
    letters and for figures of speech. A word that the texts do not have ("bike") gains
    log(1 + count of its synonyms). The frequency of the adjective is the weight of being no noun
    ("white"). Words that narrow a tag, "bird" in "crane (bird)", leave only the senses below one of
    theirs, if any.
    """
    weights: Senses = defaultdict(float)
    for lemma, own in ((word.lemma, _OWN_WEIGHT if word.singular else 1.0), (word.singular, 1.0)):
        senses = lexicon.senses(lemma) if lemma else []
        is_rare = not any(sense.uses for sense in senses)
        for sense in senses:
            synonyms = math.log1p(lexicon.synset_count(sense.synset)) if is_rare else 0.0
            visible = _visibility(sense.synset, tag, lexicon) * _literalness(sense, senses, lexicon)
            weights[sense.synset] += own * visible * (sense.uses + synonyms + 1 / sense.rank)
    weights = _narrowed(weights, text.qualifiers, lexicon)
    adjective = _ADJECTIVE_WEIGHT * lexicon.adjective_count(word.lemma)
    total = sum(weights.values()) + adjective
    return {synset: weight / total for synset, weight in weights.items()}


def _visibility(synset: int, tag: str, lexicon: Lexicon) -> float:
    domain = int(lexicon.domains[synset])
    weight = 1.0 if domain in _VISIBLE else _REST_WEIGHT
    weight = _INFERRED_WEIGHT if domain in _INFERRED else weight
    is_unlikely_name = bool(lexicon.is_name[synset]) and tag == tag.lower()
    return weight * _NAME_WEIGHT if is_unlikely_name else weight


def _literalness(sense: Sense, senses: Sequence[Sense], lexicon: Lexicon) -> float:
    is_rare_person = lexicon.domains[sense.synset] == _PERSON and sense.uses < _FIGURATIVE_COUNT
    is_living = any(int(lexicon.domains[other.synset]) in _LIVING for other in senses)
    return _FIGURATIVE_WEIGHT if is_rare_person and is_living else 1.0


def _narrowed(weights: Senses, qualifiers: Sequence[str], lexicon: Lexicon) -> Senses:
    for qualifier in qualifiers:
        word = recognise(qualifier, lexicon)
        above = {sense.synset for sense in lexicon.senses(word.lemma)} if word else set()
        below = {s: w for s, w in weights.items() if above & lexicon.ancestors(s)}
        weights = below or weights
    return weights


def weigh_by_tags(senses: Sequence[Senses], lexicon: Lexicon) -> list[Senses]:
    """Return the probabilities after asking how well each sense agrees with the other tags.

    Let n_c be the expected number of other tags, of N, that mean the synset c or something below
    it, and pi_c the share of WordNet's synsets that do. A sense gains

        max over its ancestors c of  log( (n_c + k) / (N pi_c + k) ),

    the excess of its best-represented class in the vocabulary, with a pseudo-count k: "tiger" is a
    cat, not a fierce person, where other tags are lions and lynxes.
    """
    below: Senses = defaultdict(float)
    own: list[Senses] = []
    for tag in senses:
        mass: Senses = defaultdict(float)
        for synset, probability in tag.items():
            for above in lexicon.ancestors(synset):
                mass[above] += probability
        own.append(mass)
        for above, probability in mass.items():
            below[above] += probability
    n_others = max(len(senses) - 1, 0)

    def excess(synset: int, mass: Senses) -> float:
        return max(
            math.log(
                (below[c] - mass[c] + _TAGS_SHRINKAGE)
                / (n_others * (int(lexicon.n_below[c]) + 1) / len(lexicon) + _TAGS_SHRINKAGE)
            )
            for c in lexicon.ancestors(synset)
        )

    return [
        _updated(tag, {synset: excess(synset, mass) for synset in tag})
        for tag, mass in zip(senses, own, strict=True)
    ]


def weigh_by_pictures(
    senses: Senses,
    columns: Mapping[int, npt.NDArray[np.intp]],
    present: npt.NDArray[np.bool_],
    posteriors: npt.NDArray[Any],
) -> Senses:
    """Return the probabilities after looking at the pictures.

    For a sense with concepts below it, let A be the ROC AUC with which the sum of their posteriors
    tells the n pictures that have the tag from those that are not known to. The sense gains
    8 (A - 0.6) n / (n + 10) nats. Forgotten tags among the others lower A a little. Senses without
    concepts neither gain nor lose.

    Parameters
    ----------
    columns : mapping
        The concepts below each sense.
    present : array of shape (n_items,)
    posteriors : array of shape (n_items, n_concepts)
    """
    gains = {}
    n_present = int(present.sum())
    for synset in senses:
        if len(columns[synset]) and 0 < n_present < len(present):
            area = _area(posteriors[:, columns[synset]].sum(axis=1), present)
            trust = n_present / (n_present + _PICTURES_SHRINKAGE)
            gains[synset] = _NATS_PER_AUC * (area - _NEUTRAL_AUC) * trust
    return _updated(senses, gains)


def _area(scores: npt.NDArray[Any], present: npt.NDArray[np.bool_]) -> float:
    """Return the area under the ROC curve; ties count half."""
    others = np.sort(scores[~present])
    below = np.searchsorted(others, scores[present], side="left")
    up_to = np.searchsorted(others, scores[present], side="right")
    return float((below + up_to).mean()) / (2 * len(others))


def _updated(senses: Senses, gains: Mapping[int, float]) -> Senses:
    """Return the senses with their odds multiplied by the exponential of what each gains."""
    no_noun = max(1 - sum(senses.values()), 0.0)
    weights = {synset: p * math.exp(gains.get(synset, 0.0)) for synset, p in senses.items()}
    total = sum(weights.values()) + no_noun
    return {synset: weight / total for synset, weight in weights.items()} if total else dict(senses)
