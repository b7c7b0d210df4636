"""Codecs: labels, descriptors, learners and taggers as arrays and metadata, and back.

A codec is a pair `serialize_x`, `deserialize_x` around `Serialized`. What is read from a file is
checked where it could do harm (positions, shapes, states); anything else that is missing or wrong
raises, and `build_from` turns that into a `ModelFileError`.
"""

import math
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.decomposition import PCA

from tagloom.errors import InvalidInputError
from tagloom.graph import AffinityGraph
from tagloom.graph.diffusion import Diffused, ResidualDiffusion
from tagloom.labels.parsing import Names
from tagloom.labels.partial import PartialLabels
from tagloom.labels.storage import PRESENT, UNKNOWN, Codes, Dense, Sparse, Store
from tagloom.models import APGGraph, LeastSquares, SemanticDiffusion, Trial, Tuning
from tagloom.models.base import InstanceBasedLearner, PartialLabelLearner
from tagloom.models.kernels import KERNELS, Kernel, KernelMap
from tagloom.models.prior import Prior
from tagloom.models.semantic_diffusion import DiffusionState
from tagloom.normalization import Link, RowNormalizer, ScoreAugmenter
from tagloom.optim import Iteration
from tagloom.persistence.container import (
    Arrays,
    Metadata,
    Serialized,
    build_from,
    check_names,
    decoded,
    decoded_parameters,
    encoded,
    encoded_mapping,
    encoded_parameters,
    joined,
    write_model,
)
from tagloom.semantics.concepts import ConceptSelector
from tagloom.semantics.descriptor import DescriptorState, SemanticDescriptor
from tagloom.semantics.local import LocalDescriptor, LocalState
from tagloom.semantics.pca import DescriptorPCA
from tagloom.tagger.inputs import Alignment, DescriptorPipeline, Descriptors, TrainingSet
from tagloom.tagger.texts import TextPrior
from tagloom.tagger.words import WordPrior
from tagloom.vision import Features
from tagloom.words import Vocabulary

_Learner = TypeVar("_Learner", bound=PartialLabelLearner)
_Tagger = TypeVar("_Tagger")

DESCRIPTOR_KINDS: tuple[type[Any], ...] = (SemanticDescriptor, ConceptSelector, LocalDescriptor)
"""What may occur among the parameters of a descriptor."""

_PCA_ARRAYS = (
    "components_",
    "mean_",
    "explained_variance_",
    "explained_variance_ratio_",
    "singular_values_",
)
# Bytes of a name of a label: a file could ask for more memory than there is.
_LONGEST_NAME = 1 << 20
# Where a tagger works is no part of what it has learned; its vocabulary is saved by itself.
_NOT_SAVED = ("encoder", "cache", "vocabulary")


def serialize_labels(known: PartialLabels) -> Serialized:
    """Return partial labels, dense or sparse as they are.

    The two are equivalent, but sums over them may be taken in another order and differ in the last
    digit.
    """
    for names in (known.labels, known.items or ()):
        check_names(names)
    store = known.store
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
    """Return what `serialize_labels` was given; anything else is an error."""
    metadata = serialized.metadata
    n_labels = len(metadata["labels"])
    is_sparse = metadata["is_sparse"]
    store = _sparse_store(serialized, n_labels) if is_sparse else _dense_store(serialized.arrays)
    return PartialLabels(store, Names.checked(store.shape, metadata["labels"], metadata["items"]))


def _dense_store(arrays: Arrays) -> Store:
    codes, weights = arrays["codes"].astype(np.int8, copy=False), arrays.get("weights")
    if codes.ndim != 2 or (weights is not None and weights.shape != codes.shape):
        raise ValueError("labels and their weights must be tables of the same shape")
    _check_codes(codes)
    return Dense(codes, weights)


def _sparse_store(serialized: Serialized, n_labels: int) -> Store:
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


def serialize_descriptor(descriptor: SemanticDescriptor) -> Serialized:
    """Return a fitted descriptor without the training items and their labels."""
    n_features, scales, concepts, local = descriptor.to_state()
    metadata = {
        "parameters": encoded_parameters(descriptor, DESCRIPTOR_KINDS),
        "n_features": n_features,
    }
    parts = {
        "concepts": None if concepts is None else _serialize_concepts(concepts),
        "local": None if local is None else _serialize_local(local),
    }
    return joined(parts, Serialized({"scales": scales}, metadata))


