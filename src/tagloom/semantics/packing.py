"""Fitted descriptors as arrays and facts for a model file, and back."""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.decomposition import PCA

from tagloom.labels import PartialLabels
from tagloom.packing import (
    Packed,
    decoded,
    decoded_parameters,
    encoded,
    encoded_parameters,
    joined,
)
from tagloom.semantics.concepts import ConceptSelector
from tagloom.semantics.descriptor import SemanticDescriptor
from tagloom.semantics.features import DescriptorPCA
from tagloom.semantics.local import LocalDescriptor

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
