"""Folders of networks as people have them: those of Hugging Face, of Immich, or a single file.

Preprocessing, class names and the two halves of a pair are read from the files that lie in them. A
file ``tagloom.toml`` in the folder overrules and completes what they say.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tagloom.errors import InvalidInputError
from tagloom.io import read_toml
from tagloom.vision.encoders.base import imagenet_classes
from tagloom.vision.encoders.config import SCORES, read_json, read_settings
from tagloom.vision.encoders.fetch import VARIANTS, Manifest
from tagloom.vision.encoders.network import Network, lies_within
from tagloom.vision.encoders.onnx import OnnxEncoder
from tagloom.vision.encoders.text import LONGEST_CONTEXT, PROMPTS, TextConfig, TextEncoder

OVERRULES = "tagloom.toml"
_RESAMPLE = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic"}
_OF_TEXT = ("context_length", "pad_token", "prompts")
# From this size on ConvNeXt squeezes pictures instead of cropping them.
_SQUEEZED_FROM = 384


@dataclass
class Folder:
    """What was recognised in a folder.

    Attributes
    ----------
    kind
        In words, for people.
    home
        The folder.
    root
        The folder that nothing outside of is read: the same, or that of a cache around it.
    vision, text, tokenizer
        The files; a pair may have both halves in one network.
    settings, source
        The preprocessing, and the file that it is from.
    classes
        Names of classes, if the network should have outputs for them.
    of_text
        Settings of the text half.
    notes
        What was chosen, in sentences.
    """

    kind: str
    home: Path
    vision: Path
    source: Path
    text: Path | None = None
    tokenizer: Path | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    classes: list[str] | None = None
    of_text: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def root(self) -> Path:
        """What may be read: the folder, or in a cache of Hugging Face the repository."""
        return _root(self.home)


class FolderEncoder(OnnxEncoder):
    """An encoder in a folder, with the text half of a pair if there is one.

    Parameters
    ----------
    path
        The folder, or one of several networks in it.

    Attributes
    ----------
    folder
        What was recognised.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.folder = found = recognise(Path(path))
        manifest = Manifest.read(found.home)
        if manifest is not None:
            manifest.verify(found.home)
        overruled = _overruled(found)
        network = Network(found.vision, within=found.root)
        settings = dict(found.settings)
        if found.classes is not None and {*SCORES} & {one.lower() for one in network.outputs}:
            settings["classes"] = found.classes
        file = found.home / OVERRULES if overruled or not found.settings else found.source
        super().__init__(network, name=_name(found.home), settings=(settings | overruled, file))
        self.source = Path(path)
        if found.text is not None and found.tokenizer is not None:
            config = _text_config(found, found.text, found.tokenizer)
            self.text = TextEncoder(config, self.width)

    @property
    def notes(self) -> list[str]:
        """What was found and chosen, in sentences."""
        return [self.folder.kind, *self.folder.notes, *super().notes]


def is_folder_of_networks(path: Path) -> bool:
    """Return whether a path is a folder, or a network in one of a known layout."""
    if path.is_dir():
        return True
    beside = (path.with_suffix(".toml"), path.with_suffix(".json"))
    if not path.is_file() or any(one.is_file() for one in beside):
        return False
    home = _home(path)
    return _is_hugging_face(home) or _is_immich(home)


def recognise(path: Path) -> Folder:
    """Find out which layout a folder has."""
    home = _home(path)
    chosen = path if path.is_file() else None
    if _is_immich(home):
        return _immich(home)
    if _is_hugging_face(home):
        return _hugging_face(home, chosen)
    files = sorted(one for one in home.glob("*.onnx"))
    if len(files) == 1:
        settings, source = read_settings(files[0])
        found = Folder(f"a folder with {files[0].name}", home, files[0], source)
        found.settings = settings
        return found
    raise InvalidInputError(
        f"{home} is no folder of an encoder: expected onnx/model.onnx or onnx/vision_model.onnx "
        "with preprocessor_config.json (Hugging Face), visual/model.onnx with "
        f"visual/preprocess_cfg.json (Immich), or a single .onnx file; found {_listing(home)}."
    )


