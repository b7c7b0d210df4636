"""A fitted tagger as arrays and metadata for a model file, and back."""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.decomposition import PCA

from tagloom.errors import InvalidInputError
from tagloom.labels.names import Names
from tagloom.labels.partial import PartialLabels
from tagloom.labels.storage import PRESENT, UNKNOWN, Codes, Dense, Sparse, Store
from tagloom.models import APGGraph, LeastSquares, SavableLearner, SemanticDiffusion, Trial, Tuning
from tagloom.models.base import RememberingLearner
from tagloom.persistence.container import (
    Arrays,
    Facts,
    Serialized,
    decoded,
    decoded_parameters,
    encoded,
    encoded_mapping,
    encoded_parameters,
    joined,
    refuse_strange_names,
)
from tagloom.semantics.concepts import ConceptSelector
from tagloom.semantics.descriptor import SemanticDescriptor
from tagloom.semantics.local import LocalDescriptor
from tagloom.semantics.pca import DescriptorPCA
from tagloom.tagger.inputs import Alignment, DescriptorPipeline, Descriptors, TrainingSet
from tagloom.vision import Features

# §§ packing
# Partial labels as arrays and metadata, and back, store and all.


def serialize_labels(known: PartialLabels) -> Serialized:
    """Return all that is known.

    The store is kept as it is: a dense and a sparse one say the same, but sums over them may be
    taken in another order and differ in the last digit.
    """
    for names in (known.labels, known.items or ()):
        refuse_strange_names(names)
    store = known._store
    arrays: Arrays = {"codes": store.codes}
    if store.weights is not None:
        arrays["weights"] = store.weights
    if isinstance(store, Sparse):
        arrays |= {"indptr": store.indptr, "indices": store.indices}
    metadata = {
        "labels": list(known.labels),
        "items": None if known.items is None else list(known.items),
        "unlisted_weight": float(known.unlisted_weight),
        "is_sparse": known.is_sparse,
    }
    return Serialized(arrays, metadata)


def deserialize_labels(serialized: Serialized) -> PartialLabels:
    """Return what `serialize_labels` was given; what cannot be partial labels is refused."""
    metadata = serialized.metadata
    n_labels = len(metadata["labels"])
    store = _sparse(serialized, n_labels) if metadata["is_sparse"] else _dense(serialized.arrays)
    return PartialLabels(store, Names.checked(store.shape, metadata["labels"], metadata["items"]))


def _dense(arrays: Arrays) -> Store:
    codes, weights = arrays["codes"].astype(np.int8, copy=False), arrays.get("weights")
    if codes.ndim != 2 or (weights is not None and weights.shape != codes.shape):
        raise ValueError("labels and their weights must be tables of the same shape")
    _check_codes(codes)
    return Dense(codes, weights)


def _sparse(serialized: Serialized, n_labels: int) -> Store:
    arrays = serialized.arrays
    codes, indptr, indices = (arrays[name] for name in ("codes", "indptr", "indices"))
    _check_codes(codes)
    weights = arrays.get("weights")
    if weights is not None and weights.shape != codes.shape:
        raise ValueError("there must be one weight for each known label")
    rows = sparse.csr_array((codes, indices, indptr), shape=(len(indptr) - 1, n_labels))
    rows.check_format(full_check=True)
    background = float(serialized.metadata["unlisted_weight"])
    return Sparse(
        n_labels,
        background,
        indptr.astype(np.int64, copy=False),
        indices.astype(np.int32, copy=False),
        codes.astype(np.int8, copy=False),
        weights,
    )


def _check_codes(codes: Codes) -> None:
    if codes.size and not (codes.min() >= UNKNOWN and codes.max() <= PRESENT):
        raise ValueError("a label is neither present nor absent nor unknown")


# §§ packing
# Fitted descriptors as arrays and metadata for a model file, and back.


DESCRIPTOR_KINDS: tuple[type[Any], ...] = (SemanticDescriptor, ConceptSelector, LocalDescriptor)
"""What may occur among the parameters of a descriptor."""

_PCA_ARRAYS = (
    "components_",
    "mean_",
    "explained_variance_",
    "explained_variance_ratio_",
    "singular_values_",
)


def serialize_descriptor(descriptor: SemanticDescriptor) -> Serialized:
    """Return what describes new items, but for the training items and what is known of them."""
    metadata = {
        "parameters": encoded_parameters(descriptor, DESCRIPTOR_KINDS),
        "n_features": descriptor.n_features_in_,
    }
    concepts, local = descriptor.concepts_, descriptor.local_
    parts = {
        "concepts": None if concepts is None else _serialized_concepts(concepts),
        "local": None if local is None else _serialized_local(local),
    }
    return joined(parts, Serialized({"scales": descriptor.scales_}, metadata))


