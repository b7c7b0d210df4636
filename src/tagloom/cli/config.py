"""A TOML file whose keys are the flags of a command."""

import inspect
from difflib import get_close_matches
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, cast, get_args, get_origin, get_type_hints

import typer

from tagloom.errors import InvalidInputError
from tagloom.io import read_toml

_KINDS: dict[type, tuple[str, tuple[type, ...]]] = {
    bool: ("true or false", (bool,)),
    int: ("an integer", (int,)),
    float: ("a number", (int, float)),
    str: ("a text", (str, int, float)),
    Path: ("a path as text", (str,)),
}


def _use_as_defaults(ctx: typer.Context, path: Path | None) -> Path | None:
    """Make the values of the file the defaults of the command, which flags override."""
    if path is None:
        return None
    names = {
        _key(option): str(option.name)
        for option in ctx.command.params
        if option.name not in ("config", "help")
    }
    kinds = get_type_hints(inspect.unwrap(cast(Any, ctx.command.callback)))
    values: dict[str, Any] = {}
    for key, value in read_toml(path).items():
        if key not in names:
            raise InvalidInputError(f"{path}: {_unknown_key(key, value, sorted(names))}")
        values[names[key]] = _as_flag(path, key, value, kinds[names[key]])
    ctx.default_map = values
    return path


def _unknown_key(key: str, value: Any, names: list[str]) -> str:
    listed = f"Keys are the flags of this command: {', '.join(names)}."
    if isinstance(value, dict):
        return f"there is a section [{key}]. Write the keys without any section. {listed}"
    near = get_close_matches(key.replace("_", "-"), names, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"there is no key {key!r}.{hint} {listed}"


def _as_flag(path: Path, key: str, value: Any, kind: Any) -> Any:
    """Return the value as text, as a flag would have it, or a list of texts; switches stay bool."""
    choices = [one for one in get_args(kind) if one is not NoneType]
    if NoneType in get_args(kind):
        kind = choices[0]
    several = get_origin(kind) is list
    one = get_args(kind)[0] if several else kind
    words, types = _KINDS[one]
    given = value if several and isinstance(value, list) else [value]
    # In Python true is an integer as well; here it is not.
    if not all(isinstance(v, types) and isinstance(v, bool) == (one is bool) for v in given):
        expected = f"{words}, or a list of them" if several else words
        raise InvalidInputError(f"{path}: {key!r} must be {expected}; got {value!r}.")
    if several:
        return [str(v) for v in given]
    return value if one is bool else str(value)


def _key(option: Any) -> str:
    """Return the longest name of a flag without its dashes; an argument has a single name."""
    flags = [str(flag).lstrip("-") for flag in option.opts]
    return max(flags, key=len).replace("_", "-")


ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        callback=_use_as_defaults,
        is_eager=True,
        help="TOML file with these flags as keys.",
    ),
]
