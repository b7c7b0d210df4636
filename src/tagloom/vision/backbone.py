"""What a backbone is: pictures in, a visual descriptor and class posteriors out."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tagloom.vision.features import Features
from tagloom.vision.pictures import DECODING_PROTOCOL

if TYPE_CHECKING:
    from PIL.Image import Image

Vector = NDArray[np.float32]


class Backbone(ABC):
    """A network that describes one picture at a time.

    For picture ``x_i`` it gives the visual descriptor, the activations before the last layer, and
    the class posteriors ``g_i`` in [0, 1]^s, the paper's global semantic descriptor over the
    vocabulary ``D = {d_1, ..., d_s}``.

    One picture at a time is a promise: what a picture gets never depends on the pictures that
    happen to be worked on beside it.

    Attributes
    ----------
    name
        A short name for people.
    identity
        A fingerprint of all that decides the numbers: weights, preprocessing, chosen outputs.
        Features are kept under it, so that two backbones never share a cache entry.
    width
        Length ``d`` of the visual descriptor.
    concepts
        The ``s`` class names, in the order of the posteriors.
    side_needed
        Length that a picture's shorter side must keep: how much detail the backbone can use.
    """

    name: str
    identity: str
    width: int
    concepts: list[str]
    side_needed: int

    @abstractmethod
    def prepare(self, picture: "Image") -> NDArray[Any]:
        """Turn an upright RGB picture into the array that `describe` takes."""

    @abstractmethod
    def describe(self, prepared: NDArray[Any]) -> tuple[Vector, Vector]:
        """Give the visual descriptor (d,) and the posteriors (s,) of one prepared picture."""

    @property
    def members(self) -> tuple["Backbone", ...]:
        """The backbones whose features are kept one by one; a plain backbone has only itself."""
        return (self,)

    def join(self, parts: Sequence[Features]) -> Features:
        """Make the features of the whole from those of its members."""
        (only,) = parts
        return only


def fingerprint(parts: Mapping[str, Any]) -> str:
    """Hash a description made of plain values; equal descriptions give equal fingerprints.

    How files are decoded decides the numbers as well and goes into each of them.

    >>> fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    True
    """
    complete = {"decoding": DECODING_PROTOCOL, "parts": dict(parts)}
    canonical = json.dumps(complete, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
