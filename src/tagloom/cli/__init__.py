"""The program `tagloom`: one file per command, joined in `app`."""

from tagloom.cli.app import main

__all__ = ["main"]
