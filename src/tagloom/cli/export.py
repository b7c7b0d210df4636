"""`tagloom export`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagloom.cli.complete import AsJson, Photos, RunFolder
from tagloom.cli.console import ConfigFile, echo, listed, shown, warning_lines

if TYPE_CHECKING:
    from tagloom.formats import Annotations


def export(
    out: RunFolder,
    to: Annotated[
        str, typer.Option("--to", help="csv, jsonl, coco, fiftyone, label-studio or xmp.")
    ],
    file: Annotated[
        Path | None, typer.Option(help="File to write; else in the folder of the run.")
    ] = None,
    photos: Photos = None,
    at_least: Annotated[
        float, typer.Option(help="Leave out suggestions below this probability.")
    ] = 0.0,
    only_known: Annotated[
        bool, typer.Option("--only-known", help="Leave out all suggestions.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="xmp: show what would be written, but write nothing.")
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="xmp: restore all sidecars as they were.")
    ] = False,
    to_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Write the tags of a run for other programs. Pictures are never changed.

    xmp adds tags to the sidecars of the pictures and keeps everything else in them.
    """
    from tagloom.completion.export import FORMS, finished_tags
    from tagloom.completion.export import export as write
    from tagloom.completion.folder import claim
    from tagloom.completion.outputs import read_record

    if to not in (*FORMS, "xmp"):
        raise typer.BadParameter(
            f"must be one of {', '.join((*FORMS, 'xmp'))}; got {to}", param_hint="--to"
        )
    if (dry_run or undo) and to != "xmp":
        raise typer.BadParameter("can only be used with --to xmp", param_hint="--dry-run, --undo")
    if file is not None and to == "xmp":
        raise typer.BadParameter(
            "cannot be used with --to xmp: sidecars are written beside the pictures",
            param_hint="--file",
        )
    if not 0 <= at_least <= 1:
        raise typer.BadParameter(
            f"must lie between 0 and 1; got {at_least}", param_hint="--at-least"
        )
    folder = Path(str(read_record(out).get("photos", ""))) if photos is None else photos
    if undo:
        _undo(out, photos, to_json)
        return
    states = ("known",) if only_known else ("known", "suggested")
    tags = finished_tags(out, states=states, at_least=at_least)
    if to == "xmp":
        _sidecars(tags, folder, out, dry_run, to_json)
        return
    done = write(tags, to, claim(out, FORMS[to]) if file is None else file, folder)
    metadata = {
        "files": [str(path) for path in done.files],
        "pictures": done.n_images,
        "tags": done.n_tags,
        "lost": [one._asdict() for one in done.lost],
    }
    lines = [f"{done.n_tags:,} tags of {done.n_images:,} pictures"]
    lines += [f"  {shown(str(path))}" for path in done.files]
    lines += warning_lines(done.lost)
    echo(metadata, lines, to_json=to_json)


def _sidecars(tags: "Annotations", folder: Path, out: Path, dry_run: bool, to_json: bool) -> None:
    from tagloom.completion.export import JOURNAL, planned_sidecars
    from tagloom.formats.metadata.sidecar_writer import apply_sidecars

    plan = planned_sidecars(tags, folder)
    planned = [f"{shown(one.path)}: {', '.join(map(shown, one.added)) or '-'}" for one in plan]
    problems = list(plan.refused)
    if dry_run:
        head = [f"{len(plan):,} sidecars would be written (dry run: nothing was)"]
        metadata: dict[str, Any] = {"would_write": [one.path for one in plan]}
    else:
        done = apply_sidecars(plan, out / JOURNAL)
        problems += done.failed
        head = [
            f"{len(done.written):,} sidecars written, {len(done.unchanged):,} already had all tags",
            "  use --undo to restore them",
        ]
        metadata = {"written": done.written, "unchanged": done.unchanged}
    metadata |= {"refused": [one._asdict() for one in problems]}
    tail = [f"{len(problems):,} not written"] if problems else []
    lines = head + listed(planned) + tail + warning_lines(problems)
    echo(metadata, lines, to_json=to_json)
    if problems:
        raise typer.Exit(1)


def _undo(out: Path, photos: Path | None, to_json: bool) -> None:
    from tagloom.completion.export import JOURNAL
    from tagloom.errors import InvalidInputError
    from tagloom.formats.metadata.sidecar_writer import undo_sidecars

    if not (out / JOURNAL).exists():
        raise InvalidInputError(f"There is nothing to undo: no sidecar was written from {out}.")
    done = undo_sidecars(out / JOURNAL, photos)
    metadata = {
        "restored": done.restored,
        "deleted": done.deleted,
        "unchanged": done.unchanged,
        "refused": [one._asdict() for one in done.refused],
    }
    lines = [
        f"{len(done.restored):,} sidecars restored, {len(done.deleted):,} removed, "
        f"{len(done.unchanged):,} unchanged"
    ]
    if done.refused:
        lines.append(f"{len(done.refused):,} left as they are")
        lines += warning_lines(done.refused)
    echo(metadata, lines, to_json=to_json)
    if done.refused:
        raise typer.Exit(1)
