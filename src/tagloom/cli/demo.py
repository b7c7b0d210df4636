"""`tagloom demo`: complete the tags of generated pictures and compare with the truth."""

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagloom.cli.console import StepPrinter, as_json

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

    from tagloom.benchmark.demo import DemoResult

_N_EXAMPLES = 6


def demo(
    pictures: Annotated[int, typer.Option(min=50, help="How many pictures to draw.")] = 600,
    keep: Annotated[float, typer.Option(help="Share of the tags to keep, between 0 and 1.")] = 0.25,
    forgetting: Annotated[
        str,
        typer.Option(
            help="Which tags are forgotten: by salience, as people do (small things, and some tags "
            "more than others), or uniform (any tag alike)."
        ),
    ] = "salience",
    seed: Annotated[int, typer.Option(min=0, help="Random seed for pictures and hidden tags.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for pictures and results.")] = Path(
        "tagloom-demo"
    ),
    to_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Draw pictures, forget most of their tags, complete them and compare with the truth."""
    if not 0 < keep < 1:
        raise typer.BadParameter(f"must lie between 0 and 1; got {keep}", param_hint="--keep")
    from tagloom.benchmark.demo import FORGETTING, run_demo

    if forgetting not in FORGETTING:
        raise typer.BadParameter(
            f"must be salience or uniform; got {forgetting!r}", param_hint="--forgetting"
        )
    done = run_demo(
        out,
        n_pictures=pictures,
        keep=keep,
        forgetting=forgetting,
        random_state=seed,
        on_step=StepPrinter(quiet=to_json),
        verbose=sys.stderr.isatty(),
    )
    if to_json:
        typer.echo(as_json(_summary(done)))
    else:
        _print_demo(done, seed)
        _offer_review(done.folder)


def _summary(done: "DemoResult") -> dict[str, Any]:
    return {
        "pictures": len(done.result.items),
        "tags kept": done.n_kept,
        "tags hidden": done.n_hidden,
        "label frequency estimated": done.result.label_frequency,
        "learners": {
            name: {
                "mAP of hidden tags": one.ranking.mean_average_precision,
                "recall at 5": one.ranking.recall,
                "suggestions": one.suggestions.n,
                "precision of suggestions": one.suggestions.precision,
                "recall of suggestions": one.suggestions.recall,
            }
            for name, one in done.learners.items()
        },
        "tags": {
            one.tag: {
                "present": one.present,
                "listed": one.listed,
                "label frequency": one.label_frequency,
                "suggestions": one.suggestions,
                "right": one.right,
            }
            for one in done.tags
        },
        "calibration": [vars(one) for one in done.bins],
        "out": str(done.folder),
    }


def _print_demo(done: "DemoResult", seed: int) -> None:
    import numpy as np
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False)
    n_true = done.n_kept + done.n_hidden
    console.print(
        f"\nThese pictures have {n_true:,} true tags; {done.n_kept:,} were kept, "
        f"{done.n_hidden:,} hidden. Label frequency (the share of true tags that are listed): "
        f"estimated {done.result.label_frequency:.0%}, actual {done.n_kept / n_true:.0%}.\n"
    )
    _print_tags(done, console)
    _print_learners(done, console)
    _print_calibration(done, console)
    _print_examples(done, console, np.random.default_rng(seed))
    console.print("\nFiles to look at:")
    for name in ("report.html", "suggestions.csv"):
        console.print(f"  {escape(str(done.folder / name))}", soft_wrap=True)
    console.print("To accept and reject suggestions on a page in the browser:")
    console.print(f"  tagloom review {escape(shlex.quote(str(done.folder)))}", soft_wrap=True)


def _offer_review(folder: Path) -> None:
    """Ask whether to open the review page, if there is somebody to ask and it is installed."""
    installed = all(find_spec(name) for name in ("starlette", "uvicorn"))
    if not (installed and sys.stdin.isatty() and sys.stdout.isatty()):
        return
    if typer.confirm("Open it now?", default=False):
        from tagloom.cli.review import serve_page

        serve_page(folder, None)


def _print_tags(done: "DemoResult", console: "Console") -> None:
    from rich.table import Table

    table = Table("tag", title="Tags, by how completely they are listed")
    for column in ("pictures with it", "listed", "label frequency", "suggestions", "right"):
        table.add_column(column, justify="right")
    for one in done.tags:
        counts = (one.present, one.listed, f"{one.label_frequency:.0%}", one.suggestions, one.right)
        table.add_row(one.tag, *map(str, counts))
    console.print(table)


def _print_learners(done: "DemoResult", console: "Console") -> None:
    from rich.table import Table

    from tagloom.benchmark.demo import OURS

    ours = done.learners[OURS].suggestions
    table = Table("", "mAP", "recall at 5", "correct suggestions", title="Hidden tags, by learner")
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
        f"All learners have the same known tags and features. {OURS} chooses how many tags to "
        f"suggest; the others suggest the same number, those with the highest scores. "
        f"{OURS} found {found:,} of the {done.n_hidden:,} hidden tags.\n"
    )


def _print_calibration(done: "DemoResult", console: "Console") -> None:
    from rich.table import Table

    from tagloom.completion.result import calibration_error

    table = Table("probability", "entries", "confidence", "was right", title="Calibration")
    for one in done.bins:
        table.add_row(
            f"{one.low:.1f} to {one.high:.1f}",
            f"{one.n:,}",
            f"{one.confidence:.2f}",
            f"{one.observed:.2f}",
        )
    console.print(table)
    error, high = calibration_error(done.bins), calibration_error(done.bins, least=0.3)
    console.print(
        f"Calibration error: {error:.3f}; for probabilities of 0.3 or more: {high:.3f}.\n"
    )


def _print_examples(done: "DemoResult", console: "Console", rng: "np.random.Generator") -> None:
    """Print the known, suggested and missed tags of a few random pictures."""
    import numpy as np
    from rich.markup import escape
    from rich.table import Table

    from tagloom.completion.suggestions import TagState
    from tagloom.labels import State

    result, hidden = done.result, done.hidden.states()
    known = result.known.states() == int(State.PRESENT)
    made = result.table.state == int(TagState.SUGGESTED)
    suggested = np.zeros(hidden.shape, dtype=bool)
    suggested[result.table.rows[made], result.table.columns[made]] = True
    present = hidden == int(State.PRESENT)
    table = Table("picture", "known", "suggested", "missed", title="Examples")
    for row in np.sort(
        rng.choice(len(hidden), min(_N_EXAMPLES, len(hidden)), replace=False)
    ).tolist():
        right = _marked(done, suggested[row] & present[row], "green")
        wrong = _marked(done, suggested[row] & ~present[row], "red", "✗")
        table.add_row(
            escape(result.items[row]),
            _marked(done, known[row], "bold"),
            f"{right} {wrong}".strip(),
            _marked(done, present[row] & ~suggested[row], "yellow"),
        )
    console.print(table)
    console.print("[green]right[/]  [red]✗wrong[/]  [yellow]present but not suggested[/]")


def _marked(done: "DemoResult", which: Any, style: str, sign: str = "") -> str:
    from rich.markup import escape

    tags = [tag for tag, yes in zip(done.hidden.labels, which, strict=True) if yes]
    return " ".join(f"[{style}]{sign}{escape(str(tag))}[/]" for tag in tags)
