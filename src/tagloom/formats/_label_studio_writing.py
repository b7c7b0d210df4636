"""Write tasks for Label Studio: what people said as annotations, suggestions as predictions."""

import re
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean
from typing import Any
from xml.sax.saxutils import quoteattr

from tagloom.checks import some_of
from tagloom.errors import InvalidInputError
from tagloom.files import written_whole
from tagloom.formats._json import save_json
from tagloom.formats._label_studio_addresses import address_of
from tagloom.formats._naming import refuse_unwritable
from tagloom.formats.annotations import Annotation, Annotations

PRESENT = "tags"
ABSENT = "tags_absent"
SCORES = "scores"
_UNSPEAKABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_label_studio(
    annotations: Annotations,
    path: Path,
    *,
    prefix: str = "",
    model_version: str = "tagloom",
    ask_absent: bool = False,
) -> Path:
    """Write tasks to import into Label Studio; return the labelling configuration beside them.

    Each picture is a task. What people said is an annotation, what a machine suggests a
    prediction, which Label Studio shows until a person takes it. All tags of a picture are one
    result, as its editor makes them: the score of the result is the mean of their probabilities,
    which stand one by one in its `meta.scores`.

    One control of choices says only what is there. Where something is said to be absent, or with
    `ask_absent`, the configuration has a second one, `tags_absent`, for what is not there.

    Parameters
    ----------
    annotations
        What is said.
    path
        The file of tasks. The configuration takes its name with the ending `.config.xml`: Label
        Studio refuses tags that are not in it.
    prefix
        Where the pictures lie below the folder that Label Studio serves local files from.
    model_version
        What made the suggestions, for those who see them.
    ask_absent
        Let people say what is not there although nothing is yet.
    """
    refuse_unwritable(annotations)
    _check_tags(annotations.tags)
    asks_absent = ask_absent or not bool(annotations.present.all())
    tasks = []
    for image, said in annotations.by_image().items():
        task: dict[str, Any] = {"data": {"image": address_of(image, prefix)}}
        people = _results([one for one in said if one.confidence is None])
        machine = _results([one for one in said if one.confidence is not None])
        if people:
            task["annotations"] = [{"result": people}]
        if machine:
            score = fmean(one.confidence for one in said if one.confidence is not None)
            task["predictions"] = [
                {"model_version": model_version, "score": _within(score), "result": machine}
            ]
        tasks.append(task)
    config = config_beside(path)
    with written_whole(config) as part:
        part.write_text(_config(annotations.tags, asks_absent), encoding="utf-8", newline="\n")
    save_json(tasks, path)
    return config


def config_beside(path: Path) -> Path:
    """Return where the labelling configuration of a file of tasks lies."""
    return path.with_suffix(".config.xml")


def _results(said: list[Annotation]) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    for control, present in ((PRESENT, True), (ABSENT, False)):
        chosen = [one for one in said if one.present == present]
        if chosen:
            results.append(_result(f"r{len(results) + 1}", control, chosen))
    return results


def _result(identity: str, control: str, chosen: list[Annotation]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "id": identity,
        "type": "choices",
        "from_name": control,
        "to_name": "image",
        "value": {"choices": [one.tag for one in chosen]},
    }
    scores = [one.confidence for one in chosen if one.confidence is not None]
    if scores:
        result["score"] = _within(fmean(scores))
        result["meta"] = {SCORES: scores}
    return result


def _within(score: float) -> float:
    # Rounding may carry the mean of numbers up to 1 past it, which Label Studio refuses.
    return min(max(score, 0.0), 1.0)


def _config(tags: Iterable[str], asks_absent: bool) -> str:
    listed = list(tags)
    lines = ["<View>", '  <Image name="image" value="$image"/>']
    lines += _choices(PRESENT, listed)
    if asks_absent:
        lines += ['  <Header value="Not in the picture"/>', *_choices(ABSENT, listed)]
    return "\n".join([*lines, "</View>", ""])


def _choices(control: str, tags: list[str]) -> list[str]:
    return [
        f'  <Choices name="{control}" toName="image" choice="multiple">',
        *(f"    <Choice value={_attribute(tag)}/>" for tag in tags),
        "  </Choices>",
    ]


def _attribute(tag: str) -> str:
    # XML turns line ends and tabs in attributes into blanks, unless they are spelt as numbers.
    return quoteattr(tag, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _check_tags(tags: Iterable[str]) -> None:
    unspeakable = [tag for tag in tags if _UNSPEAKABLE.search(tag)]
    if unspeakable:
        raise InvalidInputError(
            "Label Studio's configuration is XML, which cannot hold the control characters in "
            f"these tags: {some_of(unspeakable)}. Rename them or choose another format."
        )
