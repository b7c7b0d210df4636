"""Encoders by name, by file, and by the metadata in a model file; several encoders as one.

To add an encoder with weights that can be installed, write a `PretrainedEncoder` in a file of its
own and list it in `PRETRAINED`: `load_encoder`, ``--encoder`` and saved models then know it.
"""

from collections.abc import Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tagloom.errors import InvalidInputError
from tagloom.plugins import ENCODERS, find_plugin, load_plugin, plugin_names
from tagloom.vision.encoders.base import (
    Encoder,
    EncoderMetadata,
    PretrainedEncoder,
    Vector,
    Views,
    fingerprint,
)
from tagloom.vision.encoders.efficientnet import EfficientNetLite
from tagloom.vision.encoders.fetch import fetched_folder
from tagloom.vision.encoders.layouts import FolderEncoder, is_folder_of_networks
from tagloom.vision.encoders.onnx import OnnxEncoder
from tagloom.vision.encoders.text import TextEncoder
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
        start = 0
        for one in encoders[: self._n_visual]:
            if self.text is None and one.text is not None:
                self.text, self.text_start = one.text, start + one.text_start
            start += one.width

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
NO_CONCEPTS = "none"
"""The name that stands for no concepts, in the place of a second encoder."""
_GIVES_CONCEPTS = "lite0"
_FILES = (OnnxEncoder, FolderEncoder)


def load_encoder(names: Sequence[str], *, view: Views = "both") -> Encoder:
    """Load the encoder of that name, file or folder; several are combined.

    Where none of them knows classes, EfficientNet-Lite0 gives the concepts and nothing else,
    unless ``none`` is among the names. Visual descriptors are concatenated; but beside a first that
    knows no classes, further ones that all do give their concepts alone.

    Parameters
    ----------
    names
        ``lite0``, ``lite1``, ``lite2``, the path of an ``.onnx`` file or of a folder each.
    view
        Whether pretrained encoders take the centre of a picture, the whole or both (`JoinedViews`);
        an ONNX file has it in its configuration.
    """
    loaded = [load_one(name, view) for name in names if name != NO_CONCEPTS]
    if not loaded:
        raise InvalidInputError(f"{NO_CONCEPTS!r} stands beside an encoder, which is missing.")
    only_concepts = not loaded[0].concepts and all(one.concepts for one in loaded[1:])
    visual: Literal["first", "all"] = "first" if only_concepts else "all"
    if NO_CONCEPTS not in names and not any(one.concepts for one in loaded):
        loaded.append(load_one(_GIVES_CONCEPTS, view))
        if len(loaded) > 2:
            inner = CombinedEncoders(loaded[:-1], visual="all")
            return CombinedEncoders([inner, loaded[-1]])
    return loaded[0] if len(loaded) == 1 else CombinedEncoders(loaded, visual=visual)


def load_one(name: str, view: Views = "both") -> Encoder:
    """Load one encoder by its name, file or folder."""
    for family in PRETRAINED:
        if name in family.variants:
            return family.load(name, view)
    if (plugin := find_plugin(ENCODERS, name)) is not None:
        return _plugin_encoder(plugin)
    fetched = fetched_folder(name)
    path = fetched if not Path(name).exists() and fetched.is_dir() else Path(name)
    if is_folder_of_networks(path):
        return FolderEncoder(path)
    if name.lower().endswith(".onnx"):
        return OnnxEncoder(path)
    variants = [variant for family in PRETRAINED for variant in family.variants]
    available = ", ".join([*variants, *plugin_names(ENCODERS)])
    raise InvalidInputError(
        f"There is no encoder {name!r}. Available: {available}, what was fetched (see tagloom "
        "encoders), or the path of an .onnx file or of a folder with one."
    )


def _plugin_encoder(point: EntryPoint) -> Encoder:
    """Return the encoder that a package brings: what its class or function makes."""
    make = load_plugin(point)
    encoder = make() if callable(make) else make
    if not isinstance(encoder, Encoder) or encoder.name != point.name:
        raise InvalidInputError(
            f"{point.value} must make an Encoder whose name is {point.name!r}, so that saved "
            f"models find it again; got {encoder!r} with the name "
            f"{getattr(encoder, 'name', None)!r}."
        )
    return encoder


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

    Pretrained encoders, files and folders that are where they were, and combinations of them can be
    loaded again. Of others only the fingerprint is known.
    """
    _check_available(metadata)
    encoder = _rebuild(metadata)
    check_same_encoder(encoder, metadata)
    return encoder


def text_encoder_of(metadata: EncoderMetadata) -> TextEncoder:
    """Load the encoder of texts that belongs to the encoder that `metadata` describes."""
    encoder = rebuild_encoder(metadata)
    if encoder.text is None:
        raise InvalidInputError(f"{_described(metadata)} has no encoder of texts any more.")
    return encoder.text


def check_same_encoder(encoder: Encoder, metadata: EncoderMetadata) -> None:
    """Refuse an encoder that would give other features than the one that `metadata` describes."""
    if encoder.identity != metadata["identity"]:
        raise InvalidInputError(
            f"The pictures were encoded by {_described(metadata)}; {encoder.name} with fingerprint "
            f"{encoder.identity[:12]} gives other numbers. Pass the same file with the same "
            "configuration, or fit anew."
        )


def _check_available(metadata: EncoderMetadata) -> None:
    """Check all members before any network is loaded."""
    if metadata["kind"] == CombinedEncoders.__name__:
        for member in metadata["members"]:
            _check_available(member)
        return
    path = metadata.get("path")
    if path is not None and metadata["kind"] in {one.__name__ for one in _FILES}:
        if not Path(path).exists():
            raise InvalidInputError(
                f"The pictures were encoded by {_described(metadata)}, which is not at {path} any "
                "more. Pass it as encoder= (--encoder), or pass Features."
            )
    elif metadata["kind"] not in {family.__name__ for family in PRETRAINED} and not find_plugin(
        ENCODERS, metadata["name"]
    ):
        raise InvalidInputError(
            f"The pictures were encoded by {_described(metadata)}, a {metadata['kind']}, whose "
            "weights are not in the model file. Pass it as encoder=, or pass Features."
        )


def _rebuild(metadata: EncoderMetadata) -> Encoder:
    if metadata["kind"] == CombinedEncoders.__name__:
        members = [_rebuild(member) for member in metadata["members"]]
        return CombinedEncoders(members, visual=metadata["visual"])
    for kind in _FILES:
        if kind.__name__ == metadata["kind"]:
            return kind(metadata["path"])
    if (plugin := find_plugin(ENCODERS, metadata["name"])) is not None:
        return _plugin_encoder(plugin)
    (family,) = (one for one in PRETRAINED if one.__name__ == metadata["kind"])
    return family.from_metadata(metadata)


def pretrained_view(metadata: EncoderMetadata | None) -> Views:
    """Return the view of the pretrained encoder that `metadata` describes or contains."""
    if metadata is None:
        return "both"
    if metadata["kind"] in {family.__name__ for family in PRETRAINED}:
        view: Views = metadata["view"]
        return view
    inside = [pretrained_view(one) for one in metadata.get("members", ())]
    return next((view for view in inside if view != "both"), "both")


def _described(metadata: EncoderMetadata) -> str:
    return f"{metadata['name']} with fingerprint {metadata['identity'][:12]}"
