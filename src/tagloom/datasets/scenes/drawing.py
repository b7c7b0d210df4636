"""Draw one scene: choose its kind, plan it, draw it, and label what is visible.

``python -m tagloom.datasets.scenes.drawing scenes.png`` writes a contact sheet of many scenes.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tagloom.datasets.scenes import indoors, outdoors
from tagloom.datasets.scenes.canvas import HEIGHT, Canvas, Light
from tagloom.datasets.scenes.plan import Part, Plan
from tagloom.errors import InvalidInputError, import_extra
from tagloom.io import atomic_write
from tagloom.validation import check_integer

if TYPE_CHECKING:
    from PIL.Image import Image

# Raise it whenever the same numbers give another picture or other labels.
DRAWING_VERSION = 1

_LEAST_SIDE, _GREATEST_SIDE, _GREATEST_RATIO = 32, 2048, 2.5
# In pixels of a picture 240 high. A part is visible if it shows at least the first number of
# pixels, and these are at least the given share of what was painted of it, or an ample number.
_LEAST_PIXELS, _LEAST_SHARE, _AMPLE_PIXELS = 40, 0.35, 500
# Scenes of series 0 that show every kind and hour.
SHOWN: tuple[int, ...] = (2, 6, 9, 13, 20, 33, 38, 43, 57, 59, 77, 86)
SHOWN += (89, 90, 92, 94, 8, 10, 31, 98, 107, 21, 95, 72)

_OUTDOORS = {"day": 0.4, "morning": 0.15, "evening": 0.2, "grey": 0.15, "night": 0.1}
_CITY = {"day": 0.2, "morning": 0.05, "evening": 0.15, "grey": 0.2, "night": 0.4}
_SHADE = {"day": 0.6, "morning": 0.15, "evening": 0.15, "grey": 0.1}
_INDOORS = {"day": 0.5, "morning": 0.2, "lamplight": 0.3}


@dataclass(frozen=True)
class Kind:
    """A kind of scene: how it is composed, how frequent it is, and at which hours."""

    compose: Callable[[Plan], None]
    weight: float
    hours: dict[str, float]


KINDS: dict[str, Kind] = {
    "beach": Kind(outdoors.beach, 0.07, _OUTDOORS),
    "harbour": Kind(outdoors.harbour, 0.06, _OUTDOORS),
    "river": Kind(outdoors.river, 0.06, _OUTDOORS),
    "reef": Kind(outdoors.reef, 0.08, {"day": 1.0}),
    "mountains": Kind(outdoors.highlands, 0.06, _OUTDOORS),
    "meadow": Kind(outdoors.meadow, 0.07, _OUTDOORS),
    "winter": Kind(outdoors.winter, 0.05, {**_OUTDOORS, "night": 0.3}),
    "desert": Kind(outdoors.desert, 0.05, {"day": 0.4, "evening": 0.35, "night": 0.25}),
    "forest": Kind(outdoors.forest, 0.09, _SHADE),
    "street": Kind(outdoors.street, 0.07, {**_OUTDOORS, "grey": 0.35}),
    "city": Kind(outdoors.city, 0.05, _CITY),
    "garden": Kind(outdoors.garden, 0.09, _SHADE),
    "living room": Kind(indoors.living_room, 0.11, _INDOORS),
    "dining room": Kind(indoors.dining_room, 0.1, _INDOORS),
    "study": Kind(indoors.study, 0.07, _INDOORS),
}


@dataclass(frozen=True, eq=False)
class Scene:
    """A picture and its complete labels.

    Attributes
    ----------
    image
        The picture, RGB.
    areas
        The visible labels, and the share of the picture that each covers.
    kind
        The kind of place.
    """

    image: "Image"
    areas: Mapping[str, float]
    kind: str

    @property
    def labels(self) -> frozenset[str]:
        """All visible labels; every other label is absent."""
        return frozenset(self.areas)


def draw_scene(number: int, random_state: int = 0, size: tuple[int, int] = (320, 240)) -> Scene:
    """Draw the scene with a given number.

    It depends on the arguments only: the first hundred of a thousand scenes are the same as a
    hundred scenes.

    Parameters
    ----------
    number
        Which scene, from 0.
    random_state
        Which series of scenes, from 0.
    size
        Width and height in pixels.

    Examples
    --------
    >>> scene = draw_scene(0)
    >>> scene.image.size
    (320, 240)
    >>> sorted(scene.labels) == sorted(draw_scene(0).labels)
    True
    """
    check_integer("number", number, at_least=0)
    check_integer("random_state", random_state, at_least=0)
    _check_size(size)
    import_extra("PIL.Image", purpose="Drawing scenes")
    seed = (random_state, number)
    kind, plan = compose(np.random.default_rng(seed), HEIGHT * size[0] / size[1])
    parts, canvas = draw_visible(plan.parts(), plan.light, seed, size)
    return Scene(canvas.finished(), visible_areas(parts, canvas), kind)


def compose(rng: np.random.Generator, width: float) -> tuple[str, Plan]:
    """Choose a kind of scene and its hour at random, and plan it."""
    name = _choose(rng, {name: kind.weight for name, kind in KINDS.items()})
    plan = Plan(rng, _choose(rng, KINDS[name].hours), width)
    KINDS[name].compose(plan)
    return name, plan


def _choose(rng: np.random.Generator, weights: dict[str, float]) -> str:
    shares = np.array(list(weights.values()))
    return list(weights)[int(rng.choice(len(shares), p=shares / shares.sum()))]


def draw_visible(
    parts: Sequence[Part], light: Light, seed: tuple[int, int], size: tuple[int, int]
) -> tuple[list[Part], Canvas]:
    """Draw the parts without those that would be hidden; return the others and the picture.

    A hidden part leaves no trace, not even a sliver or a shadow: a part is either visible or was
    never drawn.
    """
    kept = list(parts)
    while True:
        canvas, hidden = _draw(kept, light, seed, size)
        if not hidden:
            return kept, canvas
        kept = [part for part in kept if part.number not in hidden]


def _draw(
    parts: Sequence[Part], light: Light, seed: tuple[int, int], size: tuple[int, int]
) -> tuple[Canvas, set[int]]:
    # The owner of a pixel is the place of its part among those with a label, from 1.
    canvas = Canvas(size, light)
    painted: dict[int, tuple[int, float]] = {}
    for part in parts:
        canvas.owner = len(painted) + 1 if part.label is not None else 0
        part.paint(canvas, np.random.default_rng((*seed, part.number)))
        if part.label is not None:
            painted[canvas.owner] = (part.number, float(canvas.owned()[canvas.owner]))
    shown = canvas.owned()
    hidden = {
        number for owner, (number, full) in painted.items() if _is_hidden(float(shown[owner]), full)
    }
    return canvas, hidden


def visible_areas(parts: Sequence[Part], canvas: Canvas) -> dict[str, float]:
    """Return the share of the picture that the parts of each label cover together."""
    owned = canvas.owned() / (canvas.width * canvas.height)
    labelled = [part.label for part in parts if part.label is not None]
    areas = dict.fromkeys(labelled, 0.0)
    for owner, label in enumerate(labelled, 1):
        areas[label] += float(owned[owner])
    return areas


def _is_hidden(shown: float, full: float) -> bool:
    return shown < _LEAST_PIXELS or (shown < _AMPLE_PIXELS and shown < _LEAST_SHARE * full)


def _check_size(size: tuple[int, int]) -> None:
    for name, side in zip(("The width", "The height"), size, strict=True):
        check_integer(f"{name} of a scene", side, at_least=_LEAST_SIDE)
        if side > _GREATEST_SIDE:
            raise InvalidInputError(
                f"{name} of a scene must be at most {_GREATEST_SIDE} pixels; got {side}."
            )
    if max(size) > _GREATEST_RATIO * min(size):
        raise InvalidInputError(
            f"A side of a scene must be at most {_GREATEST_RATIO} times the other; "
            f"got {size[0]} x {size[1]}."
        )


def contact_sheet(
    numbers: Sequence[int] = SHOWN,
    random_state: int = 0,
    *,
    columns: int = 6,
    size: tuple[int, int] = (192, 144),
    gap: int = 4,
) -> "Image":
    """Arrange scenes in rows on white.

    >>> contact_sheet([0, 1, 2], columns=2, size=(64, 48), gap=4).size
    (140, 108)
    """
    import_extra("PIL.Image", purpose="Drawing scenes")
    from PIL import Image

    wide, high = size[0] + gap, size[1] + gap
    rows = -(-len(numbers) // columns)
    sheet = Image.new("RGB", (columns * wide + gap, rows * high + gap), "white")
    for place, number in enumerate(numbers):
        # Drawn at the default size: the labels must not depend on the size of the sheet.
        scene = draw_scene(number, random_state).image.resize(size, Image.Resampling.LANCZOS)
        sheet.paste(scene, (gap + place % columns * wide, gap + place // columns * high))
    return sheet


def main(path: str) -> None:
    """Write a contact sheet as a PNG file with a palette of 256 colours, to keep it small."""
    from PIL import Image

    sheet = contact_sheet()
    few = sheet.quantize(palette=sheet.quantize(256, kmeans=2), dither=Image.Dither.FLOYDSTEINBERG)
    with atomic_write(Path(path)) as part:
        few.save(part, format="PNG", optimize=True)


if __name__ == "__main__":
    main(sys.argv[1])