def deserialize_descriptor(
    serialized: Serialized, known: PartialLabels, visual: npt.NDArray[Any]
) -> SemanticDescriptor:
    """Return a fitted descriptor with its training items and labels.

    `neighbors_` of the local descriptor is None: it is not needed to describe new items.
    """
    metadata = serialized.metadata
    parameters = decoded_parameters(metadata["parameters"], DESCRIPTOR_KINDS)
    concepts, local = serialized.optional_part("concepts"), serialized.optional_part("local")
    return SemanticDescriptor(**parameters).from_state(
        DescriptorState(
            int(metadata["n_features"]),
            serialized.arrays["scales"],
            None if concepts is None else _deserialize_concepts(concepts),
            None if local is None else _deserialize_local(local, known, visual),
        )
    )


def serialize_reduction(reduction: DescriptorPCA) -> Serialized:
    """Return a fitted reduction of descriptors to features."""
    own = Serialized({"scales": reduction.scales_}, {"parameters": encoded_parameters(reduction)})
    return joined({"pca": _serialize_pca(reduction.pca_)}, own)


def deserialize_reduction(serialized: Serialized) -> DescriptorPCA:
    """Return what `serialize_reduction` was given."""
    reduction = DescriptorPCA(**decoded_parameters(serialized.metadata["parameters"]))
    reduction.scales_ = serialized.arrays["scales"]
    reduction.pca_ = _deserialize_pca(serialized.part("pca"))
    reduction.n_components_ = int(reduction.pca_.n_components_)
    reduction.n_features_in_ = len(reduction.scales_)
    return reduction


def _serialize_concepts(selector: ConceptSelector) -> Serialized:
    arrays = {"relevance": selector.relevance_, "chosen": selector.chosen_}
    return Serialized(arrays, {"parameters": encoded_parameters(selector)})


def _deserialize_concepts(serialized: Serialized) -> ConceptSelector:
    selector = ConceptSelector(**decoded_parameters(serialized.metadata["parameters"]))
    selector.relevance_ = serialized.arrays["relevance"]
    selector.chosen_ = serialized.arrays["chosen"].astype(np.intp, copy=False)
    selector.n_features_in_ = len(selector.relevance_)
    return selector


def _serialize_local(local: LocalDescriptor) -> Serialized:
    # Without a reduction the rows are the visual features, which the tagger saves.
    state = local.to_state()
    arrays = {"rates": state.rates}
    if state.pca is not None:
        arrays["rows"] = state.rows
    metadata = {"parameters": encoded_parameters(local), "n_features": state.n_features}
    pca = None if state.pca is None else _serialize_pca(state.pca)
    return joined({"pca": pca}, Serialized(arrays, metadata))


def _deserialize_local(
    serialized: Serialized, known: PartialLabels, visual: npt.NDArray[Any]
) -> LocalDescriptor:
    arrays, metadata = serialized
    pca = serialized.optional_part("pca")
    state = LocalState(
        n_features=int(metadata["n_features"]),
        pca=None if pca is None else _deserialize_pca(pca),
        rows=visual if pca is None else arrays["rows"],
        known=known,
        rates=arrays["rates"],
    )
    return LocalDescriptor(**decoded_parameters(metadata["parameters"])).from_state(state)


def _serialize_pca(pca: PCA) -> Serialized:
    metadata = {
        "parameters": encoded_parameters(pca),
        "n_samples": int(pca.n_samples_),
        "noise_variance": encoded(pca.noise_variance_),
    }
    return Serialized({name.rstrip("_"): getattr(pca, name) for name in _PCA_ARRAYS}, metadata)


def _deserialize_pca(serialized: Serialized) -> PCA:
    pca = PCA(**decoded_parameters(serialized.metadata["parameters"]))
    for name in _PCA_ARRAYS:
        setattr(pca, name, serialized.arrays[name.rstrip("_")])
    pca.n_components_, pca.n_features_in_ = pca.components_.shape
    pca.n_samples_ = serialized.metadata["n_samples"]
    pca.noise_variance_ = decoded(serialized.metadata["noise_variance"])
    return pca


