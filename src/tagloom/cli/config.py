"""A TOML file whose keys are the flags of a command."""

import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer

from tagloom.errors import InvalidInputError


def _take_over(ctx: typer.Context, path: Path | None) -> Path | None:
    """Make what the file says the defaults of the command: flags win."""
    if path is None:
        return None
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as problem:
        raise InvalidInputError(f"{path} cannot be read: {problem.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise InvalidInputError(f"{path} is no TOML: {problem}.") from None
    names = {_key(option): str(option.name) for option in ctx.command.params}
    for key in given:
        if key not in names:
            near = get_close_matches(key.replace("_", "-"), names, n=1, cutoff=0.5)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise InvalidInputError(
                f"{path}: there is no key {key!r}.{hint} Keys are the flags of this command: "
                f"{', '.join(sorted(names))}."
            )
    ctx.default_map = {names[key]: value for key, value in given.items()}
    return path


def _key(option: Any) -> str:
    """Return the longest name of a flag without its dashes; an argument has but its name."""
    flags = [str(flag).lstrip("-") for flag in option.opts]
    return max(flags, key=len).replace("_", "-")


ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config", callback=_take_over, is_eager=True, help="TOML file with these flags as keys."
    ),
]
