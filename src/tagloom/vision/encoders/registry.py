"""Encoders by name, by file, and by the metadata in a model file; several encoders as one.

To add an encoder with weights that can be installed, write a `PretrainedEncoder` in a file of its
own and list it in `PRETRAINED`: `load_encoder`, ``--encoder`` and saved models then know it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tagloom.errors import InvalidInputError
from tagloom.vision.encoders.base import (
    Encoder,
    EncoderMetadata,
    PretrainedEncoder,
    Vector,
    View,
    fingerprint,
)
from tagloom.vision.encoders.efficientnet import EfficientNetLite
from tagloom.vision.encoders.onnx import OnnxEncoder
from tagloom.vision.features import Features, join_features, joined_concepts

if TYPE_CHECKING:
    from PIL.Image import Image


class CombinedEncoders(Encoder):
    """Several encoders applied to the same pictures.

    Their posteriors are concatenated, so that the vocabulary ``D`` is the union of theirs. Each has
    its own entries in the cache: adding an encoder costs only the time of the new one.

    Parameters
    ----------
    encoders
        At least one, with different names.
    visual
        ``"first"`` takes the visual descriptor of the first encoder; ``"all"`` concatenates those
        of all.
    """

    def __init__(
        self, encoders: Sequence[Encoder], *, visual: Literal["first", "all"] = "first"
    ) -> None:
        names = [encoder.name for encoder in encoders]
        if not names or len(set(names)) < len(names):
            raise InvalidInputError(
                "Combining needs at least one encoder, all with different names. "
                f"Got: {', '.join(names) or 'none'}."
            )
        if visual not in ("first", "all"):
            raise InvalidInputError(
                f"The 'visual' parameter must be 'first' or 'all'. Got {visual!r}."
            )
        self.encoders = tuple(encoders)
        self.visual = visual
        self.name = "+".join(names)
        self.concepts = joined_concepts([one.concepts for one in encoders], names)
        self._n_visual = len(encoders) if visual == "all" else 1
        self.width = sum(one.width for one in encoders[: self._n_visual])
        self.side_needed = max(one.side_needed for one in encoders)
        identities = [one.identity for one in encoders]
        self.identity = fingerprint({"members": identities, "visual": visual})

    @property
    def members(self) -> tuple[Encoder, ...]:
        """The plain encoders, also those inside combined ones."""
        return tuple(member for one in self.encoders for member in one.members)

    def prepare(self, picture: "Image") -> NDArray[Any]:
        """Prepare a picture for each encoder: an array of their arrays."""
        prepared = np.empty(len(self.encoders), dtype=object)
        for place, encoder in enumerate(self.encoders):
            prepared[place] = encoder.prepare(picture)
        return prepared

    def encode(self, prepared: NDArray[Any]) -> tuple[Vector, Vector]:
        """Return the concatenated visual descriptors and posteriors."""
        pairs = zip(self.encoders, prepared, strict=True)
        visuals, posteriors = zip(*(one.encode(pixels) for one, pixels in pairs), strict=True)
        return np.concatenate(visuals[: self._n_visual]), np.concatenate(posteriors)

    def join(self, parts: Sequence[Features]) -> Features:
        """Join the members' features."""
        remaining = list(parts)
        own = []
        for encoder in self.encoders:
            count = len(encoder.members)
            own.append(encoder.join(remaining[:count]))
            remaining = remaining[count:]
        return join_features(own, [one.name for one in self.encoders], visual=self.visual)

    def metadata(self) -> EncoderMetadata:
        """Return name and fingerprint as plain values, and the metadata of each encoder."""
        parts = {"members": [one.metadata() for one in self.encoders], "visual": self.visual}
        return super().metadata() | parts


PRETRAINED: tuple[type[PretrainedEncoder], ...] = (EfficientNetLite,)


def load_encoder(names: Sequence[str], *, view: View = "centre") -> Encoder:
    """Load the encoder of that name or file; several are combined.

    Parameters
    ----------
    names
        ``lite0``, ``lite1``, ``lite2`` or the path of an ``.onnx`` file each.
    view
        Whether pretrained encoders take the centre of a picture or the whole; an ONNX file has it
        in its configuration.
    """
    loaded = [_load_one(name, view) for name in names]
    return loaded[0] if len(loaded) == 1 else CombinedEncoders(loaded)


def _load_one(name: str, view: View) -> Encoder:
    for family in PRETRAINED:
        if name in family.variants:
            return family(name, view=view)
    if name.lower().endswith(".onnx"):
        return OnnxEncoder(name)
    available = ", ".join(variant for family in PRETRAINED for variant in family.variants)
    raise InvalidInputError(
        f"There is no encoder {name!r}. Available: {available}, or the path of an .onnx file."
    )


def resolve_encoder(encoder: Encoder | None, metadata: EncoderMetadata | None) -> Encoder | None:
    """Return the encoder for pictures that must be encoded like earlier ones.

    Parameters
    ----------
    encoder
        Checked against `metadata`; None loads the encoder that `metadata` describes.
    metadata
        Of the encoder of the earlier pictures; None where it is not known, so that any will do.
    """
    if metadata is None:
        return encoder
    if encoder is None:
        return rebuild_encoder(metadata)
    check_same_encoder(encoder, metadata)
    return encoder


def rebuild_encoder(metadata: EncoderMetadata) -> Encoder:
    """Load the encoder that `Encoder.metadata` describes.

    Only pretrained encoders and combinations of them can be loaded again. Of others, such as a
    user's ONNX file, only the fingerprint is known.
    """
    _check_pretrained(metadata)
    encoder = _rebuild(metadata)
    check_same_encoder(encoder, metadata)
    return encoder


def check_same_encoder(encoder: Encoder, metadata: EncoderMetadata) -> None:
    """Refuse an encoder that would give other features than the one that `metadata` describes."""
    if encoder.identity != metadata["identity"]:
        raise InvalidInputError(
            f"The pictures were encoded by {_described(metadata)}; {encoder.name} with fingerprint "
            f"{encoder.identity[:12]} gives other numbers. Pass the same file with the same "
            "configuration, or fit anew."
        )


def _check_pretrained(metadata: EncoderMetadata) -> None:
    """Check all members before any network is loaded."""
    if metadata["kind"] == CombinedEncoders.__name__:
        for member in metadata["members"]:
            _check_pretrained(member)
    elif metadata["kind"] not in {family.__name__ for family in PRETRAINED}:
        raise InvalidInputError(
            f"The pictures were encoded by {_described(metadata)}, a {metadata['kind']}, whose "
            "weights are not in the model file. Pass it as encoder=, or pass Features."
        )


def _rebuild(metadata: EncoderMetadata) -> Encoder:
    if metadata["kind"] == CombinedEncoders.__name__:
        members = [_rebuild(member) for member in metadata["members"]]
        return CombinedEncoders(members, visual=metadata["visual"])
    (family,) = (one for one in PRETRAINED if one.__name__ == metadata["kind"])
    return family.from_metadata(metadata)


def _described(metadata: EncoderMetadata) -> str:
    return f"{metadata['name']} with fingerprint {metadata['identity'][:12]}"
