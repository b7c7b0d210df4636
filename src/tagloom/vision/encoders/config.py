"""The configuration of a user's network: its preprocessing, its outputs, the names of its classes.

It is read from a small file beside the network. What it does not say is read off the graph, and
what cannot be read off the graph is asked for in one line that can be pasted.
"""

import math
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from tagloom.errors import InvalidInputError
from tagloom.io import parse_json, read_toml
from tagloom.vision.encoders.base import Interpolation, View, imagenet_classes
from tagloom.vision.encoders.network import Input, lies_within

Pooling = Literal["class", "mean"]
EMBEDDINGS = (
    "image_embeds",
    "image_embeddings",
    "image_embedding",
    "image_features",
    "embeddings",
    "embedding",
    "pooler_output",
    "pooled_output",
    "features",
    "last_hidden_state",
)
"""Names of outputs that are an embedding, the best first."""
SCORES = ("logits", "scores", "probabilities", "probs")
"""Names of outputs that are class scores."""
LARGEST_SIDE = 4096
PRESETS: dict[str, dict[str, Any]] = {
    "imagenet": {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225], "pixel_range": 1},
    "clip": {
        "mean": [0.48145466, 0.4578275, 0.40821073],
        "std": [0.26862954, 0.26130258, 0.27577711],
        "pixel_range": 1,
    },
    "siglip": {"mean": [0.5] * 3, "std": [0.5] * 3, "pixel_range": 1},
    "none": {"mean": [0.0] * 3, "std": [1.0] * 3, "pixel_range": 255},
}
"""What ``preprocessing = "..."`` stands for."""
_CHOICES = {
    "preprocessing": tuple(PRESETS),
    "layout": ("NCHW", "NHWC"),
    "channels": ("RGB", "BGR"),
    "view": get_args(View),
    "interpolation": get_args(Interpolation),
    "scores": ("logits", "probabilities"),
    "pooling": get_args(Pooling),
    "normalize": (True, False),
}
# Sizes of vocabularies of ImageNet: whoever has so many outputs is probably a classifier.
_CLASS_COUNTS = (1000, 1001, 21841, 21843)
# A class token, alone or with four registers (Darcet et al. 2024) or a token of a teacher.
_EXTRA_TOKENS = (1, 5, 2)
_NAMES_SHOWN = 5
_LARGEST_JSON = 2**24
_Triple = tuple[float, float, float]


@dataclass(frozen=True)
class OnnxConfig:
    """The preprocessing and the outputs of a network.

    Parameters
    ----------
    mean, std
        ``(x - mean) / std`` for red, green and blue, whatever the order of `channels`.
    classes
        The class names, or ``"imagenet"``, or the name of a text file beside the configuration
        with one name per line; None for a network that gives an embedding and no classes.
    pixel_range
        The ``x`` above runs from 0 to this: 255 or 1 in files.
    layout
        ``"NCHW"`` or ``"NHWC"``; None reads it off the network's input.
    size
        Side of the network's square; None reads it off the network's input.
    channels
        ``"RGB"`` or ``"BGR"``.
    crop, view, interpolation
        How a picture becomes a square, see `Framing`.
    output
        Name of the output with the class scores; None takes the only one, or that named so.
    visual
        Name of the tensor with the visual descriptor; None takes what goes into the last dense
        layer of a classifier, else the embedding.
    scores
        ``"logits"`` or ``"probabilities"``; None takes probabilities where the network ends in a
        softmax or sigmoid, else logits.
    pooling
        How tokens become a descriptor: ``"class"`` takes the first, ``"mean"`` their mean; None
        tells by their number whether there is a class token.
    normalize
        Whether descriptors are scaled to one length, as those that are compared by cosine; None
        scales embeddings and leaves the descriptors of classifiers as they are.
    """

    mean: _Triple
    std: _Triple
    classes: tuple[str, ...] | None = None
    pixel_range: float = 255
    layout: Literal["NCHW", "NHWC"] | None = None
    size: int | None = None
    channels: Literal["RGB", "BGR"] = "RGB"
    crop: float = 1.0
    view: View = "centre"
    interpolation: Interpolation = "bicubic"
    output: str | None = None
    visual: str | None = None
    scores: Literal["logits", "probabilities"] | None = None
    pooling: Pooling | None = None
    normalize: bool | None = None


