"""The page of commands: what `tagloom COMMAND --help` prints, for every command."""

from collections.abc import Iterator
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
    for command, its in _all_commands(typer.main.get_command(program)):
        context = its.make_context(
            f"tagloom {command}",
            [],
            resilient_parsing=True,
            max_content_width=WIDTH,
            terminal_width=WIDTH,
        )
        source[0] += f"\n## tagloom {command}\n\n```\n{its.get_help(context)}\n```\n"


def _all_commands(group: Any, lead: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all commands by their names, those of groups after their group."""
    for name, its in group.commands.items():
        yield lead + name, its
        if hasattr(its, "commands"):
            yield from _all_commands(its, f"{lead}{name} ")
