"""Built things: houses, skyscrapers, lighthouses, bridges and lamps; boats, cars and buses."""

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

_WALLS = palette("#ecdec4 #e2b28c #d6765c #f0ece4 #a8c0ce #eece78 #beccaa")
_ROOFS: tuple[Colour, ...] = ((170, 82, 62), (132, 72, 60), (96, 98, 112), (150, 104, 72))
_WARM: Colour = (255, 214, 128)
_PAINT = palette("#ca302c #2c62ac #f0be38 #3c8460 #eeeeec #383c46 #e27834 #78a0be")
_GLASS: Colour = (150, 190, 212)


def house(canvas: Canvas, rng: np.random.Generator, spot: Spot, *, snowy: bool = False) -> None:
    """Draw a cottage with a front, a side in the shade, a pitched roof, a chimney."""
    pen = Pen(canvas, spot)
    wall = pick(rng, _WALLS, 8)
    roof: Colour = (226, 236, 250) if snowy else pick(rng, _ROOFS, 8)
    pen.shadow(0.85, 0.1)
    pen.box((-0.62, 0.12), (0, 0.5), lighter(wall, 0.08))
    pen.poly([(0.12, 0), (0.58, 0.03), (0.58, 0.5), (0.35, 0.84), (0.12, 0.5)], darker(wall, 0.22))
    pen.box((-0.38, -0.26), (0.72, 1.0), darker(roof if not snowy else (150, 84, 70), 0.2))
    pen.poly([(-0.7, 0.47), (0.14, 0.47), (0.37, 0.88), (-0.44, 0.88)], roof)
    for share in (0.25, 0.5, 0.75):
        y = 0.47 + 0.41 * share
        pen.line([(-0.7 + 0.26 * share, y), (0.14 + 0.23 * share, y)], darker(roof, 0.14), 0.012)
    pen.poly(
        [(0.14, 0.47), (0.19, 0.46), (0.40, 0.84), (0.63, 0.47), (0.67, 0.47), (0.38, 0.90)],
        darker(roof, 0.3),
    )
    door = pick(rng, ((126, 70, 50), (52, 92, 110), (150, 50, 48)))
    pen.box((-0.33, -0.19), (0, 0.3), door, 0.02)
    pen.oval(-0.215, 0.15, 0.012, 0.012, (240, 210, 120))
    lit = canvas.light.night or rng.uniform() < 0.1
    for x in (-0.51, -0.03):
        _window(pen, (x - 0.075, x + 0.075), (0.16, 0.36), lit)
    _window(pen, (0.28, 0.42), (0.2, 0.38), lit)


def _window(pen: Pen, x: tuple[float, float], y: tuple[float, float], lit: bool) -> None:
    rim = (x[1] - x[0]) * 0.14
    pen.box((x[0] - rim, x[1] + rim), (y[0] - rim, y[1] + rim), (246, 242, 234))
    if lit:
        pen.glow((x[0] + x[1]) / 2, (y[0] + y[1]) / 2, 0.22, _WARM, 0.35)
        pen.bare_box(x, y, mix(_WARM, pen.canvas.light.haze, pen.spot.far * 0.5))
    else:
        pen.box(x, y, (88, 116, 142))
        pen.poly([(x[0], y[1]), (x[1], y[1]), (x[0], y[0])], (132, 164, 186))
    centre, middle = (x[0] + x[1]) / 2, (y[0] + y[1]) / 2
    pen.line([(centre, y[0]), (centre, y[1])], (246, 242, 234), rim * 0.6)
    pen.line([(x[0], middle), (x[1], middle)], (246, 242, 234), rim * 0.6)


