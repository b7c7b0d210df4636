"""Label Studio: exports with annotations and predictions, in full or as JSON-MIN."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from statistics import fmean
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import quoteattr

from tagloom.errors import InvalidInputError
from tagloom.formats import base
from tagloom.formats.interchange.json import JsonValue, load_json, save_json
from tagloom.formats.names import PictureIndex, check_writable
from tagloom.formats.text import illegal_character, peek, read_xml
from tagloom.io import atomic_write
from tagloom.validation import some_of

TITLE = "Label Studio"
_START = re.compile(r"\s*\[\s*\{")
_FULL = re.compile(r'"(?:annotations|predictions|completions)"\s*:\s*\[')
_TASK = re.compile(r'"data"\s*:\s*\{')
_MIN = re.compile(r'"(?:annotation_id|annotator|lead_time|choices)"\s*:')
_PRESENT = "tags"
_ABSENT = "tags_absent"
_SCORES = "scores"
_TEXT_CONTROLS = frozenset({_PRESENT, _ABSENT, "choice", "choices"})
_EXTENSIONS = frozenset(
    (".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".heic", ".heif", ".avif")
)
_LOCAL = "/data/local-files/"
_UPLOADED = re.compile(r"/data/upload/(?:\d+/)?(?:[0-9a-fA-F]{8}-)?(.+)", re.DOTALL)
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)


def is_label_studio(path: Path) -> bool:
    """Return whether the first bytes of a file look like tasks of Label Studio."""
    head = peek(path)
    looks = (_FULL, _TASK, _MIN)
    return bool(_START.match(head)) and any(look.search(head) for look in looks)


def read_label_studio(
    path: Path, pictures: Path | None = None, *, controls: Sequence[str] | None = None
) -> base.Reading:
    """Read an export of Label Studio, or tasks to be imported.

    Choices in annotations are presences, those of the control `tags_absent` absences. Predictions
    are a machine's suggestions, with the probability in `meta.scores`, else the score of the
    result, else that of the prediction; without any they are left out. Skipped tasks
    (`was_cancelled`) and results other than choices are left out with a warning.

    Parameters
    ----------
    path
        The file. A labelling configuration beside it, of the same name with the extension
        `.config.xml`, adds the tags that are on no picture.
    pictures
        The folder with the pictures, to make names relative to it.
    controls
        The names of the controls whose choices are tags; by default all of them. JSON-MIN does
        not mark which texts are choices: there, by default, those of `tags`, `choice`, `choices`.

    Raises
    ------
    InvalidInputError
        If the file is not JSON, a value is of another type than expected, or a task has no
        picture.
    """
    whole = JsonValue(load_json(path), path)
    reader = _TaskReader(
        base.AnnotationBuilder(),
        PictureIndex.of_folder(pictures),
        None if controls is None else set(controls),
    )
    forms = set()
    for task in whole.items():
        forms.add("JSON" if task.has("data") else "JSON-MIN")
        reader.read(task)
    config = _config_beside(path)
    if config.is_file():
        reader.read_config(config)
    reader.counter.add_to(reader.builder)
    return reader.builder.finish(
        path,
        TITLE,
        lists_absences=reader.lists_absences,
        form=" and ".join(sorted(forms)) or "no tasks",
        controls=", ".join(sorted(reader.found)),
    )


FORMAT = base.Format(
    "label-studio",
    TITLE,
    'a list of tasks with "data" and "annotations" or "predictions"',
    is_label_studio,
    read_label_studio,
)


class _TaskReader:
    """Reads tasks, in full or as JSON-MIN, into a builder."""

    def __init__(
        self, builder: base.AnnotationBuilder, index: PictureIndex, controls: set[str] | None
    ) -> None:
        self.builder = builder
        self.index = index
        self.controls = controls
        self.counter = base.WarningCounter()
        self.found: set[str] = set()
        self._address: dict[str, str] = {}

    @property
    def lists_absences(self) -> bool:
        """Whether the control for absences was found."""
        return _ABSENT in self.found

    def read(self, task: JsonValue) -> None:
        """Read one task."""
        is_full = task.has("data")
        image = self._image(task.field("data") if is_full else task)
        if image is None:
            return
        self.builder.images.setdefault(image)
        if not is_full:
            self._read_min(task, image)
            return
        for annotation in self._in_full(task, "annotations"):
            if annotation.value.get("was_cancelled"):
                self.counter.add(annotation.where, "skipped by the annotator: left out")
                continue
            for result, choices in self._chosen(annotation):
                for choice in choices:
                    self._add(image, result, choice, None)
        for prediction in self._in_full(task, "predictions"):
            for result, choices in self._chosen(prediction):
                self._suggest(image, prediction, result, choices)

    def read_config(self, path: Path) -> None:
        """Take the vocabulary from a labelling configuration."""
        for control in read_xml(path).iter("Choices"):
            name = control.get("name", "")
            if self.controls is None or name in self.controls or name == _ABSENT:
                self.found.add(name)
                tags = (one.get("alias") or one.get("value") for one in control.iter("Choice"))
                self.builder.tags.update(dict.fromkeys(filter(None, tags)))

    def _in_full(self, task: JsonValue, key: str) -> Iterator[JsonValue]:
        """Yield annotations or predictions; some exports list only their ids."""
        for place in task.listed(key):
            if isinstance(place.value, int) and not isinstance(place.value, bool):
                self.counter.add(place.where, f"only the id of one of its {key}: left out")
            elif not isinstance(place.value, dict):
                place.refuse("an object")
            else:
                yield place

    def _chosen(self, place: JsonValue) -> Iterator[tuple[JsonValue, list[JsonValue]]]:
        """Yield the results of type choices, with the choices."""
        for result in place.listed("result"):
            kind = result.field("type").value
            if kind != "choices":
                self.counter.add(result.where, "a result that is not of type choices: left out")
                continue
            control = result.field("from_name").text()
            if self.controls is None or control in self.controls or control == _ABSENT:
                self.found.add(control)
                yield result, result.field("value").field("choices").items()

    def _suggest(
        self, image: str, prediction: JsonValue, result: JsonValue, choices: list[JsonValue]
    ) -> None:
        scores = _own_scores(result, len(choices))
        if not scores:
            given = next((one for one in (result, prediction) if one.has("score")), None)
            if given is None:
                self.counter.add(result.where, "a prediction without a score: left out")
                return
            scores = [given.field("score")] * len(choices)
        for choice, score in zip(choices, scores, strict=True):
            probability = score.probability()
            if probability is None:
                self.counter.add(score.where, "a score is not from 0 to 1: left out")
            else:
                self._add(image, result, choice, probability)

    def _add(
        self, image: str, result: JsonValue, choice: JsonValue, confidence: float | None
    ) -> None:
        # A nested choice is exported as the path that leads to it.
        place = choice.items()[-1] if isinstance(choice.value, list) and choice.value else choice
        present = result.field("from_name").value != _ABSENT
        self.builder.add(base.Annotation(image, place.text(), present, confidence), choice.where)

    def _read_min(self, task: JsonValue, image: str) -> None:
        for key, place in task.fields():
            is_object = isinstance(place.value, dict) and "choices" in place.value
            if place.value is None or not self._is_wanted(key, is_object):
                continue
            self.found.add(key)
            held = place.field("choices") if is_object else place
            for one in held.items() if isinstance(held.value, list) else [held]:
                self.builder.add(base.Annotation(image, one.text(), key != _ABSENT), one.where)

    def _is_wanted(self, key: str, is_object: bool) -> bool:
        if self.controls is None:
            return is_object or key in _TEXT_CONTROLS
        return key in self.controls or key == _ABSENT

    def _image(self, data: JsonValue) -> str | None:
        place = _address_in(data)
        name = name_at(place.text())
        if name is None:
            self.counter.add(place.where, "a picture without a name of its own: left out")
            return None
        image = self.index.at_end_of(name)
        if self._address.setdefault(image, place.text()) != place.text():
            self.counter.add(place.where, "another address has the same name as this: taken as one")
        return image


def _own_scores(result: JsonValue, expected: int) -> list[JsonValue]:
    """Return the probability of each choice, as our writer stores them."""
    meta = result.field("meta")
    scores = meta.field(_SCORES) if meta.has(_SCORES) else None
    if scores is None or not isinstance(scores.value, list) or len(scores.value) != expected:
        return []
    return scores.items()


def _address_in(data: JsonValue) -> JsonValue:
    """Return the picture's address: under `image`, or the only text that looks like one."""
    if data.has("image"):
        return data.field("image")
    found = [place for _, place in data.fields() if _looks_like_picture(place.value)]
    if len(found) != 1:
        data.refuse("the address of one picture, under the key image")
    return found[0]


