"""A user's own ONNX classifier as a backbone."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tagloom.errors import ModelFileError
from tagloom.vision.backbone import Backbone, Vector, fingerprint
from tagloom.vision.framing import Framing
from tagloom.vision.onnx_config import OnnxConfig, config_beside, read_config
from tagloom.vision.onnx_graph import Input, Network
from tagloom.vision.session import Session

if TYPE_CHECKING:
    from PIL.Image import Image

_PROTOCOL = 1
_NUMBERS = {"FLOAT": np.float32, "FLOAT16": np.float16, "DOUBLE": np.float64, "UINT8": np.uint8}


class OnnxBackbone(Backbone):
    """An ONNX classifier with its preprocessing.

    The visual descriptor is what goes into the last dense layer: the 4096 activations of the 16th
    layer for VGG16, the 2048 pooled features for ResNet-50. It is found in the graph unless the
    configuration names it.

    Parameters
    ----------
    path
        The ``.onnx`` file.
    config
        How the network wants its pictures; None reads the ``.toml`` or ``.json`` file beside it.
    """

    def __init__(self, path: str | os.PathLike[str], config: OnnxConfig | None = None) -> None:
        self.path = Path(path)
        network = Network(path)
        self.config = config or read_config(config_beside(path))
        self._input = network.input()
        self._channels_first, size = _layout(self.path, self._input, self.config)
        self.framing = Framing(
            size,
            crop=self.config.crop,
            view=self.config.view,
            interpolation=self.config.interpolation,
        )
        self._scores = network.scores(self.config.output)
        self._visual = self.config.visual or network.before_last_layer(self._scores)
        self._logits = not (
            network.gives_probabilities(self._scores)
            if self.config.scores is None
            else self.config.scores == "probabilities"
        )
        self.name = self.path.stem
        self.side_needed = round(size / self.config.crop)
        self.concepts = list(self.config.classes)
        self._session = Session(network.with_output(self._visual), origin=str(self.path))
        self.identity = self._fingerprint(network.sha256)
        self.width = self._try_out()

    def prepare(self, picture: "Image") -> NDArray[np.uint8]:
        """Cut an upright RGB picture to the network's square."""
        return self.framing.apply(picture)

    def describe(self, prepared: NDArray[Any]) -> tuple[Vector, Vector]:
        """Give the visual descriptor (d,) and the posteriors (s,)."""
        feeds = {self._input.name: self._normalised(prepared)}
        visual, scores = self._session.run([self._visual, self._scores], feeds)
        return _pooled(visual[0]), self._posteriors(scores.reshape(-1))

    def _normalised(self, prepared: NDArray[Any]) -> NDArray[Any]:
        number = _NUMBERS[self._input.number]
        scale = np.float32(self.config.pixel_range / 255)
        mean, std = (
            np.asarray(one, dtype=np.float32) for one in (self.config.mean, self.config.std)
        )
        values = (prepared.astype(np.float32) * scale - mean) / std
        if self.config.channels == "BGR":
            values = values[:, :, ::-1]
        if self._channels_first:
            values = values.transpose(2, 0, 1)
        return np.ascontiguousarray(values[None], dtype=number)

    def _posteriors(self, scores: Vector) -> Vector:
        if not self._logits:
            return scores
        # Taking the greatest away first leaves the softmax the same and keeps exp in range.
        weights = np.exp(scores - scores.max())
        return np.asarray(weights / weights.sum(), dtype=np.float32)

    def _fingerprint(self, weights: str) -> str:
        settings = asdict(self.config)
        # Names are no numbers: renaming a class leaves the features what they are.
        del settings["classes"]
        settings |= {"scores": self._logits, "visual": self._visual, "output": self._scores}
        settings |= {"layout": self._channels_first, "size": self.framing.size}
        return fingerprint({"onnx": _PROTOCOL, "weights": weights, "settings": settings})

    def _try_out(self) -> int:
        """Describe a grey square: a network that does not fit is found out now, not at picture 1.

        Gives the length of the visual descriptor.
        """
        size = self.framing.size
        visual, posteriors = self.describe(np.full((size, size, 3), 127, dtype=np.uint8))
        if len(posteriors) != len(self.concepts):
            raise ModelFileError(
                f"{self.path} gives {len(posteriors)} class scores, its configuration names "
                f"{len(self.concepts)} classes. Expected one name per score."
            )
        if not self._logits and (posteriors.min() < 0 or posteriors.max() > 1 + 1e-3):
            raise ModelFileError(
                f"{self.path} gives scores outside 0 to 1 for a grey picture, so they are no "
                'probabilities. Set scores = "logits" in its configuration.'
            )
        return len(visual)


def _layout(path: Path, taken: Input, config: OnnxConfig) -> tuple[bool, int]:
    """Find out where the channels stand and how large the square is."""
    if len(taken.shape) != 4 or taken.number not in _NUMBERS:
        raise ModelFileError(
            f"{path} takes {taken.number} of shape {taken.shape}; expected one of "
            f"{', '.join(_NUMBERS)} with 4 axes: pictures, channels, height, width."
        )
    if taken.shape[0] not in (None, 1):
        raise ModelFileError(
            f"{path} takes {taken.shape[0]} pictures at a time. Export it for one picture, or with "
            "a free first axis."
        )
    if config.layout is None and (taken.shape[1] == 3) == (taken.shape[3] == 3):
        raise ModelFileError(
            f"{path} does not tell where its channels stand: its input has shape {taken.shape}. "
            'Set layout = "NCHW" or "NHWC" in its configuration.'
        )
    channels_first = config.layout == "NCHW" if config.layout else taken.shape[1] == 3
    height, width = taken.shape[2:] if channels_first else taken.shape[1:3]
    if height != width or (config.size and height and config.size != height):
        raise ModelFileError(
            f"{path} takes squares only if height and width agree; its input has shape "
            f"{taken.shape}, its configuration says size {config.size}."
        )
    size = config.size or height
    if not size:
        raise ModelFileError(f"{path} takes any size. Set 'size' in its configuration.")
    return channels_first, size


def _pooled(activations: Vector) -> Vector:
    """Average over places if there are any: a descriptor says what is there, not where."""
    if activations.ndim == 3:
        return np.asarray(activations.mean(axis=(1, 2)), dtype=np.float32)
    return np.ascontiguousarray(activations.reshape(-1))