def save_learner(learner: PartialLabelLearner, path: str | os.PathLike[str]) -> None:
    """Write a fitted learner to a file."""
    write_model(path, type(learner).__name__, *serialize_learner(learner))


def load_learner(kind: type[_Learner], path: str | os.PathLike[str]) -> _Learner:
    """Read a learner of this kind."""
    return build_from(path, kind.__name__, partial(deserialize_learner, kind))


def serialize_learner(learner: PartialLabelLearner) -> Serialized:
    """Return what has to be kept of a fitted learner."""
    return _learner_codec(type(learner)).serialize(learner)


def deserialize_learner(kind: type[_Learner], serialized: Serialized) -> _Learner:
    """Return a learner of this kind from what `serialize_learner` returned."""
    restored: _Learner = _learner_codec(kind).deserialize(kind, serialized)
    return restored


def _learner_codec(kind: type[PartialLabelLearner]) -> "_Codec":
    """Return the codec of a kind of learner or of its nearest base class that has one."""
    for base in kind.__mro__:
        if base in _LEARNER_CODECS:
            return _LEARNER_CODECS[base]
    raise InvalidInputError(
        f"A {kind.__name__} cannot be saved. Learners that can be saved: {_learner_names()}."
    )


def _learner_names() -> str:
    return ", ".join(kind.__name__ for kind in _LEARNER_CODECS)


def _serialize_common(model: PartialLabelLearner) -> Metadata:
    """Return what all learners share: parameters, names and sizes."""
    names = getattr(model, "feature_names_in_", None)
    return {
        "parameters": encoded_parameters(model),
        "classes": _serialize_names(model.classes_),
        "one_dimensional": model.one_dimensional_,
        "feature_names": None if names is None else names.tolist(),
        "size": {"labels": len(model.label_names_), "features": model.n_features_in_},
    }


def _deserialize_common(kind: type[Any], metadata: Metadata, n_features: int) -> Any:
    model = kind(**decoded_parameters(metadata["parameters"]))
    model.classes_ = _deserialize_names(metadata["classes"])
    model.one_dimensional_ = metadata["one_dimensional"]
    model.n_features_in_ = n_features
    if metadata["feature_names"] is not None:
        model.feature_names_in_ = np.array(metadata["feature_names"], dtype=object)
    return model


def _serialize_names(names: npt.NDArray[Any]) -> Metadata:
    values = names.tolist()
    check_names(values)
    return {"dtype": names.dtype.str, "values": values}


def _deserialize_names(serialized: Metadata) -> npt.NDArray[Any]:
    dtype, values = np.dtype(serialized["dtype"]), serialized["values"]
    if dtype.itemsize > _LONGEST_NAME:
        raise ValueError(f"a name of {dtype.itemsize:,} bytes")
    return np.array(values, dtype=dtype)


def _serialize_linear(model: Any) -> Serialized:
    arrays = {"coef": model.coef_, "intercept": model.intercept_, "learnable": model.learnable_}
    return Serialized(arrays, _serialize_common(model))


def _deserialize_linear(kind: type[Any], serialized: Serialized) -> Any:
    coef = serialized.arrays["coef"]
    model = _deserialize_common(kind, serialized.metadata, len(coef))
    model.coef_, model.intercept_ = coef, serialized.arrays["intercept"]
    model.learnable_ = serialized.arrays["learnable"]
    return model


def _serialize_least_squares(model: Any) -> Serialized:
    """Return a linear learner with its trust in prior scores, where it had some."""
    arrays, metadata = _serialize_linear(model)
    own = {} if model.trust_ is None else {"trust": model.trust_}
    return Serialized(arrays | own, metadata)


def _deserialize_least_squares(kind: type[Any], serialized: Serialized) -> Any:
    model = _deserialize_linear(kind, serialized)
    model.trust_ = serialized.arrays.get("trust")
    if model.trust_ is not None and model.trust_.shape != model.intercept_.shape:
        raise ValueError("there must be one trust for each label")
    return model


