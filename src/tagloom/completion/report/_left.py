"""What was left out, and why."""

from collections.abc import Sequence

from tagloom.completion.result import Completed
from tagloom.markup import Markup, folded, heading, paragraph, table

# More rows are folded away: they are looked up, not read.
_AT_ONCE = 40


def left_out(result: Completed) -> Markup:
    """Return tables of skipped pictures, of what was odd about the tags and of rare labels."""
    rare = sorted(result.too_rare.items(), key=lambda entry: (-entry[1], entry[0]))
    counts = [(label, f"{count:,}") for label, count in rare]
    odd = "What was odd about the tags"
    parts = [
        _part("Files that could not be used", ("File", "Why"), result.skipped),
        _part(odd, ("Where", "What, and what was done"), result.remarks),
        _part("Labels that are too rare to be learned", ("Label", "Pictures that have it"), counts),
    ]
    found = "\n".join(part for part in parts if part)
    return Markup(found or paragraph("Nothing was left out.", "lead"))


def _part(title: str, columns: tuple[str, str], rows: Sequence[tuple[str, str]]) -> Markup:
    if not rows:
        return Markup("")
    more = rows[_AT_ONCE:]
    rest = folded(f"{len(more):,} more", table(columns, more, words=(0, 1))) if more else ""
    shown = table(columns, rows[:_AT_ONCE], words=(0, 1))
    return Markup(heading(f"{title} ({len(rows):,})") + shown + rest)
