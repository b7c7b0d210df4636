"""Data sets by a short text: `KIND:PATH` or `KIND:PATH?option=value&option=value`."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tagloom.datasets.base import Dataset
from tagloom.errors import InvalidInputError
from tagloom.validation import some_of

Reader = Callable[[str], Any]


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
    """A kind of set: the function that opens it, imported when it is asked for, and its options.

    Parameters
    ----------
    loader
        `module:function`. It is called with what stands behind the colon.
    options
        How the text of each option is read.
    needs_path
        False if the kind can stand alone.
    """

    loader: str
    options: Mapping[str, Reader] = field(default_factory=dict)
    needs_path: bool = True


_COUNTS: Mapping[str, Reader] = {"check_counts": _flag}
_DRAWN: Mapping[str, Reader] = {"test_share": float, "random_state": int}
_LEAR: Mapping[str, Reader] = {**_COUNTS, "images": str, "features": str}
_HERE = "tagloom.datasets."

KINDS: Mapping[str, Kind] = {
    "voc2007": Kind(_HERE + "voc2007:load_voc2007", _COUNTS),
    "espgame": Kind(_HERE + "lear:load_espgame", _LEAR),
    "iaprtc12": Kind(_HERE + "lear:load_iaprtc12", _LEAR),
    "mirflickr25k": Kind(
        _HERE + "mirflickr:load_mirflickr25k", {**_COUNTS, "annotations": str, "split": str}
    ),
    "corel5k": Kind(_HERE + "corel5k:load_corel5k", {**_COUNTS, "features": _or_none}),
    "mulan": Kind(_HERE + "mulan:load_mulan", {**_DRAWN, "labels": str}),
    "openclipart": Kind(
        _HERE + "openclipart:load_openclipart",
        {
            **_DRAWN,
            "svg": str,
            "min_count": int,
            "unlisted": _unlisted,
            "left_out": lambda text: text.split(","),
        },
    ),
    "folder": Kind(
        _HERE + "folder_csv:load_folder",
        {**_DRAWN, "table": str, "form": str, "unlisted": _unlisted, "separator": str},
    ),
    # Generated scenes: `scenes` or `scenes:N`; open_scenes takes the text behind the colon.
    "scenes": Kind(_HERE + "scenes:open_scenes", needs_path=False),
}


def open_dataset(spec: str) -> Dataset:
    """Open a data set by kind and path.

    Parameters
    ----------
    spec
        `KIND:PATH`, such as `mulan:/data/yeast.npz`. Options of the loader may follow a question
        mark: `voc2007:/data/VOCdevkit?check_counts=false`,
        `openclipart:/data/clipart?min_count=50&random_state=1`. Values are taken as they stand;
        they cannot hold `&`. `scenes` and `scenes:N` need no path.
    """
    name, colon, rest = spec.partition(":")
    kind = KINDS.get(name)
    if kind is None:
        raise InvalidInputError(
            f"Unknown kind of data set {name!r} in {spec!r}. Expected KIND:PATH, where KIND is one "
            f"of {', '.join(KINDS)}."
        )
    path, options = _parted(rest, name, kind)
    if kind.needs_path and not (colon and path):
        raise InvalidInputError(f"{spec!r} has no path. Write {name}:PATH.")
    dataset: Dataset = _loader(name, kind)(path, **options)
    return dataset


def _parted(rest: str, name: str, kind: Kind) -> tuple[str, dict[str, Any]]:
    """Part a path from its options; a question mark without `=` behind it belongs to the path."""
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
