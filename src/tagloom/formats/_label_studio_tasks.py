"""Read one task of Label Studio after the other."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tagloom.formats._json import Place
from tagloom.formats._label_studio_addresses import name_at
from tagloom.formats._label_studio_writing import ABSENT, PRESENT, SCORES
from tagloom.formats._naming import Names
from tagloom.formats._plain_xml import read_xml
from tagloom.formats._tally import Tally
from tagloom.formats.annotations import Annotation
from tagloom.formats.gathering import Gathering

_TEXT_CONTROLS = frozenset({PRESENT, ABSENT, "choice", "choices"})
_ENDINGS = frozenset(
    (".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".heic", ".heif", ".avif")
)


class TaskReader:
    """Reads tasks in full or as JSON-MIN into a gathering."""

    def __init__(self, gathering: Gathering, names: Names, controls: set[str] | None) -> None:
        self.gathering = gathering
        self.names = names
        self.controls = controls
        self.tally = Tally()
        self.met: set[str] = set()
        self._address: dict[str, str] = {}

    @property
    def says_absent(self) -> bool:
        """Whether the control for absences was met."""
        return ABSENT in self.met

    def read(self, task: Place) -> None:
        """Read what is said in one task."""
        is_full = task.has("data")
        image = self._image(task.field("data") if is_full else task)
        if image is None:
            return
        self.gathering.images.setdefault(image)
        if not is_full:
            self._read_min(task, image)
            return
        for annotation in self._whole_ones(task, "annotations"):
            if annotation.value.get("was_cancelled"):
                self.tally.add(annotation.where, "skipped by the annotator: left out")
                continue
            for result, choices in self._chosen(annotation):
                for choice in choices:
                    self._add(image, result, choice, None)
        for prediction in self._whole_ones(task, "predictions"):
            for result, choices in self._chosen(prediction):
                self._suggest(image, prediction, result, choices)

    def read_config(self, path: Path) -> None:
        """Take the vocabulary from a labelling configuration."""
        for control in read_xml(path).iter("Choices"):
            name = control.get("name", "")
            if self.controls is None or name in self.controls or name == ABSENT:
                self.met.add(name)
                tags = (one.get("alias") or one.get("value") for one in control.iter("Choice"))
                self.gathering.tags.update(dict.fromkeys(filter(None, tags)))

    def _whole_ones(self, task: Place, key: str) -> Iterator[Place]:
        """Yield annotations or predictions; some exports list only their numbers."""
        for place in task.listed(key):
            if isinstance(place.value, int) and not isinstance(place.value, bool):
                self.tally.add(place.where, f"only the number of one of its {key}: left out")
            elif not isinstance(place.value, dict):
                place.refuse("an object")
            else:
                yield place

    def _chosen(self, place: Place) -> Iterator[tuple[Place, list[Place]]]:
        """Yield the results that are choices, with what is chosen."""
        for result in place.listed("result"):
            kind = result.field("type").value
            if kind != "choices":
                self.tally.add(result.where, "a result that is not of type choices: left out")
                continue
            control = result.field("from_name").text()
            if self.controls is None or control in self.controls or control == ABSENT:
                self.met.add(control)
                yield result, result.field("value").field("choices").items()

    def _suggest(self, image: str, prediction: Place, result: Place, choices: list[Place]) -> None:
        scores = _own_scores(result, len(choices))
        if not scores:
            given = next((one for one in (result, prediction) if one.has("score")), None)
            if given is None:
                self.tally.add(result.where, "a prediction without a score: left out")
                return
            scores = [given.field("score")] * len(choices)
        for choice, score in zip(choices, scores, strict=True):
            probability = score.probability()
            if probability is None:
                self.tally.add(score.where, "a score is not from 0 to 1: left out")
            else:
                self._add(image, result, choice, probability)

    def _add(self, image: str, result: Place, choice: Place, confidence: float | None) -> None:
        # A choice within choices is exported as the way that leads to it.
        place = choice.items()[-1] if isinstance(choice.value, list) and choice.value else choice
        present = result.field("from_name").value != ABSENT
        self.gathering.add(Annotation(image, place.text(), present, confidence), choice.where)

    def _read_min(self, task: Place, image: str) -> None:
        for key, place in task.fields():
            is_object = isinstance(place.value, dict) and "choices" in place.value
            if place.value is None or not self._is_wanted(key, is_object):
                continue
            self.met.add(key)
            held = place.field("choices") if is_object else place
            for one in held.items() if isinstance(held.value, list) else [held]:
                self.gathering.add(Annotation(image, one.text(), key != ABSENT), one.where)

    def _is_wanted(self, key: str, is_object: bool) -> bool:
        if self.controls is None:
            return is_object or key in _TEXT_CONTROLS
        return key in self.controls or key == ABSENT

    def _image(self, data: Place) -> str | None:
        place = _address_in(data)
        name = name_at(place.text())
        if name is None:
            self.tally.add(place.where, "a picture without a name of its own: left out")
            return None
        image = self.names.of_path(name)
        if self._address.setdefault(image, place.text()) != place.text():
            self.tally.add(
                place.where, "another address stands for the same name as this: taken as one"
            )
        return image


def _own_scores(result: Place, expected: int) -> list[Place]:
    """Return the probabilities of the choices one by one, as our writer gives them."""
    meta = result.field("meta")
    scores = meta.field(SCORES) if meta.has(SCORES) else None
    if scores is None or not isinstance(scores.value, list) or len(scores.value) != expected:
        return []
    return scores.items()


def _address_in(data: Place) -> Place:
    """Return where the picture's address stands: under `image`, or alone with such an ending."""
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
    return name is not None and PurePosixPath(name).suffix.lower() in _ENDINGS
