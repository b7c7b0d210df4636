"""Data sets by name: `KIND:PATH` or `KIND:PATH?option=value&option=value`.

To add a data set, write one file with a loader that returns a `Dataset`, such as `voc2007.py`, and
add one line to `KINDS` below. The benchmark and the command line open data sets by this table.
Other packages bring data sets by entry points (`tagloom.plugins`).
"""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tagloom.datasets.base import Dataset
from tagloom.errors import InvalidInputError
from tagloom.plugins import DATASETS, find_plugin, load_plugin, plugin_names
from tagloom.validation import some_of

Parser = Callable[[str], Any]


def _flag(text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise ValueError("expected true or false")
    return text.lower() == "true"


def _unlisted(text: str) -> str | float:
    return text if text in {"unknown", "absent"} else float(text)


def _or_none(text: str) -> str | None:
    return None if text.lower() == "none" else text


@dataclass(frozen=True)
class Kind:
    """A kind of data set: its loader, which is imported when needed, and the loader's options.

    Parameters
    ----------
    loader
        `module:function`, called with the path.
    options
        How the value of each option is parsed.
    needs_path
        False if the path may be missing.
    """

    loader: str
    options: Mapping[str, Parser] = field(default_factory=dict)
    needs_path: bool = True


_SIZE: Mapping[str, Parser] = {"check_counts": _flag}
_SPLIT: Mapping[str, Parser] = {"test_share": float, "random_state": int}
_LEAR: Mapping[str, Parser] = {**_SIZE, "images": str, "features": str}
_PACKAGE = "tagloom.datasets."

KINDS: Mapping[str, Kind] = {
    "voc2007": Kind(_PACKAGE + "voc2007:load_voc2007", _SIZE),
    "espgame": Kind(_PACKAGE + "lear:load_espgame", _LEAR),
    "iaprtc12": Kind(_PACKAGE + "lear:load_iaprtc12", _LEAR),
    "mirflickr25k": Kind(
        _PACKAGE + "mirflickr:load_mirflickr25k", {**_SIZE, "annotations": str, "split": str}
    ),
    "corel5k": Kind(_PACKAGE + "corel5k:load_corel5k", {**_SIZE, "features": _or_none}),
    "coco_captions": Kind(
        _PACKAGE + "coco_captions:load_coco_captions", {**_SPLIT, "features": _or_none}
    ),
    "mulan": Kind(_PACKAGE + "mulan:load_mulan", {**_SPLIT, "labels": str}),
    "openclipart": Kind(
        _PACKAGE + "openclipart:load_openclipart",
        {
            **_SPLIT,
            "svg": str,
            "min_count": int,
            "unlisted": _unlisted,
            "left_out": lambda text: text.split(","),
        },
    ),
    "folder": Kind(
        _PACKAGE + "folder:load_folder",
        {**_SPLIT, "table": str, "form": str, "unlisted": _unlisted, "separator": str},
    ),
    # Generated scenes: `scenes` or `scenes:N`.
    "scenes": Kind(_PACKAGE + "scenes:open_scenes", needs_path=False),
}


def open_dataset(spec: str) -> Dataset:
    """Open a data set by kind and path.

    Parameters
    ----------
    spec
        `KIND:PATH`, such as `mulan:/data/yeast.npz`. Options of the loader may follow a question
        mark: `voc2007:/data/VOCdevkit?check_counts=false`,
        `openclipart:/data/clipart?min_count=50&random_state=1`. Values are used as written; they
        cannot hold `&`. `scenes` and `scenes:N` need no path.
    """
    name, colon, rest = spec.partition(":")
    kind = KINDS.get(name) or _plugin_kind(name)
    if kind is None:
        raise InvalidInputError(
            f"Unknown kind of data set {name!r} in {spec!r}. Expected KIND:PATH, where KIND is one "
            f"of {', '.join([*KINDS, *plugin_names(DATASETS)])}."
        )
    path, options = _split_options(rest, name, kind)
    if kind.needs_path and not (colon and path):
        raise InvalidInputError(f"{spec!r} has no path. Write {name}:PATH.")
    dataset: object = _loader(name, kind)(path, **options)
    if not isinstance(dataset, Dataset):
        raise InvalidInputError(
            f"The loader of {name!r}, {kind.loader}, must return a Dataset; got {dataset!r}."
        )
    return dataset


def _plugin_kind(name: str) -> Kind | None:
    """Return the kind that a package brings: a `Kind`, or a function from a path to a `Dataset`."""
    point = find_plugin(DATASETS, name)
    if point is None:
        return None
    found = load_plugin(point)
    if isinstance(found, Kind):
        return found
    if not callable(found):
        raise InvalidInputError(
            f"The data set {name!r} must be a function that returns a Dataset, or a Kind; "
            f"{point.value} is {found!r}."
        )
    return Kind(point.value)


def _split_options(rest: str, name: str, kind: Kind) -> tuple[str, dict[str, Any]]:
    """Separate a path from its options; without a `=` after it, a `?` is part of the path."""
    path, mark, text = rest.rpartition("?")
    if not mark or "=" not in text:
        return rest, {}
    options = {}
    for pair in text.split("&"):
        option, _, value = pair.partition("=")
        if option not in kind.options:
            raise InvalidInputError(
                f"Unknown option {option!r} of {name}. It has {some_of(kind.options, 10)}."
            )
        try:
            options[option] = kind.options[option](value)
        except ValueError as problem:
            raise InvalidInputError(
                f"The option {option} of {name} cannot be {value!r}: {problem}."
            ) from problem
    return path, options


def _loader(name: str, kind: Kind) -> Callable[..., Dataset]:
    module, _, function = kind.loader.partition(":")
    try:
        loader: Callable[..., Dataset] = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as problem:
        raise InvalidInputError(
            f"Data sets of the kind {name!r} cannot be opened here: {kind.loader} cannot be "
            f"imported ({problem})."
        ) from problem
    return loader
