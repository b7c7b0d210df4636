"""What moves through the air: rainbow, rain, snowflakes, balloons, birds."""

import numpy as np

from tagloom.datasets.scenes.canvas import Canvas
from tagloom.datasets.scenes.colours import Colour, darker, lighter, mix, pick
from tagloom.datasets.scenes.pen import Pen, Spot
from tagloom.datasets.scenes.textures import as_grey

_BOW = np.array(
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

_BRIGHT: tuple[Colour, ...] = (
    (226, 62, 54),
    (244, 168, 42),
    (54, 132, 200),
    (250, 214, 70),
    (70, 160, 96),
    (150, 84, 170),
    (240, 120, 150),
)


def rainbow(canvas: Canvas, rng: np.random.Generator, *, horizon: float) -> None:
    """Part of a ring of seven colours that stands on the horizon."""
    from PIL import Image

    rows, columns = 120, 160
    x = rng.uniform(0.25, 0.75) * columns
    radius = rng.uniform(0.62, 0.9) * rows
    foot = rows * rng.uniform(1.0, 1.15)
    down, across = np.arange(rows)[:, None], np.arange(columns)[None, :]
    place = (np.hypot(down - foot, across - x) - radius) / (rows * rng.uniform(0.13, 0.18)) + 0.5
    inside = np.clip(1.4 * np.sin(np.pi * np.clip(place, 0, 1)), 0, 1)
    band = np.clip(place, 0, 1) * (len(_BOW) - 1)
    fill = np.stack([np.interp(band, range(len(_BOW)), _BOW[:, i]) for i in range(3)], axis=2)
    picture = Image.fromarray(np.rint(fill).astype(np.uint8))
    mask = as_grey(inside * rng.uniform(0.62, 0.85))
    canvas.stencil(mask, (0, 0, canvas.width, horizon), picture)


def rain(canvas: Canvas, rng: np.random.Generator) -> None:
    """Slanting streaks over everything."""
    n = int(rng.integers(150, 260) * canvas.width / 320)
    slant = rng.uniform(-0.35, 0.35)
    across, down = rng.uniform(-20, canvas.width + 20, n), rng.uniform(-20, canvas.height, n)
    long = rng.uniform(7, 17, n)
    colour = mix(canvas.light.tone((214, 224, 238)), (235, 240, 250), 0.3)
    for x, y, reach in zip(across, down, long, strict=True):
        canvas.line([(x, y), (x + slant * reach, y + reach)], colour, 0.55)


def snowflakes(canvas: Canvas, rng: np.random.Generator) -> None:
    """Soft flakes over everything, large ones near."""
    n = int(rng.integers(90, 170) * canvas.width / 320)
    across, down = rng.uniform(0, canvas.width, n), rng.uniform(0, canvas.height, n)
    for x, y, size in zip(across, down, 0.6 + 1.7 * rng.uniform(0, 1, n) ** 3, strict=True):
        canvas.ellipse((x - size, y - size, x + size, y + size), (248, 250, 255))


def balloon(canvas: Canvas, rng: np.random.Generator, spot: Spot) -> None:
    """Draw a hot-air balloon with gores in two or three colours."""
    pen = Pen(canvas, spot)
    one, two = (pick(rng, _BRIGHT) for _ in range(2))
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
    """Draw a round little bird on its feet."""
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
