"""What the names of labels say about pictures: by the concepts that they mean, and as texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom.labels import PartialLabels
from tagloom.tagger.texts import TextPrior, Texts
from tagloom.vision import Features, imagenet_classes, imagenet_synsets
from tagloom.words import TagLinks, Vocabulary, concept_synsets, link_tags, load_lexicon

Array = npt.NDArray[Any]

# A concept that is less probable than this is not what a picture looks like.
_SEEN = 0.05
_PARTS = ("data", "indices", "indptr")
# The share of a score from which on a name is a reason for it.
_NOTICEABLE = 0.25
# The probability from which on a picture fits a name.
FITS = 0.5
_BY_CONCEPTS, _BY_TEXT = 1, 2
# How often hand-tagged texts use a noun that everybody knows.
_COMMON = 10


class SeenConcept(NamedTuple):
    """A concept of a label's name, and the encoder's probability of it in one picture."""

    name: str
    posterior: float


@dataclass(frozen=True, eq=False)
class WordPrior:
    r"""Prior scores of labels by their names, from the posteriors of the concepts that these mean.

    With C_j the concepts that are what label j names, or kinds of it, and p_ic the posterior of
    concept c in picture i,

        t_ij = sqrt(sum_{c in C_j} p_ic).

    The root lifts small posteriors: one class of many has to stand for all that a picture shows.
    An encoder of pictures and texts compares the name itself with a picture, p_ij of `TextPrior`.
    Where a label has both, t_ij is the root of their mean (a linear opinion pool, Stone 1961). A
    label whose name means no concept and is no text has no prior scores.

    Attributes
    ----------
    concept_matrix : csr_array of shape (n_labels, n_concepts)
        1 where a concept shows what a label names.
    meanings : tuple
        The noun that each label means; None for a label without one.
    texts : TextPrior, optional
        How well pictures fit the names, if the encoder knows texts.
    """

    concept_matrix: sparse.csr_array
    meanings: tuple[str | None, ...]
    texts: TextPrior | None = None

    @classmethod
    def of(
        cls,
        features: Features,
        known: PartialLabels,
        vocabulary: Vocabulary,
        texts: Texts | None = None,
    ) -> Self | None:
        """Link the names of labels; None where no name says anything to the encoder."""
        by_concepts = cls._of_concepts(features, known, vocabulary)
        compared = TextPrior.of(texts, features, known.labels)
        if by_concepts is not None or compared is None:
            return None if by_concepts is None else replace(by_concepts, texts=compared)
        none = sparse.csr_array((known.n_labels, len(features.concepts)))
        return cls(none, (None,) * known.n_labels, compared)

    @classmethod
    def _of_concepts(
        cls, features: Features, known: PartialLabels, vocabulary: Vocabulary
    ) -> Self | None:
        columns = [n for n, label in enumerate(known.labels) if isinstance(label, str)]
        if not features.concepts or not columns:
            return None
        names = [str(known.labels[column]) for column in columns]
        links = link_tags(
            names,
            features.concepts,
            vocabulary=vocabulary,
            labels=known.select(names),
            posteriors=features.posteriors,
        )
        if not links.concept_matrix.nnz:
            return None
        shape = known.n_labels, len(features.concepts)
        found = sparse.coo_array(links.concept_matrix)
        rows = np.asarray(columns)[found.coords[0]]
        matrix = sparse.csr_array((found.data, (rows, found.coords[1])), shape=shape)
        meanings: list[str | None] = [None] * known.n_labels
        for column, meaning in zip(columns, cls.of_links(links).meanings, strict=True):
            meanings[column] = meaning
        return cls(matrix, tuple(meanings))

    @classmethod
    def of_links(cls, links: TagLinks) -> Self:
        """Return the prior of labels that are the tags of these links."""
        lexicon = load_lexicon()
        meanings = [
            lexicon.name(lexicon.row_of(one.synsets[0])) if one.concepts and one.synsets else None
            for one in links.links
        ]
        return cls(links.concept_matrix, tuple(meanings))

    def __call__(self, features: Features) -> Array:
        """Return t for every picture and label; NaN for labels without prior scores."""
        posteriors = features.posteriors
        total = np.asarray((self.concept_matrix @ posteriors.T).T, dtype=posteriors.dtype)
        p = np.clip(total, 0, 1)
        p[:, ~self.means_concepts] = np.nan
        if self.texts is not None:
            fits = self.texts.probabilities(features.visual)
            p = np.where(np.isnan(p), fits, np.where(np.isnan(fits), p, (p + fits) / 2))
        return np.asarray(np.sqrt(p))

    @property
    def means_concepts(self) -> npt.NDArray[np.bool_]:
        """Which labels mean concepts."""
        return np.asarray(np.diff(self.concept_matrix.indptr) > 0)

    def seen(
        self, posteriors: Array, column: int, concepts: Sequence[str], count: int
    ) -> tuple[SeenConcept, ...]:
        """Return the most probable concepts of one label that are seen in one picture."""
        start, end = self.concept_matrix.indptr[column : column + 2]
        own = self.concept_matrix.indices[start:end]
        best = own[np.argsort(-posteriors[own], kind="stable")[:count]]
        seen = (SeenConcept(concepts[c], float(posteriors[c])) for c in best)
        return tuple(one for one in seen if one.posterior >= _SEEN)


@dataclass(frozen=True, eq=False)
class NameReasons:
    """Where the name of a label is a reason for its score, and what the picture looks like there.

    Attributes
    ----------
    words : WordPrior
    concepts : tuple of str
    seen : csr_array of shape (n_items, n_concepts)
        The posteriors of the concepts that a picture looks like.
    is_reason : csr_array of shape (n_items, n_labels)
        1 where the concepts that a name means, and that are seen, make up a quarter of the score; 2
        where the picture fits the name as a text, and that counts for more.
    """

    words: WordPrior
    concepts: tuple[str, ...]
    seen: sparse.csr_array
    is_reason: sparse.csr_array

    @classmethod
    def of(
        cls,
        words: WordPrior,
        features: Features,
        weights: tuple[Array, Array],
        scores: Array,
    ) -> Self:
        """Compare k_i theta_j t_ij, with `weights` k and theta, with the scores."""
        p = features.posteriors
        seen = sparse.csr_array(np.where(p >= _SEEN, p, 0))
        by_concepts = sparse.csr_array(seen @ words.concept_matrix.T)
        by_concepts.data = np.clip(by_concepts.data, 0, 1)
        fits = _fitting(words, features)
        total = sparse.coo_array((by_concepts + fits) @ _one_of(words))
        rows, columns = total.coords
        k = np.broadcast_to(weights[0], len(scores))
        part = k[rows] * weights[1][columns] * np.sqrt(total.data)
        noticed = (part > 0) & (part >= _NOTICEABLE * scores[rows, columns])
        at = rows[noticed], columns[noticed]
        kinds = np.full(len(at[0]), _BY_CONCEPTS, dtype=np.int8)
        if fits.nnz:
            kinds[np.asarray(fits[at] > by_concepts[at])] = _BY_TEXT
        is_reason = sparse.csr_array((kinds, at), shape=scores.shape)
        return cls(words, tuple(features.concepts), seen, is_reason)

    def text(self, row: int, column: int, label: str) -> str | None:
        """Say what a picture looks like and why that speaks for a label; None if it does not."""
        # Indexing a sparse table for one value takes ten times as long.
        start, end = self.is_reason.indptr[row : row + 2]
        kinds = self.is_reason.data[start:end][self.is_reason.indices[start:end] == column]
        if not kinds.any():
            return None
        if kinds[0] == _BY_TEXT:
            return fits_name(label)
        start, end = self.words.concept_matrix.indptr[column : column + 2]
        own = self.words.concept_matrix.indices[start:end]
        first, last = self.seen.indptr[row : row + 2]
        there, p = self.seen.indices[first:last], self.seen.data[first:last]
        best = there[np.argmax(np.where(np.isin(there, own), p, -1))]
        return looks_like(self.words.meanings[column] or label, self.concepts[best])

    def to_state(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Return arrays and texts from which `from_state` restores it."""
        tables = {
            "concept_matrix": self.words.concept_matrix,
            "seen": self.seen,
            "is_reason": self.is_reason,
        }
        arrays = {
            f"names_{name}_{part}": getattr(table, part)
            for name, table in tables.items()
            for part in _PARTS
        }
        shapes = {name: list(map(int, table.shape)) for name, table in tables.items()}
        meanings, concepts = list(self.words.meanings), list(self.concepts)
        return arrays, {"shapes": shapes, "meanings": meanings, "concepts": concepts}

    @classmethod
    def from_state(cls, arrays: Mapping[str, Array], texts: Mapping[str, Any]) -> Self:
        """Return what `to_state` has serialised."""
        tables = {
            name: sparse.csr_array(
                tuple(arrays[f"names_{name}_{part}"] for part in _PARTS), shape=tuple(shape)
            )
            for name, shape in texts["shapes"].items()
        }
        words = WordPrior(tables["concept_matrix"], tuple(texts["meanings"]))
        return cls(words, tuple(texts["concepts"]), tables["seen"], tables["is_reason"])


