"""The small file beside an ONNX network that says how it wants its pictures."""

import json
import os
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from tagloom.errors import InvalidInputError
from tagloom.vision.framing import Interpolation, View
from tagloom.vision.imagenet import imagenet_classes

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


@dataclass(frozen=True)
class OnnxConfig:
    """How a network wants its pictures and what it says about them.

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
        f"beside it. It says how the network wants its pictures, for example:\n{_EXAMPLE}"
    )


def read_config(path: str | os.PathLike[str]) -> OnnxConfig:
    """Read and check a configuration in TOML or JSON."""
    source = Path(path)
    try:
        text = source.read_text("utf-8")
        raw = json.loads(text) if source.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError) as problem:
        raise InvalidInputError(
            f"The configuration {source} cannot be read: {problem}."
        ) from problem
    if not isinstance(raw, dict):
        raise InvalidInputError(f"The configuration {source} must be a table of settings.")
    return _checked(raw, source)


def _checked(raw: dict[str, Any], source: Path) -> OnnxConfig:
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
    if type(size) is not int or not 1 <= size <= 4096:
        raise InvalidInputError(f"{source}: 'size' must be an int from 1 to 4096. Got {size!r}.")
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
