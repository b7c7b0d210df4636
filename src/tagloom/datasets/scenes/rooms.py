"""Rooms: walls and floors, rugs, windows, paintings."""

import numpy as np

from tagloom.datasets.scenes.canvas import Canvas
from tagloom.datasets.scenes.colours import Colour, darker, lighter, mix, pick
from tagloom.datasets.scenes.pen import Pen, Spot
from tagloom.datasets.scenes.textures import billows, grain

_WALL: tuple[Colour, ...] = (
    (232, 220, 200),
    (196, 212, 210),
    (226, 196, 172),
    (174, 190, 166),
    (214, 206, 220),
    (240, 226, 180),
    (120, 146, 158),
)
_WOOD: tuple[Colour, ...] = ((168, 116, 72), (136, 90, 58), (196, 150, 100), (110, 76, 56))
_CLOTH: tuple[Colour, ...] = (
    (70, 110, 130),
    (190, 92, 74),
    (110, 130, 92),
    (206, 168, 90),
    (150, 100, 130),
    (120, 120, 130),
)


def room(canvas: Canvas, rng: np.random.Generator, *, floor: float) -> None:
    """Draw a papered wall, a skirting board, floorboards in perspective."""
    light, width, height = canvas.light, canvas.width, canvas.height
    wall, wood = pick(rng, _WALL, 10), pick(rng, _WOOD, 10)
    top, low = light.tone(darker(wall, 0.08)), light.tone(lighter(wall, 0.06))
    upper = [(-2, -2), (width + 2, -2), (width + 2, floor), (-2, floor)]
    canvas.textured(upper, (darker(top, 0.08), darker(low, 0.06)), (top, low), billows(), rng)
    _paper(canvas, rng, wall, floor)
    lower = [(-2, floor), (width + 2, floor), (width + 2, height + 2), (-2, height + 2)]
    far, near = light.tone(darker(wood, 0.12)), light.tone(lighter(wood, 0.08))
    canvas.textured(lower, (darker(far, 0.12), darker(near, 0.12)), (far, near), grain(), rng, 0.3)
    eye = width * rng.uniform(0.35, 0.65)
    for x in np.linspace(-1.2, 2.2, 26) * width:
        canvas.line([(eye + (x - eye) * 0.45, floor), (x, height + 2)], darker(near, 0.26), 0.7)
    canvas.rectangle((-2, floor - 7, width + 2, floor), light.tone(lighter(wall, 0.55)))
    canvas.rectangle((-2, floor - 1, width + 2, floor), light.tone(darker(wall, 0.35)))


def _paper(canvas: Canvas, rng: np.random.Generator, wall: Colour, floor: float) -> None:
    """Stripes or dots on the wall, or neither."""
    style = rng.integers(3)
    shade = canvas.light.tone(lighter(wall, 0.14))
    step = rng.uniform(16, 26)
    for x in np.arange(0, canvas.width, step):
        if style == 0:
            canvas.rectangle((x, -2, x + step * 0.45, floor - 6), shade)
        elif style == 1:
            for i, y in enumerate(np.arange(6, floor - 10, step * 0.8)):
                cx = x + (step / 2 if i % 2 else 0)
                canvas.ellipse((cx - 1.6, y - 1.6, cx + 1.6, y + 1.6), shade)


def rug(canvas: Canvas, rng: np.random.Generator, *, x: float, y: float, wide: float) -> None:
    """Draw an oval rug with rings."""
    one, two = pick(rng, _CLOTH), pick(rng, ((236, 224, 200), (220, 180, 120)))
    for share, colour in (
        (1.0, darker(one, 0.1)),
        (0.88, two),
        (0.78, one),
        (0.4, mix(one, two, 0.5)),
    ):
        half, high = wide * share / 2, wide * share * 0.13
        canvas.ellipse((x - half, y - high, x + half, y + high), canvas.light.tone(colour))


def window(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a bright or dark window between curtains; what is outside cannot be made out."""
    pen = Pen(canvas, spot)
    half = rng.uniform(0.36, 0.5)
    dark = canvas.light.night
    top, low = ((30, 40, 78), (54, 60, 100)) if dark else ((255, 250, 232), (246, 240, 214))
    pen.box((-half - 0.05, half + 0.05), (-0.02, 1.0), (246, 242, 234))
    corners = [pen.at(x, y) for x, y in ((-half, 0.03), (half, 0.03), (half, 0.95), (-half, 0.95))]
    canvas.gradient(corners, top, low)
    if not dark:
        pen.glow(0, 0.45, 1.5, (255, 250, 228), 0.28)
    for x in (-half, 0, half):
        pen.line([(x, 0.03), (x, 0.95)], (246, 242, 234), 0.035)
    pen.line([(-half, 0.5), (half, 0.5)], (246, 242, 234), 0.03)
    pen.box((-half - 0.1, half + 0.1), (-0.05, 0.01), (226, 218, 204))
    _curtains(pen, rng, half)


def _curtains(pen: Pen, rng: np.random.Generator, half: float) -> None:
    cloth = pick(rng, _CLOTH)
    pen.line([(-half - 0.22, 1.04), (half + 0.22, 1.04)], (120, 96, 70), 0.03)
    for sign in (-1, 1):
        folds = 5
        for i in range(folds):
            outer, inner = half + 0.2 - 0.065 * i, half + 0.2 - 0.065 * (i + 1)
            shade = lighter(cloth, 0.12) if i % 2 else darker(cloth, 0.14)
            pull = 0.05 * i
            pen.poly(
                [
                    (sign * outer, 1.03),
                    (sign * inner, 1.03),
                    (sign * (inner + pull), -0.12),
                    (sign * (outer + pull * 0.6), -0.12),
                ],
                shade,
            )


def painting(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a framed play of colours."""
    pen = Pen(canvas, spot)
    half = rng.uniform(0.4, 0.8)
    pen.box((-half, half), (0, 1), pick(rng, ((150, 112, 60), (60, 52, 50), (240, 236, 228))))
    pen.box(
        (-half + 0.09, half - 0.09), (0.09, 0.91), pick(rng, ((240, 234, 220), (220, 226, 230)))
    )
    for _ in range(5):
        x, y = rng.uniform(-half + 0.26, half - 0.26), rng.uniform(0.28, 0.72)
        pen.oval(x, y, rng.uniform(0.06, 0.15), rng.uniform(0.06, 0.15), pick(rng, _CLOTH))
