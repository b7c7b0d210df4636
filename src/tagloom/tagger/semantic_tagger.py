"""`SemanticTagger`: from pictures and partial labels to scored labels, in one estimator."""

import os
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from tagloom.errors import InvalidInputError
from tagloom.graph import semantic_graph
from tagloom.graph.semantic import WEIGHTS
from tagloom.labels import PartialLabels
from tagloom.models import APGGraph, PartialLabelLearner, SemanticDiffusion, Tuning, tune
from tagloom.models.model_selection import Checkpoint
from tagloom.semantics import DescriptorPCA, SemanticDescriptor
from tagloom.tagger.explanation import Explanation, explain_score
from tagloom.tagger.inputs import (
    Alignment,
    DescriptorPipeline,
    Descriptors,
    EncodedPictures,
    Pictures,
    TrainingSet,
    append_features,
    encode_pictures,
)
from tagloom.tagger.texts import Texts
from tagloom.tagger.words import NameReasons
from tagloom.validation import check_choice, check_flag, check_integer
from tagloom.vision import EmbeddingSummary, Encoder, Features
from tagloom.vision.encoders.base import EncoderMetadata
from tagloom.vision.encoders.registry import check_same_encoder
from tagloom.words import Vocabulary

Array = npt.NDArray[Any]

_TUNED: dict[str, type[PartialLabelLearner]] = {"diffusion": SemanticDiffusion, "paper": APGGraph}


class Suggestion(NamedTuple):
    """A label that is not known for a picture, and its score."""

    item: str
    label: Any
    score: float


