"""The account of a run: each file that was found is in it exactly once."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tagloom.vision.discover import Found, Skipped
from tagloom.vision.pipeline import Outcome
from tagloom.vision.signatures import named_format


@dataclass(frozen=True)
class EmbedReport:
    """What was found in a folder and what became of it.

    Attributes
    ----------
    embedded
        Pictures described in this run.
    cached
        Pictures that the cache knew.
    duplicates
        Pictures with the same bytes as one counted above, with that one's name.
    skipped
        What gave no features, with the reason.
    mislabelled
        Pictures that were read although their ending promises something else.
    others
        Files that are no pictures and do not claim to be.
    ready
        Every item that has features now, with the SHA-256 of its bytes.
    seconds
        How long it took.
    """

    embedded: list[str]
    cached: list[str]
    duplicates: list[tuple[str, str]]
    skipped: list[Skipped]
    mislabelled: list[Skipped]
    others: list[str]
    ready: list[tuple[str, bytes]]
    seconds: float

    @property
    def found(self) -> int:
        """How many pictures, and things that claimed to be or could not be looked at, there are."""
        ready = len(self.embedded) + len(self.cached) + len(self.duplicates)
        return ready + len(self.skipped)

    def as_dict(self) -> dict[str, Any]:
        """Give the account as plain values, for JSON."""
        return {
            "found": self.found,
            "embedded": len(self.embedded),
            "cached": len(self.cached),
            "duplicates": [{"item": item, "of": first} for item, first in self.duplicates],
            "skipped": [{"item": one.item, "reason": one.reason} for one in self.skipped],
            "mislabelled": [{"item": one.item, "note": one.reason} for one in self.mislabelled],
            "others": self.others,
            "seconds": round(self.seconds, 3),
        }


def account_for(found: Found, outcomes: Iterable[Outcome], *, seconds: float) -> EmbedReport:
    """Sort the outcomes; which of two equal files is the duplicate depends on names alone."""
    outcomes = list(outcomes)
    fresh = {outcome.content for outcome in outcomes if outcome.fresh}
    # Of several files with the same damaged bytes only one was decoded; its reason holds for all.
    reasons = {one.content: one.problem for one in outcomes if one.problem}
    report = EmbedReport([], [], [], list(found.skipped), [], list(found.others), [], seconds)
    first: dict[bytes, str] = {}
    for outcome in outcomes:
        reason = outcome.problem or reasons.get(outcome.content)
        if outcome.content is None or reason is not None:
            report.skipped.append(Skipped(outcome.item, reason or "it cannot be read"))
            continue
        report.ready.append((outcome.item, outcome.content))
        _note_wrong_ending(report, outcome)
        if outcome.content in first:
            report.duplicates.append((outcome.item, first[outcome.content]))
            continue
        first[outcome.content] = outcome.item
        (report.embedded if outcome.content in fresh else report.cached).append(outcome.item)
    report.skipped.sort(key=lambda skipped: skipped.item)
    return report


def _note_wrong_ending(report: EmbedReport, outcome: Outcome) -> None:
    promised = named_format(outcome.item)
    if outcome.format is not None and promised != outcome.format:
        name = promised or "no picture"
        note = f"its ending says {name}, its content is {outcome.format}"
        report.mislabelled.append(Skipped(outcome.item, note))
