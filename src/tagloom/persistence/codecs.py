"""A fitted tagger as arrays and facts for a model file, and back."""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.decomposition import PCA

from tagloom.errors import InvalidInputError
from tagloom.labels.parsing import Names
from tagloom.labels.partial import PartialLabels
from tagloom.labels.storage import PRESENT, UNKNOWN, Codes, Dense, Sparse, Store
from tagloom.models import APGDiffusion, APGGraph, LeastSquares, SavableLearner, Trial, Tuning
from tagloom.models.base import RememberingLearner
from tagloom.persistence.container import (
    Arrays,
    Facts,
    Packed,
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
from tagloom.semantics.features import DescriptorPCA
from tagloom.semantics.local import LocalDescriptor
from tagloom.tagger.inputs import Aligned, Describer, Lesson, described_as
from tagloom.vision import Features

# §§ packing
# Partial labels as arrays and facts, and back, store and all.


def pack_labels(known: PartialLabels) -> Packed:
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
    facts = {
        "labels": list(known.labels),
        "items": None if known.items is None else list(known.items),
        "unlisted_weight": float(known.unlisted_weight),
        "is_sparse": known.is_sparse,
    }
    return Packed(arrays, facts)


def unpack_labels(packed: Packed) -> PartialLabels:
    """Return what `pack_labels` was given; what cannot be partial labels is refused."""
    facts = packed.facts
    n_labels = len(facts["labels"])
    store = _sparse(packed, n_labels) if facts["is_sparse"] else _dense(packed.arrays)
    return PartialLabels(store, Names.checked(store.shape, facts["labels"], facts["items"]))


def _dense(arrays: Arrays) -> Store:
    codes, weights = arrays["codes"].astype(np.int8, copy=False), arrays.get("weights")
    if codes.ndim != 2 or (weights is not None and weights.shape != codes.shape):
        raise ValueError("labels and their weights must be tables of the same shape")
    _check_codes(codes)
    return Dense(codes, weights)


def _sparse(packed: Packed, n_labels: int) -> Store:
    arrays = packed.arrays
    codes, indptr, indices = (arrays[name] for name in ("codes", "indptr", "indices"))
    _check_codes(codes)
    weights = arrays.get("weights")
    if weights is not None and weights.shape != codes.shape:
        raise ValueError("there must be one weight for each known label")
    rows = sparse.csr_array((codes, indices, indptr), shape=(len(indptr) - 1, n_labels))
    rows.check_format(full_check=True)
    background = float(packed.facts["unlisted_weight"])
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
# Fitted descriptors as arrays and facts for a model file, and back.


DESCRIPTOR_KINDS: tuple[type[Any], ...] = (SemanticDescriptor, ConceptSelector, LocalDescriptor)
"""What may occur among the parameters of a descriptor."""

_PCA_ARRAYS = (
    "components_",
    "mean_",
    "explained_variance_",
    "explained_variance_ratio_",
    "singular_values_",
)


def pack_descriptor(descriptor: SemanticDescriptor) -> Packed:
    """Return what describes new items, but for the training items and what is known of them."""
    facts = {
        "parameters": encoded_parameters(descriptor, DESCRIPTOR_KINDS),
        "n_features": descriptor.n_features_in_,
    }
    concepts, local = descriptor.concepts_, descriptor.local_
    parts = {
        "concepts": None if concepts is None else _packed_concepts(concepts),
        "local": None if local is None else _packed_local(local),
    }
    return joined(parts, Packed({"scales": descriptor.scales_}, facts))


def unpack_descriptor(
    packed: Packed, known: PartialLabels, visual: npt.NDArray[Any]
) -> SemanticDescriptor:
    """Return what `pack_descriptor` was given, with the training items and what was known of them.

    `neighbours_` of the local descriptor, which describing needs no more, is None.
    """
    facts = packed.facts
    parameters = decoded_parameters(facts["parameters"], DESCRIPTOR_KINDS)
    descriptor = SemanticDescriptor(**parameters)
    descriptor.n_features_in_ = int(facts["n_features"])
    descriptor._names = descriptor._read_names(descriptor.n_features_in_ - descriptor.n_visual)
    descriptor.scales_ = packed.arrays["scales"]
    concepts, local = packed.optional_part("concepts"), packed.optional_part("local")
    descriptor.concepts_ = None if concepts is None else _unpacked_concepts(concepts)
    descriptor.local_ = None if local is None else _unpacked_local(local, known, visual)
    return descriptor


def pack_reduction(reduction: DescriptorPCA) -> Packed:
    """Return what reduces descriptors to features."""
    own = Packed({"scales": reduction.scales_}, {"parameters": encoded_parameters(reduction)})
    return joined({"pca": _packed_pca(reduction.pca_)}, own)


def unpack_reduction(packed: Packed) -> DescriptorPCA:
    """Return what `pack_reduction` was given."""
    reduction = DescriptorPCA(**decoded_parameters(packed.facts["parameters"]))
    reduction.scales_ = packed.arrays["scales"]
    reduction.pca_ = _unpacked_pca(packed.part("pca"))
    reduction.n_components_ = int(reduction.pca_.n_components_)
    reduction.n_features_in_ = len(reduction.scales_)
    return reduction


def _packed_concepts(selector: ConceptSelector) -> Packed:
    arrays = {"relevance": selector.relevance_, "chosen": selector.chosen_}
    return Packed(arrays, {"parameters": encoded_parameters(selector)})


def _unpacked_concepts(packed: Packed) -> ConceptSelector:
    selector = ConceptSelector(**decoded_parameters(packed.facts["parameters"]))
    selector.relevance_ = packed.arrays["relevance"]
    selector.chosen_ = packed.arrays["chosen"].astype(np.intp, copy=False)
    selector.n_features_in_ = len(selector.relevance_)
    return selector


def _packed_local(local: LocalDescriptor) -> Packed:
    # Without a reduction the rows are the visual descriptors, which are kept elsewhere.
    arrays = {"rates": local.rates_}
    if local._pca is not None:
        arrays["rows"] = local._rows
    facts = {"parameters": encoded_parameters(local), "n_features": local.n_features_in_}
    pca = None if local._pca is None else _packed_pca(local._pca)
    return joined({"pca": pca}, Packed(arrays, facts))


def _unpacked_local(
    packed: Packed, known: PartialLabels, visual: npt.NDArray[Any]
) -> LocalDescriptor:
    local = LocalDescriptor(**decoded_parameters(packed.facts["parameters"]))
    pca = packed.optional_part("pca")
    local._pca = None if pca is None else _unpacked_pca(pca)
    local._rows = visual if pca is None else packed.arrays["rows"]
    local._known, local.labels_ = known, known.labels
    local.rates_, local.neighbours_ = packed.arrays["rates"], None
    local.n_features_in_ = int(packed.facts["n_features"])
    return local


def _packed_pca(pca: PCA) -> Packed:
    facts = {
        "parameters": encoded_parameters(pca),
        "n_samples": int(pca.n_samples_),
        "noise_variance": encoded(pca.noise_variance_),
    }
    return Packed({name.rstrip("_"): getattr(pca, name) for name in _PCA_ARRAYS}, facts)


def _unpacked_pca(packed: Packed) -> PCA:
    pca = PCA(**decoded_parameters(packed.facts["parameters"]))
    for name in _PCA_ARRAYS:
        setattr(pca, name, packed.arrays[name.rstrip("_")])
    pca.n_components_, pca.n_features_in_ = pca.components_.shape
    pca.n_samples_ = packed.facts["n_samples"]
    pca.noise_variance_ = decoded(packed.facts["noise_variance"])
    return pca


# §§ main saving


_LEARNERS: dict[str, type[SavableLearner]] = {
    kind.__name__: kind for kind in (APGDiffusion, APGGraph, LeastSquares)
}
_KINDS = (*_LEARNERS.values(), *DESCRIPTOR_KINDS)
# Of the place where a tagger works, not of what it has learned.
_NOT_KEPT = ("backbone", "cache")

_Tagger = TypeVar("_Tagger")


def pack_tagger(tagger: Any) -> Packed:
    """Return what has to be kept: parameters, lesson, learner and what was tuned."""
    lesson, learner = tagger._lesson, tagger.learner_
    _refuse_unsavable(learner)
    parameters = tagger.get_params(deep=False)
    facts = {
        "parameters": encoded_mapping(
            {name: value for name, value in parameters.items() if name not in _NOT_KEPT}, _KINDS
        ),
        "backbone": tagger._seen_by,
        "learner_kind": type(learner).__name__,
        "tuning": _packed_tuning(tagger.tuning_),
        "size": _sizes(lesson),
    }
    return joined(
        {"lesson": _packed_lesson(lesson, learner), "learner": learner._packed()}, Packed({}, facts)
    )


def unpack_tagger(kind: type[_Tagger], packed: Packed) -> _Tagger:
    """Return the tagger of which `pack_tagger` told."""
    facts = packed.facts
    tagger: Any = kind(**decoded_parameters(facts["parameters"], _KINDS))
    learner = _LEARNERS[facts["learner_kind"]]._unpacked(packed.part("learner"))
    lesson = _unpacked_lesson(packed.part("lesson"), learner)
    tagger.report_, tagger._seen_by = None, facts["backbone"]
    tagger._keep(lesson, None, _unpacked_tuning(facts["tuning"], learner), learner)
    restored: _Tagger = tagger
    return restored


def _refuse_unsavable(learner: Any) -> None:
    if type(learner) not in _LEARNERS.values():
        raise InvalidInputError(
            f"A tagger with a {type(learner).__name__} cannot be saved. Learners that can be "
            f"saved: {', '.join(_LEARNERS)}."
        )


def _sizes(lesson: Lesson) -> Facts:
    features = lesson.features
    return {
        "items": len(features),
        "labels": lesson.known.n_labels,
        "features": lesson.training.X.shape[1],
        "visual": features.visual.shape[1],
        "concepts": len(features.concepts),
    }


def _packed_lesson(lesson: Lesson, learner: SavableLearner) -> Packed:
    features, alignment = lesson.features, lesson.alignment
    refuse_strange_names(alignment.without_picture)
    arrays = {
        "visual": features.visual,
        "posteriors": features.posteriors,
        "S": lesson.training.S,
    }
    if not isinstance(learner, RememberingLearner):
        arrays["X"] = lesson.training.X
    facts = {
        "items": features.items,
        "concepts": features.concepts,
        "without_picture": list(alignment.without_picture),
        "without_labels": list(alignment.without_labels),
    }
    parts = {
        "known": _packed_known(lesson.known, features.items),
        "descriptor": pack_descriptor(lesson.describer.descriptor),
        "reduction": pack_reduction(lesson.describer.pca),
    }
    return joined(parts, Packed(arrays, facts))


def _unpacked_lesson(packed: Packed, learner: SavableLearner) -> Lesson:
    arrays, facts = packed
    features = Features(facts["items"], arrays["visual"], arrays["posteriors"], facts["concepts"])
    known = _unpacked_known(packed.part("known"), features.items)
    descriptor = unpack_descriptor(packed.part("descriptor"), known, features.visual)
    describer = Describer.of(descriptor, unpack_reduction(packed.part("reduction")))
    X = learner._rows if isinstance(learner, RememberingLearner) else arrays["X"]
    aligned = Aligned(known, facts["without_picture"], facts["without_labels"])
    return Lesson(features, aligned, describer, described_as(features, arrays["S"], X))


def _packed_known(known: PartialLabels, items: list[str]) -> Packed:
    """Return what is known; names that are those of the pictures are written once."""
    packed = pack_labels(known)
    as_pictures = known.items is not None and list(known.items) == items
    own = {"items": None} if as_pictures else {}
    return packed._replace(facts=packed.facts | own | {"items_are_pictures": as_pictures})


def _unpacked_known(packed: Packed, items: list[str]) -> PartialLabels:
    if packed.facts["items_are_pictures"]:
        packed = packed._replace(facts=packed.facts | {"items": items})
    return unpack_labels(packed)


def _packed_tuning(tuning: Tuning | None) -> Facts | None:
    if tuning is None:
        return None
    return {"best": _packed_trial(tuning.best), "trials": [*map(_packed_trial, tuning.trials)]}


def _unpacked_tuning(facts: Facts | None, learner: SavableLearner) -> Tuning | None:
    if facts is None:
        return None
    trials = [_unpacked_trial(trial) for trial in facts["trials"]]
    return Tuning(_unpacked_trial(facts["best"]), trials, learner)


def _packed_trial(trial: Trial) -> Facts:
    return {"params": encoded_mapping(trial.params), "scores": encoded(trial.scores)}


def _unpacked_trial(facts: Facts) -> Trial:
    return Trial(decoded_parameters(facts["params"]), tuple(decoded(facts["scores"])))