class SemanticTagger(BaseEstimator):
    """Tag pictures by their looks, their meaning and the known labels of similar pictures.

    An encoder turns pictures into visual descriptors and class posteriors; these and the known
    labels give semantic descriptors s = [g; l]; the learner's features are the principal components
    of [visual; s]. Pictures with similar features, or as in the paper with similar s, are joined in
    a graph. Pictures without labels may be part of the training set: they are tagged, and they
    connect others in the graph. What the name of a label means is known before its first example:
    the posteriors of the concepts that it names are prior scores of the label, and so is how well a
    picture fits the name, if the encoder knows texts.

    Parameters
    ----------
    learner : {"diffusion", "paper"} or PartialLabelLearner, default="diffusion"
        A name is a learner whose parameters are tuned by holding out part of the known labels:
        "diffusion" is `SemanticDiffusion`, which builds its own graphs; "paper" is `APGGraph` on
        the semantic graph. A learner is fitted as it is; an `APGGraph` with the semantic graph.
    n_neighbors : int, default=10
        The paper's k_s, neighbours in the semantic graph.
    weight : {"dot", "cosine"}, default="dot"
        Weight of an edge of the semantic graph.
    descriptor : SemanticDescriptor, optional
        The semantic descriptor; its `n_visual` and `concept_names` are set from the pictures.
    n_components : float, int or None, default=0.9
        Principal components that the features keep, as in scikit-learn's PCA: a float in (0, 1) is
        the share of the variance, an integer the number, None is all of them.
    words : bool, default=True
        Whether the names of labels are looked up (`tagloom.words.link_tags`), for learners that
        take prior scores. Labels that are no text or mean no concept are learned without.
    vocabulary : Vocabulary, optional
        Decisions about what names mean.
    encoder : Encoder, optional
        Encodes pictures that are given as a folder, EfficientNet-Lite0 by default, and the names of
        labels, if it knows texts.
    cache : path, optional
        Where features of folders are cached; the user's cache by default.
    random_state : int, default=0
        Decides which known entries are held out for tuning.
    verbose : bool, default=False
        Whether to show progress bars.

    Attributes
    ----------
    training_set_ : TrainingSet
        Features, known labels and descriptors of the training pictures.
    items_ : list of str
        The training pictures.
    classes_ : tuple
        The labels.
    known_ : PartialLabels
        The known labels of the training pictures, in their order.
    alignment_ : Alignment
        Which labelled items have no picture and which pictures no label.
    embedding_summary_ : EmbeddingSummary or None
        What happened to each file, where the pictures were given as a folder.
    encoder_metadata_ : dict or None
        Which encoder was used; None where it is not known.
    descriptor_, pca_, learner_ : the fitted parts
    graph_ : sparse array
        The weights of the semantic graph, computed when first used. The graph of "diffusion" is
        `learner_.graph_`.
    tuning_ : Tuning or None
        The candidates and their scores, where the learner was tuned.
    """

    training_set_: TrainingSet
    items_: list[str]
    classes_: tuple[Any, ...]
    known_: PartialLabels
    alignment_: Alignment
    descriptor_: SemanticDescriptor
    pca_: DescriptorPCA
    learner_: Any
    tuning_: Tuning | None
    embedding_summary_: EmbeddingSummary | None
    encoder_metadata_: EncoderMetadata | None
    _graph: sparse.csr_array | None
    _texts: Texts | None = None
    # A training set; one of the same pictures is built from it faster.
    _like: TrainingSet | None = None

    def __init__(
        self,
        learner: PartialLabelLearner | str = "diffusion",
        *,
        n_neighbors: int = 10,
        weight: str = "dot",
        descriptor: SemanticDescriptor | None = None,
        n_components: float | None = 0.9,
        words: bool = True,
        vocabulary: Vocabulary | None = None,
        encoder: Encoder | None = None,
        cache: str | os.PathLike[str] | None = None,
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self.learner = learner
        self.n_neighbors = n_neighbors
        self.weight = weight
        self.descriptor = descriptor
        self.n_components = n_components
        self.words = words
        self.vocabulary = vocabulary
        self.encoder = encoder
        self.cache = cache
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        pictures: Pictures,
        Y: Any,
        *,
        max_seconds: float | None = None,
        checkpoint: Checkpoint | None = None,
        search_labels: Sequence[Hashable] | None = None,
        n_jobs: int | None = None,
    ) -> Self:
        """Learn from pictures and their known labels.

        Parameters
        ----------
        pictures : Features, or path of a folder of pictures
        Y : PartialLabels, DataFrame or array of 1, 0 and NaN (unknown)
            Rows are matched to pictures by name where they have names, else by position.
        max_seconds, checkpoint, search_labels, n_jobs
            Time limit, checkpoint, labels and threads of the search for parameters, as in `tune`.
        """
        check_integer("n_neighbors", self.n_neighbors, at_least=1)
        check_choice("weight", self.weight, WEIGHTS)
        check_flag("words", self.words)
        _check_learner(self.learner)
        encoded = self._encode(pictures)
        training = self._training_set(encoded.features, Y, self.learner, self._like)
        graph = self._semantic_graph(training) if _needs_graph(self.learner) else None
        learner, tuning = self._fit_learner(
            training,
            graph,
            max_seconds=max_seconds,
            checkpoint=checkpoint,
            search_labels=search_labels,
            n_jobs=n_jobs,
        )
        return self.set_fitted(
            training,
            learner,
            tuning=tuning,
            graph=graph,
            encoder_metadata=encoded.encoder,
            embedding_summary=encoded.summary,
        )

    def refit(self, Y: Any, pictures: Pictures | None = None) -> Self:
        """Fit again to labels known by now, with the parameters that were chosen before.

        The result is that of a new tagger with the learner `clone(self.learner_)`, fitted on all
        pictures and Y: the same bits, but for `APGGraph`, which is started from the M found before
        and ends within its `tol` of the optimum. Nothing is tuned, and no training picture is
        encoded again. `tuning_` stays the record of the search.

        Parameters
        ----------
        Y : PartialLabels, DataFrame or array of 1, 0 and NaN (unknown)
            All known labels, not only the new ones; it may have other labels than before. Rows are
            matched as in `fit`.
        pictures : Features, or path of a folder of pictures, optional
            Pictures to append to the training set. Those that are in it already, by their names,
            keep their features.
        """
        check_is_fitted(self)
        features = self.training_set_.features
        summary, metadata = self.embedding_summary_, self.encoder_metadata_
        if pictures is not None:
            new, summary, metadata = self._encode(pictures, metadata)
            features = append_features(features, new)
        training = self._training_set(features, Y, self.learner_, self.training_set_)
        graph = self._semantic_graph(training) if _needs_graph(self.learner_) else None
        learner = _refitted(self.learner_, self.training_set_, training, graph)
        return self.set_fitted(
            training,
            learner,
            tuning=None if self.tuning_ is None else replace(self.tuning_, model=learner),
            graph=graph,
            encoder_metadata=metadata,
            embedding_summary=summary,
        )

    def set_fitted(
        self,
        training_set: TrainingSet,
        learner: Any,
        *,
        tuning: Tuning | None = None,
        graph: sparse.csr_array | None = None,
        encoder_metadata: EncoderMetadata | None = None,
        embedding_summary: EmbeddingSummary | None = None,
    ) -> Self:
        """Make this the fitted tagger of these parts, which come from `fit` or from a file.

        A fit that fails before this point leaves a fitted tagger unchanged.
        """
        self.training_set_, self._graph = training_set, graph
        self.items_, self.alignment_ = training_set.features.items, training_set.alignment
        self.known_, self.classes_ = training_set.known, training_set.known.labels
        self.descriptor_, self.pca_ = training_set.pipeline.descriptor, training_set.pipeline.pca
        self.tuning_, self.learner_ = tuning, learner
        self.encoder_metadata_, self.embedding_summary_ = encoder_metadata, embedding_summary
        return self

    def scores(self, pictures: Pictures | None = None) -> Array:
        """Return estimated labels, one row for each picture and one column for each label.

        Without `pictures`, of the training pictures; their own labels are not part of their
        descriptors, and none is its own neighbour. A training picture that is passed again is
        treated as a new one, whose nearest neighbour is itself.
        """
        descriptors = self._descriptors(pictures)
        return self.training_set_.scores(self.learner_, descriptors)

    def suggest(self, pictures: Pictures | None = None, n_labels: int = 5) -> list[Suggestion]:
        """Return the unknown labels of highest score for each picture."""
        check_integer("n_labels", n_labels, at_least=1)
        descriptors = self._descriptors(pictures)
        scores = self.training_set_.scores(self.learner_, descriptors)
        known = self.known_ if pictures is None else None
        return _top_unknown_labels(descriptors.items, self.classes_, scores, known, n_labels)

    def explain(
        self, item: str, label: Any, pictures: Pictures | None = None, *, n_reasons: int = 5
    ) -> Explanation:
        """Explain the score of `label` for `item`, a training picture or one of `pictures`.

        The learner must have a linear part, to which a graph may add.
        """
        check_integer("n_reasons", n_reasons, at_least=1)
        descriptors = self._descriptors(pictures)
        return explain_score(
            self.learner_,
            self.training_set_,
            descriptors,
            item,
            label,
            n_neighbors=self.n_neighbors,
            n_reasons=n_reasons,
        )

    def name_reasons(self) -> NameReasons | None:
        """Return where the names of labels are reasons for the scores of training pictures."""
        check_is_fitted(self)
        words = self.training_set_.pipeline.words
        weights = getattr(self.learner_, "prior_weights", lambda: None)()
        if words is None or weights is None:
            return None
        return NameReasons.of(words, self.training_set_.features, weights, self.scores())

    def texts(self) -> Texts | None:
        """Return what compares names with pictures; None if the encoder knows no texts."""
        if self._texts is None:
            self._texts = Texts.of_encoder(self.encoder)
        fitted = getattr(self, "training_set_", None)
        words = None if fitted is None else fitted.pipeline.words
        if self._texts is None and words is not None and words.texts is not None:
            self._texts = Texts.of_prior(words.texts, self.classes_, self.encoder_metadata_)
        return self._texts

    def with_learner(self, learner: PartialLabelLearner) -> "SemanticTagger":
        """Return a tagger that is not fitted, with another learner and the same knowledge of names.

        It takes features, not pictures.
        """
        other = SemanticTagger(
            learner, words=self.words, vocabulary=self.vocabulary, random_state=self.random_state
        )
        other._texts = self.texts()
        other._like = getattr(self, "training_set_", None)
        return other

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted tagger to a file atomically.

        The file contains the features of the training pictures, which `refit` needs for other
        labels. Of the encoder it has only name, view and fingerprint; `cache` and
        `embedding_summary_` are not saved.
        """
        from tagloom.persistence.codecs import save_tagger

        check_is_fitted(self)
        save_tagger(self, path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        encoder: Encoder | None = None,
        *,
        cache: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Read a tagger written by `save`; a damaged, altered or newer file is refused.

        An encoder is needed for folders of pictures only, and must be the one of the training
        pictures; pretrained encoders are loaded without being passed.
        """
        from tagloom.persistence.codecs import load_tagger

        tagger = load_tagger(cls, path)
        if encoder is not None and tagger.encoder_metadata_ is not None:
            check_same_encoder(encoder, tagger.encoder_metadata_)
        tagger.encoder, tagger.cache = encoder, cache
        return tagger

    @property
    def graph_(self) -> sparse.csr_array:
        """The weights of the semantic graph."""
        check_is_fitted(self)
        if self._graph is None:
            self._graph = self._semantic_graph(self.training_set_)
        return self._graph

    def _encode(
        self, pictures: Pictures, fitted_with: EncoderMetadata | None = None
    ) -> EncodedPictures:
        return encode_pictures(
            pictures,
            self.encoder,
            fitted_with=fitted_with,
            cache=self.cache,
            verbose=self.verbose,
        )

    def _descriptors(self, pictures: Pictures | None) -> Descriptors:
        check_is_fitted(self)
        if pictures is None:
            return self.training_set_.descriptors
        encoded = self._encode(pictures, self.encoder_metadata_)
        return self.training_set_.pipeline.transform(encoded.features)

    def _training_set(
        self,
        features: Features,
        Y: Any,
        learner: PartialLabelLearner | str,
        like: TrainingSet | None,
    ) -> TrainingSet:
        takes_prior = (_TUNED[learner] if isinstance(learner, str) else learner).takes_prior
        vocabulary = self.vocabulary or Vocabulary()
        return TrainingSet.build(
            features,
            Y,
            self.descriptor,
            self.n_components,
            vocabulary if self.words and takes_prior else None,
            self.texts() if self.words and takes_prior else None,
            like=like,
        )

    def _semantic_graph(self, training: TrainingSet) -> sparse.csr_array:
        return semantic_graph(training.descriptors.S, self.n_neighbors, weight=self.weight)

    def _fit_learner(
        self, training: TrainingSet, graph: sparse.csr_array | None, **search: Any
    ) -> tuple[Any, Tuning | None]:
        """Fit a learner as it is, or tune one that is named; `search` is passed to `tune`."""
        X, known = training.descriptors.X, training.known
        if isinstance(self.learner, str):
            # Among many tags there are nearly always some that cannot be learned.
            model = _TUNED[self.learner](on_unlearnable="warn")
            tuning = tune(
                model,
                X,
                known,
                graph,
                prior=training.descriptors.prior,
                random_state=self.random_state,
                verbose=self.verbose,
                **search,
            )
            return tuning.model, tuning
        fitted: Any = clone(self.learner)
        return fitted.fit(X, known, **_given(training, graph)), None


