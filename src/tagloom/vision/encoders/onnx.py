"""A user's own ONNX classifier as an encoder.

A small file beside the network, its configuration, says how pictures are preprocessed; the rest is
read off the graph.
"""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagloom.errors import InvalidInputError, ModelFileError, import_extra
from tagloom.io import parse_json, read_toml
from tagloom.vision.encoders.base import (
    Encoder,
    Framing,
    Interpolation,
    Session,
    Vector,
    View,
    fingerprint,
    imagenet_classes,
)

_PROTOCOL = 1
_LARGEST_SIDE = 4096
_NUMBERS = {"FLOAT": np.float32, "FLOAT16": np.float16, "DOUBLE": np.float64, "UINT8": np.uint8}
_EXAMPLE = (
    "mean = [123.68, 116.779, 103.939]\nstd = [1.0, 1.0, 1.0]\n"
    'channels = "BGR"\ncrop = 0.875\nclasses = "imagenet"'
)
_CHOICES = {
    "layout": ("NCHW", "NHWC"),
    "channels": ("RGB", "BGR"),
    "pixel_range": (255, 1),
    "view": ("centre", "whole"),
    "interpolation": ("bicubic", "bilinear"),
    "scores": ("logits", "probabilities"),
}
_Triple = tuple[float, float, float]
_TO_PROBABILITIES = frozenset({"Softmax", "Sigmoid"})
_DENSE = frozenset({"Gemm", "MatMul"})
# Operators between the last dense layer and the output that are not layers of their own.
_TRANSPARENT = frozenset({"Identity", "Flatten", "Reshape", "Squeeze", "Cast", "Dropout", "Add"})


@dataclass(frozen=True)
class OnnxConfig:
    """The preprocessing and the outputs of a network.

    Parameters
    ----------
    mean, std
        ``(x - mean) / std`` for red, green and blue, whatever the order of `channels`.
    classes
        The class names, or ``"imagenet"``, or the name of a text file beside the configuration
        with one name per line.
    pixel_range
        The ``x`` above runs from 0 to this: 255 or 1.
    layout
        ``"NCHW"`` or ``"NHWC"``; None reads it off the network's input.
    size
        Side of the network's square; None reads it off the network's input.
    channels
        ``"RGB"`` or ``"BGR"``.
    crop, view, interpolation
        How a picture becomes a square, see `Framing`.
    output
        Name of the output with the class scores; None takes the only one.
    visual
        Name of the tensor with the visual descriptor; None takes what goes into the last dense
        layer.
    scores
        ``"logits"`` or ``"probabilities"``; None takes probabilities where the network ends in a
        softmax or sigmoid, else logits.
    """

    mean: _Triple
    std: _Triple
    classes: tuple[str, ...]
    pixel_range: Literal[255, 1] = 255
    layout: Literal["NCHW", "NHWC"] | None = None
    size: int | None = None
    channels: Literal["RGB", "BGR"] = "RGB"
    crop: float = 1.0
    view: View = "centre"
    interpolation: Interpolation = "bicubic"
    output: str | None = None
    visual: str | None = None
    scores: Literal["logits", "probabilities"] | None = None


class Input(NamedTuple):
    """Name, number format and shape of a network's input; None where an axis is free."""

    name: str
    number: str
    shape: tuple[int | None, ...]


