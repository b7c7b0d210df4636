"""Rooms, furniture, and the things that stand on it."""

import numpy as np

from tagloom.datasets.scenes.canvas import (
    Canvas,
    Colour,
    Pen,
    Spot,
    billows,
    darker,
    grain,
    lighter,
    mix,
    palette,
    pick,
)
from tagloom.datasets.scenes.plants import blossom, cactus

_WOOD: tuple[Colour, ...] = ((168, 116, 72), (136, 90, 58), (196, 150, 100), (110, 76, 56))
_CLOTH = palette("#466e82 #be5c4a #6e825c #cea85a #966482 #787882")
_PETALS = palette("#e84046 #fac438 #f47ea8 #9660ce #faf8f0 #f68c3c")
_WALL = palette("#e8dcc8 #c4d4d2 #e2c4ac #aebea6 #d6cedc #f0e2b4 #78929e")
_SPINES = palette("#b03c34 #325c82 #dcac4c #547852 #e6dcc4 #6e486e #3c3c46")


def table(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a wooden table seen from a little above; things may stand on it."""
    pen = Pen(canvas, spot)
    wood = pick(rng, _WOOD)
    half = rng.uniform(0.8, 1.05)
    pen.shadow(half * 1.15, 0.14)
    for x, y in ((-half * 0.8, 0.12), (half * 0.8, 0.12)):
        pen.box((x - 0.04, x + 0.04), (y, 0.9), darker(wood, 0.4))
    for x in (-half * 0.94, half * 0.94):
        pen.box((x - 0.055, x + 0.055), (0, 0.8), darker(wood, 0.2), 0.01)
    pen.poly(
        [(-half, 0.8), (half, 0.8), (half * 0.86, 1.0), (-half * 0.86, 1.0)], lighter(wood, 0.16)
    )
    pen.box((-half, half), (0.7, 0.8), darker(wood, 0.08))
    for share in (0.3, 0.6):
        y, reach = 0.8 + 0.2 * share, half * (1 - 0.14 * share)
        pen.line([(-reach, y), (reach, y)], wood, 0.012)


def on_table(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw cups, bowls and plates on a table."""
    pen = Pen(canvas, spot)
    for x in rng.permutation([-0.55, -0.2, 0.2, 0.55])[: int(rng.integers(1, 4))]:
        colour = pick(rng, ((240, 238, 232), (200, 84, 70), (80, 130, 160), (230, 190, 90)))
        y = rng.uniform(0.84, 0.92)
        pen.canvas.shadow(*pen.at(x, y), 0.16 * spot.size, 0.05 * spot.size, 0.5)
        if rng.uniform() < 0.5:
            pen.oval(x + 0.1, y + 0.08, 0.05, 0.05, darker(colour, 0.2))
            pen.box((x - 0.08, x + 0.08), (y, y + 0.16), colour, 0.03)
            pen.oval(x, y + 0.16, 0.08, 0.025, darker(colour, 0.35))
        else:
            pen.oval(x, y + 0.02, 0.17, 0.05, darker(colour, 0.1))
            pen.oval(x, y + 0.03, 0.13, 0.035, lighter(colour, 0.3))


def chair(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a chair with a slatted back, half turned."""
    pen = Pen(canvas, spot)
    wood = pick(rng, (*_WOOD, (236, 232, 224), (84, 120, 130), (176, 70, 60)))
    seat = pick(rng, _CLOTH)
    pen.shadow(0.4, 0.07)
    for x, y in ((-0.12, 0.09), (0.28, 0.09)):
        pen.box((x - 0.025, x + 0.025), (y, 0.46), darker(wood, 0.35))
    for x in (-0.22, 0.2):
        pen.box((x - 0.028, x + 0.028), (0, 0.44), wood, 0.01)
    pen.line([(-0.22, 0.18), (0.2, 0.18)], darker(wood, 0.15), 0.03)
    pen.poly([(-0.27, 0.42), (0.24, 0.42), (0.33, 0.52), (-0.16, 0.52)], lighter(seat, 0.1))
    pen.poly([(-0.27, 0.38), (0.24, 0.38), (0.24, 0.42), (-0.27, 0.42)], darker(wood, 0.1))
    for x in (-0.15, 0.31):
        pen.line([(x, 0.5), (x - 0.02, 0.99)], wood, 0.05)
    for y in (0.66, 0.8, 0.93):
        pen.line([(-0.16, y), (0.3, y)], lighter(wood, 0.1), 0.06)


def sofa(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a sofa with cushions."""
    pen = Pen(canvas, spot)
    cloth = pick(rng, _CLOTH)
    pen.shadow(1.6, 0.12, 0.7)
    for x in (-1.15, 1.15):
        pen.box((x - 0.05, x + 0.05), (0, 0.12), (76, 56, 44))
    pen.box((-1.2, 1.2), (0.3, 1.0), darker(cloth, 0.2), 0.16)
    for x in (-0.55, 0.55):
        pen.box((x - 0.52, x + 0.52), (0.45, 0.94), darker(cloth, 0.06), 0.12)
        pen.box((x - 0.54, x + 0.54), (0.28, 0.54), lighter(cloth, 0.14), 0.09)
    pen.box((-1.15, 1.15), (0.09, 0.32), darker(cloth, 0.14), 0.03)
    for x in (-1.2, 1.2):
        pen.box((x - 0.17, x + 0.17), (0.09, 0.68), cloth, 0.15)
    for x in rng.permutation([-0.85, -0.2, 0.3, 0.85])[: int(rng.integers(1, 3))]:
        colour = pick(rng, ((240, 226, 190), (226, 130, 90), (120, 160, 160), (236, 190, 90)))
        pen.poly([(x - 0.22, 0.5), (x + 0.2, 0.52), (x + 0.23, 0.86), (x - 0.18, 0.84)], colour)
        pen.line([(x - 0.2, 0.52), (x + 0.2, 0.84)], darker(colour, 0.15), 0.02)


def bookshelf(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw shelves full of books."""
    pen = Pen(canvas, spot)
    wood, half = pick(rng, _WOOD), rng.uniform(0.3, 0.42)
    pen.shadow(half * 1.3, 0.04)
    pen.box((-half, half), (0, 1), darker(wood, 0.2))
    pen.box((-half + 0.03, half - 0.03), (0.04, 0.97), darker(wood, 0.6))
    shelves = 4
    for i in range(shelves):
        low = 0.05 + 0.235 * i
        x = -half + 0.035
        while x < half - 0.085:
            wide, high = rng.uniform(0.026, 0.055), rng.uniform(0.13, 0.19)
            spine = pick(rng, _SPINES)
            pen.box((x, x + wide), (low, low + high), spine)
            pen.line(
                [(x, low + high * 0.75), (x + wide, low + high * 0.75)], lighter(spine, 0.4), 0.008
            )
            x += wide + (0.004 if rng.uniform() < 0.85 else 0.04)
        pen.box((-half + 0.02, half - 0.02), (low - 0.025, low), wood)


def floor_lamp(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a standing lamp with a shade that glows."""
    pen = Pen(canvas, spot)
    shade = pick(rng, ((248, 226, 170), (240, 200, 150), (236, 232, 214)), 6)
    pen.shadow(0.16, 0.03)
    pen.oval(0, 0.015, 0.12, 0.025, (60, 54, 52))
    pen.line([(0, 0.02), (0, 0.76)], (90, 76, 62), 0.024)
    pen.glow(0, 0.84, 0.5, (255, 230, 160), 0.6)
    body = [pen.at(x, y) for x, y in ((-0.17, 0.7), (0.17, 0.7), (0.1, 1.0), (-0.1, 1.0))]
    canvas.gradient(body, lighter(shade, 0.1), lighter(shade, 0.6))


def hanging_lamp(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a lamp on a cord from the ceiling; the spot is its lower rim."""
    pen = Pen(canvas, spot)
    colour = pick(
        rng, ((196, 70, 58), (60, 100, 110), (220, 170, 70), (70, 70, 76), (240, 236, 226))
    )
    pen.line([(0, 0.7), (0, 12.0)], (50, 46, 46), 0.03)
    pen.glow(0, 0.0, 1.8, (255, 234, 170), 0.5)
    pen.bare_oval(0, 0.06, 0.2, 0.16, (255, 244, 200))
    pen.poly(
        [(-0.62, 0.1), (0.62, 0.1), (0.22, 0.66), (0.08, 0.78), (-0.08, 0.78), (-0.22, 0.66)],
        colour,
    )
    pen.poly(
        [
            (-0.62 * pen.side, 0.1),
            (-0.25 * pen.side, 0.1),
            (-0.08 * pen.side, 0.66),
            (-0.22 * pen.side, 0.66),
        ],
        darker(colour, 0.25),
    )


def vase(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a vase of flowers."""
    pen = Pen(canvas, spot)
    glaze = pick(rng, ((90, 140, 170), (236, 230, 216), (190, 90, 70), (110, 140, 110)))
    colours = [pick(rng, _PETALS) for _ in range(2)]
    pen.shadow(0.35, 0.08)
    n = int(rng.integers(6, 10))
    heads = [(rng.normal(0, 0.24), rng.uniform(0.58, 0.95)) for _ in range(n)]
    for x, y in heads:
        pen.line([(0, 0.35), (x, y)], (80, 130, 70), 0.025)
        pen.oval(x * 0.6 + 0.04, y * 0.75, 0.07, 0.03, (90, 146, 76))
    for i, (x, y) in enumerate(heads):
        blossom(pen, (x, y), rng.uniform(0.11, 0.15), colours[i % 2], rng)
    half = [(0.08, 0.38), (0.12, 0.32), (0.16, 0.16), (0.08, 0.0)]
    pen.poly([(-x, y) for x, y in half[::-1]] + half, glaze)
    pen.oval(0.06 * pen.side, 0.2, 0.03, 0.08, lighter(glaze, 0.5))


def book_pile(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a pile of books."""
    pen = Pen(canvas, spot)
    pen.shadow(0.9, 0.16)
    n = int(rng.integers(3, 6))
    high = 1.0 / n
    for i in range(n):
        left, right = -0.75 + rng.uniform(-0.1, 0.12), 0.7 + rng.uniform(-0.12, 0.1)
        cover = pick(rng, _SPINES)
        pen.box((left, right), (i * high, (i + 1) * high), cover, 0.03)
        pen.box((left + 0.12, right), ((i + 0.2) * high, (i + 0.8) * high), (244, 236, 216))
        pen.line(
            [(left + 0.05, i * high), (left + 0.05, (i + 1) * high)], lighter(cover, 0.3), 0.03
        )


def potted_cactus(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a cactus in a clay pot."""
    pen = Pen(canvas, spot)
    clay = pick(rng, ((196, 112, 78), (220, 200, 180), (90, 120, 140)))
    pen.shadow(0.3, 0.06)
    x, y = pen.at(0, 0.3)
    cactus(canvas, rng, Spot(x, y, spot.size * 0.72, spot.far, spot.flip))
    pen.poly([(-0.15, 0), (0.15, 0), (0.2, 0.28), (-0.2, 0.28)], clay)
    pen.poly([(0, 0), (-0.15 * pen.side, 0), (-0.2 * pen.side, 0.28), (0, 0.28)], darker(clay, 0.2))
    pen.box((-0.23, 0.23), (0.26, 0.36), lighter(clay, 0.1), 0.02)


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
    """Draw stripes or dots on the wall, or neither."""
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
    """Draw a bright or dark window between curtains; nothing is visible outside."""
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
    """Draw a framed abstract painting."""
    pen = Pen(canvas, spot)
    half = rng.uniform(0.4, 0.8)
    pen.box((-half, half), (0, 1), pick(rng, ((150, 112, 60), (60, 52, 50), (240, 236, 228))))
    pen.box(
        (-half + 0.09, half - 0.09), (0.09, 0.91), pick(rng, ((240, 234, 220), (220, 226, 230)))
    )
    for _ in range(5):
        x, y = rng.uniform(-half + 0.26, half - 0.26), rng.uniform(0.28, 0.72)
        pen.oval(x, y, rng.uniform(0.06, 0.15), rng.uniform(0.06, 0.15), pick(rng, _CLOTH))