def _check_learner(learner: Any) -> None:
    by_name = isinstance(learner, str) and learner in _TUNED
    if not by_name and not isinstance(learner, PartialLabelLearner):
        names = ", ".join(repr(name) for name in _TUNED)
        raise InvalidInputError(
            f"learner must be one of {names} or a learner of tagloom.models; got {learner!r}."
        )


def _needs_graph(learner: PartialLabelLearner | str) -> bool:
    """Return whether the learner has the paper's graph term; others take no graph."""
    return isinstance(learner, APGGraph) or learner == "paper"


def _given(training: TrainingSet, graph: sparse.csr_array | None) -> dict[str, Any]:
    """Return what `fit` is given beside features and labels."""
    given = {"graph": graph, "prior": training.descriptors.prior}
    return {name: table for name, table in given.items() if table is not None}


def _refitted(
    learner: Any, old: TrainingSet, new: TrainingSet, graph: sparse.csr_array | None
) -> Any:
    """Fit a clone to another training set; an `APGGraph` is warm-started from the old M."""
    fresh: Any = clone(learner)
    X, known = new.descriptors.X, new.known
    if not isinstance(fresh, APGGraph):
        return fresh.fit(X, known, **_given(new, graph))
    warm_start = fresh.warm_start
    fresh.set_params(warm_start=True)
    fresh.coef_ = translated_coef(learner.coef_, old, new)
    fresh.fit(X, known, **_given(new, graph))
    return fresh.set_params(warm_start=warm_start)


