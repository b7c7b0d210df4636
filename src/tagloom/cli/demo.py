"""`tagloom demo`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagloom.cli.console import Teller, as_json

if TYPE_CHECKING:
    from tagloom.benchmark.demo import Demonstration


def demo(
    pictures: Annotated[int, typer.Option(min=50, help="How many pictures to draw.")] = 600,
    keep: Annotated[float, typer.Option(help="Share of the tags that stays, in (0, 1).")] = 0.25,
    seed: Annotated[int, typer.Option(min=0, help="Decides what is drawn and forgotten.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder of pictures and results.")] = Path(
        "tagloom-demo"
    ),
    to_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Draw pictures, forget most of their tags, complete them and compare with the truth."""
    if not 0 < keep < 1:
        raise typer.BadParameter(f"must lie between 0 and 1; got {keep}", param_hint="--keep")
    from tagloom.benchmark.demo import demonstrate

    done = demonstrate(
        out,
        n_pictures=pictures,
        keep=keep,
        seed=seed,
        say=Teller(quiet=to_json),
        show_progress=sys.stderr.isatty(),
    )
    if to_json:
        typer.echo(as_json(_facts(done)))
        return
    from rich.console import Console

    from tagloom.cli.demo_console import tell_demonstration

    tell_demonstration(done, Console(highlight=False), seed=seed)


def _facts(done: "Demonstration") -> dict[str, Any]:
    return {
        "pictures": len(done.result.items),
        "tags kept": done.n_kept,
        "tags hidden": done.n_hidden,
        "completeness estimated": done.result.completeness,
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
        "calibration": [vars(one) for one in done.bins],
        "out": str(done.folder),
    }