def deserialize_descriptor(
    serialized: Serialized, known: PartialLabels, visual: npt.NDArray[Any]
) -> SemanticDescriptor:
    """Return what `serialize_descriptor` was given, with its training items and labels.

    `neighbors_` of the local descriptor, which describing needs no more, is None.
    """
    metadata = serialized.metadata
    parameters = decoded_parameters(metadata["parameters"], DESCRIPTOR_KINDS)
    descriptor = SemanticDescriptor(**parameters)
    descriptor.n_features_in_ = int(metadata["n_features"])
    descriptor._names = descriptor._read_names(descriptor.n_features_in_ - descriptor.n_visual)
    descriptor.scales_ = serialized.arrays["scales"]
    concepts, local = serialized.optional_part("concepts"), serialized.optional_part("local")
    descriptor.concepts_ = None if concepts is None else _deserialized_concepts(concepts)
    descriptor.local_ = None if local is None else _deserialized_local(local, known, visual)
    return descriptor


def serialize_reduction(reduction: DescriptorPCA) -> Serialized:
    """Return what reduces descriptors to features."""
    own = Serialized({"scales": reduction.scales_}, {"parameters": encoded_parameters(reduction)})
    return joined({"pca": _serialized_pca(reduction.pca_)}, own)


def deserialize_reduction(serialized: Serialized) -> DescriptorPCA:
    """Return what `serialize_reduction` was given."""
    reduction = DescriptorPCA(**decoded_parameters(serialized.metadata["parameters"]))
    reduction.scales_ = serialized.arrays["scales"]
    reduction.pca_ = _deserialized_pca(serialized.part("pca"))
    reduction.n_components_ = int(reduction.pca_.n_components_)
    reduction.n_features_in_ = len(reduction.scales_)
    return reduction


def _serialized_concepts(selector: ConceptSelector) -> Serialized:
    arrays = {"relevance": selector.relevance_, "chosen": selector.chosen_}
    return Serialized(arrays, {"parameters": encoded_parameters(selector)})


def _deserialized_concepts(serialized: Serialized) -> ConceptSelector:
    selector = ConceptSelector(**decoded_parameters(serialized.metadata["parameters"]))
    selector.relevance_ = serialized.arrays["relevance"]
    selector.chosen_ = serialized.arrays["chosen"].astype(np.intp, copy=False)
    selector.n_features_in_ = len(selector.relevance_)
    return selector


def _serialized_local(local: LocalDescriptor) -> Serialized:
    # Without a reduction the rows are the visual descriptors, which are kept elsewhere.
    arrays = {"rates": local.rates_}
    if local._pca is not None:
        arrays["rows"] = local._rows
    metadata = {"parameters": encoded_parameters(local), "n_features": local.n_features_in_}
    pca = None if local._pca is None else _serialized_pca(local._pca)
    return joined({"pca": pca}, Serialized(arrays, metadata))


def _deserialized_local(
    serialized: Serialized, known: PartialLabels, visual: npt.NDArray[Any]
) -> LocalDescriptor:
    local = LocalDescriptor(**decoded_parameters(serialized.metadata["parameters"]))
    pca = serialized.optional_part("pca")
    local._pca = None if pca is None else _deserialized_pca(pca)
    local._rows = visual if pca is None else serialized.arrays["rows"]
    local._known, local.labels_ = known, known.labels
    local.rates_, local.neighbors_ = serialized.arrays["rates"], None
    local.n_features_in_ = int(serialized.metadata["n_features"])
    return local


def _serialized_pca(pca: PCA) -> Serialized:
    metadata = {
        "parameters": encoded_parameters(pca),
        "n_samples": int(pca.n_samples_),
        "noise_variance": encoded(pca.noise_variance_),
    }
    return Serialized({name.rstrip("_"): getattr(pca, name) for name in _PCA_ARRAYS}, metadata)


def _deserialized_pca(serialized: Serialized) -> PCA:
    pca = PCA(**decoded_parameters(serialized.metadata["parameters"]))
    for name in _PCA_ARRAYS:
        setattr(pca, name, serialized.arrays[name.rstrip("_")])
    pca.n_components_, pca.n_features_in_ = pca.components_.shape
    pca.n_samples_ = serialized.metadata["n_samples"]
    pca.noise_variance_ = decoded(serialized.metadata["noise_variance"])
    return pca


# §§ main saving


_LEARNERS: dict[str, type[SavableLearner]] = {
    kind.__name__: kind for kind in (SemanticDiffusion, APGGraph, LeastSquares)
}
_KINDS = (*_LEARNERS.values(), *DESCRIPTOR_KINDS)
# Of the place where a tagger works, not of what it has learned.
_NOT_KEPT = ("encoder", "cache")

_Tagger = TypeVar("_Tagger")


