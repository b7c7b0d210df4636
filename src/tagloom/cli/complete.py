"""`tagloom complete` and `tagloom update`."""

import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagloom.cli.console import ConfigFile, StepPrinter, as_json, result_text, shown
from tagloom.errors import InvalidInputError, TagloomError

if TYPE_CHECKING:
    from tagloom.completion.pipeline import Finished
    from tagloom.vision.encoders.base import Views
    from tagloom.words import Vocabulary

Tags = Annotated[
    list[Path],
    typer.Option(
        "--tags", metavar="PATH", help="File or folder with tags, in any format; may be repeated."
    ),
]
RunFolder = Annotated[Path, typer.Argument(help="Output folder of `tagloom complete`.")]
Model = Annotated[Path, typer.Argument(help="model.tagloom, or the folder of a run.")]
Photos = Annotated[
    Path | None, typer.Option(help="Where the pictures are now, if they have moved.")
]
Cache = Annotated[
    Path | None, typer.Option(help="Folder for the feature cache; else your user cache.")
]
AddTag = Annotated[
    list[str] | None,
    typer.Option(
        "--add-tag",
        metavar="TAG",
        help="Suggest TAG, too, although no picture has it yet; may be repeated.",
    ),
]
TagFormat = Annotated[
    str | None, typer.Option("--format", help="Format of the tags, e.g. long-csv; else detected.")
]
Fast = Annotated[
    bool,
    typer.Option(
        "--fast",
        help="Look once at each picture, at its centre: half the time, a little less precise.",
    ),
]
Whole = Annotated[
    bool, typer.Option("--whole", help="Look once at each picture, at the whole of it.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")]


