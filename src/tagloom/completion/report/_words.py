"""The head of the page: what was found, in words and in numbers."""

import math
from numbers import Integral, Real

import numpy as np

from tagloom.completion.result import Completed
from tagloom.completion.suggestions import TagState
from tagloom.markup import Markup, markup, paragraph


def counted(number: int, one: str, many: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "picture", "pictures"), counted(5000, "picture", "pictures")
    ('1 picture', '5,000 pictures')
    """
    return f"{number:,} {one if number == 1 else many}"


def in_short(result: Completed) -> Markup:
    """Tell in a few sentences what the numbers of the account do not."""
    table = result.table
    helped = np.unique(table.rows[table.state == int(TagState.SUGGESTED)])
    given = np.isin(table.state, (int(TagState.KNOWN), int(TagState.DOUBTFUL_KNOWN)))
    first = np.setdiff1d(helped, table.rows[given])
    sentences = [
        f"{counted(table.count(TagState.SUGGESTED), 'tag is', 'tags are')} suggested for "
        f"{len(helped):,} of {counted(len(table.items), 'picture', 'pictures')}"
        + (f", {len(first):,} of which came without any." if len(first) else "."),
        _of_doubts(table.count(TagState.DOUBTFUL_KNOWN), table.count(TagState.DOUBTFUL_ABSENT)),
        _of_completeness(result.completeness),
        _of_skipped(len(result.skipped)),
    ]
    return paragraph(" ".join(sentence for sentence in sentences if sentence), "lead")


def account(result: Completed) -> Markup:
    """Return the account as names and numbers; what never happened is not worth a word."""
    entries = "".join(
        f"<div><dt>{markup(name)}</dt><dd>{markup(_figure(value))}</dd></div>"
        for name, value in result.account.items()
        if value
    )
    return Markup(f'<dl class="account">{entries}</dl>' if entries else "")


def _of_doubts(wrong: int, denied: int) -> str:
    if not wrong and not denied:
        return "Nothing that was said looks wrong."
    parts = [counted(wrong, "given tag looks", "given tags look") + " wrong"] if wrong else []
    if denied:
        parts.append(counted(denied, "denied tag looks", "denied tags look") + " right")
    return " and ".join(parts) + "."


def _of_completeness(share: float) -> str:
    if not math.isfinite(share) or share >= 1:
        return ""
    return f"By our estimate {share:.0%} of the tags that belong to the pictures had been given."


def _of_skipped(number: int) -> str:
    return f"{counted(number, 'file', 'files')} could not be used." if number else ""


def _figure(value: object) -> str:
    """Write numbers as people do; what is no number stays as it is."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return str(value)
    if isinstance(value, Integral):
        return f"{int(value):,}"
    return f"{float(value):,.3g}" if math.isfinite(value) else "unknown"