def translated_coef(M: Array, old: TrainingSet, new: TrainingSet) -> Array:
    """Return M for the features of another training set, as exactly as these can express it.

    The features are x = C (row / scale - mean), so that x'm weighs the columns [visual; s] by
    w = C'm / scale. Columns and labels are matched by name, new ones get weight 0, and w is
    projected on the new components: M = C_new (scale_new w).
    """
    old_pca, new_pca = old.pipeline.pca, new.pipeline.pca
    w = (old_pca.pca_.components_.T @ M) / old_pca.scales_[:, None]
    moved = np.zeros((len(new_pca.scales_), new.known.n_labels), dtype=M.dtype)
    columns = _shared(_column_names(old.pipeline), _column_names(new.pipeline))
    labels = _shared(old.known.labels, new.known.labels)
    moved[np.ix_(columns[1], labels[1])] = w[np.ix_(columns[0], labels[0])]
    return np.asarray(new_pca.pca_.components_ @ (moved * new_pca.scales_[:, None]), dtype=M.dtype)


def _column_names(pipeline: DescriptorPipeline) -> list[Any]:
    return [*range(pipeline.n_visual), *pipeline.descriptor.get_feature_names_out()]


def _shared(old: Sequence[Any], new: Sequence[Any]) -> tuple[list[int], list[int]]:
    """Return the positions of the names that both have, in both."""
    there = {name: place for place, name in enumerate(old)}
    pairs = [(there[name], place) for place, name in enumerate(new) if name in there]
    return [first for first, _ in pairs], [second for _, second in pairs]


def _top_unknown_labels(
    items: Sequence[str],
    labels: Sequence[Any],
    scores: Array,
    known: PartialLabels | None,
    n_labels: int,
) -> list[Suggestion]:
    """Return the best labels of each item, best first, without those that `known` lists."""
    table = scores.astype(np.float64)
    if known is not None:
        listed = known.entries()
        table[listed.rows, listed.columns] = -np.inf
    best = np.argsort(-table, axis=1, kind="stable")[:, :n_labels]
    return [
        Suggestion(item, labels[j], float(table[i, j]))
        for i, item in enumerate(items)
        for j in best[i]
        if table[i, j] > -np.inf
    ]