def _serialize_solved(model: Any) -> Serialized:
    """Return a linear learner with the record of its solver."""
    arrays, metadata = _serialize_linear(model)
    history = np.array(model.history_, dtype=np.float64)
    arrays["history"] = history.reshape(-1, len(Iteration._fields))
    metadata |= {
        "rank": model.rank_,
        "objective": model.objective_,
        "gap": model.gap_ if np.isfinite(model.gap_) else None,
    }
    return Serialized(arrays, metadata)


def _deserialize_solved(kind: type[Any], serialized: Serialized) -> Any:
    model = _deserialize_linear(kind, serialized)
    model.history_ = [_iteration(*numbers) for numbers in serialized.arrays["history"].tolist()]
    model.rank_, model.n_iter_ = serialized.metadata["rank"], len(model.history_)
    model.objective_ = serialized.metadata["objective"]
    gap = serialized.metadata["gap"]
    model.gap_ = math.nan if gap is None else gap
    return model


def _iteration(
    k: float, F: float, gap: float, rank: float, step: float, seconds: float
) -> Iteration:
    return Iteration(int(k), F, gap, int(rank), step, seconds)


def _serialize_diffusion(model: Any) -> Serialized:
    """Return the state of the learner without what follows from it.

    The features of the graphs are not saved but the training rows: the former are these,
    normalised, with scores appended.
    """
    state: DiffusionState = model.to_state()
    metadata = _serialize_common(model)
    metadata["size"]["items"] = len(state.rows)
    metadata["linear_kind"] = type(state.linear).__name__
    metadata["last_step"] = encoded_mapping(state.last_step)
    metadata["n_graphs"] = len(state.passes)
    arrays = {"rows": state.rows, "learnable": state.learnable, "smoothed": state.smoothed}
    if state.prior is not None:
        arrays["prior"] = state.prior.T
    normalizer = state.row_normalizer
    parts: dict[str, Serialized | None] = {
        "linear": serialize_learner(state.linear),
        "row_normalizer": None
        if normalizer is None
        else Serialized({"mean": normalizer.mean}, {"size": normalizer.size}),
        "kernel_map": None if state.kernel_map is None else _serialize_kernel(state.kernel_map),
    }
    parts |= {f"pass{k}": _serialize_pass(one) for k, one in enumerate(state.passes)}
    parts |= {f"link{k}": _serialize_link(one) for k, one in enumerate(state.links)}
    return joined(parts, Serialized(arrays, metadata))


def _deserialize_diffusion(kind: type[Any], serialized: Serialized) -> Any:
    arrays, metadata = serialized
    rows = arrays["rows"]
    model: SemanticDiffusion = _deserialize_common(kind, metadata, rows.shape[1])
    part = serialized.optional_part("row_normalizer")
    normalizer = None
    if part is not None:
        normalizer = RowNormalizer(part.arrays["mean"], part.metadata["size"])
    linear_kind: Any = {"APGGraph": APGGraph, "LeastSquares": LeastSquares}[metadata["linear_kind"]]
    linear = deserialize_learner(linear_kind, serialized.part("linear"))
    U = rows if normalizer is None else normalizer(rows)
    prior = _deserialize_prior(arrays, linear)
    part = serialized.optional_part("kernel_map")
    kernel_map = _deserialize_kernel(part, U, linear)
    if part is not None and kernel_map is not None and "name" not in part.metadata:
        # Older files have features of another size, ||z||^2, and a ridge in proportion to it.
        z = kernel_map(kernel_map.landmarks[:1])[0]
        model.ridge = float(model.ridge / (z @ z))
    passes, links = _deserialize_passes(serialized, U)
    last_step = decoded_parameters(metadata["last_step"])
    return model.from_state(
        DiffusionState(
            rows,
            arrays["learnable"],
            normalizer,
            kernel_map,
            prior,
            linear,
            passes,
            links,
            arrays["smoothed"],
            last_step,
        )
    )


def _serialize_kernel(kernel_map: KernelMap) -> Serialized:
    arrays = {
        "landmarks": kernel_map.landmarks,
        "projection": kernel_map.projection,
        "origin": kernel_map.kernel.origin,
    }
    return Serialized(arrays, {"name": kernel_map.kernel.name, "gamma": kernel_map.kernel.gamma})


