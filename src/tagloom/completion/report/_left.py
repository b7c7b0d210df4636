"""What was left out, and why."""

from tagloom.completion.report._words import counted
from tagloom.completion.result import Completed, Left
from tagloom.markup import Markup, folded, heading, paragraph, table

# More rows are folded away: they are looked up, not read.
_AT_ONCE = 40


def left_out(result: Completed) -> Markup:
    """Return tables of skipped pictures, of what was odd about the tags and of rare labels."""
    rare = sorted(result.too_rare.items(), key=lambda entry: (-entry[1], entry[0]))
    parts = [
        _part("Files that could not be used", ("File", "Why"), _rows(result.skipped)),
        _part(
            "What was odd about the tags",
            ("Where", "What, and what was done"),
            _rows(result.remarks),
        ),
        _part(
            "Labels that are too rare to be learned",
            ("Label", "Pictures that have it"),
            [(label, f"{count:,}") for label, count in rare],
        ),
    ]
    found = "\n".join(part for part in parts if part)
    return Markup(found or paragraph("Nothing was left out.", "lead"))


def _rows(left: list[Left]) -> list[tuple[str, str]]:
    return [(one.name, one.reason) for one in left]


def _part(title: str, columns: tuple[str, str], rows: list[tuple[str, str]]) -> Markup:
    if not rows:
        return Markup("")
    words = (0, 1) if "Why" in columns or "Where" in columns else (0,)
    more = rows[_AT_ONCE:]
    rest = folded(counted(len(more), "more", "more"), table(columns, more, words=words))
    return Markup(
        heading(f"{title} ({len(rows):,})")
        + table(columns, rows[:_AT_ONCE], words=words)
        + (rest if more else "")
    )
