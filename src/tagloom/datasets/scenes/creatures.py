"""People with their umbrellas, and animals: cats, dogs, sheep, fish."""

from dataclasses import dataclass

import numpy as np

from tagloom.datasets.scenes.canvas import Canvas, Colour, Pen, Spot, darker, lighter, palette, pick

_SKIN: tuple[Colour, ...] = ((246, 208, 174), (224, 172, 130), (178, 122, 84), (120, 78, 54))
_HAIR = palette("#2c2220 #6e4628 #cea45a #964a2c #aaa8aa")
_CLOTH = palette("#cc3a38 #3468aa #f4be46 #428a68 #ece8e0 #785096 #ea8246 #464c5c")

_DARK: Colour = (28, 24, 26)

# Outlines around the middle of the head.
_LONG_HAIR = [(-0.09, 0.02), (-0.11, -0.15), (0.06, -0.13), (0.07, 0.04)]
_FRINGE = [(-0.08, 0.03), (0.06, 0.05), (0.075, 0.02), (0.03, 0.09), (-0.05, 0.09)]
_BRIM = [(-0.13, 0.05), (0.14, 0.05), (0.07, 0.075), (-0.07, 0.075)]


@dataclass(frozen=True)
class _Looks:
    skin: Colour
    hair: Colour
    top: Colour
    lower: Colour
    dress: bool


def _looks(rng: np.random.Generator) -> _Looks:
    lower = pick(rng, ((50, 64, 104), (88, 76, 66), (44, 46, 56), (150, 130, 100)))
    return _Looks(
        pick(rng, _SKIN, 6),
        pick(rng, _HAIR, 6),
        pick(rng, _CLOTH),
        lower,
        bool(rng.uniform() < 0.35),
    )


