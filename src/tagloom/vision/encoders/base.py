"""What every encoder has in common: its interface, preprocessing, the runtime, class names."""

import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tagloom.errors import InvalidInputError, ModelFileError, first_line, import_extra
from tagloom.vision.features import Features
from tagloom.vision.pictures import DECODING_PROTOCOL

if TYPE_CHECKING:
    from PIL.Image import Image

    from tagloom.vision.encoders.text import TextEncoder

Vector = NDArray[np.float32]
View = Literal["centre", "whole"]
Views = Literal["both", "centre", "whole"]
"""One look at a picture, or both: see `JoinedViews`."""
Interpolation = Literal["bicubic", "bilinear", "lanczos", "nearest"]
EncoderMetadata = dict[str, Any]
"""What is remembered of an encoder: plain values, see `Encoder.metadata`."""

_LOG_ERRORS_ONLY = 3


@dataclass(frozen=True)
class Framing:
    """How a picture of any size becomes the square of pixels that a network takes.

    Parameters
    ----------
    size
        Side of the square, in pixels.
    crop
        Side of the centred square that is kept, as a share of the picture's shorter side. Only
        ``view="centre"`` uses it.
    view
        ``"centre"`` keeps the proportions and loses the margin; ``"whole"`` squeezes the whole
        picture into the square.
    interpolation
        How pixels are resampled.
    """

    size: int
    crop: float = 1.0
    view: View = "centre"
    interpolation: Interpolation = "bicubic"

    def box(self, width: int, height: int) -> tuple[float, float, float, float]:
        """Return left, top, right and bottom of what is kept of a picture of that size.

        >>> Framing(size=224, crop=0.875).box(256, 320)
        (16.0, 48.0, 240.0, 272.0)
        """
        if self.view == "whole":
            return (0.0, 0.0, float(width), float(height))
        side = self.crop * min(width, height)
        left, top = (width - side) / 2, (height - side) / 2
        return (left, top, left + side, top + side)

    def apply(self, picture: "Image") -> NDArray[np.uint8]:
        """Crop and resample an RGB picture to uint8 of shape (size, size, 3) in one step."""
        from PIL import Image

        resampling = Image.Resampling[self.interpolation.upper()]
        square = picture.resize((self.size, self.size), resampling, box=self.box(*picture.size))
        pixels: NDArray[Any] = np.asarray(square)
        return pixels


class Encoder(ABC):
    """A network that encodes one picture at a time.

    For picture ``x_i`` it returns the visual descriptor, the activations before the last layer, and
    the class posteriors ``g_i`` in [0, 1]^s, the paper's global semantic descriptor over the
    vocabulary ``D = {d_1, ..., d_s}``.

    Pictures are encoded one at a time so that the features of a picture never depend on the other
    pictures of a batch.

    Attributes
    ----------
    name
        A short name for people.
    identity
        A fingerprint of all that decides the numbers: weights, preprocessing, chosen outputs.
        Features are cached under it, so that two encoders never share a cache entry.
    width
        Length ``d`` of the visual descriptor.
    concepts
        The ``s`` class names, in the order of the posteriors.
    side_needed
        Length that a picture's shorter side must keep: how much detail the encoder can use.
    framing
        How `prepare` crops and resamples pictures; None for combined encoders.
    text
        The encoder of texts that belongs to it, if visual descriptors can be compared with texts.
    text_start
        The column of the visual descriptor where what can be compared with texts begins.
    """

    name: str
    identity: str
    width: int
    concepts: list[str]
    side_needed: int
    framing: Framing | None = None
    text: "TextEncoder | None" = None
    text_start: int = 0

    def prepare(self, picture: "Image") -> NDArray[Any]:
        """Turn an upright RGB picture into the array that `encode` takes, the square of pixels."""
        if self.framing is None:
            raise NotImplementedError(f"{type(self).__name__} needs a framing, or its own prepare.")
        return self.framing.apply(picture)

    @abstractmethod
    def encode(self, prepared: NDArray[Any]) -> tuple[Vector, Vector]:
        """Return the visual descriptor (d,) and the posteriors (s,) of one prepared picture."""

    @property
    def members(self) -> tuple["Encoder", ...]:
        """The encoders whose features are cached one by one; a plain encoder has only itself."""
        return (self,)

    def join(self, parts: Sequence[Features]) -> Features:
        """Make the features of the whole from those of its members."""
        (only,) = parts
        return only

    def metadata(self) -> EncoderMetadata:
        """Return name, view and fingerprint as plain values, for model files.

        The weights are not included: they belong to an installed package or to the user.
        """
        return {
            "kind": type(self).__name__,
            "name": self.name,
            "view": None if self.framing is None else self.framing.view,
            "identity": self.identity,
        }


class PretrainedEncoder(Encoder):
    """An encoder whose weights are installed with a package, so that its name is enough to load it.

    Attributes
    ----------
    family
        The first part of the name, which is ``family-variant``.
    variants
        The names under which users ask for it.
    """

    family: ClassVar[str]
    variants: ClassVar[tuple[str, ...]]
    framing: Framing

    @abstractmethod
    def __init__(self, variant: str, *, view: View = "centre") -> None:
        """Check and set the name; subclasses call this before they load the variant."""
        if variant not in self.variants:
            raise InvalidInputError(
                f"There is no {type(self).__name__} {variant!r}. "
                f"Available: {', '.join(self.variants)}."
            )
        self.name = f"{self.family}-{variant}"

    @classmethod
    def load(cls, variant: str, view: Views) -> Encoder:
        """Load a variant that takes one view of each picture, or both."""
        if view == "both":
            return JoinedViews([cls(variant, view="whole"), cls(variant, view="centre")])
        return cls(variant, view=view)

    @classmethod
    def from_metadata(cls, metadata: EncoderMetadata) -> Encoder:
        """Load the encoder that `metadata` describes."""
        return cls.load(metadata["name"].removeprefix(f"{cls.family}-"), metadata["view"])


