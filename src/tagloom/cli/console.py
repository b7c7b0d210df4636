"""What commands share: console output, and the flags of a command from a TOML file."""

import inspect
import json
import warnings
from difflib import get_close_matches
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args, get_origin, get_type_hints

import typer

from tagloom.errors import InvalidInputError
from tagloom.io import read_toml

if TYPE_CHECKING:
    from tagloom.completion.result import CompletionResult
    from tagloom.completion.training_labels import TrainingLabels
    from tagloom.formats import InputWarning, Matched, Reading

_LINES_SHOWN = 20


def listed(lines: list[str]) -> list[str]:
    """Indent lines and show the first of them; a thousand must not bury the summary."""
    hidden = len(lines) - _LINES_SHOWN
    tail = [f"    ... and {hidden} more; --json lists all"] if hidden > 0 else []
    return [f"    {line}" for line in lines[:_LINES_SHOWN]] + tail


def shown(name: str) -> str:
    r"""Escape a file name so that it fits on one line of any terminal.

    >>> print(shown("two\nlines"))
    two\nlines
    """
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in name
    )


def first_few(names: list[str], count: int = 3) -> str:
    """Return the first names, escaped."""
    return shown(", ".join(names[:count]) + (", ..." if len(names) > count else ""))


def warning_lines(found: "list[InputWarning]") -> list[str]:
    """Return a line for each warning about the input, with its place."""
    return listed([f"{shown(one.where)}: {shown(one.what)}" for one in found])


def as_json(metadata: dict[str, Any]) -> str:
    """Return metadata for a program."""
    return json.dumps(metadata, indent=2, default=str)


def echo(metadata: dict[str, Any], lines: list[str], *, to_json: bool) -> None:
    """Print metadata as JSON for a program, or lines for a person."""
    typer.echo(as_json(metadata) if to_json else "\n".join(lines))


def print_warnings_once() -> None:
    """Print each Python warning once, on one line of standard error."""
    printed: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = f"tagloom: warning: {message}"
        if text not in printed:
            printed.add(text)
            typer.echo(text, err=True)

    warnings.showwarning = show


class StepPrinter:
    """Prints what each step of a completion has found, unless JSON is wanted at the end."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet

    def __call__(self, step: str, findings: dict[str, Any]) -> None:
        """Print the findings of a step."""
        lines = [] if self._quiet else getattr(self, f"_{step}")(**findings)
        if lines:
            typer.echo("\n".join(lines))

    def _read(self, readings: "list[Reading]", matched: "Matched") -> list[str]:
        lines = [line for reading in readings for line in _reading_lines(reading)]
        if matched.missing:
            lines.append(f"  {len(matched.missing):,} tagged pictures were not found")
            lines += listed([shown(name) for name in matched.missing])
        if matched.ambiguous:
            lines.append(
                f"  {len(matched.ambiguous):,} names match several pictures and are not used"
            )
            lines += listed(
                [f"{shown(name)}: {first_few(found)}" for name, found in matched.ambiguous.items()]
            )
        if matched.merged:
            lines.append(f"  {len(matched.merged):,} pictures are listed under several names")
            lines += listed(
                [f"{shown(name)}: {first_few(names)}" for name, names in matched.merged.items()]
            )
        return lines + warning_lines(matched.contradictions)

    def _fitted(self, done: int, of: int) -> list[str]:
        """Nothing: progress bars show this."""
        return []

    def _found(self, **summary: Any) -> list[str]:
        width = max(len(name) for name in summary)
        return [f"  {name:{width}}  {value:,}" for name, value in summary.items() if value]

    def _training_labels(self, training: "TrainingLabels") -> list[str]:
        lines = [f"learning {training.labels.n_labels:,} tags"]
        by_name = [str(label) for label in training.judged_by_name]
        if by_name:
            lines.append(
                f"  {len(by_name):,} of them are on too few pictures and judged by their names: "
                f"{first_few(by_name, 5)}"
            )
        too_rare = training.too_rare
        rare = sorted(too_rare, key=lambda name: (-too_rare[name], name))
        if rare:
            lines.append(
                f"  {len(rare):,} others are on too few pictures to learn: {first_few(rare, 5)}"
            )
        if training.unlinked:
            names = first_few(list(training.unlinked), 5)
            lines.append(f"  not linked, nothing to learn from until you tag a picture: {names}")
        if training.ignored:
            ignored = first_few(list(training.ignored), 5)
            lines.append(f"  {len(training.ignored):,} are ignored by the vocabulary: {ignored}")
        if training.positive_unlabelled:
            lines.append(
                "  unlisted tags are unknown: they count as absent in training only (PU learning), "
                "and probabilities allow for forgotten tags"
            )
        n_unseen = int(training.unseen.sum())
        if n_unseen:
            lines.append(f"  {n_unseen:,} pictures without any tag: nothing is assumed about them")
        return lines


def _reading_lines(reading: "Reading") -> list[str]:
    how = ", ".join(f"{key} {shown(value)}" for key, value in reading.details.items())
    read_as = f"{reading.format} ({how})" if how else reading.format
    lines = [f"tags: {shown(str(reading.source))}, read as {read_as}"]
    lines += warning_lines(reading.warnings)
    lines += warning_lines(reading.contradictions)
    n_suggested = len(reading.annotations) - len(reading.annotations.without_suggestions())
    if n_suggested:
        lines.append(f"  {n_suggested:,} are a machine's suggestions and are not learned from")
    return lines


def result_text(result: "CompletionResult", out: Path) -> str:
    """Return the result of a completion in a few lines."""
    summary = result.summary
    skipped = [f"{shown(one.name)}: {one.reason}" for one in result.skipped]
    lines = [f"{len(skipped):,} pictures skipped", *listed(skipped)] if skipped else []
    if "new annotations" in summary:
        lines.append(f"learned from {summary['new annotations']:,} new annotations")
    lines += [
        f"{summary['suggested tags']:,} tags suggested, "
        f"{summary['suspected label errors']:,} suspected label errors",
    ]
    lines += [sentence for sentence in result.claims() if sentence]
    folder = shown(str(out))
    lines.append(f"open {folder}/report.html, or decide with `tagloom review {folder}`")
    return "\n".join(lines)


_KINDS: dict[type, tuple[str, tuple[type, ...]]] = {
    bool: ("true or false", (bool,)),
    int: ("an integer", (int,)),
    float: ("a number", (int, float)),
    str: ("a string", (str, int, float)),
    Path: ("a path (a string)", (str,)),
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
        help="TOML file whose keys are these flags; flags override it.",
    ),
]