def _deserialize_kernel(
    serialized: Serialized | None, U: npt.NDArray[Any], linear: Any
) -> KernelMap | None:
    if serialized is None:
        return None
    landmarks, projection = serialized.arrays["landmarks"], serialized.arrays["projection"]
    expected = (len(landmarks), len(linear.coef_))
    if landmarks.ndim != 2 or landmarks.shape[1] != U.shape[1] or projection.shape != expected:
        raise ValueError("the landmarks of the kernel must match the rows and the coefficients")
    name = serialized.metadata.get("name", "rbf")  # the only kernel of files that name none
    if name not in KERNELS:
        raise ValueError(f"the kernel {name!r} is not known")
    kernel = Kernel(name, float(serialized.metadata["gamma"]), serialized.arrays["origin"])
    return KernelMap(kernel, landmarks, projection)


def _deserialize_prior(arrays: Arrays, linear: Any) -> Prior | None:
    """Return the prior scores of the training items; their labels are those with a trust."""
    if "prior" not in arrays:
        return None
    prior = Prior(np.flatnonzero(~np.isnan(linear.trust_)), arrays["prior"])
    if prior.T.ndim != 2 or prior.T.shape[1] != len(prior.labels):
        raise ValueError("there must be prior scores for each label with a trust in them")
    return prior


def _deserialize_passes(
    serialized: Serialized, U: npt.NDArray[Any]
) -> tuple[list[ResidualDiffusion], list[Link]]:
    n_graphs = int(serialized.metadata["n_graphs"])
    passes: list[ResidualDiffusion] = []
    links: list[Link] = []
    features: Any = U
    for k in range(n_graphs):
        if k > 0:
            links.append(_deserialize_link(serialized.part(f"link{k - 1}")))
            features = links[-1].features(U)
        passes.append(_deserialize_pass(serialized.part(f"pass{k}"), features))
    return passes, links


def _serialize_pass(diffusion: ResidualDiffusion) -> Serialized:
    graph, diffused = diffusion.graph, diffusion.diffused()
    arrays = {
        "residuals": diffused.residuals,
        "weights": diffused.weights,
        "scales": graph.scales,
        "degrees": graph.degrees,
        "factors": np.asarray(graph.factors),
    }
    metadata = {
        "alpha": diffusion.alpha,
        "n_neighbors": graph.n_neighbors,
        "metric": graph.metric,
        "algorithm": graph.algorithm,
    }
    own = Serialized(arrays, encoded_mapping(metadata))
    return joined({"S": _serialize_sparse(graph.S)}, own)


def _deserialize_pass(serialized: Serialized, features: Any) -> ResidualDiffusion:
    arrays, metadata = serialized
    graph = AffinityGraph(
        _deserialize_sparse(serialized.part("S")),
        features,
        arrays["scales"],
        arrays["degrees"],
        arrays["factors"],
        metadata["n_neighbors"],
        metadata["metric"],
        metadata["algorithm"],
    )
    diffused = Diffused(arrays["residuals"], arrays["weights"])
    return ResidualDiffusion(graph, metadata["alpha"], diffused=diffused)


def _serialize_link(link: Link) -> Serialized:
    augmenter = link.augmenter
    return Serialized({"mean": augmenter.mean, "weights": augmenter.weights, "F": link.F}, {})


def _deserialize_link(serialized: Serialized) -> Link:
    arrays = serialized.arrays
    return Link(arrays["F"], ScoreAugmenter(arrays["mean"], arrays["weights"]))


def _serialize_sparse(table: sparse.csr_array) -> Serialized:
    """Return compressed rows, with positions in four bytes where these suffice."""
    kind = np.int32 if max(table.nnz, *table.shape) <= np.iinfo(np.int32).max else np.int64
    arrays = {
        "data": table.data,
        "indices": table.indices.astype(kind, copy=False),
        "indptr": table.indptr.astype(kind, copy=False),
    }
    return Serialized(arrays, {"shape": list(table.shape)})


def _deserialize_sparse(serialized: Serialized) -> sparse.csr_array:
    """Return what `_serialize_sparse` was given; positions outside the table are an error."""
    parts = tuple(serialized.arrays[name] for name in ("data", "indices", "indptr"))
    table = sparse.csr_array(parts, shape=tuple(serialized.metadata["shape"]))
    table.check_format(full_check=True)
    return table


