"""`tagloom embed`: encode a folder of pictures."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tagloom.cli.complete import AsJson, Cache, Fast, Whole, chosen_view
from tagloom.cli.console import listed, shown

if TYPE_CHECKING:
    from tagloom.vision import Embedding


def embed(
    folder: Annotated[Path, typer.Argument(help="Folder with pictures, including subfolders.")],
    encoder: Annotated[
        list[str] | None,
        typer.Option(
            help="lite0, lite1, lite2, a .onnx file or a folder with one (see encoders); repeat to "
            "combine several."
        ),
    ] = None,
    cache: Cache = None,
    out: Annotated[
        Path | None, typer.Option(help="Also write the features to this .npz file.")
    ] = None,
    fast: Fast = False,
    whole: Whole = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1, help="Threads for decoding, and as many for encoding; else one per core."
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with code 1 if anything was skipped.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Encode pictures as features; those in the cache are not encoded again."""
    from tagloom.errors import InvalidInputError
    from tagloom.vision import embed as embed_folder
    from tagloom.vision import load_encoder

    if out is not None and (out.is_dir() or not out.absolute().parent.is_dir()):
        raise InvalidInputError(
            f"{out} must be a file in a folder that exists. Make the folder or choose another name."
        )
    chosen = load_encoder(encoder or ["lite0"], view=chosen_view(fast=fast, whole=whole))
    done = embed_folder(folder, chosen, cache=cache, n_jobs=jobs, verbose=sys.stderr.isatty())
    if not done.summary.found:
        raise InvalidInputError(f"There are no pictures in {folder}.")
    if out is not None:
        done.features().save(out)
    typer.echo(_as_json(done, out) if as_json else _as_text(done, out))
    if not done.summary.ready or (strict and done.summary.skipped):
        raise typer.Exit(1)


def _as_json(done: "Embedding", out: Path | None) -> str:
    values = done.summary.as_dict()
    values["encoder"] = done.encoder.name
    values["cache"] = str(done.cache_folder)
    values["out"] = None if out is None else str(out)
    return json.dumps(values, indent=2)


def _as_text(done: "Embedding", out: Path | None) -> str:
    summary = done.summary
    lines = [
        f"{summary.found} found in {summary.seconds:.1f} s with {done.encoder.name}",
        f"  {len(summary.embedded)} embedded now",
        f"  {len(summary.cached)} already in the cache",
        f"  {len(summary.duplicates)} duplicates (same bytes)",
        f"  {len(summary.skipped)} skipped",
    ]
    lines += listed([f"{shown(one.item)}: {one.reason}" for one in summary.skipped])
    if summary.mislabelled:
        lines.append(f"  {len(summary.mislabelled)} read despite a wrong file extension")
        lines += listed([f"{shown(one.item)}: {one.reason}" for one in summary.mislabelled])
    if summary.others:
        lines.append(f"{len(summary.others)} other files that are not pictures")
    if summary.cached and not summary.embedded:
        lines.append("Nothing to do: every readable picture was in the cache.")
    lines.append(f"cache: {shown(str(done.cache_folder))}")
    if out is not None:
        lines.append(f"features: {shown(str(out))}")
    return "\n".join(lines)
