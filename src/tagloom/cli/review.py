"""`tagloom review`: serve the review page of a run."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tagloom.cli.complete import Photos, RunFolder
from tagloom.cli.console import shown

if TYPE_CHECKING:
    from tagloom.review.server import Address


def review(
    out: RunFolder,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to serve the page on; 0 for any free port.")
    ] = 0,
    photos: Photos = None,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Print the link without opening the browser.")
    ] = False,
    to_json: Annotated[
        bool, typer.Option("--json", help="Print the address as JSON, on one line.")
    ] = False,
) -> None:
    """Review the suggestions of a run in the browser.

    The page is served to this machine only. Every decision is stored in OUT/review.sqlite at once;
    your pictures and tag files are not changed.
    """
    serve_page(out, photos, port=port, open_browser=not no_open, to_json=to_json)


def serve_page(
    out: Path,
    photos: Path | None,
    *,
    port: int = 0,
    open_browser: bool = True,
    start: str = "pictures",
    to_json: bool = False,
) -> None:
    """Serve the page of a run until interrupted, opened on a view."""
    from tagloom.review.server import serve

    def print_address(address: "Address") -> None:
        if to_json:
            typer.echo(json.dumps({"url": address.url, "port": address.port, "out": str(out)}))
        else:
            typer.echo(f"{shown(str(out))} is open for review at\n  {address.url}")
            typer.echo("Press Ctrl-C to stop; every decision is stored.")

    serve(
        out,
        photos=photos,
        port=port,
        open_browser=open_browser,
        start=start,
        on_ready=print_address,
    )
