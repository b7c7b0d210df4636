"""Words for people about a completion."""

import json
from typing import TYPE_CHECKING, Any

import typer

from tagloom.cli.embed import listed, shown

if TYPE_CHECKING:
    from tagloom.completion.result import Completed
    from tagloom.formats import Matched, Reading


class Teller:
    """Tells people each step as soon as it is known; a program gets JSON at the end."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet

    def __call__(self, step: str, facts: dict[str, Any]) -> None:
        """Say what a step found."""
        if not self._quiet:
            typer.echo("\n".join(getattr(self, f"_{step}")(**facts)))

    def _read(self, readings: "list[Reading]", matched: "Matched") -> list[str]:
        lines = []
        for reading in readings:
            how = ", ".join(f"{key} {value}" for key, value in reading.details.items())
            lines.append(
                f"tags: {shown(str(reading.source))}, read as {reading.format}"
                + (f" ({how})" if how else "")
            )
            lines += listed([f"{shown(one.where)}: {one.what}" for one in reading.remarks])
            lines += listed([f"{shown(one.where)}: {one.what}" for one in reading.contradictions])
        if matched.missing:
            lines.append(f"  {len(matched.missing):,} tagged pictures are not there")
            lines += listed([shown(name) for name in matched.missing])
        if matched.ambiguous:
            lines.append(f"  {len(matched.ambiguous):,} names fit several pictures: not used")
            lines += listed([shown(name) for name in matched.ambiguous])
        return lines

    def _found(self, **account: Any) -> list[str]:
        width = max(len(name) for name in account)
        return [f"  {name:{width}}  {value:,}" for name, value in account.items() if value]

    def _taught(self, taught: Any) -> list[str]:
        lines = [f"{taught.known.n_labels:,} labels are learned"]
        if taught.too_rare:
            rare = sorted(taught.too_rare, key=lambda name: (-taught.too_rare[name], name))
            some = ", ".join(rare[:5]) + (", ..." if len(rare) > 5 else "")
            lines.append(f"  {len(rare):,} are on too few pictures: {shown(some)}")
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
    from tagloom.completion.quality import calibration_error

    account = result.account
    error = calibration_error(result.bins, least=0.3)
    lines = [
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


def as_json(facts: dict[str, Any]) -> str:
    """Return facts for a program."""
    return json.dumps(facts, indent=2, default=str)