def complete(
    photos: Annotated[Path, typer.Argument(help="Folder with pictures, including subfolders.")],
    tags: Annotated[
        list[Path] | None,
        typer.Option(
            "--tags",
            metavar="PATH",
            help="File or folder with tags, in any format; may be repeated. Else the keywords in "
            "and beside the pictures.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Folder for the results, new or from an earlier run; else PHOTOS-tagloom, beside "
            "that of the pictures.",
        ),
    ] = None,
    unlisted: Annotated[
        str,
        typer.Option(help="What an unlisted tag means: unknown, absent, or a weight for absent."),
    ] = "unknown",
    untagged: Annotated[
        str,
        typer.Option(
            help="Whether anyone has looked at pictures without tags: seen, unseen or auto."
        ),
    ] = "auto",
    precision: Annotated[
        float | None,
        typer.Option(
            help="Share of the suggestions that should be right: higher for fewer, lower for more; "
            "else whatever is more likely right than wrong."
        ),
    ] = None,
    label_frequency: Annotated[
        float | None,
        typer.Option(help="Share of the true tags that are listed; else estimated for each tag."),
    ] = None,
    minutes: Annotated[float, typer.Option(help="Time limit for the parameter search.")] = 15.0,
    min_pictures: Annotated[
        int,
        typer.Option(
            help="Tags on fewer pictures are learned only by their names, with few suggestions."
        ),
    ] = 3,
    folds: Annotated[int, typer.Option(help="Number of cross-validation folds.")] = 3,
    annotate_next: Annotated[
        int, typer.Option(help="How many entries to list as what to annotate next.")
    ] = 50,
    seed: Annotated[int, typer.Option(help="Random seed for the cross-validation.")] = 0,
    words: Annotated[
        bool,
        typer.Option(help="Whether the names of tags count: what they mean and imply."),
    ] = True,
    vocabulary: Annotated[
        Path | None,
        typer.Option(help="Vocabulary file: aliases, and tags that are not learned (see tags)."),
    ] = None,
    add_tag: AddTag = None,
    tag_format: TagFormat = None,
    encoder: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="lite0, lite1, lite2, a .onnx file or a folder with one (see encoders); repeat "
            "to combine several.",
        ),
    ] = None,
    fast: Fast = False,
    whole: Whole = False,
    cache: Cache = None,
    again: Annotated[
        bool, typer.Option("--again", help="Run again even if nothing has changed.")
    ] = False,
    to_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Complete the tags of a folder of pictures; your files are not changed.

    Writes suggestions.csv, suggestions.parquet, suspected_errors.csv, annotate_next.csv,
    report.html, model.tagloom and run.json into OUT. After an interruption the same command
    continues where it stopped.
    """
    from tagloom.completion.inputs import Options
    from tagloom.completion.outputs import VOCABULARY
    from tagloom.completion.pipeline import complete as run
    from tagloom.vision import load_encoder
    from tagloom.words import Vocabulary, read_vocabulary

    to = out or _beside(photos)
    if vocabulary is None and (to / VOCABULARY).is_file():
        vocabulary = to / VOCABULARY
        typer.echo(f"decisions about tags: {shown(str(vocabulary))}", err=to_json)
    decided = Vocabulary() if vocabulary is None else read_vocabulary(vocabulary)
    try:
        decided = decided.add(add_tag or ())
        options = Options(
            unlisted=unlisted,
            untagged=untagged,
            precision=precision,
            label_frequency=label_frequency,
            max_minutes=minutes,
            min_pictures=min_pictures,
            cv=folds,
            annotate_next=annotate_next,
            random_state=seed,
            words=words,
            vocabulary=decided,
        )
    except InvalidInputError as problem:
        raise typer.BadParameter(str(problem)) from None
    finished = run(
        photos,
        tags or [],
        to,
        options,
        encoder=load_encoder(encoder or ["lite0"], view=chosen_view(fast=fast, whole=whole)),
        cache=cache,
        tag_format=tag_format,
        vocabulary_file=vocabulary,
        again=again,
        on_step=StepPrinter(quiet=to_json),
        verbose=sys.stderr.isatty(),
    )
    _print_finished(finished, to_json)
    if finished.result is not None:
        written = finished.out
        # What was learned takes most of the memory, and is not needed any more.
        del finished
        _prepare_review(written)


def chosen_view(*, fast: bool, whole: bool) -> "Views":
    """Return how the installed networks look at pictures: twice, unless one look is asked for."""
    if whole:
        return "whole"
    return "centre" if fast else "both"


def _beside(photos: Path) -> Path:
    """Return a folder for results beside that of the pictures."""
    whole = photos.resolve()
    return whole.with_name(f"{whole.name}-tagloom") if whole.name else Path("tagloom")


def update(
    model: Model,
    tags: Annotated[
        list[Path] | None,
        typer.Option(
            "--tags",
            metavar="PATH",
            help="File or folder with new annotations, in any format; may be repeated.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results; else that of the model.")
    ] = None,
    photos: Photos = None,
    vocabulary: Annotated[
        Path | None, typer.Option(help="Vocabulary file, instead of that of the run (see tags).")
    ] = None,
    add_tag: AddTag = None,
    encoder: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="The encoder of the run, if it has moved and new tags are compared with pictures.",
        ),
    ] = None,
    tag_format: TagFormat = None,
    to_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Learn again from new annotations, or other decisions about tags, with the same parameters."""
    from tagloom.completion.pipeline import update as run

    if not (tags or vocabulary or add_tag or encoder):
        raise typer.BadParameter(
            "or --vocabulary or --add-tag is needed: there is nothing to learn else",
            param_hint="--tags",
        )
    path = model_file(model)
    to = path.parent if out is None else out
    finished = run(
        path,
        tags or [],
        to,
        vocabulary=_decided(path, vocabulary, add_tag or ()),
        photos=photos,
        encoder=encoder,
        tag_format=tag_format,
        on_step=StepPrinter(quiet=to_json),
        verbose=sys.stderr.isatty(),
    )
    _print_finished(finished, to_json)


def _decided(model: Path, vocabulary: Path | None, add_tag: Iterable[str]) -> "Vocabulary | None":
    """Return the vocabulary to learn with; None for that of the run."""
    from tagloom.completion.model import CompletionModel
    from tagloom.words import read_vocabulary

    if vocabulary is None and not add_tag:
        return None
    given = (
        CompletionModel.load(model).options.vocabulary
        if vocabulary is None
        else read_vocabulary(vocabulary)
    )
    return given.add(add_tag)


def model_file(given: Path) -> Path:
    """Return the model file of a path, which may be the folder of a run."""
    return given / "model.tagloom" if given.is_dir() else given


def _prepare_review(out: Path) -> None:
    """Read the run as the review page does, which keeps it: the first review opens at once."""
    from tagloom.review.loading import load

    with suppress(TagloomError):
        load(out)


def _print_finished(finished: "Finished", to_json: bool) -> None:
    from tagloom.completion.outputs import read_record

    if to_json:
        record: dict[str, Any] = read_record(finished.out)
        done = finished.result is not None
        typer.echo(as_json({"out": str(finished.out), "worked": done, **record}))
    elif finished.result is None:
        typer.echo(f"Nothing to do: {finished.out} already holds the result of this run.")
    else:
        typer.echo(result_text(finished.result, finished.out))
