"""The sky and everything in it: clouds, sun, moon, stars, rain, balloons, birds."""

import numpy as np

from tagloom.datasets.scenes.canvas import (
    WHITE,
    Canvas,
    Colour,
    Pen,
    Spot,
    as_grey,
    darker,
    layered_noise,
    lighter,
    mix,
    palette,
    pick,
)

_RAINBOW = np.array(
    [
        (120, 70, 190),
        (80, 110, 230),
        (70, 190, 220),
        (90, 210, 110),
        (250, 230, 80),
        (250, 150, 60),
        (235, 70, 70),
    ],
    dtype=np.float64,
)

_BALLOON = palette("#e23e36 #f4a82a #3684c8 #fad646 #46a060 #9654aa #f07896")


def sky(canvas: Canvas, rng: np.random.Generator, *, horizon: float) -> None:
    """Draw a sky that fades from zenith to horizon, brighter and warmer around the sun."""
    from PIL import Image

    light = canvas.light
    rows, columns = 48, 64
    down = np.linspace(0, 1, rows)[:, None, None] ** 0.85
    field = np.array(light.zenith) * (1 - down) + np.array(light.horizon) * down
    high = np.linspace(0, horizon, rows)[:, None] - light.sun[1] * canvas.height
    wide = (np.linspace(0, 1, columns)[None, :] - light.sun[0]) * canvas.width
    near = np.exp(-np.hypot(wide * 0.8, high * 1.3) / 85)[:, :, None] * 0.75
    field = field * (1 - near) + np.array(light.glow) * near
    field += 3 * (layered_noise(rng, (rows, columns), 4, 2)[:, :, None] - 0.5)
    picture = Image.fromarray(np.rint(np.clip(field, 0, 255)).astype(np.uint8))
    canvas.backdrop(picture, horizon + 2)


def cumulus(canvas: Canvas, rng: np.random.Generator, *, x: float, y: float, wide: float) -> None:
    """Draw a cumulus cloud: lit above, flat and shaded below."""
    from PIL import Image

    rows, columns = 56, 112
    field = _heap(rng, rows, columns)
    field += 0.3 * (layered_noise(rng, (rows, columns), 8, 3) - 0.5)
    alpha = np.clip((field - 0.3) * 3.0, 0, 1)
    base = np.clip((rows * 0.80 - np.arange(rows)) / 9, 0, 1)[:, None]
    light = canvas.light
    lit = mix(lighter(light.tone((255, 253, 250)), 0.1), light.glow, 0.25)
    shaded = mix(light.tone((176, 186, 208)), light.horizon, 0.35)
    slope = np.roll(field, (4, -4 * light.side), (0, 1)) - field
    down = np.clip(np.linspace(-0.25, 1.0, rows)[:, None] + 1.4 * slope, 0, 1)[:, :, None]
    body = np.array(lit) * (1 - down) + np.array(shaded) * down
    fill = Image.fromarray(np.rint(np.clip(body, 0, 255)).astype(np.uint8))
    high = wide * rows / columns
    canvas.stencil(
        as_grey(alpha * base), (x - wide / 2, y - high / 2, x + wide / 2, y + high / 2), fill
    )