def _is_immich(home: Path) -> bool:
    return (home / "visual" / "model.onnx").is_file()


def _is_hugging_face(home: Path) -> bool:
    described = any((home / name).is_file() for name in ("config.json", "preprocessor_config.json"))
    return described and any(
        _variants(place, stem) for place in (home / "onnx", home) for stem in _STEMS
    )


_STEMS = ("vision_model", "model")


def _immich(home: Path) -> Folder:
    source = home / "visual" / "preprocess_cfg.json"
    found = Folder("Immich's layout", home, home / "visual" / "model.onnx", source)
    found.settings = _of_immich(_read(found, source), source)
    text = home / "textual" / "model.onnx"
    if text.is_file():
        found.text = text
        own = _mapping(_read(found, home / "config.json"), "text_cfg")
        found.of_text = {
            "context_length": own.get("context_length", 77),
            "canonicalize": _mapping(own, "tokenizer_kwargs").get("clean") == "canonicalize",
        }
        _add_tokenizer(found, home / "textual")
    return found


def _hugging_face(home: Path, chosen: Path | None) -> Folder:
    place = home / "onnx" if (home / "onnx").is_dir() else home
    stem = next(one for one in _STEMS if _variants(place, one))
    files = _variants(place, stem)
    if chosen is not None and chosen.name not in files:
        stem, files = chosen.stem, [chosen.name]
    vision = place / files[0] if chosen is None else chosen
    source = home / "preprocessor_config.json"
    found = Folder("Hugging Face's layout", home, vision, source)
    if len(files) > 1:
        others = ", ".join(name for name in files if name != vision.name)
        found.notes.append(f"takes {vision.name}; there are also {others}")
    described = _read(found, home / "config.json")
    if source.is_file():
        found.settings = _of_hugging_face(_read(found, source), source)
    elif "pretrained_cfg" in described:
        found.source = home / "config.json"
        found.settings = _of_timm(_mapping(described, "pretrained_cfg"))
    found.classes = _classes(_mapping(described, "id2label"))
    of_text = _mapping(described, "text_config")
    halves = _variants(place, "text_model")
    if stem.startswith("vision_model") and halves:
        same = vision.name.replace("vision_model", "text_model", 1)
        found.text = place / (same if same in halves else halves[0])
    elif stem == "model" and (of_text or "vision_config" in described):
        found.text = vision
    if found.text is not None:
        found.of_text = {"context_length": of_text.get("max_position_embeddings")}
        _add_tokenizer(found, home)
    return found


def _add_tokenizer(found: Folder, place: Path) -> None:
    found.tokenizer = place / "tokenizer.json"
    if not found.tokenizer.is_file():
        raise InvalidInputError(
            f"{found.tokenizer} is missing: the text network {found.text} cannot be used without "
            f"it. Put it there, or take the pictures' network alone: copy {found.vision} to a "
            "folder of its own."
        )
    path = place / "tokenizer_config.json"
    told = _read(found, path) if path.is_file() else {}
    pad = told.get("pad_token")
    found.of_text["pad_token"] = pad.get("content") if isinstance(pad, dict) else pad
    longest = told.get("model_max_length")
    if found.of_text.get("context_length") is None and type(longest) is int:
        # Tokenizers without a limit name a huge number.
        found.of_text["context_length"] = longest if longest <= LONGEST_CONTEXT else None
    if str(told.get("tokenizer_class", "")).startswith("Siglip"):
        found.of_text["canonicalize"] = True