class Asking:
    """Asks for what cannot be read off a network, in one line that can be pasted.

    Parameters
    ----------
    path
        The network.
    target
        The configuration to which the line is added.
    """

    def __init__(self, path: Path, target: Path) -> None:
        self._path, self._target = path, target

    def about(self, what: str, *lines: str, more: str = "") -> InvalidInputError:
        """Return an error that asks for settings; `more` says what else may be written."""
        if self._target.suffix == ".json":
            pairs = [line.split(" = ", 1) for line in lines]
            wanted = f"Add to {self._target}: " + ", ".join(f'"{a}": {b}' for a, b in pairs)
        else:
            text = shlex.quote("".join(f"{line}\\n" for line in lines))
            wanted = (
                f"Say it by pasting this line:\nprintf {text} >> {shlex.quote(str(self._target))}"
            )
        return InvalidInputError(
            f"{self._path}: {what} cannot be read off the file{more and f' ({more})'}. {wanted}"
        )

    def about_outputs(self, setting: str, what: str, names: Sequence[str]) -> InvalidInputError:
        """Ask which of several outputs to take."""
        shown = ", ".join(names[:_NAMES_SHOWN])
        return self.about(f"which output is {what}", f'{setting} = "{names[0]}"', more=shown)

    def about_preprocessing(self, taken: Input | None) -> InvalidInputError:
        """Ask how pictures are normalised, and of what size they are if that is open as well."""
        size_known = taken is None or None not in taken.shape[1:]
        return self.about(
            "how pictures are normalised" + ("" if size_known else ", and their size,"),
            'preprocessing = "imagenet"',
            *([] if size_known else ["size = 224"]),
            more='"imagenet" for DINOv2, TinyViT, ResNet; "clip" for CLIP, OpenCLIP; "siglip" for '
            'SigLIP; "none" for pixels from 0 to 255; or mean and std',
        )

    def about_classes(self, output: str, width: int) -> None:
        """Ask whether as many numbers as ImageNet has classes are class scores."""
        if output not in EMBEDDINGS and width in _CLASS_COUNTS:
            raise self.about(
                f"whether the {width:,} numbers {output!r} are class scores or an embedding",
                'classes = "imagenet"',
                more=f'for an embedding: visual = "{output}"',
            )

    def pooling(self, n_tokens: int) -> Pooling:
        """Tell by their number how tokens are pooled: patches form a square.

        >>> ask = Asking(Path("net.onnx"), Path("net.toml"))
        >>> ask.pooling(14 * 14 + 1), ask.pooling(16 * 16 + 5), ask.pooling(7 * 7)
        ('class', 'class', 'mean')
        """
        if math.isqrt(n_tokens) ** 2 == n_tokens:
            return "mean"
        if any(math.isqrt(n_tokens - n) ** 2 == n_tokens - n for n in _EXTRA_TOKENS):
            return "class"
        raise self.about(
            f"how its {n_tokens} tokens become one descriptor",
            'pooling = "mean"',
            more='"class" takes the first of them',
        )


def read_settings(network: str | os.PathLike[str]) -> tuple[dict[str, Any], Path]:
    """Read the configuration beside a network: the same name with ``.toml`` or ``.json``.

    Returns the settings, none if there is no such file, and the file.
    """
    path = Path(network)
    candidates = [path.with_suffix(".toml"), path.with_suffix(".json")]
    present = [candidate for candidate in candidates if candidate.is_file()]
    if len(present) == 2:
        raise InvalidInputError(
            f"{path} has two configurations, {present[0].name} and {present[1].name}. Keep one."
        )
    if not present:
        return {}, candidates[0]
    (source,) = present
    return (read_json(source) if source.suffix == ".json" else read_toml(source)), source