def _heap(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    down, across = np.arange(rows)[:, None], np.arange(columns)[None, :]
    field = np.zeros((rows, columns))
    for _ in range(int(rng.integers(7, 12))):
        centre = rng.normal(0.5, 0.15)
        radius = rows * rng.uniform(0.2, 0.4) * (1.15 - abs(centre - 0.5) * 1.8)
        lift = rows * 0.74 - radius * rng.uniform(0.3, 1.0)
        bump = 1 - np.hypot(down - lift, (across - columns * centre)) / max(radius, 3.0)
        field = np.maximum(field, np.clip(bump * 1.6, 0, 1))
    return field


def veil(canvas: Canvas, rng: np.random.Generator, *, y: float, high: float) -> None:
    """Draw streaks of high cloud across the whole sky."""
    rows, columns = 40, 80
    field = layered_noise(rng, (rows * 4, columns), 5, 4)[::4]
    edge = np.sin(np.linspace(0, np.pi, rows))[:, None]
    alpha = np.clip((field - 0.42) * 3.0, 0, 0.9) * edge
    light = canvas.light
    colour = mix(lighter(light.tone((250, 250, 252)), 0.1), light.glow, 0.35)
    canvas.stencil(as_grey(alpha), (0, y, canvas.width, y + high), colour)


def overcast(canvas: Canvas, rng: np.random.Generator, *, horizon: float) -> None:
    """Draw a closed layer of heavy cloud."""
    from PIL import Image

    rows, columns = 48, 64
    field = layered_noise(rng, (rows, columns), 5, 4)
    pressed = np.linspace(0.85, 0.2, rows)[:, None]
    light = canvas.light
    dark, pale = light.tone((104, 114, 132)), light.tone((206, 212, 222))
    share = np.clip(field * 1.3 - pressed * 0.5, 0, 1)[:, :, None]
    body = np.array(dark) * (1 - share) + np.array(pale) * share
    fill = Image.fromarray(np.rint(np.clip(body, 0, 255)).astype(np.uint8))
    fade = np.clip(np.linspace(3.2, 0.0, rows), 0, 1)[:, None] * np.ones((1, columns))
    canvas.stencil(as_grey(fade), (0, 0, canvas.width, horizon), fill)


def sun(canvas: Canvas, rng: np.random.Generator) -> None:
    """Draw a disc with a wide halo where the sky is brightest."""
    light = canvas.light
    x, y = light.sun[0] * canvas.width, light.sun[1] * canvas.height
    radius = rng.uniform(10, 18)
    core: Colour = mix((255, 250, 222), light.glow, 0.25)
    for reach, strength in ((6.0, 0.35), (3.0, 0.5), (1.9, 0.6)):
        spread = radius * reach
        canvas.blur((x - spread, y - spread, x + spread, y + spread), core, strength)
    canvas.ellipse((x - radius, y - radius, x + radius, y + radius), mix(core, WHITE, 0.3))


def moon(canvas: Canvas, rng: np.random.Generator) -> None:
    """Draw a full or crescent moon, with spots and a halo."""
    x, y = canvas.light.sun[0] * canvas.width, canvas.light.sun[1] * canvas.height
    radius = rng.uniform(11, 18)
    pale: Colour = (246, 241, 214)
    for reach, strength in ((4.5, 0.22), (2.2, 0.35)):
        spread = radius * reach
        canvas.blur((x - spread, y - spread, x + spread, y + spread), pale, strength)
    if rng.uniform() < 0.45:
        _crescent(canvas, x, y, radius, pale, 1 if rng.uniform() < 0.5 else -1)
        return
    canvas.ellipse((x - radius, y - radius, x + radius, y + radius), pale)
    for _ in range(6):
        turn, away = rng.uniform(0, 2 * np.pi), radius * rng.uniform(0.1, 0.7)
        spot = radius * rng.uniform(0.08, 0.2)
        cx, cy = x + away * np.cos(turn), y + away * np.sin(turn)
        canvas.ellipse((cx - spot, cy - spot, cx + spot, cy + spot), (222, 214, 184))


def _crescent(canvas: Canvas, x: float, y: float, radius: float, pale: Colour, turn: int) -> None:
    outer = np.linspace(-np.pi / 2, np.pi / 2, 24)
    rim = [(x + turn * radius * np.cos(a), y + radius * np.sin(a)) for a in outer]
    inner = [(x + turn * radius * 0.45 * np.cos(a), y + radius * np.sin(a)) for a in outer[::-1]]
    canvas.polygon([*rim, *inner], pale)


def stars(canvas: Canvas, rng: np.random.Generator, *, horizon: float) -> None:
    """Draw many small stars and a few that sparkle."""
    n = int(rng.integers(60, 130))
    across = rng.uniform(0, canvas.width, n)
    down = rng.uniform(0, 1, n) ** 1.3 * horizon
    for x, y, size in zip(across, down, rng.uniform(0.45, 1.0, n), strict=True):
        colour = mix((255, 255, 245), (190, 205, 255), rng.uniform())
        canvas.ellipse((x - size, y - size, x + size, y + size), colour)
        if size > 0.9:
            long = size * 3.2
            canvas.line([(x - long, y), (x + long, y)], colour, 0.5)
            canvas.line([(x, y - long), (x, y + long)], colour, 0.5)


def rainbow(canvas: Canvas, rng: np.random.Generator, *, horizon: float) -> None:
    """Draw part of a ring of seven colours that rises from the horizon."""
    from PIL import Image

    rows, columns = 120, 160
    x = rng.uniform(0.25, 0.75) * columns
    radius = rng.uniform(0.62, 0.9) * rows
    foot = rows * rng.uniform(1.0, 1.15)
    down, across = np.arange(rows)[:, None], np.arange(columns)[None, :]
    place = (np.hypot(down - foot, across - x) - radius) / (rows * rng.uniform(0.13, 0.18)) + 0.5
    inside = np.clip(1.4 * np.sin(np.pi * np.clip(place, 0, 1)), 0, 1)
    band = np.clip(place, 0, 1) * (len(_RAINBOW) - 1)
    fill = np.stack(
        [np.interp(band, range(len(_RAINBOW)), _RAINBOW[:, i]) for i in range(3)], axis=2
    )
    picture = Image.fromarray(np.rint(fill).astype(np.uint8))
    mask = as_grey(inside * rng.uniform(0.62, 0.85))
    canvas.stencil(mask, (0, 0, canvas.width, horizon), picture)


def rain(canvas: Canvas, rng: np.random.Generator) -> None:
    """Draw slanting streaks over everything."""
    n = int(rng.integers(150, 260) * canvas.width / 320)
    slant = rng.uniform(-0.35, 0.35)
    across, down = rng.uniform(-20, canvas.width + 20, n), rng.uniform(-20, canvas.height, n)
    long = rng.uniform(7, 17, n)
    colour = mix(canvas.light.tone((214, 224, 238)), (235, 240, 250), 0.3)
    for x, y, reach in zip(across, down, long, strict=True):
        canvas.line([(x, y), (x + slant * reach, y + reach)], colour, 0.55)


def snowflakes(canvas: Canvas, rng: np.random.Generator) -> None:
    """Draw soft flakes over everything, large ones near."""
    n = int(rng.integers(90, 170) * canvas.width / 320)
    across, down = rng.uniform(0, canvas.width, n), rng.uniform(0, canvas.height, n)
    for x, y, size in zip(across, down, 0.6 + 1.7 * rng.uniform(0, 1, n) ** 3, strict=True):
        canvas.ellipse((x - size, y - size, x + size, y + size), (248, 250, 255))


def balloon(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a hot-air balloon with gores in two or three colours."""
    pen = Pen(canvas, spot)
    one, two = (pick(rng, _BALLOON) for _ in range(2))
    basket: Colour = (140, 96, 56)
    for x in (-0.07, 0.07):
        pen.line([(x * 2.6, 0.4), (x, 0.12)], (90, 80, 70), 0.012)
    pen.box((-0.075, 0.075), (0.0, 0.12), basket, 0.02)
    pen.box((-0.075, 0.075), (0.10, 0.125), darker(basket, 0.3))
    angles = np.linspace(0, 2 * np.pi, 40)
    for i, share in enumerate((1.0, 0.78, 0.52, 0.24)):
        wide = 0.37 * share
        outline = [
            (
                wide * np.sin(a) * (1 - 0.42 * np.clip(np.cos(a), 0, 1) ** 2),
                0.64 - 0.37 * np.cos(a) - 0.03 * np.clip(np.cos(a), 0, 1),
            )
            for a in angles
        ]
        colour = (one, two)[i % 2]
        pen.poly(outline, mix(colour, darker(colour, 0.35), 0.5 * share))
    pen.oval(0.14 * pen.side, 0.78, 0.09, 0.12, lighter(two, 0.25))
    pen.box((-0.14, 0.14), (0.27, 0.31), darker(one, 0.2), 0.01)


def flying_bird(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a gull or swallow with spread wings."""
    pen = Pen(canvas, spot)
    body = pick(rng, ((244, 244, 246), (84, 88, 100), (60, 56, 60), (232, 226, 214)))
    wing, tip = darker(body, 0.12), darker(body, 0.6)
    lift = rng.uniform(0.2, 0.6)
    pen.poly(
        [
            (-0.05, 0.5),
            (-0.42, 0.5 + lift),
            (-0.9, 0.42 + lift * 0.6),
            (-0.4, 0.36 + lift * 0.5),
            (0.12, 0.38),
        ],
        darker(body, 0.22),
    )
    pen.poly(
        [(-0.9, 0.42 + lift * 0.6), (-0.68, 0.47 + lift * 0.75), (-0.62, 0.40 + lift * 0.6)], tip
    )
    pen.poly([(-0.28, 0.40), (-0.72, 0.34), (-0.70, 0.46), (-0.26, 0.50)], tip)
    pen.oval(0.0, 0.44, 0.34, 0.12, body)
    pen.oval(0.33, 0.50, 0.12, 0.11, body)
    pen.poly([(0.42, 0.53), (0.58, 0.47), (0.42, 0.45)], (240, 160, 50))
    pen.oval(0.36, 0.53, 0.025, 0.025, (20, 20, 24))
    pen.poly(
        [(0.2, 0.48), (0.32, 0.6 + lift), (0.05, 0.95 + lift), (-0.06, 0.6 + lift), (-0.2, 0.46)],
        wing,
    )
    pen.poly([(0.05, 0.95 + lift), (0.2, 0.76 + lift), (0.03, 0.74 + lift)], tip)


def perched_bird(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a small round bird on its feet."""
    pen = Pen(canvas, spot)
    back = pick(rng, ((72, 120, 190), (190, 84, 58), (120, 96, 74), (66, 70, 82), (216, 176, 60)))
    belly = pick(rng, ((240, 222, 196), (236, 150, 92), (244, 240, 232)))
    pen.shadow(0.5, 0.08)
    for x in (-0.06, 0.08):
        pen.line([(x, 0.3), (x, 0.02), (x + 0.1, 0.0)], (120, 84, 50), 0.035)
    pen.poly([(-0.25, 0.45), (-0.85, 0.28), (-0.82, 0.42), (-0.2, 0.66)], darker(back, 0.25))
    pen.oval(0.0, 0.5, 0.38, 0.3, back)
    pen.oval(0.1, 0.44, 0.27, 0.23, belly)
    pen.oval(0.24, 0.78, 0.21, 0.2, back)
    pen.oval(0.29, 0.73, 0.13, 0.12, belly)
    pen.poly([(-0.22, 0.64), (-0.5, 0.38), (-0.1, 0.36), (0.12, 0.55)], darker(back, 0.4))
    pen.poly([(0.42, 0.82), (0.62, 0.74), (0.42, 0.71)], (236, 164, 54))
    pen.oval(0.31, 0.82, 0.04, 0.04, (18, 18, 22))
    pen.oval(0.32, 0.83, 0.014, 0.014, (250, 250, 250))