def _text_config(found: Folder, text: Path, tokenizer: Path) -> TextConfig:
    told = found.of_text
    length, pad, prompts = told.get("context_length"), told.get("pad_token"), told.get("prompts")
    if length is not None and type(length) is not int:
        raise InvalidInputError(
            f"{found.home}: the number of tokens of a text must be an integer; got {length!r}."
        )
    if pad is not None and not isinstance(pad, str):
        raise InvalidInputError(f"{found.home}: 'pad_token' must be a string; got {pad!r}.")
    if prompts is not None and not (
        isinstance(prompts, list)
        and prompts
        and all(isinstance(one, str) and "{}" in one for one in prompts)
    ):
        raise InvalidInputError(
            f"{found.home / OVERRULES}: 'prompts' must be a list of texts with {{}} in the place "
            f"of a name; got {prompts!r}."
        )
    return TextConfig(
        text,
        tokenizer,
        found.root,
        found.home / OVERRULES,
        length,
        pad,
        bool(told.get("canonicalize")),
        PROMPTS if prompts is None else tuple(prompts),
    )


def _overruled(found: Folder) -> dict[str, Any]:
    """Return the settings in the folder's own file; those of the text half are kept apart."""
    path = found.home / OVERRULES
    _check_inside(found, path)
    settings = read_toml(path) if path.is_file() else {}
    found.of_text |= {name: settings.pop(name) for name in _OF_TEXT if name in settings}
    return settings


def _of_immich(raw: Mapping[str, Any], source: Path) -> dict[str, Any]:
    size = raw.get("size")
    mode = raw.get("resize_mode", "shortest")
    if mode not in ("shortest", "squash"):
        raise _odd(source, f"resize_mode {mode!r}", 'view = "whole"')
    return {
        "size": size[0] if isinstance(size, list) and size else size,
        "view": "whole" if mode == "squash" else "centre",
        "interpolation": raw.get("interpolation", "bicubic"),
        "mean": raw.get("mean"),
        "std": raw.get("std"),
        "pixel_range": 1,
    }


def _of_timm(raw: Mapping[str, Any]) -> dict[str, Any]:
    shape, mode = raw.get("input_size"), raw.get("crop_mode", "center")
    settings = {
        "size": shape[-1] if isinstance(shape, list) and shape else None,
        "crop": raw.get("crop_pct", 1.0),
        "interpolation": raw.get("interpolation", "bicubic"),
        "view": "whole" if mode == "squash" else "centre",
        "mean": raw.get("mean"),
        "std": raw.get("std"),
        "pixel_range": 1,
    }
    return {name: value for name, value in settings.items() if value is not None}


def _of_hugging_face(raw: Mapping[str, Any], source: Path) -> dict[str, Any]:
    """Translate the settings of an image processor of the library 'transformers'."""
    factor = raw.get("rescale_factor", 1 / 255)
    if type(factor) not in (int, float):
        raise InvalidInputError(f"{source}: 'rescale_factor' must be a number. Got {factor!r}.")
    rescaled, normalised = raw.get("do_rescale", True), raw.get("do_normalize", True)
    settings = _geometry(raw, source)
    settings["pixel_range"] = 255 * factor if rescaled else 255
    if abs(settings["pixel_range"] - 1) < 1e-6:
        settings["pixel_range"] = 1
    for name, own, neutral in (("mean", "image_mean", 0.0), ("std", "image_std", 1.0)):
        if not normalised:
            settings[name] = [neutral] * 3
        elif own in raw:
            settings[name] = raw[own]
    if rescaled and raw.get("rescale_offset") and isinstance(settings.get("mean"), list):
        # Pixels run from -1.
        settings["mean"] = [
            one + 1 if type(one) in (int, float) else one for one in settings["mean"]
        ]
    if raw.get("do_flip_channel_order"):
        settings["channels"] = "BGR"
    resample = raw.get("resample", 3)
    if type(resample) is not int or resample not in _RESAMPLE:
        raise _odd(source, f"resample {resample!r}", 'interpolation = "bilinear"')
    return settings | {"interpolation": _RESAMPLE[resample]}