class OnnxEncoder(Encoder):
    """An ONNX classifier with its preprocessing.

    The visual descriptor is what goes into the last dense layer: the 4096 activations of the 16th
    layer for VGG16, the 2048 pooled features for ResNet-50. It is found in the graph unless the
    configuration names it.

    Parameters
    ----------
    path
        The ``.onnx`` file.
    config
        The preprocessing; None reads the ``.toml`` or ``.json`` file beside the network.
    """

    framing: Framing

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
        self.width = self._trial_run()

    def encode(self, prepared: NDArray[Any]) -> tuple[Vector, Vector]:
        """Return the visual descriptor (d,) and the posteriors (s,)."""
        feeds = {self._input.name: self._normalized(prepared)}
        visual, scores = self._session.run([self._visual, self._scores], feeds)
        return _pooled(visual[0]), self._posteriors(scores.reshape(-1))

    def _normalized(self, prepared: NDArray[Any]) -> NDArray[Any]:
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
        # Subtracting the maximum leaves the softmax the same and keeps exp in range.
        weights = np.exp(scores - scores.max())
        return np.asarray(weights / weights.sum(), dtype=np.float32)

    def _fingerprint(self, weights: str) -> str:
        settings = asdict(self.config)
        # Renaming a class does not change the features.
        del settings["classes"]
        settings |= {"scores": self._logits, "visual": self._visual, "output": self._scores}
        settings |= {"layout": self._channels_first, "size": self.framing.size}
        return fingerprint({"onnx": _PROTOCOL, "weights": weights, "settings": settings})

    def _trial_run(self) -> int:
        """Encode a grey square, to find a misfit before the first picture.

        Returns the length of the visual descriptor.
        """
        size = self.framing.size
        visual, posteriors = self.encode(np.full((size, size, 3), 127, dtype=np.uint8))
        if len(posteriors) != len(self.concepts):
            raise ModelFileError(
                f"{self.path} gives {len(posteriors)} class scores, its configuration names "
                f"{len(self.concepts)} classes. Expected one name per score."
            )
        if not self._logits and (posteriors.min() < 0 or posteriors.max() > 1 + 1e-3):
            raise ModelFileError(
                f"{self.path} gives scores outside 0 to 1 for a grey picture, so they are not "
                'probabilities. Set scores = "logits" in its configuration.'
            )
        return len(visual)


def _layout(path: Path, taken: Input, config: OnnxConfig) -> tuple[bool, int]:
    """Return whether channels come first, and the side of the square."""
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
            f"{path} leaves open which axis holds the channels: its input has shape {taken.shape}. "
            'Set layout = "NCHW" or "NHWC" in its configuration.'
        )
    channels_first = config.layout == "NCHW" if config.layout else taken.shape[1] == 3
    height, width = taken.shape[2:] if channels_first else taken.shape[1:3]
    if height != width or (config.size and height and config.size != height):
        raise ModelFileError(
            f"{path} must take squares, of the size in its configuration; its input has shape "
            f"{taken.shape}, the configuration has size {config.size}."
        )
    size = config.size or height
    if not size:
        raise ModelFileError(f"{path} takes any size. Set 'size' in its configuration.")
    if size > _LARGEST_SIDE:
        raise ModelFileError(
            f"{path} takes squares of {size:,} pixels a side; expected at most {_LARGEST_SIDE:,}."
        )
    return channels_first, size


def _pooled(activations: Vector) -> Vector:
    """Average over positions if there are any: a descriptor says what is there, not where."""
    if activations.ndim == 3:
        return np.asarray(activations.mean(axis=(1, 2)), dtype=np.float32)
    return np.ascontiguousarray(activations.reshape(-1))


def config_beside(network: str | os.PathLike[str]) -> Path:
    """Find the configuration of a network: the same name with ``.toml`` or ``.json``."""
    path = Path(network)
    candidates = [path.with_suffix(".toml"), path.with_suffix(".json")]
    present = [candidate for candidate in candidates if candidate.is_file()]
    if len(present) == 1:
        return present[0]
    if present:
        raise InvalidInputError(
            f"{path} has two configurations, {present[0].name} and {present[1].name}. Keep one."
        )
    raise InvalidInputError(
        f"{path} has no configuration: expected {candidates[0].name} or {candidates[1].name} "
        f"beside it. It sets the preprocessing, for example:\n{_EXAMPLE}"
    )


def read_config(path: str | os.PathLike[str]) -> OnnxConfig:
    """Read and check a configuration in TOML or JSON."""
    source = Path(path)
    raw = _read_json(source) if source.suffix == ".json" else read_toml(source)
    return _checked_config(raw, source)


def _read_json(source: Path) -> dict[str, Any]:
    try:
        raw = parse_json(source.read_text("utf-8"))
    except (OSError, ValueError) as problem:
        raise InvalidInputError(f"{source} cannot be read as JSON: {problem}.") from problem
    if not isinstance(raw, dict):
        raise InvalidInputError(f"{source} must hold an object of settings.")
    return raw