def _looks_like_picture(value: object) -> bool:
    if not isinstance(value, str):
        return False
    name = name_at(value)
    return name is not None and PurePosixPath(name).suffix.lower() in _EXTENSIONS


def name_at(address: str) -> str | None:
    """Return the name of the picture at an address; None where it is embedded or has no name.

    URLs are percent-decoded; names in buckets and plain paths are not.

    >>> name_at("http://localhost:8080/data/local-files/?d=photos/IMG%201.jpg")
    'photos/IMG 1.jpg'
    >>> name_at("/data/upload/1/ab12cd34-name.jpg")
    'name.jpg'
    >>> name_at("s3://bucket/photos/100%25.jpg")
    'photos/100%25.jpg'
    """
    if address[:5].lower() == "data:":
        return None
    scheme = _SCHEME.match(address)
    name = _path_of(address, scheme[1].lower() if scheme else "")
    return name or None


def _path_of(address: str, scheme: str) -> str:
    if scheme in ("", "http", "https") and f"{_LOCAL}?" in address:
        query = address.partition(f"{_LOCAL}?")[2].partition("#")[0]
        return parse_qs(query, errors="replace").get("d", [""])[0]
    if scheme == "file":
        return unquote(address.split("://", 1)[1])
    if scheme in ("http", "https"):
        return _uploaded(_path_of_url(address).lstrip("/"))
    if scheme:
        return address.split("://", 1)[1].partition("/")[2]
    return _uploaded(address)


