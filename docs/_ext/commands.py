"""The page of commands: what `tagloom COMMAND --help` prints, for every command."""

from typing import Any

import typer
from sphinx.application import Sphinx

from tagloom.cli.app import app as program

PAGE = "commands"
WIDTH = 70


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the handler."""
    app.connect("source-read", add_help)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def add_help(app: Sphinx, name: str, source: list[str]) -> None:
    """Add the help of each command to the page, under a heading of its own."""
    if name != PAGE:
        return
    for command, its in typer.main.get_command(program).commands.items():
        context = its.make_context(
            f"tagloom {command}",
            [],
            resilient_parsing=True,
            max_content_width=WIDTH,
            terminal_width=WIDTH,
        )
        source[0] += f"\n## tagloom {command}\n\n```\n{its.get_help(context)}\n```\n"
