"""From pictures and partial labels to scored labels, in one estimator."""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from tagloom.errors import InvalidInputError
from tagloom.graph import semantic_graph
from tagloom.graph.knn import WEIGHTS
from tagloom.labels import PartialLabels
from tagloom.models import APGGraph, PartialLabelLearner, SemanticDiffusion, Tuning, tune
from tagloom.models.model_selection import Checkpoint
from tagloom.persistence.container import build_from, write_model
from tagloom.semantics import DescriptorPCA, SemanticDescriptor
from tagloom.tagger.explanation import Explanation, explained, scores_of
from tagloom.tagger.inputs import Aligned, Described, Describer, Eyes, Lesson, Pictures, with_more
from tagloom.validation import check_choice, check_integer
from tagloom.vision import EmbedReport, Encoder
from tagloom.vision.choice import check_same_encoder

# §§ learning
# Which learner the tagger uses, and how it learns.


_TUNED: dict[str, type[PartialLabelLearner]] = {"diffusion": SemanticDiffusion, "paper": APGGraph}


def check_learner(learner: Any) -> None:
    """Refuse what is neither a learner nor the name of one."""
    by_name = isinstance(learner, str) and learner in _TUNED
    if not by_name and not isinstance(learner, PartialLabelLearner):
        names = ", ".join(repr(name) for name in _TUNED)
        raise InvalidInputError(
            f"learner must be one of {names} or a learner of tagloom.models; got {learner!r}."
        )


def takes_graph(learner: PartialLabelLearner | str) -> bool:
    """Say whether the learner has the paper's graph term; others take no graph."""
    return isinstance(learner, APGGraph) or learner == "paper"


def learned(
    learner: PartialLabelLearner | str,
    X: npt.NDArray[Any],
    known: PartialLabels,
    graph: sparse.csr_array | None,
    *,
    random_state: int,
    progress: bool,
    **search: Any,
) -> tuple[Tuning | None, Any]:
    """Fit a learner as it is, or tune one that is named; `search` is passed to `tune`."""
    if isinstance(learner, str):
        # Among many tags there are nearly always some of which nothing can be learned.
        model = _TUNED[learner](on_unlearnable="warn")
        tuning = tune(model, X, known, graph, random_state=random_state, verbose=progress, **search)
        return tuning, tuning.model
    given = {} if graph is None else {"graph": graph}
    fitted: Any = clone(learner)
    return None, fitted.fit(X, known, **given)


# §§ refitting
# Learn again from more, without another search for parameters.


Array = npt.NDArray[Any]


def learned_again(
    learner: Any, before: Lesson, after: Lesson, graph: sparse.csr_array | None
) -> Any:
    """Fit a learner of the same parameters; an `APGGraph` starts from the M of the one before."""
    fresh: Any = clone(learner)
    given: dict[str, Any] = {} if graph is None else {"graph": graph}
    if not isinstance(fresh, APGGraph):
        return fresh.fit(after.training.X, after.known, **given)
    asked = fresh.warm_start
    fresh.set_params(warm_start=True)
    fresh.coef_ = carried(learner.coef_, before, after)
    fresh.fit(after.training.X, after.known, **given)
    return fresh.set_params(warm_start=asked)


def carried(M: Array, before: Lesson, after: Lesson) -> Array:
    """Return M for other features, as near as these can express what it said.

    The features are x = C (row / scale - mean), so that x'm weighs the columns [visual; s] by
    w = C'm / scale. Columns and labels are matched by name, new ones weigh nothing, and w is
    projected on the new components: M = C_new (scale_new w).
    """
    old, new = before.describer.pca, after.describer.pca
    w = (old.pca_.components_.T @ M) / old.scales_[:, None]
    moved = np.zeros((len(new.scales_), after.known.n_labels), dtype=M.dtype)
    columns = _shared(_columns(before.describer), _columns(after.describer))
    labels = _shared(before.known.labels, after.known.labels)
    moved[np.ix_(columns[1], labels[1])] = w[np.ix_(columns[0], labels[0])]
    return np.asarray(new.pca_.components_ @ (moved * new.scales_[:, None]), dtype=M.dtype)


def _columns(describer: Describer) -> list[Any]:
    return [*range(describer.n_visual), *describer.descriptor.get_feature_names_out()]


def _shared(before: Sequence[Any], after: Sequence[Any]) -> tuple[list[int], list[int]]:
    """Return the positions of the names that both have, in both."""
    there = {name: place for place, name in enumerate(before)}
    pairs = [(there[name], place) for place, name in enumerate(after) if name in there]
    return [old for old, _ in pairs], [new for _, new in pairs]


