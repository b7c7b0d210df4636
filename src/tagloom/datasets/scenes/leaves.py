"""Walls of leaves that close a scene to the sky: hedges and thickets."""

import numpy as np

from tagloom.datasets.scenes.canvas import Canvas
from tagloom.datasets.scenes.colours import Colour, darker, lighter, mix, pick
from tagloom.datasets.scenes.textures import grain


def hedge(canvas: Canvas, rng: np.random.Generator, *, foot: float) -> None:
    """Draw a wall of clipped leaves that fills the background."""
    colour = pick(rng, ((84, 136, 66), (70, 120, 74), (104, 140, 64)))
    _wall_of_leaves(canvas, rng, foot, colour, (0.4, 0.0))
    _dabs(canvas, rng, foot, colour, 420)


def thicket(canvas: Canvas, rng: np.random.Generator, *, floor: float) -> None:
    """Draw the depth of a forest: light between leaves above, dusk below."""
    colour = pick(rng, ((110, 150, 76), (92, 138, 84), (150, 156, 76)))
    _wall_of_leaves(canvas, rng, floor, colour, (0.35, -0.25))
    light = canvas.light
    for _ in range(14):
        x, wide = rng.uniform(0, canvas.width), rng.uniform(1.5, 4)
        shade = light.tone(darker(colour, rng.uniform(0.3, 0.6)), 0.15)
        canvas.rectangle((x - wide, 0, x + wide, floor), shade)
    _dabs(canvas, rng, floor * 0.6, lighter(colour, 0.25), 220)


def _wall_of_leaves(
    canvas: Canvas, rng: np.random.Generator, foot: float, colour: Colour, high: tuple[float, float]
) -> None:
    light = canvas.light
    corners = [(-2, -2), (canvas.width + 2, -2), (canvas.width + 2, foot), (-2, foot)]
    top = (light.tone(darker(colour, high[0])), light.tone(darker(colour, high[1])))
    bottom = light.tone(darker(colour, 0.55))
    canvas.textured(
        corners, (top[0], bottom), (top[1], light.tone(darker(colour, 0.3))), grain(), rng, 0.5
    )


def _dabs(canvas: Canvas, rng: np.random.Generator, foot: float, colour: Colour, n: int) -> None:
    """Leaves, one by one."""
    across, down = rng.uniform(0, canvas.width, n), rng.uniform(0, foot - 3, n)
    for x, y, size, share in zip(
        across, down, rng.uniform(1.5, 4, n), rng.uniform(0, 1, n), strict=True
    ):
        shade = canvas.light.tone(mix(darker(colour, 0.45), lighter(colour, 0.22), share))
        canvas.ellipse((x - size, y - size * 0.6, x + size, y + size * 0.6), shade)


def brick_wall(canvas: Canvas, rng: np.random.Generator, *, foot: float) -> None:
    """Draw a wall of old bricks that fills the background."""
    light = canvas.light
    brick = pick(rng, ((176, 104, 80), (190, 140, 108), (160, 120, 110)))
    canvas.rectangle((-2, -2, canvas.width + 2, foot), light.tone((206, 194, 180)))
    high, wide = 8.0, 19.0
    for row, y in enumerate(np.arange(foot - high, -high, -high)):
        for x in np.arange(-wide * (1 + row % 2 / 2), canvas.width, wide):
            shade = mix(darker(brick, 0.22), lighter(brick, 0.2), rng.uniform())
            canvas.rectangle((x + 0.8, y + 0.8, x + wide - 0.4, y + high - 0.4), light.tone(shade))


def picket_fence(canvas: Canvas, rng: np.random.Generator, *, foot: float, high: float) -> None:
    """Draw a fence of pointed boards."""
    paint = pick(rng, ((246, 244, 238), (176, 132, 92), (130, 160, 170)), 6)
    light = canvas.light
    for y in (0.3, 0.72):
        rail = (-2, foot - high * y - 2, canvas.width + 2, foot - high * y + 2)
        canvas.rectangle(rail, light.tone(darker(paint, 0.2)))
    for x in np.arange(rng.uniform(-8, 0), canvas.width, 11):
        top = foot - high
        board = [(x, foot), (x, top + 5), (x + 3.5, top), (x + 7, top + 5), (x + 7, foot)]
        canvas.polygon(board, light.tone(paint))
        canvas.line([(x + 7, foot), (x + 7, top + 5)], light.tone(darker(paint, 0.25)), 1)
