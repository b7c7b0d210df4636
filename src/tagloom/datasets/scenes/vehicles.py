"""Things that carry people: sailing boats, fishing boats, cars, buses."""

import numpy as np

from tagloom.datasets.scenes.canvas import Canvas
from tagloom.datasets.scenes.colours import Colour, darker, lighter, pick
from tagloom.datasets.scenes.pen import Pen, Spot

_PAINT: tuple[Colour, ...] = (
    (202, 48, 44),
    (44, 98, 172),
    (240, 190, 56),
    (60, 132, 96),
    (238, 238, 236),
    (56, 60, 70),
    (226, 120, 52),
    (120, 160, 190),
)
_GLASS: Colour = (150, 190, 212)


def sailing_boat(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a hull with a main sail and a jib."""
    pen = Pen(canvas, spot)
    hull, sail = (
        pick(rng, _PAINT),
        pick(rng, ((250, 247, 238), (250, 247, 238), (232, 96, 70), (240, 196, 84)), 5),
    )
    _reflection(pen, 0.36, hull)
    pen.poly([(-0.34, 0.13), (0.4, 0.15), (0.27, 0.0), (-0.26, 0.0)], hull)
    pen.poly([(-0.34, 0.13), (0.4, 0.15), (0.385, 0.125), (-0.33, 0.105)], lighter(hull, 0.6))
    pen.line([(0.02, 0.13), (0.02, 1.0)], (110, 84, 60), 0.016)
    pen.poly([(-0.01, 0.2), (-0.01, 0.98), (-0.15, 0.6), (-0.33, 0.22)], sail)
    pen.poly([(-0.01, 0.2), (-0.01, 0.98), (-0.08, 0.6), (-0.13, 0.2)], darker(sail, 0.12))
    pen.poly([(0.05, 0.9), (0.05, 0.2), (0.37, 0.19), (0.2, 0.45)], darker(sail, 0.06))
    pen.poly([(0.02, 1.0), (-0.1, 0.975), (0.02, 0.95)], (214, 60, 56))


def fishing_boat(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a stout boat with a cabin, a mast and a bow."""
    pen = Pen(canvas, spot)
    hull, cabin = pick(rng, _PAINT), pick(rng, ((246, 244, 238), (238, 214, 160), (190, 214, 224)))
    _reflection(pen, 0.8, hull)
    pen.line([(-0.1, 0.4), (-0.1, 1.0)], (96, 80, 66), 0.03)
    pen.line([(-0.1, 0.95), (-0.62, 0.4)], (96, 90, 84), 0.014)
    pen.line([(-0.1, 0.95), (0.82, 0.46)], (96, 90, 84), 0.014)
    pen.poly([(-0.76, 0.36), (0.5, 0.34), (0.9, 0.48), (0.68, 0.0), (-0.66, 0.0)], hull)
    pen.poly(
        [(-0.76, 0.36), (0.5, 0.34), (0.9, 0.48), (0.87, 0.41), (0.5, 0.28), (-0.745, 0.3)],
        lighter(hull, 0.65),
    )
    pen.poly([(-0.68, 0.07), (0.71, 0.07), (0.68, 0.0), (-0.66, 0.0)], darker(hull, 0.5))
    pen.box((-0.02, 0.42), (0.34, 0.7), cabin)
    pen.box((-0.06, 0.47), (0.68, 0.74), darker(hull, 0.1))
    for x in (0.06, 0.25):
        pen.box((x, x + 0.12), (0.48, 0.62), (74, 108, 134))
    for x in (-0.5, -0.25, 0.1):
        pen.oval(x, 0.2, 0.05, 0.05, (240, 236, 226))
        pen.oval(x, 0.2, 0.025, 0.025, darker(hull, 0.4))


def _reflection(pen: Pen, half: float, colour: Colour) -> None:
    """Draw a dim broken picture of the hull in the water."""
    canvas, size = pen.canvas, pen.spot.size
    x, y = pen.spot.x, pen.spot.y
    box = (x - half * size, y - 0.05 * size, x + half * size, y + 0.18 * size)
    canvas.blur(box, pen.tone(darker(colour, 0.5)), 0.6)


def car(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a car from the side; `size` is its height."""
    pen = Pen(canvas, spot)
    paint = pick(rng, _PAINT)
    tall = rng.uniform(0.92, 1.08)
    pen.shadow(1.7, 0.2, 0.8)
    cabin = [(-0.78, 0.55), (-0.5, tall), (0.34, tall), (0.78, 0.55)]
    pen.poly(cabin, darker(paint, 0.12))
    pen.poly([(-0.64, 0.58), (-0.43, tall - 0.09), (-0.09, tall - 0.09), (-0.09, 0.58)], _GLASS)
    pen.poly([(0.0, 0.58), (0.0, tall - 0.09), (0.28, tall - 0.09), (0.6, 0.58)], _GLASS)
    pen.poly([(0.0, tall - 0.09), (0.14, tall - 0.09), (0.0, 0.7)], lighter(_GLASS, 0.5))
    body = [
        (-1.28, 0.2),
        (-1.28, 0.52),
        (-1.16, 0.6),
        (0.74, 0.6),
        (1.2, 0.5),
        (1.32, 0.4),
        (1.32, 0.2),
    ]
    pen.poly(body, paint)
    pen.poly([(-1.28, 0.2), (-1.28, 0.32), (1.32, 0.32), (1.32, 0.2)], darker(paint, 0.3))
    pen.line([(-1.2, 0.57), (0.72, 0.57), (1.16, 0.48)], lighter(paint, 0.4), 0.035)
    pen.line([(-0.05, 0.28), (-0.05, 0.58)], darker(paint, 0.35), 0.018)
    pen.box((0.06, 0.18), (0.46, 0.49), darker(paint, 0.5))
    _wheels(pen, (-0.78, 0.82), 0.24)
    _lights(pen, 1.27, 0.42, -1.25, 0.45)


def _wheels(pen: Pen, places: tuple[float, ...], radius: float) -> None:
    for x in places:
        pen.oval(x, radius, radius * 1.18, radius * 1.18, (44, 44, 52))
        pen.oval(x, radius, radius, radius, (26, 26, 32))
        pen.oval(x, radius, radius * 0.58, radius * 0.58, (188, 192, 198))
        pen.oval(x, radius, radius * 0.22, radius * 0.22, (96, 98, 106))


def _lights(pen: Pen, front: float, high: float, back: float, low: float) -> None:
    if pen.canvas.light.night:
        pen.glow(front + 0.3, high, 0.7, (255, 240, 190), 0.7)
        pen.glow(back, low, 0.3, (255, 70, 50), 0.6)
        pen.bare_oval(front - 0.03, high, 0.06, 0.06, (255, 250, 224))
        pen.bare_oval(back + 0.03, low, 0.05, 0.06, (255, 70, 56))
        return
    pen.oval(front - 0.03, high, 0.06, 0.06, (250, 244, 214))
    pen.oval(back + 0.03, low, 0.05, 0.06, (214, 50, 46))


def bus(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a bus from the side, with a row of windows; sometimes with an upper deck."""
    pen = Pen(canvas, spot)
    paint = pick(
        rng, ((210, 50, 44), (240, 182, 48), (58, 126, 186), (70, 146, 96), (236, 232, 222))
    )
    double = rng.uniform() < 0.35
    pen.shadow(1.5, 0.1, 0.8)
    pen.box((-1.2, 1.2), (0.12, 1.0), paint, 0.09)
    pen.box((-1.2, 1.2), (0.12, 0.28), darker(paint, 0.3), 0.04)
    pen.box((-1.16, 1.16), (0.93, 0.97), lighter(paint, 0.4))
    decks = ((0.38, 0.56), (0.68, 0.86)) if double else ((0.48, 0.82),)
    for low, top in decks:
        for x in np.linspace(-1.1, 0.62, 6):
            _pane(pen, rng, (float(x), float(x) + 0.27), (low, top))
        _pane(pen, rng, (0.98, 1.19), (low, top))
    pen.box((0.66, 0.92), (0.15, 0.56 if double else 0.82), darker(_GLASS, 0.35), 0.02)
    pen.line([(0.79, 0.15), (0.79, 0.56 if double else 0.82)], paint, 0.02)
    pen.line([(-1.19, 0.34), (0.64, 0.34)], lighter(paint, 0.55), 0.035)
    _wheels(pen, (-0.72, 0.46), 0.15)
    _lights(pen, 1.18, 0.22, -1.18, 0.24)


def _pane(
    pen: Pen, rng: np.random.Generator, x: tuple[float, float], y: tuple[float, float]
) -> None:
    if pen.canvas.light.night:
        pen.bare_box(x, y, (255, 226, 150), 0.02)
        return
    pen.box(x, y, _GLASS, 0.02)
    pen.poly(
        [(x[0], y[1]), (x[0] + (x[1] - x[0]) * 0.6, y[1]), (x[0], y[0])], lighter(_GLASS, 0.35)
    )
