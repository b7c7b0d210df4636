"""Label Studio: exports with annotations and predictions, in full or as JSON-MIN."""

import re
from collections.abc import Sequence
from pathlib import Path

from tagloom.formats._json import Place, head_of, load_json
from tagloom.formats._label_studio_tasks import TaskReader
from tagloom.formats._label_studio_writing import config_beside, write_label_studio
from tagloom.formats._naming import Names
from tagloom.formats.gathering import Gathering, Reading

__all__ = ["read_label_studio", "recognise_label_studio", "write_label_studio"]

_START = re.compile(r"\s*\[\s*\{")
_FULL = re.compile(r'"(?:annotations|predictions|completions)"\s*:\s*\[')
_TASK = re.compile(r'"data"\s*:\s*\{')
_MIN = re.compile(r'"(?:annotation_id|annotator|lead_time|choices)"\s*:')


def recognise_label_studio(path: Path) -> bool:
    """Say whether the first bytes of a file look like tasks of Label Studio."""
    head = head_of(path)
    looks = (_FULL, _TASK, _MIN)
    return bool(_START.match(head)) and any(look.search(head) for look in looks)


def read_label_studio(
    path: Path, pictures: Path | None = None, *, controls: Sequence[str] | None = None
) -> Reading:
    """Read an export of Label Studio, or tasks to be imported.

    Choices in annotations are a person's presences, those of the control `tags_absent` absences;
    predictions are a machine's, with the probability in `meta.scores`, else the score of the
    result, else that of the prediction; without any they are left out. Skipped tasks
    (`was_cancelled`) and results other than choices are counted and not read.

    Parameters
    ----------
    path
        The file. A labelling configuration beside it, of the same name with the ending
        `.config.xml`, adds the tags that are on no picture.
    pictures
        The folder with the pictures, where names shall be relative to it.
    controls
        The names of the controls whose choices are tags; by default all of them. JSON-MIN does
        not say which texts are choices: there, by default, those of `tags`, `choice`, `choices`.

    Raises
    ------
    InvalidInputError
        If the file is no JSON, something in it is of another kind than expected, or a task has no
        picture.
    """
    whole = Place(load_json(path), path)
    reader = TaskReader(Gathering(), Names(pictures), None if controls is None else set(controls))
    forms = set()
    for task in whole.items():
        forms.add("JSON" if task.has("data") else "JSON-MIN")
        reader.read(task)
    config = config_beside(path)
    if config.is_file():
        reader.read_config(config)
    reader.tally.into(reader.gathering)
    return reader.gathering.finish(
        path,
        "Label Studio",
        can_say_absent=reader.says_absent,
        form=" and ".join(sorted(forms)) or "no tasks",
        controls=", ".join(sorted(reader.met)),
    )
