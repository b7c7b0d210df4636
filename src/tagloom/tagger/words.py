"""What the names of labels say about pictures: prior scores by the concepts that a name means."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom.labels import PartialLabels
from tagloom.vision import Features
from tagloom.words import Vocabulary, link_tags, load_lexicon

Array = npt.NDArray[Any]

# A concept that is less probable than this is not what a picture looks like.
_SEEN = 0.05


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
    A label whose name means no concept has no prior scores.

    Attributes
    ----------
    concept_matrix : csr_array of shape (n_labels, n_concepts)
        1 where a concept shows what a label names.
    meanings : tuple
        The noun that each label means; None for a label without one.
    """

    concept_matrix: sparse.csr_array
    meanings: tuple[str | None, ...]

    @classmethod
    def of(cls, features: Features, known: PartialLabels, vocabulary: Vocabulary) -> Self | None:
        """Link the names of labels; None where no name means a concept of the encoder."""
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
        meanings: list[str | None] = [None] * known.n_labels
        lexicon = load_lexicon()
        for column, link in zip(columns, links.links, strict=True):
            if link.concepts and link.synsets:
                meanings[column] = lexicon.name(lexicon.row_of(link.synsets[0]))
        matrix = sparse.csr_array((found.data, (rows, found.coords[1])), shape=shape)
        return cls(matrix, tuple(meanings))

    def __call__(self, posteriors: Array) -> Array:
        """Return t for every picture and label; NaN for labels without prior scores."""
        total = np.asarray((self.concept_matrix @ posteriors.T).T, dtype=posteriors.dtype)
        T = np.sqrt(np.clip(total, 0, 1))
        T[:, np.diff(self.concept_matrix.indptr) == 0] = np.nan
        return np.asarray(T)

    def seen(
        self, posteriors: Array, column: int, concepts: Sequence[str], count: int
    ) -> tuple[SeenConcept, ...]:
        """Return the most probable concepts of one label that are seen in one picture."""
        start, end = self.concept_matrix.indptr[column : column + 2]
        own = self.concept_matrix.indices[start:end]
        best = own[np.argsort(-posteriors[own], kind="stable")[:count]]
        seen = (SeenConcept(concepts[c], float(posteriors[c])) for c in best)
        return tuple(one for one in seen if one.posterior >= _SEEN)


def looks_like(meaning: str, seen: SeenConcept) -> str:
    """Say in words what a picture shows of what a label means.

    >>> looks_like("cat", SeenConcept("tabby", 0.62))
    'looks like a tabby (0.62); a tabby is a cat'
    >>> looks_like("African elephant", SeenConcept("African elephant", 0.9))
    'looks like an African elephant (0.90)'
    """
    shown = _with_article(seen.name)
    itself = seen.name.casefold() == meaning.casefold()
    because = "" if itself else f"; {shown} is {_with_article(meaning)}"
    return f"looks like {shown} ({seen.posterior:.2f}){because}"


def _with_article(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in tuple('aeiou') else 'a'} {noun}"
