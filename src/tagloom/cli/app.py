"""The command-line program: registers the commands and turns errors into messages and exit codes.

Exit codes: 0 success, 1 an error in the input (with a message on standard error), 2 wrong usage,
130 interrupted.
"""

import os
import sys
from contextlib import suppress
from typing import Annotated

import typer

from tagloom import __version__
from tagloom.cli import (
    benchmark,
    check,
    complete,
    demo,
    embed,
    encoders,
    export,
    inspect,
    predict,
    review,
    tags,
)
from tagloom.cli.console import print_warnings_once
from tagloom.errors import TagloomError

app = typer.Typer(
    name="tagloom",
    help="Learn from incomplete labels: fill in missing tags, tag new pictures, and explain why.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Plain help: frames and colours would make it a quarter slower.
    rich_markup_mode=None,
)
app.command("complete")(complete.complete)
app.command("predict")(predict.predict)
app.command("update")(complete.update)
app.command("review")(review.review)
app.command("tags")(tags.tags)
app.command("check")(check.check)
app.command("export")(export.export)
app.command("inspect")(inspect.inspect)
app.command("embed")(embed.embed)
app.add_typer(encoders.encoders)
app.command("benchmark")(benchmark.benchmark)
app.command("demo")(demo.demo)

_INTERRUPTED = 130
_RESUMABLE = ("complete", "predict", "update", "embed", "benchmark")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tagloom {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the program; mistakes of the user end in a message, never in a traceback."""
    _open_closed_streams()
    _escape_unprintable()
    print_warnings_once()
    try:
        app(prog_name="tagloom")
    except TagloomError as error:
        _print_error(str(error))
        sys.exit(1)
    except OSError as error:
        place = "" if error.filename is None else f"{error.filename}: "
        _print_error(f"{place}{error.strerror or error}")
        sys.exit(1)
    except KeyboardInterrupt:
        _print_interrupted()
        sys.exit(_INTERRUPTED)
    except SystemExit as end:
        # An interrupt within a command arrives here as an exit.
        if end.code == _INTERRUPTED:
            _print_interrupted()
        raise


def _print_interrupted() -> None:
    resumable = sys.argv[1:] and sys.argv[1] in _RESUMABLE
    hint = "; run the same command again to continue" if resumable else ""
    _print_error(f"interrupted{hint}")


def _print_error(message: str) -> None:
    """Print a message; where standard error cannot be written, the exit code has to do."""
    with suppress(OSError, ValueError):
        typer.echo(f"tagloom: {message}", err=True)


def _open_closed_streams() -> None:
    """Open the null device in the place of standard streams that the caller has closed.

    The next files to be opened would take their numbers, and what libraries print would be written
    into those files.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115


def _escape_unprintable() -> None:
    """Escape characters that the terminal cannot show instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
