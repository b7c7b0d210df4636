"""`tagloom complete` and `tagloom update`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagloom.cli.config import ConfigFile
from tagloom.cli.console import Teller, as_json, nothing_left_behind, told_result
from tagloom.errors import InvalidInputError

if TYPE_CHECKING:
    from tagloom.completion.pipeline import Finished

Tags = Annotated[
    list[Path],
    typer.Option(
        "--tags", metavar="PATH", help="File or folder with tags, of any format; may be repeated."
    ),
]
Out = Annotated[Path, typer.Option("--out", help="Folder of the results: new, or of a run before.")]
TagFormat = Annotated[
    str | None, typer.Option("--format", help="Read the tags as this format, e.g. long-csv.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the account as JSON.")]


def complete(
    photos: Annotated[Path, typer.Argument(help="Folder with pictures, searched throughout.")],
    tags: Tags,
    out: Out,
    unlisted: Annotated[
        str, typer.Option(help="What a tag means that is not listed: unknown, absent or a weight.")
    ] = "unknown",
    untagged: Annotated[
        str, typer.Option(help="Pictures without any tag were seen, unseen by somebody, or auto.")
    ] = "auto",
    precision: Annotated[
        float | None,
        typer.Option(help="Share of the suggestions that shall be right; else F1 decides."),
    ] = None,
    completeness: Annotated[
        float | None,
        typer.Option(help="Share of the tags that should be there that are; else estimated."),
    ] = None,
    minutes: Annotated[float, typer.Option(help="How long to search for parameters.")] = 15.0,
    least_pictures: Annotated[
        int, typer.Option(help="Tags on fewer pictures are kept, not learned.")
    ] = 3,
    folds: Annotated[int, typer.Option(help="Parts of what is known, to measure.")] = 4,
    questions: Annotated[int, typer.Option(help="How many entries to propose next.")] = 50,
    seed: Annotated[int, typer.Option(help="Decides what is hidden to measure.")] = 0,
    tag_format: TagFormat = None,
    encoder: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="lite0, lite1, lite2 or a .onnx file; repeat it to combine several.",
        ),
    ] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="Look at the whole picture, not at its centre square.")
    ] = False,
    cache: Annotated[
        Path | None, typer.Option(help="Folder of the feature cache; else the user's cache.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Work anew although nothing has changed.")
    ] = False,
    to_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Complete the tags of a folder of pictures; nothing of yours is changed.

    Writes suggestions.csv, suggestions.parquet, annotate_next.csv, report.html, model.tagloom and
    run.json into OUT. The same command goes on where an earlier one was interrupted.
    """
    from tagloom.completion.options import Options
    from tagloom.completion.pipeline import complete as run
    from tagloom.vision import load_encoder

    try:
        options = Options(
            unlisted, untagged, precision, completeness, minutes, least_pictures, folds, questions,
            seed,
        )  # fmt: skip
    except InvalidInputError as problem:
        raise typer.BadParameter(str(problem)) from None
    with nothing_left_behind(out):
        finished = run(
            photos,
            tags,
            out,
            options,
            encoder=load_encoder(encoder or ["lite0"], view="whole" if whole else "centre"),
            cache=cache,
            tag_format=tag_format,
            again=again,
            say=Teller(quiet=to_json),
            show_progress=sys.stderr.isatty(),
        )
    _tell(finished, to_json)


def update(
    model: Annotated[Path, typer.Argument(help="model.tagloom, or the folder of a run.")],
    tags: Tags,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results; else that of the model.")
    ] = None,
    photos: Annotated[
        Path | None, typer.Option(help="Where the pictures lie now, if they have moved.")
    ] = None,
    tag_format: TagFormat = None,
    to_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Learn again from tags that were confirmed or denied since; parameters stay as they were."""
    from tagloom.completion.pipeline import update as run

    path = model_file(model)
    to = path.parent if out is None else out
    with nothing_left_behind(to):
        finished = run(
            path,
            tags,
            to,
            photos=photos,
            tag_format=tag_format,
            say=Teller(quiet=to_json),
            show_progress=sys.stderr.isatty(),
        )
    _tell(finished, to_json)


def model_file(given: Path) -> Path:
    """Return the model file that a path means: itself, or the one in the folder of a run."""
    return given / "model.tagloom" if given.is_dir() else given


def _tell(finished: "Finished", to_json: bool) -> None:
    from tagloom.completion.options import read_record

    if to_json:
        record: dict[str, Any] = read_record(finished.out)
        done = finished.result is not None
        typer.echo(as_json({"out": str(finished.out), "worked": done, **record}))
    elif finished.result is None:
        typer.echo(f"Nothing to do: {finished.out} holds the result of this very run.")
    else:
        typer.echo(told_result(finished.result, finished.out))
