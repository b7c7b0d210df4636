"""The run as it was before anything was learned from its review.

Learning again always starts from there, with all that is decided by then: what was taken back
meanwhile is forgotten, as it could not be from a model that has learned it.
"""

import os
import shutil
from contextlib import suppress
from pathlib import Path

from tagloom.completion.outputs import MODEL, TABLE
from tagloom.completion.record import NAME, read_record
from tagloom.errors import InvalidInputError

FOLDER = ".before-review"


def keep_before(out: Path) -> None:
    """Keep the files of a run; files are replaced and never altered, so that a link will do."""
    folder = out / FOLDER
    folder.mkdir(exist_ok=True)
    (folder / NAME).unlink(missing_ok=True)
    for name in _files(out):
        _put(out / name, folder / name)


def restore(out: Path) -> None:
    """Bring back the run as it was, with all its tables, so that none tells of another run."""
    kept = _files(out / FOLDER)
    (out / NAME).unlink(missing_ok=True)
    (out / TABLE).unlink(missing_ok=True)
    for name in kept:
        _put(out / FOLDER / name, out / name)


def restore_if_broken(out: Path) -> bool:
    """Bring back the run if learning was broken off while its files were being replaced."""
    broken = not (out / NAME).exists() and (out / FOLDER / NAME).exists()
    if broken:
        restore(out)
    return broken


def check_is_run(out: Path) -> None:
    """Refuse a folder that is not the result of a run, before anything is written there."""
    if not (out / FOLDER / NAME).exists():
        read_record(out)


def model_before(out: Path) -> Path:
    """Return the model from which to learn again."""
    path = out / FOLDER / MODEL
    if not path.exists():
        raise InvalidInputError(
            f"The run from before the review is not in {path.parent} any more, from which it "
            "learns again. Bring the folder back from a copy, or run `tagloom complete` again; "
            "decisions are kept."
        )
    return path


def _files(folder: Path) -> list[str]:
    """Return the files of a run that are there, the record last: where it stands, all do."""
    listed = [str(name) for name in read_record(folder).get("files", [])]
    plain = [name for name in listed if Path(name).name == name]
    return [name for name in plain if (folder / name).is_file()] + [NAME]


def _put(source: Path, target: Path) -> None:
    part = target.with_name(f".{target.name}.part")
    part.unlink(missing_ok=True)
    with suppress(OSError):
        os.link(source, part)
    if not part.exists():
        shutil.copyfile(source, part)
    part.replace(target)
    # Where both names were of one file already, renaming has done nothing.
    part.unlink(missing_ok=True)