class JoinedViews(Encoder):
    """One network that looks at each picture more than once.

    With ``v`` views, ``x_k`` the visual descriptor and ``g_k`` the posteriors of view ``k``, the
    visual descriptor is ``[x_1; ...; x_v]`` and the posteriors are ``(g_1 + ... + g_v) / v``, as in
    multi-crop testing (Krizhevsky et al. 2012): the vocabulary stays that of the network. Each view
    has its own entries in the cache.

    Parameters
    ----------
    views
        The same network with different framings.
    """

    notes = ("looks at each picture more than once: at the whole and at its centre",)

    def __init__(self, views: Sequence[PretrainedEncoder]) -> None:
        first = views[0]
        self.views = tuple(views)
        self.name, self.concepts = first.name, first.concepts
        self.width = sum(one.width for one in views)
        self.side_needed = max(one.side_needed for one in views)
        self.identity = fingerprint({"views": [one.identity for one in views]})

    @property
    def members(self) -> tuple[Encoder, ...]:
        """The network with each of its framings."""
        return self.views

    def prepare(self, picture: "Image") -> NDArray[Any]:
        """Stack the squares of pixels of all views."""
        return np.stack([one.prepare(picture) for one in self.views])

    def encode(self, prepared: NDArray[Any]) -> tuple[Vector, Vector]:
        """Return the concatenated visual descriptors and the mean of the posteriors."""
        pairs = zip(self.views, prepared, strict=True)
        visuals, posteriors = zip(*(one.encode(pixels) for one, pixels in pairs), strict=True)
        return np.concatenate(visuals), _mean(posteriors)

    def join(self, parts: Sequence[Features]) -> Features:
        """Join the features of the views."""
        visual = np.concatenate([part.visual for part in parts], axis=1)
        posteriors = _mean([part.posteriors for part in parts])
        return Features(parts[0].items, visual, posteriors, self.concepts)

    def metadata(self) -> EncoderMetadata:
        """Return the metadata of the network, which `PretrainedEncoder.from_metadata` reads."""
        return self.views[0].metadata() | {"view": "both", "identity": self.identity}


def _mean(tables: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Return the mean of arrays of the same shape, with memory for the result alone."""
    total = tables[0].copy()
    for table in tables[1:]:
        total += table
    total /= np.float32(len(tables))
    return total


def fingerprint(parts: Mapping[str, Any]) -> str:
    """Hash a description made of plain values; equal descriptions have equal fingerprints.

    How files are decoded decides the features as well and is part of every fingerprint.

    >>> fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    True
    """
    complete = {"decoding": DECODING_PROTOCOL, "parts": dict(parts)}
    canonical = json.dumps(complete, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


class Session:
    """A network in onnxruntime that several threads may call at once.

    It encodes one picture with one thread; throughput comes from calling it from as many threads as
    there are cores. That is as fast as large batches on many threads, and the result does not
    depend on how the work is divided, to the last bit.
    """

    def __init__(self, model: bytes, *, origin: str) -> None:
        # Read when onnxruntime is first imported: it would store a device id and send events.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        runtime = import_extra("onnxruntime", purpose="Turning pictures into numbers")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = _LOG_ERRORS_ONLY
        try:
            self._session = runtime.InferenceSession(
                model, options, providers=["CPUExecutionProvider"]
            )
        except Exception as problem:  # onnxruntime's own exceptions share no base but this one
            detail = first_line(problem).rstrip(".")
            raise ModelFileError(
                f"onnxruntime cannot load {origin}: {detail}. Expected a valid ONNX "
                "network made of operators that the installed onnxruntime knows."
            ) from problem
        self._origin = origin

    def run(self, outputs: list[str], feeds: dict[str, NDArray[Any]]) -> list[NDArray[np.float32]]:
        """Evaluate the named outputs."""
        try:
            values = self._session.run(outputs, feeds)
        except Exception as problem:
            detail = first_line(problem).rstrip(".")
            raise ModelFileError(
                f"{self._origin} failed on a picture: {detail}. Check the layout and "
                "the size in its configuration."
            ) from problem
        return [np.asarray(value, dtype=np.float32) for value in values]


@cache
def imagenet_classes() -> tuple[str, ...]:
    """Return the names of the 1000 classes of ILSVRC 2012, in the order that networks use.

    Each is the first WordNet name of its class. The two cranes and the two maillots, which have the
    same name in WordNet, are distinguished: no two names are the same.

    >>> imagenet_classes()[967]
    'espresso'
    """
    return _listed("imagenet_classes.txt")


@cache
def imagenet_synsets() -> tuple[str, ...]:
    """Return the WordNet 3.0 ids of the same 1000 classes: n and an offset that ascends.

    >>> imagenet_synsets()[967]
    'n07920052'
    """
    return _listed("imagenet_synsets.txt")


def _listed(name: str) -> tuple[str, ...]:
    text = (files("tagloom.vision") / "data" / name).read_text("utf-8")
    return tuple(text.splitlines())
