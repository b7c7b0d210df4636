"""`tagloom predict`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tagloom.cli.complete import AsJson, Cache, Model, model_file
from tagloom.cli.console import ConfigFile, as_json, listed, shown

_SHOWN_PICTURES = 20


def predict(
    model: Model,
    photos: Annotated[Path, typer.Argument(help="Folder with new pictures.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Write the tags to this .csv, .jsonl or .parquet file; else print them."),
    ] = None,
    precision: Annotated[
        float | None, typer.Option(help="Suggest every tag of at least this probability.")
    ] = None,
    encoder: Annotated[
        list[str] | None,
        typer.Option(
            help="The .onnx file or folder that the model was made with, if it has moved."
        ),
    ] = None,
    cache: Cache = None,
    to_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Tag new pictures with a model."""
    from tagloom.completion.model import check_ending, predict_folder, write_predictions

    if precision is not None and not 0 <= precision <= 1:
        raise typer.BadParameter(
            f"must lie between 0 and 1; got {precision}", param_hint="--precision"
        )
    if out is not None:
        check_ending(out)
    done = predict_folder(
        model_file(model),
        photos,
        at_least=precision,
        encoder=encoder,
        cache=cache,
        verbose=sys.stderr.isatty(),
    )
    if out is not None:
        write_predictions(done.table, out)
    skipped = [f"{shown(one.name)}: {one.reason}" for one in done.skipped]
    if to_json:
        summary = {
            "pictures": len(done.table.items),
            "skipped": [one._asdict() for one in done.skipped],
            "out": None if out is None else str(out),
            "tags": [
                {"image": r.image, "tag": r.tag, "probability": round(r.probability, 4)}
                for r in done.table
            ],
        }
        typer.echo(as_json(summary))
        return
    by_picture: dict[str, list[str]] = {item: [] for item in done.table.items}
    for row in done.table:
        by_picture[row.image].append(f"{shown(row.tag)} {row.probability:.2f}")
    lines = [f"{shown(item)}: {', '.join(tags) or '-'}" for item, tags in by_picture.items()]
    if out is None:
        typer.echo("\n".join(lines))
    else:
        typer.echo("\n".join(lines[:_SHOWN_PICTURES]))
        if len(lines) > _SHOWN_PICTURES:
            typer.echo(f"... and {len(lines) - _SHOWN_PICTURES:,} more pictures")
        typer.echo(f"{len(done.table):,} tags for {len(lines):,} pictures: {shown(str(out))}")
    if skipped:
        typer.echo("\n".join([f"{len(skipped)} skipped", *listed(skipped)]), err=True)