def town_house(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a narrow gabled house of three storeys, as they stand in rows."""
    pen = Pen(canvas, spot)
    wall, roof = pick(rng, _WALLS, 10), pick(rng, _ROOFS, 10)
    half, top = rng.uniform(0.26, 0.32), 0.76
    pen.box((-half, half), (0, top), wall)
    pen.box((half * 0.55, half), (0, top), darker(wall, 0.1))
    pen.box((half * 0.35, half * 0.6), (0.8, 1.0), darker(roof, 0.2))
    pen.poly([(-half - 0.03, top), (half + 0.03, top), (0, 1.0)], roof)
    pen.poly([(0, 1.0), (half + 0.03, top), (half * 0.5, top)], darker(roof, 0.22))
    pen.box((-half, half), (top - 0.02, top), lighter(wall, 0.3))
    for y in (0.31, 0.53):
        for x in (-0.58, 0.0, 0.58):
            lit = canvas.light.night and rng.uniform() < 0.65
            _window(pen, (x * half - 0.045, x * half + 0.045), (y, y + 0.13), lit)
    pen.box(
        (-half * 0.25, half * 0.25),
        (0, 0.21),
        pick(rng, ((110, 62, 48), (46, 84, 100), (66, 92, 62))),
        0.01,
    )
    for x in (-0.66, 0.66):
        pen.box((x * half - 0.055, x * half + 0.055), (0.06, 0.19), (88, 112, 134))


def skyscraper(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a tower of glass or stone with rows of windows."""
    pen = Pen(canvas, spot)
    glass = pick(
        rng, ((98, 128, 156), (126, 142, 160), (150, 132, 118), (84, 100, 126), (172, 168, 166)), 10
    )
    half = rng.uniform(0.11, 0.17)
    pen.box((-half, half), (0, 0.94), glass)
    shade = sorted((-half * pen.side, -half * 0.35 * pen.side))
    pen.box((shade[0], shade[1]), (0, 0.94), darker(glass, 0.3))
    crown = rng.integers(3)
    if crown == 0:
        pen.box((-half * 0.55, half * 0.55), (0.94, 1.0), darker(glass, 0.15))
    elif crown == 1:
        pen.poly([(-half, 0.94), (half, 0.94), (half * 0.2 * pen.side, 1.0)], lighter(glass, 0.12))
    else:
        pen.box((-half * 0.7, half * 0.7), (0.94, 0.97), darker(glass, 0.1))
        pen.line([(0, 0.97), (0, 1.08)], darker(glass, 0.4), 0.012)
    _rows_of_windows(pen, rng, half, glass)


def _rows_of_windows(pen: Pen, rng: np.random.Generator, half: float, glass: Colour) -> None:
    columns, rows = int(rng.integers(4, 6)), int(np.clip(pen.spot.size / 7, 7, 20))
    night = pen.canvas.light.night
    wide, high = 2 * half / (columns + 0.4), 0.9 / rows
    for row in range(rows):
        y = 0.03 + high * row
        for column in range(columns):
            x = -half + wide * (column + 0.35)
            place = ((x, x + wide * 0.66), (y, y + high * 0.58))
            if night and rng.uniform() < 0.5:
                pen.bare_box(*place, mix(_WARM, (255, 244, 214), rng.uniform()))
            else:
                pen.box(
                    *place, darker(glass, 0.3) if night else lighter(glass, rng.uniform(0.1, 0.45))
                )


def lighthouse(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a striped tower with a lantern, on rocks."""
    pen = Pen(canvas, spot)
    stripe = pick(rng, ((204, 58, 50), (52, 84, 140), (60, 62, 70)))
    rock: Colour = (112, 108, 104)
    for x, wide, high in ((-0.24, 0.2, 0.09), (0.2, 0.24, 0.07), (0.0, 0.28, 0.12)):
        pen.poly(
            [
                (x - wide, -0.03),
                (x - wide * 0.5, high),
                (x + wide * 0.4, high * 0.9),
                (x + wide, -0.03),
            ],
            darker(rock, 0.1 + x),
        )
    for i in range(5):
        low, top = 0.08 + 0.14 * i, 0.08 + 0.14 * (i + 1)
        wide, less = 0.13 - 0.011 * i, 0.13 - 0.011 * (i + 1)
        colour: Colour = stripe if i % 2 == 0 else (244, 242, 236)
        pen.poly([(-wide, low), (wide, low), (less, top), (-less, top)], colour)
        away = -pen.side
        pen.poly(
            [
                (away * wide, low),
                (away * wide * 0.3, low),
                (away * less * 0.3, top),
                (away * less, top),
            ],
            darker(colour, 0.28),
        )
    pen.box((-0.115, 0.115), (0.775, 0.805), (70, 72, 80))
    pen.bare_box((-0.06, 0.06), (0.805, 0.9), (255, 234, 150))
    for x in (-0.06, 0.0, 0.06):
        pen.line([(x, 0.805), (x, 0.9)], (60, 62, 70), 0.012)
    pen.poly([(-0.085, 0.9), (0.085, 0.9), (0, 1.0)], darker(stripe, 0.15))
    pen.glow(0, 0.85, 0.42 if canvas.light.night else 0.2, (255, 240, 170), 0.75)


def bridge(
    canvas: Canvas,
    rng: np.random.Generator,
    *,
    x: tuple[float, float],
    y: float,
    high: float,
    far: float,
) -> None:
    """Draw a humped stone bridge from bank to bank, of one arch or more."""
    stone = pick(rng, ((176, 162, 144), (158, 154, 154), (188, 158, 126)))
    left, right = x
    across = np.linspace(left, right, 40)
    rise = np.sin(np.pi * (across - left) / (right - left))
    deck = np.column_stack([across, y - high * (0.28 + 0.72 * rise)])
    light = canvas.light
    front, dark = light.tone(stone, far), light.tone(darker(stone, 0.35), far)
    outline = [*map(tuple, deck), *_arches(x, y, high, int(rng.integers(1, 4)))]
    canvas.gradient(outline, lighter(front, 0.1), dark)
    for drop in (0.25, 0.5, 0.75):
        canvas.line(deck + np.array([0, high * 0.16 * drop]), mix(front, dark, 0.5), high * 0.012)
    rail = deck - np.array([0, high * 0.17])
    for top, low in zip(rail[::3], deck[::3], strict=True):
        canvas.line(np.array([top, low]), front, high * 0.05)
    canvas.line(rail, light.tone(lighter(stone, 0.2), far), high * 0.06)
    canvas.line(deck, light.tone(lighter(stone, 0.3), far), high * 0.07)


def _arches(x: tuple[float, float], y: float, high: float, n: int) -> list[tuple[float, float]]:
    """Return the lower edge of a bridge from right to left."""
    left, right = x
    margin = 0.13 * (right - left)
    span = (right - left - 2 * margin) / n
    edge = [(right, y)]
    for i in range(n - 1, -1, -1):
        centre, half = left + margin + span * (i + 0.5), span * 0.44
        tall = min(half * 1.1, high * (0.6 if n > 1 else 0.78))
        turns = np.linspace(0, np.pi, 16)
        edge += [(centre + half * np.cos(a), y - tall * np.sin(a)) for a in turns]
    return [*edge, (left, y)]


def street_lamp(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a lantern on a post, lit at night."""
    pen = Pen(canvas, spot)
    iron = pick(rng, ((52, 58, 66), (44, 66, 60), (70, 62, 60)), 6)
    lit = canvas.light.night
    pen.shadow(0.12, 0.025)
    pen.poly([(-0.05, 0), (-0.025, 0.1), (0.025, 0.1), (0.05, 0)], iron)
    pen.line([(0, 0), (0, 0.8)], iron, 0.026)
    pen.line([(-0.07, 0.74), (0.07, 0.74)], iron, 0.016)
    if lit:
        pen.glow(0, 0.88, 0.42, _WARM, 0.75)
    glass: Colour = (255, 238, 170) if lit else (232, 236, 226)
    body = [pen.at(*p) for p in ((-0.045, 0.8), (0.045, 0.8), (0.075, 0.93), (-0.075, 0.93))]
    canvas.polygon(body, glass if lit else pen.tone(glass))
    pen.line([(0, 0.8), (0, 0.93)], iron, 0.012)
    pen.poly([(-0.09, 0.93), (0.09, 0.93), (0.02, 0.99), (0, 1.02), (-0.02, 0.99)], iron)


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
    """Draw a dim reflection of the hull in the water."""
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