def person(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a standing or walking person."""
    pen = Pen(canvas, spot)
    looks = _looks(rng)
    pen.shadow(0.32, 0.045)
    _legs(pen, looks, rng.uniform(0.02, 0.1))
    swing = rng.uniform(0.05, 0.16)
    _arm(pen, looks, [(-0.1, 0.76), (-0.13 - swing * 0.3, 0.6), (-0.1 - swing, 0.46)], 0.25)
    _trunk(pen, looks)
    _arm(pen, looks, [(0.1, 0.77), (0.15 + swing * 0.2, 0.62), (0.12 + swing, 0.48)], 0.0)
    _head(pen, rng, looks, 0.0, 0.905)


def _legs(pen: Pen, looks: _Looks, stride: float) -> None:
    legs = looks.skin if looks.dress else looks.lower
    for x, shade in ((-stride, darker(legs, 0.2)), (stride, legs)):
        pen.line([(x * 0.4, 0.48), (x, 0.25), (x * 1.3, 0.04)], shade, 0.075)
        heel, toe = x * 1.3 - 0.04, x * 1.3 + 0.08
        pen.poly([(heel, 0.0), (heel, 0.05), (toe, 0.025), (toe, 0.0)], (50, 42, 42))


def _trunk(pen: Pen, looks: _Looks) -> None:
    """Draw a shirt or a dress, with a fold in the shade."""
    if looks.dress:
        whole = [(-0.11, 0.8), (0.11, 0.8), (0.1, 0.6), (0.19, 0.3), (-0.19, 0.3), (-0.1, 0.6)]
        fold = [(0.11, 0.8), (0.02, 0.8), (0.05, 0.3), (0.19, 0.3), (0.1, 0.6)]
    else:
        whole = [(-0.12, 0.8), (0.12, 0.8), (0.11, 0.45), (-0.11, 0.45)]
        fold = [(0.12, 0.8), (0.03, 0.8), (0.03, 0.45), (0.11, 0.45)]
    pen.poly(whole, looks.top)
    pen.poly([(-x * pen.side, y) for x, y in fold], darker(looks.top, 0.18))


def _arm(pen: Pen, looks: _Looks, joints: list[tuple[float, float]], shade: float) -> None:
    pen.line(joints, darker(looks.top, shade), 0.062)
    pen.oval(joints[-1][0], joints[-1][1] - 0.02, 0.032, 0.032, darker(looks.skin, shade * 0.6))


def _head(pen: Pen, rng: np.random.Generator, looks: _Looks, x: float, y: float) -> None:
    """Draw neck, hair, face and sometimes a hat, around the middle of the head."""

    def around(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
        return [(x + dx, y + dy) for dx, dy in points]

    pen.box((x - 0.03, x + 0.03), (y - 0.13, y - 0.04), darker(looks.skin, 0.15))
    if looks.dress:
        pen.poly(around(_LONG_HAIR), looks.hair)
    pen.oval(x, y + 0.012, 0.086, 0.098, looks.hair)
    pen.oval(x + 0.018, y - 0.014, 0.068, 0.08, looks.skin)
    pen.poly(around(_FRINGE), looks.hair)
    for eye in (0.0, 0.048):
        pen.oval(x + eye + 0.005, y - 0.005, 0.01, 0.013, (40, 30, 30))
    pen.line(around([(0.012, -0.05), (0.045, -0.05)]), (170, 70, 66), 0.012)
    if rng.uniform() < 0.25:
        hat = pick(rng, _CLOTH)
        pen.poly(around(_BRIM), darker(hat, 0.2))
        pen.box((x - 0.075, x + 0.08), (y + 0.06, y + 0.125), hat, 0.03)


def seated_person(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a person sitting, as on a sofa, seen from the front; `size` is the standing height."""
    pen = Pen(canvas, spot)
    looks = _looks(rng)
    for x in (-0.08, 0.08):
        pen.box((x - 0.055, x + 0.055), (0.04, 0.33), looks.lower, 0.03)
        pen.oval(x, 0.03, 0.06, 0.035, (50, 42, 42))
        pen.oval(x, 0.32, 0.065, 0.055, lighter(looks.lower, 0.12))
    for x in (-1.0, 1.0):
        pen.line(
            [(x * 0.13, 0.58), (x * 0.19, 0.45), (x * 0.07, 0.36)], darker(looks.top, 0.15), 0.065
        )
    pen.box((-0.14, 0.14), (0.33, 0.63), looks.top, 0.06)
    for x in (-0.05, 0.05):
        pen.oval(x, 0.36, 0.035, 0.03, looks.skin)
    _head(pen, rng, looks, 0.0, 0.745)


def umbrella(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw an open umbrella or beach parasol of two colours."""
    pen = Pen(canvas, spot)
    one = pick(rng, _CLOTH[:4] + _CLOTH[5:7])
    two = pick(rng, ((250, 246, 236), lighter(one, 0.35), (250, 220, 110)), 5)
    pen.shadow(0.55, 0.06)
    pen.line([(0, 0), (0, 0.97)], (120, 92, 70), 0.024)
    turns = np.linspace(0, np.pi, 25)
    rim = [(0.56 * np.cos(a), 0.6 + 0.36 * np.sin(a)) for a in turns]
    n = 6
    for i in range(n):
        first, last = 24 * i // n, 24 * (i + 1) // n
        wedge = [(0.0, 0.965), *rim[first : last + 1]]
        foot = ((rim[first][0] + rim[last][0]) * 0.44, 0.62 + 0.02 * (i % 2))
        gore = [
            (0.0, 0.965),
            rim[first],
            (rim[first][0] * 0.98, 0.6),
            foot,
            (rim[last][0] * 0.98, 0.6),
            rim[last],
        ]
        colour = one if i % 2 == 0 else two
        shade = darker(colour, 0.28 * (i if pen.side > 0 else n - 1 - i) / n)
        pen.poly(gore, shade)
        pen.poly(wedge, shade)
    pen.oval(0, 0.975, 0.02, 0.03, (120, 92, 70))


def cat(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a sitting cat from the front, its tail round its side."""
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