def _checked_config(raw: dict[str, Any], source: Path) -> OnnxConfig:
    known = [field.name for field in fields(OnnxConfig)]
    unknown = sorted(set(raw) - set(known))
    if unknown:
        raise InvalidInputError(
            f"{source}: unknown setting {unknown[0]!r}. Available: {', '.join(known)}."
        )
    for name in ("mean", "std", "classes"):
        if name not in raw:
            raise InvalidInputError(f"{source}: {name!r} is missing. For example:\n{_EXAMPLE}")
    for name, choices in _CHOICES.items():
        if name in raw and raw[name] not in choices:
            wanted = " or ".join(map(repr, choices))
            raise InvalidInputError(f"{source}: {name!r} must be {wanted}. Got {raw[name]!r}.")
    _check_numbers(raw, source)
    values = dict(raw)
    values["mean"] = _triple(raw, "mean", source)
    values["std"] = _triple(raw, "std", source)
    values["classes"] = _class_names(raw["classes"], source)
    _check_units(values, source)
    return OnnxConfig(**values)


def _check_numbers(raw: dict[str, Any], source: Path) -> None:
    size, crop = raw.get("size", 1), raw.get("crop", 1.0)
    if type(size) is not int or not 1 <= size <= _LARGEST_SIDE:
        raise InvalidInputError(
            f"{source}: 'size' must be an int from 1 to {_LARGEST_SIDE}. Got {size!r}."
        )
    if type(crop) not in (int, float) or not 0 < crop <= 1:
        raise InvalidInputError(f"{source}: 'crop' must be in the range (0, 1]. Got {crop!r}.")
    for name in ("output", "visual"):
        if not isinstance(raw.get(name, ""), str):
            raise InvalidInputError(f"{source}: {name!r} must be a tensor's name, a string.")


def _triple(raw: dict[str, Any], name: str, source: Path) -> _Triple:
    values = raw[name]
    if (
        not isinstance(values, list)
        or len(values) != 3
        or not all(type(value) in (int, float) for value in values)
    ):
        raise InvalidInputError(
            f"{source}: {name!r} must be three numbers, for red, green and blue. Got {values!r}."
        )
    red, green, blue = map(float, values)
    return (red, green, blue)


def _check_units(values: dict[str, Any], source: Path) -> None:
    if min(values["std"]) <= 0:
        raise InvalidInputError(f"{source}: 'std' must be positive. Got {values['std']}.")
    in_units_of_one = max(values["std"]) < 1 and max(values["mean"]) <= 1
    if in_units_of_one and values.get("pixel_range", 255) == 255:
        raise InvalidInputError(
            f"{source}: 'mean' and 'std' look as if pixels ran from 0 to 1. Set pixel_range = 1, "
            "or give them for pixels from 0 to 255."
        )


def _class_names(classes: Any, source: Path) -> tuple[str, ...]:
    if classes == "imagenet":
        return imagenet_classes()
    if isinstance(classes, list) and all(isinstance(name, str) for name in classes):
        return tuple(classes)
    if not isinstance(classes, str):
        raise InvalidInputError(
            f"{source}: 'classes' must be a list of names, 'imagenet' or a file's name. "
            f"Got {classes!r}."
        )
    try:
        return tuple((source.parent / classes).read_text("utf-8").splitlines())
    except (OSError, ValueError) as problem:
        raise InvalidInputError(
            f"{source}: the class names cannot be read: {problem}."
        ) from problem


