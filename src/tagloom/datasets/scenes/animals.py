"""Animals: cats, dogs, sheep, fish."""

import numpy as np

from tagloom.datasets.scenes.canvas import Canvas
from tagloom.datasets.scenes.colours import Colour, darker, lighter, pick
from tagloom.datasets.scenes.pen import Pen, Spot

_DARK: Colour = (28, 24, 26)


def cat(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a sitting cat that looks at you, tail round its side."""
    pen = Pen(canvas, spot)
    fur = pick(
        rng, ((226, 140, 62), (70, 68, 76), (150, 146, 150), (240, 232, 220), (134, 100, 72))
    )
    pale, shade = lighter(fur, 0.5), darker(fur, 0.3)
    pen.shadow(0.5, 0.08)
    pen.line([(0.2, 0.06), (0.46, 0.08), (0.54, 0.26), (0.44, 0.42), (0.48, 0.5)], shade, 0.09)
    pen.oval(0.0, 0.26, 0.27, 0.28, fur)
    pen.oval(0.17, 0.13, 0.15, 0.14, shade)
    pen.poly([(-0.2, 0.1), (-0.17, 0.58), (0.17, 0.58), (0.2, 0.1)], fur)
    pen.oval(-0.01, 0.34, 0.11, 0.18, pale)
    for x in (-0.09, 0.08):
        pen.box((x - 0.05, x + 0.05), (0.02, 0.26), fur, 0.04)
        pen.oval(x, 0.035, 0.07, 0.04, pale)
    _cat_head(pen, rng, fur, pale)


def _cat_head(pen: Pen, rng: np.random.Generator, fur: Colour, pale: Colour) -> None:
    for x in (-1.0, 1.0):
        pen.poly([(x * 0.22, 0.72), (x * 0.2, 1.0), (x * 0.05, 0.86)], darker(fur, 0.12))
        pen.poly([(x * 0.185, 0.78), (x * 0.18, 0.94), (x * 0.09, 0.86)], (232, 160, 150))
    pen.oval(0, 0.71, 0.23, 0.19, fur)
    if rng.uniform() < 0.5:
        for x in (-0.08, 0.0, 0.08):
            pen.line([(x, 0.89), (x * 0.7, 0.8)], darker(fur, 0.45), 0.022)
        for y in (0.3, 0.4, 0.5):
            pen.line([(0.1, y), (0.2, y + 0.03)], darker(fur, 0.4), 0.025)
    pen.oval(0, 0.64, 0.1, 0.075, pale)
    eye = pick(rng, ((120, 180, 80), (230, 190, 60), (90, 160, 200)))
    for x in (-0.095, 0.095):
        pen.oval(x, 0.74, 0.05, 0.045, eye)
        pen.oval(x, 0.74, 0.017, 0.042, _DARK)
    pen.poly([(-0.025, 0.68), (0.025, 0.68), (0, 0.65)], (214, 110, 116))
    for x in (-1.0, 1.0):
        for y in (0.66, 0.62):
            pen.line([(x * 0.07, 0.645), (x * 0.3, y)], lighter(fur, 0.75), 0.008)


def dog(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a standing dog from the side, with hanging ears."""
    pen = Pen(canvas, spot)
    fur = pick(rng, ((178, 122, 70), (110, 78, 56), (236, 224, 204), (64, 58, 60), (206, 164, 104)))
    shade, pale = darker(fur, 0.3), lighter(fur, 0.35)
    pen.shadow(0.75, 0.07)
    wag = rng.uniform(0.1, 0.3)
    pen.line([(-0.46, 0.56), (-0.62, 0.7), (-0.66, 0.7 + wag)], fur, 0.075)
    for x in (-0.32, 0.22):
        pen.line([(x, 0.42), (x + 0.02, 0.03)], shade, 0.1)
    pen.oval(-0.28, 0.48, 0.22, 0.2, fur)
    pen.oval(0.2, 0.49, 0.22, 0.22, fur)
    pen.poly([(-0.34, 0.67), (0.26, 0.71), (0.28, 0.34), (-0.3, 0.36)], fur)
    for x in (-0.42, 0.3):
        pen.line([(x, 0.44), (x - 0.02, 0.05)], fur, 0.11)
        pen.oval(x + 0.02, 0.035, 0.085, 0.04, pale)
    if rng.uniform() < 0.4:
        pen.oval(-0.14, 0.56, 0.14, 0.1, shade)
    pen.poly([(0.14, 0.66), (0.3, 0.9), (0.5, 0.76), (0.38, 0.5)], fur)
    pen.line([(0.18, 0.62), (0.42, 0.6)], (206, 54, 50), 0.05)
    _dog_head(pen, fur, shade, pale)


def _dog_head(pen: Pen, fur: Colour, shade: Colour, pale: Colour) -> None:
    pen.oval(0.42, 0.85, 0.17, 0.15, fur)
    pen.poly([(0.44, 0.93), (0.72, 0.85), (0.74, 0.76), (0.46, 0.72)], fur)
    pen.oval(0.62, 0.79, 0.12, 0.07, pale)
    pen.oval(0.73, 0.84, 0.045, 0.04, _DARK)
    pen.line([(0.7, 0.77), (0.56, 0.75)], _DARK, 0.016)
    pen.poly([(0.3, 0.97), (0.42, 0.95), (0.38, 0.64), (0.26, 0.62), (0.2, 0.8)], shade)
    pen.oval(0.49, 0.89, 0.028, 0.03, _DARK)
    pen.oval(0.497, 0.9, 0.009, 0.01, (250, 250, 250))


def sheep(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a woolly sheep with a dark face."""
    pen = Pen(canvas, spot)
    wool = pick(rng, ((244, 240, 230), (236, 228, 212), (250, 246, 240)), 6)
    face = pick(rng, ((56, 50, 52), (92, 76, 68)), 6)
    pen.shadow(0.75, 0.09)
    for x in (-0.38, -0.2, 0.18, 0.34):
        pen.line([(x, 0.35), (x, 0.02)], face, 0.08)
    turns = np.linspace(0, 2 * np.pi, 13)[:-1]
    for layer, (shade, reach) in enumerate(
        ((darker(wool, 0.28), 1.0), (wool, 0.9), (lighter(wool, 0.6), 0.55))
    ):
        for turn in turns:
            x, y = 0.4 * reach * np.cos(turn), 0.57 + 0.22 * reach * np.sin(turn) + 0.03 * layer
            pen.oval(x + 0.02 * pen.side * layer, y, 0.16 * reach, 0.14 * reach, shade)
    pen.oval(0, 0.6, 0.36, 0.2, lighter(wool, 0.4))
    pen.oval(0.56, 0.72, 0.15, 0.17, face)
    pen.oval(0.64, 0.63, 0.1, 0.12, face)
    pen.poly([(0.46, 0.8), (0.3, 0.76), (0.44, 0.7)], face)
    pen.oval(0.5, 0.87, 0.13, 0.09, wool)
    pen.oval(0.6, 0.76, 0.026, 0.03, (244, 240, 230))
    pen.oval(0.607, 0.755, 0.014, 0.018, _DARK)


def fish(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a bright reef fish with stripes."""
    pen = Pen(canvas, spot)
    body = pick(
        rng, ((246, 138, 42), (250, 208, 60), (70, 120, 220), (232, 80, 90), (120, 200, 190))
    )
    band = pick(rng, ((250, 250, 246), (40, 44, 80), (250, 224, 110)))
    high = rng.uniform(0.36, 0.5)
    pen.poly(
        [(-0.52, 0.5), (-0.98, 0.5 + high * 0.8), (-0.86, 0.5), (-0.98, 0.5 - high * 0.8)],
        darker(body, 0.12),
    )
    pen.poly(
        [(-0.4, 0.5 + high * 0.6), (-0.1, 0.55 + high * 1.3), (0.25, 0.5 + high * 0.85)],
        darker(body, 0.2),
    )
    pen.poly(
        [(-0.3, 0.5 - high * 0.6), (-0.12, 0.45 - high * 1.15), (0.15, 0.5 - high * 0.8)],
        darker(body, 0.2),
    )
    pen.oval(0.02, 0.5, 0.62, high, body)
    pen.oval(0.04, 0.5 + high * 0.3, 0.48, high * 0.5, lighter(body, 0.2))
    for x in (-0.3, 0.02, 0.3)[: int(rng.integers(2, 4))]:
        half = high * np.sqrt(max(0.05, 1 - ((x - 0.02) / 0.62) ** 2)) * 0.96
        curve = [
            (x - 0.06, 0.5 + half),
            (x + 0.05, 0.5 + half),
            (x + 0.09, 0.5),
            (x + 0.05, 0.5 - half),
            (x - 0.06, 0.5 - half),
            (x - 0.02, 0.5),
        ]
        pen.poly(curve, band)
    pen.poly([(0.12, 0.46), (-0.1, 0.34), (-0.02, 0.52)], darker(body, 0.3))
    pen.oval(0.42, 0.56, 0.075, 0.075, (252, 252, 250))
    pen.oval(0.44, 0.56, 0.04, 0.045, _DARK)
    pen.line([(0.63, 0.46), (0.54, 0.42)], darker(body, 0.5), 0.025)