def _fitting(words: WordPrior, features: Features) -> sparse.csr_array:
    """Return the probabilities of pictures that fit the name of a label as a text."""
    if words.texts is None:
        return sparse.csr_array((len(features), len(words.meanings)))
    p = words.texts.probabilities(features.visual)
    return sparse.csr_array(np.where(p >= FITS, p, 0))


def _one_of(words: WordPrior) -> sparse.dia_array:
    """Return the matrix by which probabilities of a label with two sources are averaged."""
    n = words.means_concepts.astype(np.float64)
    if words.texts is not None:
        n += ~np.isnan(words.texts.spreads)
    return sparse.diags_array(1 / np.maximum(n, 1))


def fits_name(label: str) -> str:
    """Say in words that a picture fits the name of a label.

    >>> fits_name("Hund")
    'fits the word “Hund”'
    """
    return f"fits the word “{label}”"


def looks_like(meaning: str, concept: str) -> str:
    """Say in words what a picture shows of what a label means.

    >>> looks_like("cat", "tabby")
    'looks like a tabby; a tabby is a cat'
    >>> looks_like("animal", "Chihuahua")
    'looks like a Chihuahua; a Chihuahua is a dog, a dog is an animal'
    >>> looks_like("African elephant", "African elephant")
    'looks like an African elephant'
    """
    chain = [concept, *_between(concept, meaning), meaning]
    if concept.casefold() == meaning.casefold():
        chain = [concept]
    steps = [f"{_with_article(a)} is {_with_article(b)}" for a, b in pairwise(chain)]
    because = f"; {', '.join(steps)}" if steps else ""
    return f"looks like {_with_article(concept)}{because}"


@cache
def _between(concept: str, meaning: str) -> tuple[str, ...]:
    """Return the most common kind between a concept and what it is a kind of, if one is common."""
    lexicon = load_lexicon()
    known = dict(zip(imagenet_classes(), imagenet_synsets(), strict=True))
    found = known.get(concept) or concept_synsets([concept])[0]
    if found is None:
        return ()
    below = lexicon.row_of(found)
    for sense in lexicon.senses(meaning.casefold()):
        if lexicon.is_below(below, sense.synset):
            between = lexicon.path(below, sense.synset)[1:-1]
            best = max(between, key=lexicon.synset_count, default=None)
            common = best is not None and lexicon.synset_count(best) >= _COMMON
            return (lexicon.name(best),) if common and best is not None else ()
    return ()


def _with_article(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in tuple('aeiou') else 'a'} {noun}"