def read_json(source: Path) -> dict[str, Any]:
    """Read a JSON file that holds an object."""
    try:
        if source.stat().st_size > _LARGEST_JSON:
            raise InvalidInputError(f"{source} is too large for a file of settings.")
        raw = parse_json(source.read_text("utf-8-sig"))
    except (OSError, ValueError) as problem:
        if isinstance(problem, InvalidInputError):
            raise
        raise InvalidInputError(f"{source} cannot be read as JSON: {problem}.") from problem
    if not isinstance(raw, dict):
        raise InvalidInputError(f"{source} must hold an object of settings.")
    return raw


def make_config(
    settings: Mapping[str, Any], source: Path, taken: Input | None, asking: Asking
) -> OnnxConfig:
    """Check settings and complete them by what the input for pictures tells.

    A network that takes bytes normalises them itself.
    """
    known = ["preprocessing", *(field.name for field in fields(OnnxConfig))]
    unknown = sorted(set(settings) - set(known))
    if unknown:
        raise InvalidInputError(
            f"{source}: unknown setting {unknown[0]!r}. Available: {', '.join(known)}."
        )
    for name, choices in _CHOICES.items():
        given = settings.get(name, choices[0])
        if not any(given is one or (given == one and type(given) is str) for one in choices):
            wanted = " or ".join(map(repr, choices))
            raise InvalidInputError(f"{source}: {name!r} must be {wanted}. Got {given!r}.")
    _check_numbers(settings, source)
    values = dict(settings)
    itself = {"preprocessing": "none"} if taken is not None and taken.number == "UINT8" else {}
    preset = (itself | values).get("preprocessing")
    values = ({} if preset is None else PRESETS[preset]) | values
    values.pop("preprocessing", None)
    if "mean" not in values or "std" not in values:
        raise asking.about_preprocessing(taken)
    values["mean"] = _triple(values, "mean", source)
    values["std"] = _triple(values, "std", source)
    if values.get("classes") is not None:
        values["classes"] = _class_names(values["classes"], source)
    _check_units(values, source)
    return OnnxConfig(**values)


def _check_numbers(raw: Mapping[str, Any], source: Path) -> None:
    size, crop, most = raw.get("size", 1), raw.get("crop", 1.0), raw.get("pixel_range", 255)
    if type(size) is not int or not 1 <= size <= LARGEST_SIDE:
        raise InvalidInputError(
            f"{source}: 'size' must be an int from 1 to {LARGEST_SIDE}. Got {size!r}."
        )
    if type(crop) not in (int, float) or not 0 < crop <= 1:
        raise InvalidInputError(f"{source}: 'crop' must be in the range (0, 1]. Got {crop!r}.")
    if type(most) not in (int, float) or not 0 < most < math.inf:
        raise InvalidInputError(f"{source}: 'pixel_range' must be 255 or 1. Got {most!r}.")
    for name in ("output", "visual"):
        if not isinstance(raw.get(name, ""), str):
            raise InvalidInputError(f"{source}: {name!r} must be a tensor's name, a string.")


def _triple(raw: Mapping[str, Any], name: str, source: Path) -> _Triple:
    values = raw[name]
    if (
        not isinstance(values, list)
        or len(values) != 3
        or not all(type(value) in (int, float) and math.isfinite(value) for value in values)
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
    path, folder = source.parent / classes, source.parent
    if not lies_within(path, folder):
        raise InvalidInputError(f"{source}: the class names must lie in {folder}. Got {classes!r}.")
    try:
        return tuple(path.read_text("utf-8").splitlines())
    except (OSError, ValueError) as problem:
        raise InvalidInputError(
            f"{source}: the class names cannot be read: {problem}."
        ) from problem