class _Codec(NamedTuple):
    serialize: Callable[[Any], Serialized]
    deserialize: Callable[[type[Any], Serialized], Any]


_LEARNER_CODECS: dict[type[Any], _Codec] = {
    SemanticDiffusion: _Codec(_serialize_diffusion, _deserialize_diffusion),
    APGGraph: _Codec(_serialize_solved, _deserialize_solved),
    LeastSquares: _Codec(_serialize_least_squares, _deserialize_least_squares),
}
_LEARNERS_BY_NAME = {kind.__name__: kind for kind in _LEARNER_CODECS}


_OF_TEXTS = ("directions", "centres", "spreads")
_TAGGER_KINDS = (*_LEARNER_CODECS, *DESCRIPTOR_KINDS)


def save_tagger(tagger: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted tagger to a file."""
    write_model(path, type(tagger).__name__, *serialize_tagger(tagger))


def load_tagger(kind: type[_Tagger], path: str | os.PathLike[str]) -> _Tagger:
    """Read a tagger of this kind."""
    return build_from(path, kind.__name__, partial(deserialize_tagger, kind))


def serialize_tagger(tagger: Any) -> Serialized:
    """Return parameters, training set, learner and search of a fitted tagger."""
    training_set, learner = tagger.training_set_, tagger.learner_
    if type(learner) not in _LEARNER_CODECS:
        raise InvalidInputError(
            f"A tagger with a {type(learner).__name__} cannot be saved. Learners that can be "
            f"saved: {_learner_names()}."
        )
    parameters = tagger.get_params(deep=False)
    metadata = {
        "parameters": encoded_mapping(
            {name: value for name, value in parameters.items() if name not in _NOT_SAVED},
            _TAGGER_KINDS,
        ),
        "encoder": tagger.encoder_metadata_,
        "learner_kind": type(learner).__name__,
        "tuning": _serialize_tuning(tagger.tuning_),
        "size": _sizes(training_set),
    }
    if tagger.vocabulary is not None:
        metadata["vocabulary"] = tagger.vocabulary.metadata()
    return joined(
        {
            "training_set": _serialize_training_set(training_set, learner),
            "learner": serialize_learner(learner),
        },
        Serialized({}, metadata),
    )


def deserialize_tagger(kind: type[_Tagger], serialized: Serialized) -> _Tagger:
    """Return a tagger of this kind from what `serialize_tagger` returned."""
    metadata = serialized.metadata
    # Taggers written before names were looked up have learned without them.
    parameters: dict[str, Any] = {"words": False}
    parameters |= decoded_parameters(metadata["parameters"], _TAGGER_KINDS)
    if "vocabulary" in metadata:
        parameters["vocabulary"] = Vocabulary.of(metadata["vocabulary"])
    tagger: Any = kind(**parameters)
    learner_kind = _LEARNERS_BY_NAME[metadata["learner_kind"]]
    learner: Any = deserialize_learner(learner_kind, serialized.part("learner"))
    training_set = _deserialize_training_set(serialized.part("training_set"), learner)
    restored: _Tagger = tagger.set_fitted(
        training_set,
        learner,
        tuning=_deserialize_tuning(metadata["tuning"], learner),
        encoder_metadata=metadata["encoder"],
    )
    return restored


def _sizes(training_set: TrainingSet) -> Metadata:
    features = training_set.features
    return {
        "items": len(features),
        "labels": training_set.known.n_labels,
        "features": training_set.descriptors.X.shape[1],
        "visual": features.visual.shape[1],
        "concepts": len(features.concepts),
    }


def _serialize_training_set(training_set: TrainingSet, learner: PartialLabelLearner) -> Serialized:
    features, alignment = training_set.features, training_set.alignment
    check_names(alignment.without_picture)
    arrays = {
        "visual": features.visual,
        "posteriors": features.posteriors,
        "S": training_set.descriptors.S,
    }
    if not isinstance(learner, InstanceBasedLearner):
        arrays["X"] = training_set.descriptors.X
    metadata = {
        "items": features.items,
        "concepts": features.concepts,
        "without_picture": list(alignment.without_picture),
        "without_labels": list(alignment.without_labels),
    }
    words = training_set.pipeline.words
    parts = {
        "known": _serialize_known(training_set.known, features.items),
        "words": None if words is None else _serialize_words(words),
        "descriptor": serialize_descriptor(training_set.pipeline.descriptor),
        "reduction": serialize_reduction(training_set.pipeline.pca),
    }
    return joined(parts, Serialized(arrays, metadata))


def _deserialize_training_set(serialized: Serialized, learner: PartialLabelLearner) -> TrainingSet:
    arrays, metadata = serialized
    features = Features(
        metadata["items"], arrays["visual"], arrays["posteriors"], metadata["concepts"]
    )
    known = _deserialize_known(serialized.part("known"), features.items)
    descriptor = deserialize_descriptor(serialized.part("descriptor"), known, features.visual)
    words = _deserialize_words(serialized)
    pipeline = DescriptorPipeline.from_fitted(
        descriptor, deserialize_reduction(serialized.part("reduction")), words
    )
    X = learner.training_rows_ if isinstance(learner, InstanceBasedLearner) else arrays["X"]
    alignment = Alignment(known, metadata["without_picture"], metadata["without_labels"])
    descriptors = Descriptors.of(features, arrays["S"], X, words)
    return TrainingSet(features, alignment, pipeline, descriptors)


def _serialize_words(words: WordPrior) -> Serialized:
    table, shape = _serialize_sparse(words.concept_matrix)
    own = Serialized(table, shape | {"meanings": list(words.meanings)})
    texts = words.texts
    if texts is None:
        return own
    arrays = {name: getattr(texts, name) for name in _OF_TEXTS}
    compared = Serialized(arrays, {"encoder": texts.encoder, "start": texts.start})
    return joined({"texts": compared}, own)


def _deserialize_words(serialized: Serialized) -> WordPrior | None:
    if serialized.metadata.get("words") is None:
        return None
    part = serialized.part("words")
    compared, texts = part.optional_part("texts"), None
    if compared is not None:
        arrays, metadata = compared
        texts = TextPrior(metadata["encoder"], metadata["start"], *(arrays[n] for n in _OF_TEXTS))
    return WordPrior(_deserialize_sparse(part), tuple(part.metadata["meanings"]), texts)


def _serialize_known(known: PartialLabels, items: list[str]) -> Serialized:
    """Return the labels; item names that are those of the pictures are written once."""
    serialized = serialize_labels(known)
    as_pictures = known.items is not None and list(known.items) == items
    own = {"items": None} if as_pictures else {}
    return serialized._replace(
        metadata=serialized.metadata | own | {"items_are_pictures": as_pictures}
    )


def _deserialize_known(serialized: Serialized, items: list[str]) -> PartialLabels:
    if serialized.metadata["items_are_pictures"]:
        serialized = serialized._replace(metadata=serialized.metadata | {"items": items})
    return deserialize_labels(serialized)


def _serialize_tuning(tuning: Tuning | None) -> Metadata | None:
    if tuning is None:
        return None
    return {
        "best": _serialize_trial(tuning.best),
        "trials": [*map(_serialize_trial, tuning.trials)],
    }


def _deserialize_tuning(metadata: Metadata | None, learner: PartialLabelLearner) -> Tuning | None:
    if metadata is None:
        return None
    trials = [_deserialize_trial(trial) for trial in metadata["trials"]]
    return Tuning(_deserialize_trial(metadata["best"]), trials, learner)


def _serialize_trial(trial: Trial) -> Metadata:
    scores = {"scores": encoded(trial.scores), "pooled": encoded(trial.pooled)}
    return {"params": encoded_mapping(trial.params), **scores}


def _deserialize_trial(metadata: Metadata) -> Trial:
    scores = tuple(decoded(metadata["scores"]))
    trial = Trial(decoded_parameters(metadata["params"]), scores)
    # Older files have none: their candidates were compared by the mean.
    pooled = float(decoded(metadata["pooled"])) if "pooled" in metadata else trial.mean
    return replace(trial, pooled=pooled)