def _path_of_url(address: str) -> str:
    try:
        return unquote(urlsplit(address).path)
    except ValueError:  # a malformed host
        return ""


def _uploaded(path: str) -> str:
    found = _UPLOADED.fullmatch(path if path.startswith("/") else f"/{path}")
    return unquote(found[1]) if found and path.lstrip("/").startswith("data/upload/") else path


def write_label_studio(
    annotations: base.Annotations,
    path: Path,
    *,
    prefix: str = "",
    model_version: str = "tagloom",
    ask_absent: bool = False,
) -> Path:
    """Write tasks to import into Label Studio; return the labelling configuration beside them.

    Each picture is a task. What people annotated is an annotation; what a machine suggests is a
    prediction, which Label Studio shows until a person accepts it. All tags of a picture are one
    result, as in its editor: the score of the result is the mean of their probabilities, which
    are listed in its `meta.scores`.

    One control of choices can only state presences. Where there are absences, or with
    `ask_absent`, the configuration has a second one, `tags_absent`.

    Parameters
    ----------
    annotations
        The annotations.
    path
        The file of tasks. The configuration takes its name with the extension `.config.xml`:
        Label Studio refuses tags that are not in it.
    prefix
        The folder of the pictures inside the one that Label Studio serves local files from.
    model_version
        What made the suggestions, to be shown with them.
    ask_absent
        Let people annotate absences although there are none yet.
    """
    check_writable(annotations)
    _check_tags(annotations.tags)
    asks_absent = ask_absent or not bool(annotations.present.all())
    tasks = []
    for image, own in annotations.by_image().items():
        task: dict[str, Any] = {"data": {"image": _address_of(image, prefix)}}
        people = _results([one for one in own if one.confidence is None])
        machine = _results([one for one in own if one.confidence is not None])
        if people:
            task["annotations"] = [{"result": people}]
        if machine:
            score = fmean(one.confidence for one in own if one.confidence is not None)
            task["predictions"] = [
                {"model_version": model_version, "score": _within(score), "result": machine}
            ]
        tasks.append(task)
    config = _config_beside(path)
    with atomic_write(config) as part:
        part.write_text(_config(annotations.tags, asks_absent), encoding="utf-8", newline="\n")
    save_json(tasks, path)
    return config


def _address_of(name: str, prefix: str) -> str:
    """Return the address of a picture in the folder that Label Studio serves files from.

    >>> _address_of("a b&c.jpg", "photos")
    '/data/local-files/?d=photos/a%20b%26c.jpg'
    """
    joined = f"{prefix.rstrip('/')}/{name}" if prefix else name
    return f"{_LOCAL}?d={quote(joined, safe='/')}"


def _config_beside(path: Path) -> Path:
    """Return the path of the labelling configuration of a file of tasks."""
    return path.with_suffix(".config.xml")


def _results(annotations: list[base.Annotation]) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    for control, present in ((_PRESENT, True), (_ABSENT, False)):
        chosen = [one for one in annotations if one.present == present]
        if chosen:
            results.append(_result(f"r{len(results) + 1}", control, chosen))
    return results


def _result(identity: str, control: str, chosen: list[base.Annotation]) -> dict[str, Any]:
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
        result["meta"] = {_SCORES: scores}
    return result


def _within(score: float) -> float:
    # Rounding may carry a mean past 1, which Label Studio refuses.
    return min(max(score, 0.0), 1.0)


def _config(tags: Iterable[str], asks_absent: bool) -> str:
    listed = list(tags)
    lines = ["<View>", '  <Image name="image" value="$image"/>']
    lines += _choices(_PRESENT, listed)
    if asks_absent:
        lines += ['  <Header value="Not in the picture"/>', *_choices(_ABSENT, listed)]
    return "\n".join([*lines, "</View>", ""])


def _choices(control: str, tags: list[str]) -> list[str]:
    return [
        f'  <Choices name="{control}" toName="image" choice="multiple">',
        *(f"    <Choice value={_attribute(tag)}/>" for tag in tags),
        "  </Choices>",
    ]


def _attribute(tag: str) -> str:
    # XML turns line ends and tabs in attributes into blanks, unless they are escaped.
    return quoteattr(tag, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _check_tags(tags: Iterable[str]) -> None:
    unusable = [tag for tag in tags if illegal_character(tag) is not None]
    if unusable:
        raise InvalidInputError(
            "Label Studio's configuration is XML, which cannot hold the control characters in "
            f"these tags: {some_of(unusable)}. Rename them or choose another format."
        )
