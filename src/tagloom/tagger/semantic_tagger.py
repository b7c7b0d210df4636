"""From pictures and partial labels to scored labels, in one estimator."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from tagloom.checks import check_whole, some_of
from tagloom.errors import InvalidInputError
from tagloom.graph import semantic_graph
from tagloom.labels import PartialLabels, as_partial_labels
from tagloom.models import APGGraph, PartialLabelLearner, Tuning, tune
from tagloom.neighbours import Neighbours, nearest_neighbours
from tagloom.semantics import DescriptorPCA, SemanticDescriptor
from tagloom.tagger.alignment import Aligned, align
from tagloom.tagger.describing import Described, Describer
from tagloom.tagger.explanation import (
    Concept,
    Explanation,
    are_concepts,
    ask_neighbours,
    concepts_behind,
    explain_score,
)
from tagloom.vision import Backbone, EmbedReport, Features, embed

Array = npt.NDArray[Any]
Pictures = Features | str | os.PathLike[str]


class Suggestion(NamedTuple):
    """A label that is not known of a picture, and its score."""

    item: str
    label: Any
    score: float


class SemanticTagger(BaseEstimator):
    """Tag pictures as the paper does: descriptor, semantic graph, APG-Graph.

    Pictures become visual descriptors and class posteriors; these and what is known of the labels
    become semantic descriptors s = [g; l]; pictures of like meaning are joined in a graph; the
    learner's features are the principal components of [visual; s]. Pictures of which nothing is
    known may take part: they are tagged, and they bind others through the graph.

    Parameters
    ----------
    learner : PartialLabelLearner, optional
        Fitted as it is. By default APGGraph, its lam, gamma and ridge chosen by hiding part of what
        is known.
    n_neighbors : int, default=10
        The paper's k_s, neighbours in the semantic graph.
    weight : {"dot", "cosine"}, default="dot"
        Weight of an edge of the graph.
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
        The weights of the semantic graph.
    tuning_ : Tuning or None
        What was tried, where the learner was tuned.
    """

    def __init__(
        self,
        learner: PartialLabelLearner | None = None,
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
    graph_: sparse.csr_array
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
        if self.learner is not None and not isinstance(self.learner, PartialLabelLearner):
            raise InvalidInputError(
                f"learner must be a learner of tagloom.models; got {self.learner!r}."
            )
        features, self.report_ = self._seen(pictures)
        self.alignment_ = align(as_partial_labels(Y), features.items)
        self.known_ = self.alignment_.known
        self.items_, self.classes_ = features.items, self.known_.labels
        self._describer = Describer(self.descriptor, self.energy)
        self._training = self._describer.describe_training(features, self.known_)
        self._neighbours: Neighbours | None = None
        self.graph_ = semantic_graph(self._training.S, self.n_neighbors, weight=self.weight)
        self.tuning_, self.learner_ = self._learn()
        return self

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

        Without `pictures`, of the training pictures; these are never described by their own labels.
        A training picture that is passed again is taken for a new one, whose likest neighbour is
        itself.
        """
        described = self._described(pictures)
        return np.asarray(self.learner_.scores(described.X))

    def suggest(self, pictures: Pictures | None = None, n_labels: int = 5) -> list[Suggestion]:
        """Return for each picture the labels of highest score of which nobody has said anything."""
        check_whole("n_labels", n_labels, at_least=1)
        described = self._described(pictures)
        table = np.asarray(self.learner_.scores(described.X), dtype=np.float64)
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
        """Say why `label` has its score for `item`, a training picture or one of `pictures`."""
        check_whole("n_reasons", n_reasons, at_least=1)
        described = self._described(pictures)
        if not hasattr(self.learner_, "coef_"):
            raise InvalidInputError(
                f"Only linear learners can be explained; {type(self.learner_).__name__} has no "
                "coef_."
            )
        row, column = _position(item, described.items), _position(label, self.classes_)
        near = self._nearest(described, row)
        return explain_score(
            item,
            label,
            amounts=self._describer.contributions(
                described.columns[row], self.learner_.coef_[:, column]
            ),
            names=self.descriptor_.get_feature_names_out(),
            base=float(self.learner_.intercept_[column]),
            concepts=self._concepts_behind(described.S[row], column, n_reasons),
            around=ask_neighbours(
                [self.items_[j] for j in near],
                self._training.S[near] @ described.S[row],
                self.known_.take(near).states()[:, column],
            ),
            n_reasons=n_reasons,
        )

    def _concepts_behind(self, s: Array, column: int, count: int) -> tuple[Concept, ...]:
        names = self.descriptor_.get_feature_names_out()
        chosen = are_concepts(names)
        if not chosen.any():
            return ()
        bare = [str(name).removeprefix("concept:") for name in names[chosen]]
        scale = self.descriptor_.scales_[0]  # the global part comes first
        scores = self.scores()[:, column].astype(np.float64)
        training = scale * self._training.S[:, chosen].astype(np.float64)
        return concepts_behind(np.array(bare), scale * s[chosen], training, scores, count)

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

    def _learn(self) -> tuple[Tuning | None, Any]:
        X = self._training.X
        if self.learner is not None:
            # Learners without a graph term take no graph.
            given = {"graph": self.graph_} if isinstance(self.learner, APGGraph) else {}
            return None, clone(self.learner).fit(X, self.known_, **given)
        model = APGGraph(on_unlearnable="warn")
        tuning = tune(
            model,
            X,
            self.known_,
            self.graph_,
            random_state=self.random_state,
            progress=self.progress,
        )
        return tuning, tuning.model

    def _nearest(self, described: Described, row: int) -> npt.NDArray[np.int64]:
        """Return the nearest training pictures in semantic space, never the picture itself."""
        base = self._training.S
        if described is not self._training:
            k = min(self.n_neighbors, len(base))
            found = nearest_neighbours(base, k, described.S[row : row + 1])
            return np.asarray(found.indices[0])
        if self._neighbours is None:
            self._neighbours = nearest_neighbours(base, min(self.n_neighbors, len(base) - 1))
        return np.asarray(self._neighbours.indices[row])


def _position(name: Any, names: Sequence[Any]) -> int:
    try:
        return list(names).index(name)
    except ValueError:
        raise InvalidInputError(f"{name!r} is not among {some_of(names, 3)}.") from None
