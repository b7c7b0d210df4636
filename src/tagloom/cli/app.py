"""The front door: registers the commands and turns errors into messages and exit codes.

Exit codes: 0 done, 1 an error in what was given (its message on standard error), 2 wrong usage,
130 interrupted.
"""

import sys
from typing import Annotated

import typer

from tagloom import __version__
from tagloom.cli import benchmark, complete, demo, embed, export, inspect, predict, review
from tagloom.cli.console import tell_warnings
from tagloom.errors import TagloomError

app = typer.Typer(
    name="tagloom",
    help="Learn from incomplete labels: fill in what is missing, tag what is new, show why.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Plain help: frames and colours cost a quarter of the time until it is there.
    rich_markup_mode=None,
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

_INTERRUPTED = 130
_GO_ON = ("complete", "predict", "update", "embed", "benchmark")


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
    _write_whatever_comes()
    tell_warnings()
    try:
        app(prog_name="tagloom")
    except TagloomError as error:
        typer.echo(f"tagloom: {error}", err=True)
        sys.exit(1)
    except OSError as error:
        place = "" if error.filename is None else f"{error.filename}: "
        typer.echo(f"tagloom: {place}{error.strerror or error}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        _tell_interrupted()
        sys.exit(_INTERRUPTED)
    except SystemExit as end:
        # An interrupt within a command has become an exit on its way.
        if end.code == _INTERRUPTED:
            _tell_interrupted()
        raise


def _tell_interrupted() -> None:
    goes_on = sys.argv[1:] and sys.argv[1] in _GO_ON
    hint = "; the same command goes on from what is done" if goes_on else ""
    typer.echo(f"tagloom: interrupted{hint}", err=True)


def _write_whatever_comes() -> None:
    """Let a name that the terminal cannot show be written with escapes instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
