"""Plants: trees, palms, cactuses, flowers."""

import numpy as np

from tagloom.datasets.scenes.canvas import (
    Canvas,
    Colour,
    Pen,
    Spot,
    darker,
    lighter,
    mix,
    palette,
    pick,
)

_LEAVES: tuple[Colour, ...] = ((70, 128, 58), (96, 146, 60), (58, 112, 66), (118, 150, 62))
_AUTUMN: tuple[Colour, ...] = ((206, 122, 46), (190, 84, 48), (222, 164, 60), (150, 130, 56))
_BLOSSOM = palette("#e84046 #fac438 #f47ea8 #9660ce #fcfaf6 #f68c3c #5c7ce2")


def leafy_tree(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a tree with a round crown, lit from one side."""
    pen = Pen(canvas, spot)
    leaves = pick(rng, _AUTUMN if rng.uniform() < 0.18 else _LEAVES)
    bark = pick(rng, ((104, 78, 56), (92, 74, 62), (120, 92, 64)))
    pen.shadow(0.5, 0.07)
    wide = rng.uniform(0.045, 0.065)
    pen.poly(
        [
            (-wide * 1.6, 0),
            (-wide, 0.1),
            (-wide * 0.7, 0.5),
            (wide * 0.7, 0.5),
            (wide, 0.1),
            (wide * 1.6, 0),
        ],
        bark,
    )
    pen.poly(
        [(0, 0), (0, 0.5), (-wide * 0.7 * pen.side, 0.5), (-wide * 1.4 * pen.side, 0)],
        darker(bark, 0.3),
    )
    for x, y in ((-0.2, 0.55), (0.2, 0.58)):
        pen.line([(0, 0.33), (x, y)], darker(bark, 0.15), 0.03)
    crown = [(rng.normal(0, 0.15), rng.uniform(0.5, 0.8), rng.uniform(0.13, 0.2)) for _ in range(9)]
    for layer, shade in enumerate((darker(leaves, 0.42), leaves, lighter(leaves, 0.2))):
        for x, y, radius in crown:
            shift, shrink = 0.035 * layer, 1 - 0.25 * layer
            pen.oval(
                x + pen.side * shift, y + shift, radius * shrink, radius * shrink * 0.92, shade
            )
    _leaves(pen, rng, crown, leaves)


def _leaves(
    pen: Pen, rng: np.random.Generator, crown: list[tuple[float, float, float]], leaves: Colour
) -> None:
    """Draw light and dark dabs that make a crown look leafy."""
    n = int(np.clip(pen.spot.size * 0.6, 12, 60))
    for _ in range(n):
        x, y, radius = crown[int(rng.integers(len(crown)))]
        turn, away = rng.uniform(0, 2 * np.pi), radius * rng.uniform(0.3, 1.05)
        dx, dy = away * np.cos(turn), away * np.sin(turn)
        lit = (dx * pen.side + dy) > 0
        shade = lighter(leaves, 0.34) if lit else darker(leaves, 0.3)
        pen.oval(x + dx, y + dy, 0.022, 0.016, shade)


def conifer(canvas: Canvas, rng: np.random.Generator, spot: Spot, *, snowy: bool = False) -> None:
    """Draw a spruce of ragged tiers, with snow on them if asked."""
    pen = Pen(canvas, spot)
    needles = pick(rng, ((40, 92, 66), (52, 104, 70), (34, 82, 74)), 10)
    pen.shadow(0.3, 0.05)
    pen.box((-0.03, 0.03), (0, 0.16), (92, 70, 54))
    tiers = 5
    for i in range(tiers):
        low, top = 0.1 + 0.165 * i, 0.4 + 0.15 * i
        wide = 0.3 * (1 - i / (tiers + 0.6))
        teeth = [(x * wide, low + rng.uniform(-0.025, 0.02)) for x in (-1, -0.6, -0.2, 0.2, 0.6, 1)]
        pen.poly([*teeth, (0, top)], darker(needles, 0.12))
        lit = [
            (0, low + 0.01),
            (pen.side * wide * 0.55, low + 0.02),
            (pen.side * wide, low + 0.02),
            (0, top),
        ]
        pen.poly(lit, lighter(needles, 0.14))
        if snowy:
            white = (240, 246, 255)
            pen.poly(
                [
                    (-wide * 0.85, low + 0.03),
                    (-wide * 0.3, low + 0.09),
                    (0, low + 0.05),
                    (wide * 0.4, low + 0.1),
                    (wide * 0.8, low + 0.035),
                    (0.0, top),
                ],
                white,
            )
            pen.poly(
                [(-wide * 0.55 * pen.side, low + 0.08), (0, low + 0.05), (0, top)], (204, 220, 242)
            )


def trunk(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw the stem of a forest tree whose crown is above the picture, with low boughs."""
    pen = Pen(canvas, spot)
    bark = pick(rng, ((96, 74, 58), (112, 88, 66), (84, 72, 66), (214, 208, 198)), 10)
    wide = rng.uniform(0.035, 0.05)
    pen.shadow(0.14, 0.03)
    top = max(1.6, spot.y / spot.size + 0.05)
    stem = [(-2, 0), (-1, 0.06), (-0.85, top), (0.85, top), (1, 0.06), (2, 0)]
    pen.poly([(x * wide, y) for x, y in stem], bark)
    shaded = [(2, 0), (1, 0.06), (0.85, top), (0.2, top), (0.3, 0.05)]
    pen.poly([(-pen.side * x * wide, y) for x, y in shaded], darker(bark, 0.4))
    for _ in range(9):
        y, x = rng.uniform(0.05, 1.1), rng.uniform(-0.7, 0.4) * wide
        crack = [(x, y), (x + wide * 0.3, y + rng.uniform(-0.01, 0.03))]
        pen.line(crack, darker(bark, 0.55), 0.006)
    leaves = pick(rng, _LEAVES)
    for _ in range(3):
        _bough(pen, rng, bark, leaves)


def _bough(pen: Pen, rng: np.random.Generator, bark: Colour, leaves: Colour) -> None:
    y, turn = rng.uniform(0.55, 0.95), rng.choice([-1, 1])
    tip = (turn * rng.uniform(0.12, 0.2), y + 0.08)
    pen.line([(0, y), tip], darker(bark, 0.2), 0.012)
    for _ in range(7):
        dx, dy = rng.normal(0, 0.05, 2)
        shade = mix(darker(leaves, 0.3), lighter(leaves, 0.25), rng.uniform())
        pen.oval(tip[0] + dx, tip[1] + dy * 0.6, 0.035, 0.022, shade)


def palm(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a leaning palm with feathered fronds."""
    pen = Pen(canvas, spot)
    bark, leaf = (
        pick(rng, ((150, 116, 78), (132, 104, 76))),
        pick(rng, ((66, 134, 62), (88, 146, 60))),
    )
    pen.shadow(0.35, 0.04, x=0.1)
    lean = rng.uniform(0.08, 0.24)
    share = np.linspace(0, 1, 12)
    stem = [(lean * s**1.8, 0.8 * s) for s in share]
    for (x0, y0), (x1, y1), s in zip(stem, stem[1:], share, strict=False):
        wide = 0.034 - 0.016 * s
        pen.poly(
            [(x0 - wide, y0), (x0 + wide, y0), (x1 + wide * 0.8, y1), (x1 - wide * 0.8, y1)], bark
        )
        pen.line([(x0 - wide, y0), (x0 + wide, y0)], darker(bark, 0.35), 0.008)
    top = stem[-1]
    for x in (-0.03, 0.02, 0.05):
        pen.oval(top[0] + x, top[1] - 0.03, 0.025, 0.028, (110, 76, 44))
    angles = np.linspace(-0.5, np.pi + 0.5, 9) + rng.normal(0, 0.08, 9)
    for i, turn in enumerate(rng.permutation(angles)):
        _frond(
            pen,
            top,
            turn,
            rng.uniform(0.3, 0.4),
            mix(darker(leaf, 0.3), lighter(leaf, 0.15), i / 8),
        )


def _frond(pen: Pen, foot: tuple[float, float], turn: float, long: float, colour: Colour) -> None:
    share = np.linspace(0, 1, 8)
    x = foot[0] + long * np.cos(turn) * share
    y = foot[1] + long * np.sin(turn) * share * 0.75 - 0.24 * long / 0.35 * share**2 * 0.8
    upper, lower = [], []
    for i, s in enumerate(share):
        thick = 0.055 * np.sin(np.pi * min(s + 0.12, 1.0))
        upper.append((x[i], y[i] + thick * 0.5))
        lower.append((x[i], y[i] - thick * (1.3 if i % 2 else 0.3)))
    pen.poly([*upper, *lower[::-1]], colour)
    pen.line(list(zip(x, y, strict=True)), lighter(colour, 0.25), 0.008)


def cactus(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a saguaro with two or three arms and ribs."""
    pen = Pen(canvas, spot)
    green = pick(rng, ((86, 136, 84), (98, 140, 76), (74, 122, 88)))
    pen.shadow(0.35, 0.05)
    arms = [(-0.24, 0.34, 0.7), (0.24, 0.48, 0.82)]
    for x, low, top in arms[: int(rng.integers(1, 3))] if rng.uniform() < 0.3 else arms:
        _rib(pen, (0, x), (low - 0.055, low + 0.055), green)
        _rib(pen, (x - 0.055, x + 0.055), (low - 0.05, top), green)
    _rib(pen, (-0.085, 0.085), (0.0, 1.0), green)


def _rib(pen: Pen, x: tuple[float, float], y: tuple[float, float], green: Colour) -> None:
    left, right = min(x), max(x)
    wide = min(right - left, y[1] - y[0])
    pen.box((left, right), y, darker(green, 0.25), wide / 2)
    if right - left > y[1] - y[0]:
        return
    for share, shade in ((0.3, green), (0.52, lighter(green, 0.16)), (0.74, green)):
        centre = left + (right - left) * (share if pen.side > 0 else 1 - share)
        pen.line([(centre, y[0] + 0.02), (centre, y[1] - wide * 0.4)], shade, wide * 0.14)


def flowers(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a clump of flowers; `size` is their height."""
    pen = Pen(canvas, spot)
    kinds = [pick(rng, _BLOSSOM) for _ in range(int(rng.integers(1, 3)))]
    n = int(rng.integers(7, 13))
    green: Colour = (70, 128, 56)
    heads = [
        (rng.normal(0, 0.55), rng.uniform(0.45, 1.0), rng.uniform(0.13, 0.2)) for _ in range(n)
    ]
    for x, y, _ in heads:
        pen.line([(x * 0.7, -0.02), (x, y)], green, 0.035)
        pen.poly([(x * 0.75, 0.1), (x + 0.16, 0.3), (x * 0.85, 0.28)], lighter(green, 0.1))
        pen.poly([(x * 0.75, 0.15), (x - 0.16, 0.34), (x * 0.85, 0.3)], darker(green, 0.2))
    for i, (x, y, radius) in enumerate(sorted(heads, key=lambda head: -head[1])):
        blossom(pen, (x, y), radius, kinds[i % len(kinds)], rng)


def blossom(
    pen: Pen, centre: tuple[float, float], radius: float, colour: Colour, rng: np.random.Generator
) -> None:
    """Draw one flower head: petals around an eye."""
    x, y = centre
    petals, start = int(rng.integers(5, 8)), rng.uniform(0, 6)
    for shade, reach, size in ((darker(colour, 0.2), 0.62, 0.52), (lighter(colour, 0.1), 0.5, 0.4)):
        for turn in start + 2 * np.pi * np.arange(petals) / petals:
            px, py = x + radius * reach * np.cos(turn), y + radius * reach * np.sin(turn)
            pen.oval(px, py, radius * size, radius * size, shade)
    pen.oval(
        x, y, radius * 0.34, radius * 0.34, (250, 214, 84) if sum(colour) < 600 else (214, 150, 50)
    )
