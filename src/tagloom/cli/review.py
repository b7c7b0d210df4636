"""`tagloom review`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tagloom.cli.embed import shown

if TYPE_CHECKING:
    from tagloom.review.server import Address


def review(
    out: Annotated[Path, typer.Argument(help="Folder of a run of `tagloom complete`.")],
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Where to serve the page; 0 finds a free port.")
    ] = 0,
    photos: Annotated[
        Path | None, typer.Option(help="Where the pictures lie now, if they have moved.")
    ] = None,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Do not open the browser; print the link only.")
    ] = False,
    to_json: Annotated[
        bool, typer.Option("--json", help="Print the address as JSON, on one line.")
    ] = False,
) -> None:
    """Look through the suggestions of a run in the browser, and decide.

    The page is served to this machine only. Every decision is kept in OUT/review.sqlite at once;
    your pictures and tags are not touched.
    """
    from tagloom.review.server import serve

    def say(address: "Address") -> None:
        if to_json:
            metadata = {"url": address.url, "port": address.port, "out": str(out)}
            typer.echo(json.dumps(metadata))
        else:
            typer.echo(f"{shown(str(out))} is open for review at\n  {address.url}")
            typer.echo("Ctrl-C ends it; every decision is kept.")

    serve(out, photos=photos, port=port, open_browser=not no_open, say=say)
