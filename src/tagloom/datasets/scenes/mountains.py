"""Mountains, their snow, and hills."""

import numpy as np

from tagloom.datasets.scenes.canvas import Canvas
from tagloom.datasets.scenes.colours import Colour, darker, lighter, mix, pick
from tagloom.datasets.scenes.outlines import ridge, rolling, under
from tagloom.datasets.scenes.textures import Field, billows

_ROCK: tuple[Colour, ...] = ((104, 110, 130), (118, 104, 100), (92, 108, 116), (126, 112, 128))


def mountains(
    canvas: Canvas,
    rng: np.random.Generator,
    *,
    seed: int,
    horizon: float,
    high: float,
    rock: Colour | None = None,
) -> None:
    """One range before the haze, lit from one side."""
    far = rng.uniform(0.3, 0.5)
    colour = rock or pick(rng, _ROCK)
    outline = under(canvas, mountain_heights(seed), horizon, high, horizon + 3)
    light = canvas.light
    lit = light.tone(lighter(colour, 0.18), far)
    foot = light.tone(colour, min(far + 0.35, 0.9))
    dark = light.tone(darker(colour, 0.35), far)
    canvas.textured(outline, (dark, foot), (lit, foot), billows(), rng, 0.4)
    _facets(canvas, rng, outline[:-2], horizon, light.tone(darker(colour, 0.55), far), foot)


def _facets(
    canvas: Canvas, rng: np.random.Generator, line: Field, base: float, dark: Colour, foot: Colour
) -> None:
    """Shade the sides of the peaks that are turned away from the light."""
    for i in _peaks(line):
        x, y = line[i]
        drop = base - y
        away = -canvas.light.side
        edge = [line[j] for j in range(i, np.clip(i + away * 14, 0, len(line) - 1), away)]
        if len(edge) < 4:
            continue
        crest = [
            (x + away * drop * share * 0.12 + rng.uniform(-2, 2), y + drop * share)
            for share in (0.8, 0.6, 0.4, 0.2)
        ]
        points = np.array([*map(tuple, edge), (edge[-1][0] + away * 4, y + drop * 0.75), *crest])
        canvas.gradient(points, dark, mix(dark, foot, 0.8))


def _peaks(line: Field) -> list[int]:
    height = line[:, 1]
    return [i for i in range(8, len(line) - 8) if height[i] == height[i - 8 : i + 9].min()]


def snow_caps(
    canvas: Canvas, rng: np.random.Generator, *, seed: int, horizon: float, high: float
) -> None:
    """White on the upper parts of the range that the same seed draws."""
    line = under(canvas, mountain_heights(seed), horizon, high, horizon)[:-2]
    level = horizon - high * rng.uniform(0.42, 0.6)
    light = canvas.light
    bright, blue = light.tone((250, 252, 255), 0.12), light.tone((196, 212, 236), 0.2)
    ragged = (
        level
        + np.interp(
            np.arange(len(line)),
            np.arange(0, len(line) + 6, 3),
            rng.uniform(-1, 1, len(line) // 3 + 2),
        )
        * high
        * 0.11
    )
    above = line[:, 1] < ragged
    starts = np.flatnonzero(np.diff(np.r_[0, above.astype(int), 0]))
    for first, last in zip(starts[::2], starts[1::2], strict=True):
        if last - first < 3:
            continue
        top = line[first:last]
        bottom = np.column_stack([top[:, 0], np.maximum(ragged[first:last], top[:, 1])])[::-1]
        canvas.polygon(np.vstack([top, bottom]), bright)
        summit = int(np.argmin(top[:, 1]))
        half = slice(summit, None) if canvas.light.side < 0 else slice(0, summit + 1)
        if len(top[half]) > 2:
            shade = np.vstack([top[half], bottom[::-1][half][::-1]])
            canvas.polygon(shade, blue)


def mountain_heights(seed: int) -> Field:
    """Return the line of a range of mountains, the same for its rock and its snow."""
    rng = np.random.default_rng(seed)
    return ridge(rng, 120, 0.35, int(rng.integers(2, 5)))


def hills(
    canvas: Canvas,
    rng: np.random.Generator,
    *,
    base: float,
    high: float,
    colour: Colour,
    far: float,
) -> None:
    """Draw a soft line of hills that fades into the haze below."""
    outline = under(canvas, rolling(rng, 60), base, high, base + high)
    light = canvas.light
    top, foot = light.tone(colour, far), light.tone(lighter(colour, 0.1), min(far + 0.2, 0.95))
    canvas.textured(outline, (darker(top, 0.15), foot), (top, foot), billows(), rng, 0.5)
