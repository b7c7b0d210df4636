"""One scene: planned, drawn, and named after what is visible in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagloom.checks import check_whole
from tagloom.datasets.scenes.canvas import HEIGHT, Canvas
from tagloom.datasets.scenes.colours import Light
from tagloom.datasets.scenes.composing import compose
from tagloom.datasets.scenes.plan import Part
from tagloom.errors import InvalidInputError
from tagloom.vision.extras import import_extra

if TYPE_CHECKING:
    from PIL.Image import Image

# Raised whenever the same numbers come to give another picture or other labels.
DRAWING_VERSION = 1

_LEAST_SIDE, _GREATEST_SIDE, _GREATEST_RATIO = 32, 2048, 2.5
# In pixels of a picture 240 high. A part is visible if it shows at least the first number of
# them, and if this is at least that share of what it would show were nothing before it, or else
# so much that nobody can miss it.
_LEAST_PIXELS, _LEAST_SHARE, _AMPLE_PIXELS = 40, 0.35, 500


@dataclass(frozen=True, eq=False)
class Scene:
    """A picture and the truth about it.

    Attributes
    ----------
    image
        The picture, RGB.
    labels
        Everything that is visible in it; every other label is absent.
    kind
        What sort of place it shows.
    """

    image: "Image"
    labels: frozenset[str]
    kind: str


def draw_scene(number: int, random_state: int = 0, size: tuple[int, int] = (320, 240)) -> Scene:
    """Draw the scene of a number.

    It depends on nothing but the arguments: the first hundred of a thousand scenes are the same
    as a hundred scenes.

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
    check_whole("number", number, at_least=0)
    check_whole("random_state", random_state, at_least=0)
    _check_size(size)
    import_extra("PIL.Image", purpose="Drawing scenes")
    seed = (random_state, number)
    kind, plan = compose(np.random.default_rng(seed), HEIGHT * size[0] / size[1])
    parts, canvas = draw_visible(plan.parts(), plan.light, seed, size)
    labels = frozenset(part.label for part in parts if part.label is not None)
    return Scene(canvas.finished(), labels, kind)


def draw_visible(
    parts: Sequence[Part], light: Light, seed: tuple[int, int], size: tuple[int, int]
) -> tuple[list[Part], Canvas]:
    """Draw the parts, leaving out those that would be hidden; return the others and the picture.

    What a hidden part would still show, a sliver or a shadow, is not left in the picture: a part
    is either visible or was never drawn.
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


def _is_hidden(shown: float, full: float) -> bool:
    return shown < _LEAST_PIXELS or (shown < _AMPLE_PIXELS and shown < _LEAST_SHARE * full)


def _check_size(size: tuple[int, int]) -> None:
    for name, side in zip(("The width", "The height"), size, strict=True):
        check_whole(f"{name} of a scene", side, at_least=_LEAST_SIDE)
        if side > _GREATEST_SIDE:
            raise InvalidInputError(
                f"{name} of a scene must be at most {_GREATEST_SIDE} pixels; got {side}."
            )
    if max(size) > _GREATEST_RATIO * min(size):
        raise InvalidInputError(
            f"A side of a scene must be at most {_GREATEST_RATIO} times the other; "
            f"got {size[0]} x {size[1]}."
        )
