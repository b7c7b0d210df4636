"""A user's own ONNX network as an encoder: a classifier, or one that gives an embedding."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.errors import ModelFileError
from tagloom.vision.encoders.base import (
    Encoder,
    EncoderMetadata,
    Framing,
    Session,
    Vector,
    fingerprint,
)
from tagloom.vision.encoders.config import (
    EMBEDDINGS,
    LARGEST_SIDE,
    SCORES,
    Asking,
    OnnxConfig,
    Pooling,
    make_config,
    read_settings,
)
from tagloom.vision.encoders.network import NUMBERS, Input, Network

_PROTOCOL = 2
# A network with a fixed first axis is shown a picture as often as it wants.
_LARGEST_BATCH = 64
_WIDEST = 65_536
_TINY = 1e-12
# That of EfficientNet-Lite0 on photographs: beside descriptors as long as these, the semantic
# descriptor has the share in the learner's features that its parameters were found for.
_LENGTH = 16.0


class OnnxEncoder(Encoder):
    """An ONNX network with its preprocessing: a classifier, or one that gives an embedding.

    The visual descriptor of a classifier is what goes into its last dense layer: the 4096
    activations of the 16th layer for VGG16, the 2048 pooled features for ResNet-50. A network
    without class names gives its embedding and no posteriors. Tokens, as vision transformers have
    them, are pooled: the class token (Dosovitskiy et al. 2021), or the mean where there is none.

    Parameters
    ----------
    path
        The ``.onnx`` file, or what was read from it.
    config
        The preprocessing; None reads the ``.toml`` or ``.json`` file beside the network.
    settings
        Instead of such a file: the settings, and the file that they are from.
    name
        For people; None takes that of the file.

    Attributes
    ----------
    source
        The path under which it is found again.
    """

    framing: Framing
    source: Path
    _pooling: Pooling | None = None

    def __init__(
        self,
        path: str | os.PathLike[str] | Network,
        config: OnnxConfig | None = None,
        *,
        name: str | None = None,
        settings: tuple[Mapping[str, Any], Path] | None = None,
    ) -> None:
        network = path if isinstance(path, Network) else Network(path)
        self.path = self.source = network.path
        given, file = read_settings(self.path) if settings is None else settings
        self._asking = asking = Asking(self.path, file)
        self.config = config or make_config(given, file, network.first_picture_input(), asking)
        self._scores, self._visual = _outputs(network, self.config, self._asking)
        wanted = [one for one in (self._visual, self._scores) if one is not None]
        for tensor in wanted:
            network.check_tensor(tensor)
        self._input = network.picture_input(wanted)
        self._channels_first, size = _layout(network, self._input, self.config, self._asking)
        self.framing = Framing(
            size,
            crop=self.config.crop,
            view=self.config.view,
            interpolation=self.config.interpolation,
        )
        self._logits = self._scores is not None and not (
            network.gives_probabilities(self._scores)
            if self.config.scores is None
            else self.config.scores == "probabilities"
        )
        self.name = name or self.path.stem
        self.side_needed = round(size / self.config.crop)
        self.concepts = list(self.config.classes or ())
        self._session = Session(network.reduced_to(wanted), origin=str(self.path))
        self.identity = self._fingerprint(network.sha256)
        self.width = self._trial_run()

    @property
    def batch(self) -> int:
        """How many pictures the network takes at once; a single one is repeated as often."""
        return self._input.shape[0] or 1

    @property
    def notes(self) -> list[str]:
        """What was found in the file, in sentences."""
        size = self.framing.size
        order = "channels first" if self._channels_first else "channels last"
        found = [f"takes {self._input.number} of {size} x {size} pixels, {order}"]
        found.append(f"descriptor: {self.width} numbers of the tensor {self._visual!r}")
        if self._pooling is not None:
            found[-1] += {"class": ", its class token", "mean": ", the mean of its tokens"}[
                self._pooling
            ]
        if self.batch > 1:
            found.append(
                f"takes {self.batch} pictures at a time, so that each costs {self.batch} times as "
                "much: export it with a free first axis"
            )
        return found

    def encode(self, prepared: NDArray[Any]) -> tuple[Vector, Vector]:
        """Return the visual descriptor (d,) and the posteriors (s,)."""
        feeds = {self._input.name: self._normalized(prepared)}
        if self._scores is None:
            (visual,) = self._session.run([self._visual], feeds)
            return self._descriptor(visual[0]), np.empty(0, dtype=np.float32)
        visual, scores = self._session.run([self._visual, self._scores], feeds)
        return self._descriptor(visual[0]), self._posteriors(scores[0].reshape(-1))

    def metadata(self) -> EncoderMetadata:
        """Return name, view and fingerprint as plain values, and where the file is."""
        return super().metadata() | {"path": str(self.source.resolve())}

    def _normalized(self, prepared: NDArray[Any]) -> NDArray[Any]:
        number = NUMBERS[self._input.number]
        scale = np.float32(self.config.pixel_range / 255)
        mean, std = (
            np.asarray(one, dtype=np.float32) for one in (self.config.mean, self.config.std)
        )
        values = (prepared.astype(np.float32) * scale - mean) / std
        if self.config.channels == "BGR":
            values = values[:, :, ::-1]
        if self._channels_first:
            values = values.transpose(2, 0, 1)
        return np.repeat(values[None].astype(number), self.batch, axis=0)

    def _descriptor(self, activations: Vector) -> Vector:
        """Average over positions if there are any: a descriptor says what is there, not where."""
        if activations.ndim == 3:
            places = (1, 2) if self._channels_first else (0, 1)
            vector = activations.mean(axis=places)
        elif activations.ndim == 2 and self._pooling is not None:
            vector = activations[0] if self._pooling == "class" else activations.mean(axis=0)
        else:
            vector = activations.reshape(-1)
        normalize = self.config.normalize
        if self._scores is None if normalize is None else normalize:
            vector = _LENGTH * vector / max(float(np.linalg.norm(vector)), _TINY)
        return np.ascontiguousarray(vector, dtype=np.float32)

    def _posteriors(self, scores: Vector) -> Vector:
        if not self._logits:
            return scores
        # Subtracting the maximum leaves the softmax the same and keeps exp in range.
        weights = np.exp(scores - scores.max())
        return np.asarray(weights / weights.sum(), dtype=np.float32)

    def _fingerprint(self, weights: str) -> str:
        settings = asdict(self.config)
        # Renaming a class does not change the features.
        settings["classes"] = self._scores is not None
        settings |= {"scores": self._logits, "visual": self._visual, "output": self._scores}
        settings |= {"layout": self._channels_first, "size": self.framing.size}
        return fingerprint({"onnx": _PROTOCOL, "weights": weights, "settings": settings})

    def _trial_run(self) -> int:
        """Encode a grey square, to find a misfit before the first picture.

        Returns the length of the visual descriptor.
        """
        size = self.framing.size
        grey = np.full((size, size, 3), 127, dtype=np.uint8)
        feeds = {self._input.name: self._normalized(grey)}
        (activations,) = self._session.run([self._visual], feeds)
        if activations.shape[:1] != (self.batch,) or activations.ndim < 2 or not activations.size:
            raise self._misfit(
                f"gives {self._visual!r} of shape {activations.shape} for {self.batch} picture(s); "
                "expected a first axis of as many"
            )
        if activations.ndim == 3 and activations.shape[1] > 1:
            self._pooling = self.config.pooling or self._asking.pooling(activations.shape[1])
        visual, posteriors = self.encode(grey)
        if not np.isfinite(visual).all() or not np.isfinite(posteriors).all():
            raise self._misfit(
                "gives numbers that are not finite for a grey picture. Check mean, std and "
                "pixel_range; a file in half precision may overflow, take that in single precision"
            )
        if len(visual) > _WIDEST:
            raise self._misfit(
                f"gives {len(visual):,} numbers a picture; expected at most {_WIDEST:,}. Set "
                "'visual' in its configuration to a pooled tensor"
            )
        self._check_scores(posteriors)
        if self._scores is None and self._visual not in (self.config.visual, self.config.output):
            self._asking.about_classes(self._visual, len(visual))
        return len(visual)

    def _check_scores(self, posteriors: Vector) -> None:
        if len(posteriors) != len(self.concepts):
            raise self._misfit(
                f"gives {len(posteriors)} class scores, its configuration names "
                f"{len(self.concepts)} classes. Expected one name per score"
            )
        if not self._logits and ((posteriors < 0) | (posteriors > 1 + 1e-3)).any():
            raise self._misfit(
                "gives scores outside 0 to 1 for a grey picture, so they are not probabilities. "
                'Set scores = "logits" in its configuration'
            )

    def _misfit(self, what: str) -> ModelFileError:
        return ModelFileError(f"{self.path} {what}.")


def _outputs(network: Network, config: OnnxConfig, asking: Asking) -> tuple[str | None, str]:
    """Return the names of the class scores, if there are names for them, and of the descriptor."""
    given = config.output
    if given is not None and given not in network.outputs:
        listed = ", ".join(network.outputs)
        raise network.unfit(f"it has no output {given!r}. Available: {listed}")
    if config.classes is None:
        return None, config.visual or given or _embedding(network, asking)
    scores = given or _first_of(SCORES, network.outputs)
    if scores is None and len(network.outputs) != 1:
        raise asking.about_outputs("output", "the class scores", network.outputs)
    scores = scores or network.outputs[0]
    return scores, config.visual or network.before_last_layer(scores)


def _embedding(network: Network, asking: Asking) -> str:
    """Return the output that is the embedding, by its name if there are several."""
    found = _first_of(EMBEDDINGS, network.outputs)
    scores = _first_of(SCORES, network.outputs)
    if found is None and scores is not None:
        return network.before_last_layer(scores)
    if found is None and len(network.outputs) != 1:
        raise asking.about_outputs("visual", "the embedding", network.outputs)
    return found or network.outputs[0]


def _first_of(wanted: Sequence[str], names: Sequence[str]) -> str | None:
    lower = {name.lower(): name for name in reversed(names)}
    return next((lower[one] for one in wanted if one in lower), None)


def _layout(network: Network, taken: Input, config: OnnxConfig, asking: Asking) -> tuple[bool, int]:
    """Return whether channels come first, and the side of the square."""
    if (taken.shape[0] or 1) > _LARGEST_BATCH:
        raise network.unfit(
            f"it takes {taken.shape[0]} pictures at a time. Export it for one picture, or with a "
            "free first axis"
        )
    first = network.channels_first(taken) if config.layout is None else config.layout == "NCHW"
    if first is None:
        raise asking.about("which axis holds the channels", 'layout = "NCHW"')
    channels = taken.shape[1 if first else 3]
    height, width = taken.shape[2:] if first else taken.shape[1:3]
    if channels not in (None, 3):
        raise network.unfit(f"it takes {channels} channels; expected 3: red, green and blue")
    if height != width or (config.size and height and config.size != height):
        raise network.unfit(
            "it must take squares, of the size in its configuration; its input has shape "
            f"{taken.shape}, the configuration has size {config.size}"
        )
    size = config.size or height
    if not size:
        raise asking.about("the size of the pictures it takes", "size = 224")
    if size > LARGEST_SIDE:
        raise network.unfit(
            f"it takes squares of {size:,} pixels a side; expected at most {LARGEST_SIDE:,}"
        )
    return first, size