def serialize_tagger(tagger: Any) -> Serialized:
    """Return what has to be kept: parameters, lesson, learner and what was tuned."""
    lesson, learner = tagger.training_set_, tagger.learner_
    _refuse_unsavable(learner)
    parameters = tagger.get_params(deep=False)
    metadata = {
        "parameters": encoded_mapping(
            {name: value for name, value in parameters.items() if name not in _NOT_KEPT}, _KINDS
        ),
        "encoder": tagger.encoder_metadata_,
        "learner_kind": type(learner).__name__,
        "tuning": _serialized_tuning(tagger.tuning_),
        "size": _sizes(lesson),
    }
    return joined(
        {"lesson": _serialized_lesson(lesson, learner), "learner": learner._serialized()},
        Serialized({}, metadata),
    )


def deserialize_tagger(kind: type[_Tagger], serialized: Serialized) -> _Tagger:
    """Return the tagger of which `serialize_tagger` told."""
    metadata = serialized.metadata
    tagger: Any = kind(**decoded_parameters(metadata["parameters"], _KINDS))
    learner = _LEARNERS[metadata["learner_kind"]]._deserialized(serialized.part("learner"))
    lesson = _deserialized_lesson(serialized.part("lesson"), learner)
    restored: _Tagger = tagger.set_fitted(
        lesson,
        learner,
        tuning=_deserialized_tuning(metadata["tuning"], learner),
        encoder_metadata=metadata["encoder"],
    )
    return restored


def _refuse_unsavable(learner: Any) -> None:
    if type(learner) not in _LEARNERS.values():
        raise InvalidInputError(
            f"A tagger with a {type(learner).__name__} cannot be saved. Learners that can be "
            f"saved: {', '.join(_LEARNERS)}."
        )


def _sizes(lesson: TrainingSet) -> Facts:
    features = lesson.features
    return {
        "items": len(features),
        "labels": lesson.known.n_labels,
        "features": lesson.descriptors.X.shape[1],
        "visual": features.visual.shape[1],
        "concepts": len(features.concepts),
    }


def _serialized_lesson(lesson: TrainingSet, learner: SavableLearner) -> Serialized:
    features, alignment = lesson.features, lesson.alignment
    refuse_strange_names(alignment.without_picture)
    arrays = {
        "visual": features.visual,
        "posteriors": features.posteriors,
        "S": lesson.descriptors.S,
    }
    if not isinstance(learner, RememberingLearner):
        arrays["X"] = lesson.descriptors.X
    metadata = {
        "items": features.items,
        "concepts": features.concepts,
        "without_picture": list(alignment.without_picture),
        "without_labels": list(alignment.without_labels),
    }
    parts = {
        "known": _serialized_known(lesson.known, features.items),
        "descriptor": serialize_descriptor(lesson.pipeline.descriptor),
        "reduction": serialize_reduction(lesson.pipeline.pca),
    }
    return joined(parts, Serialized(arrays, metadata))


def _deserialized_lesson(serialized: Serialized, learner: SavableLearner) -> TrainingSet:
    arrays, metadata = serialized
    features = Features(
        metadata["items"], arrays["visual"], arrays["posteriors"], metadata["concepts"]
    )
    known = _deserialized_known(serialized.part("known"), features.items)
    descriptor = deserialize_descriptor(serialized.part("descriptor"), known, features.visual)
    pipeline = DescriptorPipeline.from_fitted(
        descriptor, deserialize_reduction(serialized.part("reduction"))
    )
    X = learner._rows if isinstance(learner, RememberingLearner) else arrays["X"]
    alignment = Alignment(known, metadata["without_picture"], metadata["without_labels"])
    return TrainingSet(features, alignment, pipeline, Descriptors.of(features, arrays["S"], X))


def _serialized_known(known: PartialLabels, items: list[str]) -> Serialized:
    """Return what is known; names that are those of the pictures are written once."""
    serialized = serialize_labels(known)
    as_pictures = known.items is not None and list(known.items) == items
    own = {"items": None} if as_pictures else {}
    return serialized._replace(
        metadata=serialized.metadata | own | {"items_are_pictures": as_pictures}
    )


def _deserialized_known(serialized: Serialized, items: list[str]) -> PartialLabels:
    if serialized.metadata["items_are_pictures"]:
        serialized = serialized._replace(metadata=serialized.metadata | {"items": items})
    return deserialize_labels(serialized)


def _serialized_tuning(tuning: Tuning | None) -> Facts | None:
    if tuning is None:
        return None
    return {
        "best": _serialized_trial(tuning.best),
        "trials": [*map(_serialized_trial, tuning.trials)],
    }


def _deserialized_tuning(metadata: Facts | None, learner: SavableLearner) -> Tuning | None:
    if metadata is None:
        return None
    trials = [_deserialized_trial(trial) for trial in metadata["trials"]]
    return Tuning(_deserialized_trial(metadata["best"]), trials, learner)


def _serialized_trial(trial: Trial) -> Facts:
    return {"params": encoded_mapping(trial.params), "scores": encoded(trial.scores)}


def _deserialized_trial(metadata: Facts) -> Trial:
    return Trial(decoded_parameters(metadata["params"]), tuple(decoded(metadata["scores"])))
