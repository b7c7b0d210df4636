"""From pictures and partial labels to scored labels, in one estimator."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tagloom.checks import check_choice, check_whole, some_of
from tagloom.errors import InvalidInputError
from tagloom.graph import semantic_graph
from tagloom.graph.semantic import WEIGHTS
from tagloom.labels import PartialLabels, as_partial_labels
from tagloom.models import PartialLabelLearner, Tuning
from tagloom.semantics import DescriptorPCA, SemanticDescriptor
from tagloom.tagger.alignment import Aligned, align
from tagloom.tagger.describing import Described, Describer
from tagloom.tagger.explanation import (
    Concept,
    Explanation,
    are_concepts,
    concepts_behind,
    explain_score,
    neighbours_of,
)
from tagloom.tagger.learning import check_learner, learned, takes_graph
from tagloom.tagger.surroundings import asks_graph, check_explainable, joined, nearest
from tagloom.vision import Backbone, EmbedReport, Features, embed

Array = npt.NDArray[Any]
Pictures = Features | str | os.PathLike[str]


class Suggestion(NamedTuple):
    """A label that is not known of a picture, and its score."""

    item: str
    label: Any
    score: float


class SemanticTagger(BaseEstimator):
    """Tag pictures by what they look like, what they mean and what is known of like ones.

    Pictures become visual descriptors and class posteriors; these and what is known of the labels
    become semantic descriptors s = [g; l]; the learner's features are the principal components of
    [visual; s]. Pictures of like features, or as in the paper of like s, are joined in a graph.
    Pictures of which nothing is known may take part: they are tagged, and they bind others through
    the graph.

    Parameters
    ----------
    learner : {"diffusion", "paper"} or PartialLabelLearner, default="diffusion"
        A name is a learner whose parameters are chosen by hiding part of what is known:
        "diffusion" is `APGDiffusion`, which makes its own graphs; "paper" is `APGGraph` on the
        semantic graph. A learner is fitted as it is; an `APGGraph` with the semantic graph.
    n_neighbors : int, default=10
        The paper's k_s, neighbours in the semantic graph.
    weight : {"dot", "cosine"}, default="dot"
        Weight of an edge of the semantic graph.
    descriptor : SemanticDescriptor, optional
        How to describe; its `n_visual` and `concept_names` are set from the pictures.
    energy : float, default=0.9
        Share of the variance that the features keep.
    backbone : Backbone, optional
        Looks at pictures that are given as a folder; EfficientNet-Lite0 by default.
    cache : path, optional
        Where features of folders are kept; the user's cache by default.
    random_state : int, default=0
        Decides which known entries are hidden while tuning.
    progress : bool, default=False
        Whether to show progress bars.

    Attributes
    ----------
    items_ : list of str
        The training pictures.
    classes_ : tuple
        The labels.
    known_ : PartialLabels
        What was known of the training pictures, in their order.
    alignment_ : Aligned
        Which labelled items have no picture and which pictures no label.
    report_ : EmbedReport or None
        What became of each file, where pictures came as a folder.
    descriptor_, pca_, learner_ : the fitted parts
    graph_ : sparse array
        The weights of the semantic graph, made when a learner or you ask for it. The graph of
        "diffusion" is `learner_.graph_`.
    tuning_ : Tuning or None
        What was tried, where the learner was tuned.
    """

    def __init__(
        self,
        learner: PartialLabelLearner | str = "diffusion",
        *,
        n_neighbors: int = 10,
        weight: str = "dot",
        descriptor: SemanticDescriptor | None = None,
        energy: float = 0.9,
        backbone: Backbone | None = None,
        cache: str | os.PathLike[str] | None = None,
        random_state: int = 0,
        progress: bool = False,
    ) -> None:
        self.learner = learner
        self.n_neighbors = n_neighbors
        self.weight = weight
        self.descriptor = descriptor
        self.energy = energy
        self.backbone = backbone
        self.cache = cache
        self.random_state = random_state
        self.progress = progress

    items_: list[str]
    classes_: tuple[Any, ...]
    known_: PartialLabels
    alignment_: Aligned
    report_: EmbedReport | None
    learner_: Any
    tuning_: Tuning | None

    def fit(self, pictures: Pictures, Y: Any) -> Self:
        """Learn from pictures and what is known of them.

        Parameters
        ----------
        pictures : Features, or path of a folder of pictures
        Y : PartialLabels, DataFrame or array of 1, 0 and NaN (unknown)
            Rows are matched to pictures by name where they have names, else by position.
        """
        check_whole("n_neighbors", self.n_neighbors, at_least=1)
        check_choice("weight", self.weight, WEIGHTS)
        check_learner(self.learner)
        features, self.report_ = self._seen(pictures)
        self.alignment_ = align(as_partial_labels(Y), features.items)
        self.known_ = self.alignment_.known
        self.items_, self.classes_ = features.items, self.known_.labels
        self._describer = Describer(self.descriptor, self.energy)
        self._training = self._describer.describe_training(features, self.known_)
        self._graph: sparse.csr_array | None = None
        self.tuning_, self.learner_ = learned(
            self.learner,
            self._training.X,
            self.known_,
            self._made_graph() if takes_graph(self.learner) else None,
            random_state=self.random_state,
            progress=self.progress,
        )
        return self

    @property
    def graph_(self) -> sparse.csr_array:
        """The weights of the semantic graph."""
        check_is_fitted(self)
        return self._made_graph()

    @property
    def descriptor_(self) -> SemanticDescriptor:
        """The fitted semantic descriptor."""
        return self._describer.descriptor

    @property
    def pca_(self) -> DescriptorPCA:
        """The fitted reduction of [visual; s] to the learner's features."""
        return self._describer.pca

    def scores(self, pictures: Pictures | None = None) -> Array:
        """Return estimated labels, one row for each picture and one column for each label.

        Without `pictures`, of the training pictures; these are never described by their own labels,
        and none is its own neighbour. A training picture that is passed again is taken for a new
        one, whose likest neighbour is itself.
        """
        return self._scores_of(self._described(pictures))

    def suggest(self, pictures: Pictures | None = None, n_labels: int = 5) -> list[Suggestion]:
        """Return for each picture the labels of highest score of which nobody has said anything."""
        check_whole("n_labels", n_labels, at_least=1)
        described = self._described(pictures)
        table = self._scores_of(described).astype(np.float64)
        if pictures is None:
            said = self.known_.entries()
            table[said.rows, said.columns] = -np.inf
        best = np.argsort(-table, axis=1, kind="stable")[:, :n_labels]
        return [
            Suggestion(item, self.classes_[j], float(table[i, j]))
            for i, item in enumerate(described.items)
            for j in best[i]
            if table[i, j] > -np.inf
        ]

    def explain(
        self, item: str, label: Any, pictures: Pictures | None = None, *, n_reasons: int = 5
    ) -> Explanation:
        """Say why `label` has its score for `item`, a training picture or one of `pictures`.

        The learner must have a linear part, to which a graph may add.
        """
        check_whole("n_reasons", n_reasons, at_least=1)
        described = self._described(pictures)
        check_explainable(self.learner_)
        row, column = _position(item, described.items), _position(label, self.classes_)
        own, training_scores = described.row(row), self.scores()[:, column]
        new = described is not self._training
        score = self._scores_of(own)[0, column] if new else training_scores[row]
        if asks_graph(self.learner_):
            near = joined(self.learner_, own.X, None if new else row)
        else:
            near = nearest(self._training.S, own.S, self.n_neighbors, None if new else row)
        return explain_score(
            item,
            label,
            score=float(score),
            amounts=self._describer.contributions(own.columns[0], self.learner_.coef_[:, column]),
            names=self.descriptor_.get_feature_names_out(),
            base=float(self.learner_.intercept_[column]),
            concepts=self._concepts_behind(own.S[0], training_scores, n_reasons),
            neighbours=neighbours_of(
                [self.items_[j] for j in near.rows],
                near.affinities,
                self.known_.take(near.rows).states()[:, column],
                training_scores[near.rows],
            ),
            has_graph=asks_graph(self.learner_),
            n_reasons=n_reasons,
        )

    def _concepts_behind(self, s: Array, scores: Array, count: int) -> tuple[Concept, ...]:
        names = self.descriptor_.get_feature_names_out()
        chosen = are_concepts(names)
        if not chosen.any():
            return ()
        bare = [str(name).removeprefix("concept:") for name in names[chosen]]
        scale = self.descriptor_.scales_[0]  # the global part comes first
        training = scale * self._training.S[:, chosen].astype(np.float64)
        own = scale * s[chosen]
        return concepts_behind(np.array(bare), own, training, scores.astype(np.float64), count)

    def _seen(self, pictures: Pictures) -> tuple[Features, EmbedReport | None]:
        """Return what a backbone saw, now or before."""
        if isinstance(pictures, Features):
            return pictures, None
        if not isinstance(pictures, str | os.PathLike):
            raise InvalidInputError(
                "Pictures must be tagloom.vision.Features or the path of a folder; "
                f"got {type(pictures).__name__}."
            )
        folder = Path(pictures)
        if not folder.is_dir():
            raise InvalidInputError(f"There is no folder of pictures at {folder}.")
        done = embed(folder, self.backbone, cache=self.cache, show_progress=self.progress)
        return done.features(), done.report

    def _described(self, pictures: Pictures | None) -> Described:
        check_is_fitted(self)
        if pictures is None:
            return self._training
        return self._describer.describe(self._seen(pictures)[0])

    def _scores_of(self, described: Described) -> Array:
        """Return scores; those of the training pictures as such, not as new ones."""
        if described is self._training:
            return np.asarray(self.learner_.training_scores(described.X))
        return np.asarray(self.learner_.scores(described.X))

    def _made_graph(self) -> sparse.csr_array:
        if self._graph is None:
            self._graph = semantic_graph(self._training.S, self.n_neighbors, weight=self.weight)
        return self._graph


def _position(name: Any, names: Sequence[Any]) -> int:
    try:
        return list(names).index(name)
    except ValueError:
        raise InvalidInputError(f"{name!r} is not among {some_of(names, 3)}.") from None
