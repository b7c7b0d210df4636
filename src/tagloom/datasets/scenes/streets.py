"""Streets, roads and pavements."""

import numpy as np

from tagloom.datasets.scenes.canvas import Canvas
from tagloom.datasets.scenes.colours import darker, lighter, pick
from tagloom.datasets.scenes.textures import grain, ground


def street(canvas: Canvas, rng: np.random.Generator, *, top: float, bottom: float) -> None:
    """Draw a street across the picture, with kerbs and a broken line."""
    light, width = canvas.light, canvas.width
    grey = pick(rng, ((92, 94, 102), (108, 106, 108), (80, 84, 94)), 6)
    kerb = light.tone((186, 182, 176))
    canvas.rectangle((-2, top - 3, width + 2, bottom + 3), kerb)
    corners = [(-2, top), (width + 2, top), (width + 2, bottom), (-2, bottom)]
    shades = (light.tone(darker(grey, 0.15)), light.tone(darker(grey, 0.05)))
    canvas.textured(
        corners, shades, (light.tone(grey), light.tone(lighter(grey, 0.1))), grain(), rng
    )
    middle, step = (top + bottom) / 2, rng.uniform(34, 46)
    for x in np.arange(-step * rng.uniform(), width, step):
        dash = [
            (x, middle - 1.2),
            (x + step / 2, middle - 1.2),
            (x + step / 2 - 1.5, middle + 1.2),
            (x - 1.5, middle + 1.2),
        ]
        canvas.polygon(dash, light.tone((236, 232, 214)))


def road(canvas: Canvas, rng: np.random.Generator, *, horizon: float, to: float) -> None:
    """Draw a road that runs away from the eye to a point on the horizon."""
    light, height = canvas.light, canvas.height
    x, grey = to * canvas.width, pick(rng, ((96, 98, 106), (110, 106, 104)), 6)
    foot = canvas.width * rng.uniform(0.42, 0.58)
    wide = canvas.width * rng.uniform(0.26, 0.38)
    sides = [
        (x - 2, horizon),
        (x + 2, horizon),
        (foot + wide, height + 2),
        (foot - wide, height + 2),
    ]
    far = (light.tone(lighter(grey, 0.2), 0.3), light.tone(grey))
    canvas.textured(sides, (darker(far[0], 0.1), darker(far[1], 0.2)), far, ground(), rng)
    for start in 1 - np.array([0.0, 0.3, 0.5, 0.64, 0.74, 0.81]) - rng.uniform(0, 0.06):
        end = start * 0.84
        (x0, y0), (x1, y1) = (
            (x + (foot - x) * s, horizon + (height - horizon) * s) for s in (start, end)
        )
        w0, w1 = 4.5 * start, 4.5 * end
        canvas.polygon(
            [(x0 - w0, y0), (x0 + w0, y0), (x1 + w1, y1), (x1 - w1, y1)],
            light.tone((238, 228, 190), 0.1),
        )


def pavement(canvas: Canvas, rng: np.random.Generator, *, top: float) -> None:
    """Slabs of stone from a line down to the lower edge."""
    light = canvas.light
    stone = pick(rng, ((176, 170, 162), (160, 158, 160), (188, 172, 152)), 8)
    corners = [
        (-2, top),
        (canvas.width + 2, top),
        (canvas.width + 2, canvas.height + 2),
        (-2, canvas.height + 2),
    ]
    dark = (light.tone(darker(stone, 0.1), 0.1), light.tone(darker(stone, 0.2)))
    canvas.textured(
        corners, dark, (light.tone(stone, 0.1), light.tone(lighter(stone, 0.1))), grain(), rng
    )