# §§ suggesting
# The labels of highest score of which nobody has said anything.


class Suggestion(NamedTuple):
    """A label that is not known of a picture, and its score."""

    item: str
    label: Any
    score: float


def best_unsaid(
    items: Sequence[str],
    labels: Sequence[Any],
    scores: npt.NDArray[Any],
    known: PartialLabels | None,
    n_labels: int,
) -> list[Suggestion]:
    """Return the best labels of each item, best first, without those that `known` lists."""
    table = scores.astype(np.float64)
    if known is not None:
        said = known.entries()
        table[said.rows, said.columns] = -np.inf
    best = np.argsort(-table, axis=1, kind="stable")[:, :n_labels]
    return [
        Suggestion(item, labels[j], float(table[i, j]))
        for i, item in enumerate(items)
        for j in best[i]
        if table[i, j] > -np.inf
    ]


# §§ main semantic_tagger


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
        "diffusion" is `SemanticDiffusion`, which makes its own graphs; "paper" is `APGGraph` on the
        semantic graph. A learner is fitted as it is; an `APGGraph` with the semantic graph.
    n_neighbors : int, default=10
        The paper's k_s, neighbours in the semantic graph.
    weight : {"dot", "cosine"}, default="dot"
        Weight of an edge of the semantic graph.
    descriptor : SemanticDescriptor, optional
        How to describe; its `n_visual` and `concept_names` are set from the pictures.
    n_components : float, int or None, default=0.9
        Principal components that the features keep, as in scikit-learn's PCA: a float in (0, 1) is
        the share of the variance, an integer the number, None is all of them.
    encoder : Encoder, optional
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
        n_components: float | None = 0.9,
        encoder: Encoder | None = None,
        cache: str | os.PathLike[str] | None = None,
        random_state: int = 0,
        progress: bool = False,
    ) -> None:
        self.learner = learner
        self.n_neighbors = n_neighbors
        self.weight = weight
        self.descriptor = descriptor
        self.n_components = n_components
        self.encoder = encoder
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
    _lesson: Lesson
    _graph: sparse.csr_array | None
    _seen_by: dict[str, Any] | None

    def fit(
        self,
        pictures: Pictures,
        Y: Any,
        *,
        max_seconds: float | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Self:
        """Learn from pictures and what is known of them.

        Parameters
        ----------
        pictures : Features, or path of a folder of pictures
        Y : PartialLabels, DataFrame or array of 1, 0 and NaN (unknown)
            Rows are matched to pictures by name where they have names, else by position.
        max_seconds, checkpoint
            How long to search for parameters, and what of the search is done already: as in `tune`.
        """
        check_integer("n_neighbors", self.n_neighbors, at_least=1)
        check_choice("weight", self.weight, WEIGHTS)
        check_learner(self.learner)
        seen = self._eyes().look(pictures)
        lesson = Lesson.of(seen.features, Y, self.descriptor, self.n_components)
        graph = self._graph_of(lesson) if takes_graph(self.learner) else None
        tuning, learner = learned(
            self.learner,
            lesson.training.X,
            lesson.known,
            graph,
            random_state=self.random_state,
            progress=self.progress,
            max_seconds=max_seconds,
            checkpoint=checkpoint,
        )
        self.report_, self._seen_by = seen.report, seen.by
        self._keep(lesson, graph, tuning, learner)
        return self

    def refit(self, Y: Any, pictures: Pictures | None = None) -> Self:
        """Learn again from what is known by now, with the parameters that were chosen before.

        The result is that of a new tagger with the learner `clone(self.learner_)`, fitted on all
        pictures and Y: the same bits, but for `APGGraph`, which starts from the M found before and
        ends within its `tol` of the optimum. Nothing is searched, and no picture is looked at again
        that took part before. `tuning_` stays the record of the search.

        Parameters
        ----------
        Y : PartialLabels, DataFrame or array of 1, 0 and NaN (unknown)
            All that is known, not only what is new; it may have other labels than before. Rows are
            matched as in `fit`.
        pictures : Features, or path of a folder of pictures, optional
            Pictures that take part from now on, after those of before. Those that took part
            already, by their names, keep the features they had.
        """
        check_is_fitted(self)
        before, features, seen = self._lesson, self._lesson.features, None
        if pictures is not None:
            seen = self._eyes(self._seen_by).look(pictures)
            features = with_more(features, seen.features)
        lesson = Lesson.of(features, Y, self.descriptor, self.n_components)
        graph = self._graph_of(lesson) if takes_graph(self.learner_) else None
        learner = learned_again(self.learner_, before, lesson, graph)
        tuning = None if self.tuning_ is None else replace(self.tuning_, model=learner)
        if seen is not None:
            self.report_, self._seen_by = seen.report, seen.by
        self._keep(lesson, graph, tuning, learner)
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted tagger to a file, whole or not at all.

        The features of the training pictures are in it, so that `refit` can describe them with
        other labels. The encoder is not, only its name, view and fingerprint; nor are `cache` and
        `report_`.
        """
        from tagloom.persistence.codecs import serialize_tagger

        check_is_fitted(self)
        write_model(path, type(self).__name__, *serialize_tagger(self))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        encoder: Encoder | None = None,
        *,
        cache: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Read a tagger written by `save`; a damaged, altered or newer file is refused.

        An encoder is needed for folders of pictures only, and must be the one that saw the training
        pictures; the EfficientNets are found without being passed.
        """
        from tagloom.persistence.codecs import deserialize_tagger

        tagger = build_from(path, cls.__name__, partial(deserialize_tagger, cls))
        if encoder is not None and tagger._seen_by is not None:
            check_same_encoder(encoder, tagger._seen_by)
        tagger.encoder, tagger.cache = encoder, cache
        return tagger

    @property
    def graph_(self) -> sparse.csr_array:
        """The weights of the semantic graph."""
        check_is_fitted(self)
        if self._graph is None:
            self._graph = self._graph_of(self._lesson)
        return self._graph

    @property
    def descriptor_(self) -> SemanticDescriptor:
        """The fitted semantic descriptor."""
        return self._lesson.describer.descriptor

    @property
    def pca_(self) -> DescriptorPCA:
        """The fitted reduction of [visual; s] to the learner's features."""
        return self._lesson.describer.pca

    def scores(self, pictures: Pictures | None = None) -> Array:
        """Return estimated labels, one row for each picture and one column for each label.

        Without `pictures`, of the training pictures; these are never described by their own labels,
        and none is its own neighbour. A training picture that is passed again is taken for a new
        one, whose likest neighbour is itself.
        """
        described = self._described(pictures)
        return scores_of(self.learner_, self._lesson, described)

    def suggest(self, pictures: Pictures | None = None, n_labels: int = 5) -> list[Suggestion]:
        """Return for each picture the labels of highest score of which nobody has said anything."""
        check_integer("n_labels", n_labels, at_least=1)
        described = self._described(pictures)
        scores = scores_of(self.learner_, self._lesson, described)
        known = self.known_ if pictures is None else None
        return best_unsaid(described.items, self.classes_, scores, known, n_labels)

    def explain(
        self, item: str, label: Any, pictures: Pictures | None = None, *, n_reasons: int = 5
    ) -> Explanation:
        """Say why `label` has its score for `item`, a training picture or one of `pictures`.

        The learner must have a linear part, to which a graph may add.
        """
        check_integer("n_reasons", n_reasons, at_least=1)
        return explained(
            self.learner_,
            self._lesson,
            self._described(pictures),
            item,
            label,
            n_neighbors=self.n_neighbors,
            n_reasons=n_reasons,
        )

    def _eyes(self, seen_by: dict[str, Any] | None = None) -> Eyes:
        return Eyes(self.encoder, self.cache, self.progress, seen_by)

    def _keep(
        self, lesson: Lesson, graph: sparse.csr_array | None, tuning: Tuning | None, learner: Any
    ) -> None:
        """Take over what was learned; nothing before this changes a fitted tagger."""
        self._lesson, self._graph = lesson, graph
        self.alignment_, self.known_ = lesson.alignment, lesson.known
        self.items_, self.classes_ = lesson.features.items, lesson.known.labels
        self.tuning_, self.learner_ = tuning, learner

    @property
    def _training(self) -> Described:
        return self._lesson.training

    def _described(self, pictures: Pictures | None) -> Described:
        check_is_fitted(self)
        if pictures is None:
            return self._training
        return self._lesson.describer.describe(self._eyes(self._seen_by).look(pictures).features)

    def _graph_of(self, lesson: Lesson) -> sparse.csr_array:
        return semantic_graph(lesson.training.S, self.n_neighbors, weight=self.weight)
