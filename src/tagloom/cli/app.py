"""The front door: registers the commands and turns errors into messages and exit codes.

Exit codes: 0 done, 1 an error in what was given (its message on standard error), 2 wrong usage,
130 interrupted.
"""

import sys
from typing import Annotated

import typer

from tagloom import __version__
from tagloom.cli import benchmark, complete, demo, embed, export, inspect, predict, review
from tagloom.errors import TagloomError

app = typer.Typer(
    name="tagloom",
    help="Learn from incomplete labels: fill in what is missing, tag what is new, show why.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command("complete")(complete.complete)
app.command("predict")(predict.predict)
app.command("update")(complete.update)
app.command("review")(review.review)
app.command("export")(export.export)
app.command("inspect")(inspect.inspect)
app.command("embed")(embed.embed)
app.command("benchmark")(benchmark.benchmark)
app.command("demo")(demo.demo)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tagloom {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Say which version."
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the program; a user's mistake ends in a message, never in a traceback."""
    try:
        app()
    except TagloomError as error:
        typer.echo(f"tagloom: {error}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        typer.echo("tagloom: interrupted", err=True)
        sys.exit(130)