def _geometry(raw: Mapping[str, Any], source: Path) -> dict[str, Any]:
    """Return size, crop and view: what is resized to a length, or cropped, is not squeezed."""
    crops = bool(raw.get("do_center_crop", False))
    size, cropped = _side(raw.get("size"), source), _side(raw.get("crop_size"), source)
    if not raw.get("do_resize", True) or size is None:
        return {} if cropped is None or not crops else {"size": cropped[0]}
    side, keeps_proportions = size[0], size[1] or (crops and isinstance(raw.get("size"), int))
    share = raw.get("crop_pct")
    if type(share) in (int, float) and not crops and keeps_proportions:
        return {"size": side} | ({"view": "whole"} if side >= _SQUEEZED_FROM else {"crop": share})
    if not crops or cropped is None or cropped[0] == side:
        return {"size": side} | ({} if keeps_proportions else {"view": "whole"})
    if cropped[0] > side:
        raise _odd(source, f"a crop of {cropped[0]} after size {raw.get('size')!r}", "crop = 0.875")
    return {"size": cropped[0], "crop": cropped[0] / side}


def _side(size: Any, source: Path) -> tuple[int, bool] | None:
    """Return the side, and whether it is that of the shorter edge."""
    if size is None:
        return None
    if isinstance(size, dict) and "shortest_edge" in size:
        found, shorter = size["shortest_edge"], True
    elif isinstance(size, dict) and size.get("height") == size.get("width", 0):
        found, shorter = size["height"], False
    else:
        found, shorter = size, False
    if type(found) is not int or found < 1:
        raise _odd(source, f"size {size!r}", "size = 224")
    return found, shorter


def _odd(source: Path, what: str, line: str) -> InvalidInputError:
    return InvalidInputError(
        f"{source}: {what} is not known. Expected the settings of an encoder of square pictures; "
        f"correct the file, or try {line}."
    )


def _classes(id2label: Mapping[str, Any]) -> list[str] | None:
    """Return the names of classes in their order; None where there are none but numbers."""
    names = [str(id2label.get(str(place), "")) for place in range(len(id2label))]
    if not names or any(not name or name.startswith("LABEL_") for name in names):
        return None
    if len(names) == len(imagenet_classes()) and names[0].startswith("tench"):
        return list(imagenet_classes())
    short = [name.split(",")[0].strip() for name in names]
    return short if len(set(short)) == len(short) else names


def _read(found: Folder, path: Path) -> dict[str, Any]:
    """Read a JSON file that lies in the folder, links followed."""
    _check_inside(found, path)
    return read_json(path) if path.is_file() else {}


def _check_inside(found: Folder, path: Path) -> None:
    if not lies_within(path, found.root):
        raise InvalidInputError(f"{path} leads out of {found.root}: it is not read.")


def _mapping(raw: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = raw.get(name)
    return value if isinstance(value, dict) else {}


def _variants(place: Path, stem: str) -> list[str]:
    """Return the files of one network in several precisions, the most precise first."""
    names = [f"{stem}{variant}.onnx" for variant in VARIANTS]
    return [name for name in names if (place / name).is_file()]


def _home(path: Path) -> Path:
    """Return the folder of a network."""
    if path.is_dir():
        return path
    return path.parent.parent if path.parent.name in ("onnx", "visual") else path.parent


def _root(home: Path) -> Path:
    whole = home.resolve()
    cached = whole.parent.name == "snapshots" and whole.parent.parent.name.startswith("models--")
    return whole.parent.parent if cached else whole


def _name(home: Path) -> str:
    root = _root(home)
    return root.name.removeprefix("models--").replace("--", "/")


def _listing(home: Path) -> str:
    names = sorted(one.name for one in home.iterdir())
    return ", ".join(names[:8]) + (" and others" if len(names) > 8 else "") or "nothing"
