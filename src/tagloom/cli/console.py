"""Words for people about a completion."""

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tagloom.cli.embed import listed, shown

if TYPE_CHECKING:
    from tagloom.completion.result import Completed
    from tagloom.formats import InputWarning, Matched, Reading


def tell_warnings() -> None:
    """Tell people of warnings in a line each on standard error, and of the same one once."""
    told: set[str] = set()

    def tell(message: Warning | str, *_: Any, **__: Any) -> None:
        text = f"tagloom: note: {message}"
        if text not in told:
            told.add(text)
            typer.echo(text, err=True)

    warnings.showwarning = tell


@contextmanager
def nothing_left_behind(out: Path) -> Iterator[None]:
    """Take the folder of the results away again if an error has left it empty."""
    was_there = out.exists()
    try:
        yield
    except BaseException:
        with suppress(OSError):
            (out / ".work").rmdir()
            if not was_there:
                out.rmdir()
        raise


class Teller:
    """Tells people each step as soon as it is known; a program gets JSON at the end."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet

    def __call__(self, step: str, metadata: dict[str, Any]) -> None:
        """Say what a step found."""
        if not self._quiet:
            typer.echo("\n".join(getattr(self, f"_{step}")(**metadata)))

    def _read(self, readings: "list[Reading]", matched: "Matched") -> list[str]:
        lines = []
        for reading in readings:
            how = ", ".join(f"{key} {shown(value)}" for key, value in reading.details.items())
            lines.append(
                f"tags: {shown(str(reading.source))}, read as {reading.format}"
                + (f" ({how})" if how else "")
            )
            lines += noted(reading.warnings)
            lines += noted(reading.contradictions)
            n_suggested = len(reading.annotations) - len(reading.annotations.without_suggestions())
            if n_suggested:
                lines.append(f"  {n_suggested:,} are suggestions of a machine: not learned from")
        if matched.missing:
            lines.append(f"  {len(matched.missing):,} tagged pictures are not there")
            lines += listed([shown(name) for name in matched.missing])
        if matched.ambiguous:
            lines.append(f"  {len(matched.ambiguous):,} names fit several pictures: not used")
            lines += listed(
                [f"{shown(name)}: {_some(found)}" for name, found in matched.ambiguous.items()]
            )
        if matched.merged:
            lines.append(f"  {len(matched.merged):,} pictures are meant by several names")
            lines += listed(
                [f"{shown(name)}: {_some(names)}" for name, names in matched.merged.items()]
            )
        lines += noted(matched.contradictions)
        return lines

    def _found(self, **account: Any) -> list[str]:
        width = max(len(name) for name in account)
        return [f"  {name:{width}}  {value:,}" for name, value in account.items() if value]

    def _taught(self, taught: Any) -> list[str]:
        lines = [f"{taught.known.n_labels:,} labels are learned"]
        if taught.too_rare:
            rare = sorted(taught.too_rare, key=lambda name: (-taught.too_rare[name], name))
            lines.append(f"  {len(rare):,} are on too few pictures: {_some(rare, 5)}")
        if taught.only_presences:
            lines.append(
                "  unlisted tags are unknown; while learning they are presumed absent, and "
                "probabilities allow for forgotten ones"
            )
        n_unseen = int(taught.unseen.sum())
        if n_unseen:
            lines.append(f"  {n_unseen:,} pictures without any tag: nothing is presumed of them")
        return lines


def told_result(result: "Completed", out: Any) -> str:
    """Return what came out, for people."""
    from tagloom.completion.result import calibration_error

    account = result.account
    skipped = [f"{shown(one.name)}: {one.reason}" for one in result.skipped]
    error = calibration_error(result.bins, least=0.3)
    lines = [f"{len(skipped):,} pictures skipped", *listed(skipped)] if skipped else []
    if "said since" in account:
        lines.append(f"{account['said since']:,} new statements were learned from")
    lines += [
        f"{account['tags suggested']:,} tags suggested, "
        f"{account['known tags that look wrong']:,} known tags look wrong",
    ]
    if result.completeness < 1:
        lines.append(f"about {result.completeness:.0%} of the tags that should be there are there")
    if error == error:
        lines.append(
            f"probabilities from 0.3 on were off by {error:.2f} on average, measured by hiding"
        )
    lines.append(f"open {shown(str(out))}/report.html")
    return "\n".join(lines)


def noted(found: "list[InputWarning]") -> list[str]:
    """Return what was odd, and where."""
    return listed([f"{shown(one.where)}: {shown(one.what)}" for one in found])


def _some(names: list[str], count: int = 3) -> str:
    return shown(", ".join(names[:count]) + (", ..." if len(names) > count else ""))


def as_json(metadata: dict[str, Any]) -> str:
    """Return metadata for a program."""
    return json.dumps(metadata, indent=2, default=str)
