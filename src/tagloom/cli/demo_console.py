"""Words and tables of `tagloom demo`."""

from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tagloom.benchmark.demo import OURS, Demonstration
from tagloom.completion.result import calibration_error
from tagloom.completion.suggestions import TagState
from tagloom.labels import State

_EXAMPLES = 6


def tell_demonstration(done: Demonstration, console: Console, *, seed: int) -> None:
    """Print how the completion compares with the truth, and where to look further."""
    console.print(
        f"\n{done.n_kept + done.n_hidden:,} tags are true of these pictures; {done.n_kept:,} were "
        f"kept, {done.n_hidden:,} hidden. That {done.result.completeness:.0%} of the tags were "
        f"there is estimated; {done.n_kept / (done.n_kept + done.n_hidden):.0%} were.\n"
    )
    _tell_learners(done, console)
    _tell_calibration(done, console)
    _tell_examples(done, console, np.random.default_rng(seed))
    console.print("\nTo look at:")
    for name in ("report.html", "suggestions.csv"):
        console.print(f"  {escape(str(done.folder / name))}", soft_wrap=True)


def _tell_learners(done: Demonstration, console: Console) -> None:
    ours = done.learners[OURS].suggestions
    table = Table(
        "", "mAP", "found among 5", "suggestions right", title="What was hidden, by learner"
    )
    for name, one in done.learners.items():
        table.add_row(
            name,
            f"{one.ranking.mean_average_precision:.3f}",
            f"{one.ranking.recall:.1%}",
            f"{one.suggestions.precision:.1%} of {one.suggestions.n:,}",
        )
    console.print(table)
    found = round(ours.precision * ours.n) if ours.n else 0
    console.print(
        f"All know the same tags and see the same features. Suggestions of {OURS} are those it "
        f"makes; the others suggest as many, their highest scores. {OURS} found {found:,} of the "
        f"{done.n_hidden:,} hidden tags.\n"
    )


def _tell_calibration(done: Demonstration, console: Console) -> None:
    table = Table("probability", "entries", "promised", "true", title="What probabilities mean")
    for one in done.bins:
        table.add_row(
            f"{one.low:.1f} to {one.high:.1f}",
            f"{one.n:,}",
            f"{one.promised:.2f}",
            f"{one.came_true:.2f}",
        )
    console.print(table)
    error, high = calibration_error(done.bins), calibration_error(done.bins, least=0.3)
    console.print(f"Off by {error:.3f} on average, from 0.3 on by {high:.3f}.\n")


def _tell_examples(done: Demonstration, console: Console, rng: np.random.Generator) -> None:
    """Show pictures drawn by lot: what was known of them, what was suggested, what was missed."""
    result, hidden = done.result, done.hidden.states()
    known = result.said.states() == int(State.PRESENT)
    made = result.table.state == int(TagState.SUGGESTED)
    suggested = np.zeros(hidden.shape, dtype=bool)
    suggested[result.table.rows[made], result.table.columns[made]] = True
    present = hidden == int(State.PRESENT)
    table = Table("picture", "known", "suggested", "missed", title="A few of them")
    count = min(_EXAMPLES, len(hidden))
    for row in np.sort(rng.choice(len(hidden), count, replace=False)).tolist():

        def names(which: Any, colour: str, mark: str = "") -> str:
            tags = [tag for tag, yes in zip(done.hidden.labels, which, strict=True) if yes]
            return " ".join(f"[{colour}]{mark}{escape(str(tag))}[/]" for tag in tags)

        right = names(suggested[row] & present[row], "green")
        wrong = names(suggested[row] & ~present[row], "red", "✗")
        table.add_row(
            escape(result.items[row]),
            names(known[row], "bold"),
            f"{right} {wrong}".strip(),
            names(present[row] & ~suggested[row], "yellow"),
        )
    console.print(table)
    console.print("[green]right[/]  [red]✗wrong[/]  [yellow]present but not suggested[/]")