class Network:
    """An ONNX classifier whose graph can be searched.

    Parameters
    ----------
    path
        The ``.onnx`` file; weights in files of their own are read as well.

    Attributes
    ----------
    sha256
        The fingerprint of the network with all its weights.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._onnx = import_extra("onnx", purpose="Reading a network of your own")
        self._model = self._load()
        self.sha256 = hashlib.sha256(self._model.SerializeToString(deterministic=True)).hexdigest()
        graph = self._model.graph
        self._producers = {name: node for node in graph.node for name in node.output}
        self._constants = {tensor.name for tensor in graph.initializer} | {
            name for node in graph.node if node.op_type == "Constant" for name in node.output
        }

    def input(self) -> Input:
        """Return the one input that is not a weight."""
        free = [one for one in self._model.graph.input if one.name not in self._constants]
        if len(free) != 1:
            raise self._unfit(f"it has {len(free)} inputs, expected one that takes pictures")
        tensor = free[0].type.tensor_type
        shape = tuple(
            axis.dim_value if axis.HasField("dim_value") and axis.dim_value > 0 else None
            for axis in tensor.shape.dim
        )
        try:
            number = self._onnx.TensorProto.DataType.Name(tensor.elem_type)
        except ValueError:
            raise self._unfit(f"its input is of the unknown type {tensor.elem_type}") from None
        return Input(free[0].name, number, shape)

    def scores(self, wanted: str | None) -> str:
        """Return the name of the output with the class scores."""
        outputs = [output.name for output in self._model.graph.output]
        if wanted is not None and wanted not in outputs:
            raise self._unfit(f"it has no output {wanted!r}. Available: {', '.join(outputs)}")
        if wanted is None and len(outputs) != 1:
            raise self._unfit(
                f"it has {len(outputs)} outputs ({', '.join(outputs)}): set 'output' in its "
                "configuration to the one with the class scores"
            )
        return wanted or outputs[0]

    def gives_probabilities(self, scores: str) -> bool:
        """Return whether the scores come from a softmax or sigmoid."""
        node = None
        for node in self._upwards(scores):
            if node.op_type not in _TRANSPARENT:
                break
        return node is not None and node.op_type in _TO_PROBABILITIES

    def before_last_layer(self, scores: str) -> str:
        """Return the name of the input of the last dense layer before the scores."""
        node = None
        for node in self._upwards(scores):
            tensor = self._picture_input(node)
            if node.op_type in _DENSE and tensor is not None:
                return tensor
            if node.op_type not in _TRANSPARENT | _TO_PROBABILITIES | {"LogSoftmax"}:
                break
        else:
            node = None
        stopped = f"a {node.op_type}" if node is not None else "the input"
        raise self._unfit(
            f"its scores {scores!r} do not come from a dense layer (Gemm or MatMul) but from "
            f"{stopped}: set 'visual' in its configuration to the tensor to take as descriptor"
        )

    def with_output(self, tensor: str) -> bytes:
        """Serialise the network with one more output."""
        names = {output.name for output in self._model.graph.output}
        if tensor not in self._producers:
            some = ", ".join(list(self._producers)[-5:])
            raise self._unfit(f"it has no tensor {tensor!r}. Its last ones are: {some}")
        if tensor not in names:
            # Only the name: onnxruntime infers the number format and the shape.
            self._model.graph.output.append(self._onnx.ValueInfoProto(name=tensor))
        return bytes(self._model.SerializeToString())

    def _upwards(self, tensor: str) -> Iterator[Any]:
        """Yield the nodes that lead to a tensor, the last first, while there is a single way."""
        seen = set()
        while (node := self._producers.get(tensor)) is not None:
            if tensor in seen:
                raise self._unfit(f"its graph leads in a circle through {tensor!r}")
            seen.add(tensor)
            yield node
            tensor = self._picture_input(node) or ""

    def _picture_input(self, node: Any) -> str | None:
        """Return the name of the only input of a node that depends on the picture."""
        moving = [name for name in node.input if name and name not in self._constants]
        return moving[0] if len(moving) == 1 else None

    def _load(self) -> Any:
        if not self.path.is_file():
            raise ModelFileError(f"There is no network {self.path}. Expected an ONNX file.")
        try:
            model = self._onnx.load(self.path)
        except Exception as problem:  # protobuf's and onnx's errors share no base but this one
            detail = str(problem).strip().split("\n")[0]
            raise self._unfit(f"it is not a valid ONNX network ({detail})") from problem
        if not model.graph.node:
            raise self._unfit("it holds no network; expected an ONNX file")
        return model

    def _unfit(self, what: str) -> ModelFileError:
        return ModelFileError(f"{self.path} cannot serve as an encoder: {what}.")
