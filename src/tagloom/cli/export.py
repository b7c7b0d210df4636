"""`tagloom export`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagloom.cli.complete import AsJson, Photos, RunFolder
from tagloom.cli.console import ConfigFile, echo, listed, shown, warning_lines

if TYPE_CHECKING:
    from tagloom.completion.export import Counts, Exported

_IN_PLACE = {"xmp": "sidecars", "pictures": "pictures"}


def export(
    out: RunFolder,
    to: Annotated[
        str,
        typer.Option("--to", help="csv, jsonl, coco, fiftyone, label-studio, xmp or pictures."),
    ],
    suggested: Annotated[
        float | None,
        typer.Option(
            metavar="PROBABILITY",
            help="Write suggestions of at least this probability too, marked as such; else none.",
        ),
    ] = None,
    file: Annotated[
        Path | None, typer.Option(help="File to write; else in the folder of the run.")
    ] = None,
    photos: Photos = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be written, but write nothing.")
    ] = False,
    undo: Annotated[
        bool,
        typer.Option("--undo", help="xmp, pictures: restore all files as they were."),
    ] = False,
    to_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Write the tags of a run for other programs: known and accepted ones.

    xmp writes to the sidecars of the pictures, pictures into the pictures themselves (by ExifTool):
    tags are added, rejected ones removed, and everything else stays. Only --to pictures changes
    pictures.
    """
    from tagloom.completion.export import FORMS, is_file_of_run
    from tagloom.completion.export import export as write

    if to not in (*FORMS, *_IN_PLACE):
        raise typer.BadParameter(
            f"must be one of {', '.join((*FORMS, *_IN_PLACE))}; got {to}", param_hint="--to"
        )
    if undo and to not in _IN_PLACE:
        raise typer.BadParameter(
            "can only be used with --to xmp or --to pictures", param_hint="--undo"
        )
    if file is not None and to in _IN_PLACE:
        raise typer.BadParameter(
            f"cannot be used with --to {to}, which writes to your {_IN_PLACE[to]}",
            param_hint="--file",
        )
    if suggested is not None and not 0 <= suggested <= 1:
        raise typer.BadParameter(
            f"must lie between 0 and 1; got {suggested}", param_hint="--suggested"
        )
    if file is not None and file.parent.resolve() == out.resolve() and is_file_of_run(file.name):
        raise typer.BadParameter(f"{file} is a file of the run itself", param_hint="--file")
    if undo:
        _undo(out, to, photos, to_json)
        return
    done = write(out, to, suggested=suggested, file=file, photos=photos, dry_run=dry_run)
    lines = [_count_line(done.counts, suggested), *_written_lines(done, to, dry_run)]
    echo(_metadata(done, to, dry_run), lines, to_json=to_json)
    if done.refused:
        raise typer.Exit(1)


def _metadata(done: "Exported", to: str, dry_run: bool) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        **done.counts._asdict(),
        "would_write" if dry_run else "written": done.files,
        "warnings": [one._asdict() for one in done.warnings],
    }
    if to in _IN_PLACE:
        metadata |= {
            "changes": [one._asdict() for one in done.changes],
            "unchanged": done.unchanged,
            "refused": [one._asdict() for one in done.refused],
        }
    return metadata


def _count_line(counts: "Counts", suggested: float | None) -> str:
    line = (
        f"{counts.pictures:,} pictures: {counts.known:,} known tags, {counts.accepted:,} accepted, "
        f"{counts.rejected:,} rejected"
    )
    if suggested is None:
        return f"{line}; no suggestions (--suggested 0.9 adds those of at least 90%)"
    return f"{line}, {counts.suggested:,} suggested with at least {suggested:.0%}, marked as such"


def _written_lines(done: "Exported", to: str, dry_run: bool) -> list[str]:
    if to not in _IN_PLACE:
        head = "would write (dry run: nothing was written)" if dry_run else "wrote"
        return [head, *(f"  {shown(path)}" for path in done.files), *warning_lines(done.warnings)]
    what = _IN_PLACE[to]
    if dry_run:
        lines = [f"{len(done.files):,} {what} would be written (dry run: nothing was)"]
    else:
        lines = [f"{len(done.files):,} {what} written; --undo restores them"]
    lines += listed([_change_line(*one) for one in done.changes])
    lines += warning_lines(done.warnings)
    if done.refused:
        lines += [f"{len(done.refused):,} not written", *warning_lines(done.refused)]
    return lines


def _change_line(
    path: str, added: tuple[str, ...], suggested: tuple[str, ...], removed: tuple[str, ...]
) -> str:
    parts = [f"+{tag}" for tag in added]
    parts += [f"+{tag} (suggested)" for tag in suggested]
    parts += [f"-{tag}" for tag in removed]
    return f"{shown(path)}: {', '.join(map(shown, parts)) or 'fields brought into agreement'}"


def _undo(out: Path, to: str, photos: Path | None, to_json: bool) -> None:
    from tagloom.completion.export import undo_export

    done = undo_export(out, to, photos)
    metadata = {
        "restored": done.restored,
        "deleted": done.deleted,
        "unchanged": done.unchanged,
        "refused": [one._asdict() for one in done.refused],
    }
    lines = [
        f"{len(done.restored):,} {_IN_PLACE[to]} restored, {len(done.deleted):,} removed, "
        f"{len(done.unchanged):,} unchanged"
    ]
    if done.refused:
        lines.append(f"{len(done.refused):,} left as they are")
        lines += warning_lines(done.refused)
    echo(metadata, lines, to_json=to_json)
    if done.refused:
        raise typer.Exit(1)
