"""`tagloom inspect`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tagloom.cli.complete import AsJson, model_file
from tagloom.cli.console import as_json, shown


def inspect(
    model: Annotated[Path, typer.Argument(help="A model file, or the folder of a run.")],
    to_json: AsJson = False,
) -> None:
    """Show what is in a model file, without loading it."""
    from tagloom.persistence import read_metadata

    header = read_metadata(model_file(model))
    metadata: dict[str, Any] = {
        "file": str(model_file(model)),
        "kind": header.kind,
        "protocol": header.protocol,
        "bytes": header.n_bytes,
        "items": header.n_items,
        "labels": header.n_labels,
        "features": header.n_features,
        "versions": header.versions,
    }
    metadata |= (
        _of_completion(header.metadata)
        if header.kind == "Completion"
        else {"parameters": header.parameters}
    )
    if to_json:
        typer.echo(as_json(metadata))
        return
    width = max(map(len, metadata))
    typer.echo("\n".join(f"{name:{width}}  {_text(value)}" for name, value in metadata.items()))


def _of_completion(metadata: dict[str, Any]) -> dict[str, Any]:
    tagger = metadata["tagger"]
    tuning = tagger["tuning"]
    return {
        "items": tagger["size"]["items"],
        "labels": tagger["size"]["labels"],
        "features": tagger["size"]["features"],
        "photos": metadata["photos"],
        "encoder": (tagger["encoder"] or {}).get("name"),
        "learner": tagger["learner_kind"],
        "parameters": None if tuning is None else tuning["best"]["params"],
        "candidates tried": None if tuning is None else len(tuning["trials"]),
        "label frequency": metadata["label_frequency"],
        "options": metadata["options"],
    }


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(one)}" for key, one in value.items())
    return shown(f"{value:,}" if isinstance(value, int) else str(value))
