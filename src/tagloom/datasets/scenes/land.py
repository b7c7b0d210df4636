"""Level ground: meadows, sand, dunes, snow, forest floor."""

import numpy as np

from tagloom.datasets.scenes.canvas import Canvas
from tagloom.datasets.scenes.colours import Colour, darker, lighter, mix, pick
from tagloom.datasets.scenes.outlines import rolling, under
from tagloom.datasets.scenes.textures import Field, billows, ground

_GRASS: tuple[Colour, ...] = ((98, 152, 62), (122, 164, 70), (84, 140, 76), (140, 160, 66))
_SAND: tuple[Colour, ...] = ((232, 208, 156), (226, 190, 136), (238, 220, 180))
_DUNE: tuple[Colour, ...] = ((222, 168, 104), (212, 150, 96), (230, 188, 124))


def meadow(canvas: Canvas, rng: np.random.Generator, *, horizon: float, wave: float = 8) -> None:
    """Grass to the horizon, with blades in front."""
    colour = pick(rng, _GRASS)
    _level(canvas, rng, horizon, colour, 0.2, 0.25, wave)
    light = canvas.light
    n = int(260 * canvas.width / 320)
    depth = rng.uniform(0.15, 1, n) ** 0.7
    for x, share, lean in zip(
        rng.uniform(0, canvas.width, n), np.sort(depth), rng.normal(0, 2.0, n), strict=True
    ):
        y = horizon + (canvas.height + 6 - horizon) * share
        tall = 2 + 8 * share
        shade = light.tone(mix(darker(colour, 0.3), lighter(colour, 0.3), rng.uniform()))
        canvas.polygon([(x - 0.8, y), (x + lean, y - tall), (x + 0.8, y)], shade)


def beach_sand(
    canvas: Canvas, rng: np.random.Generator, *, horizon: float, wave: float = 6
) -> None:
    """Fine pale sand."""
    _level(canvas, rng, horizon, pick(rng, _SAND, 8), 0.1, 0.05, wave)


def snowfield(canvas: Canvas, rng: np.random.Generator, *, horizon: float, wave: float = 8) -> None:
    """Snow with blue hollows."""
    outline = under(canvas, rolling(rng, 40), horizon + 1, wave, canvas.height + 2)
    light = canvas.light
    white = mix(light.tone((250, 252, 255)), (250, 252, 255), 0.0 if light.night else 0.4)
    blue = mix(light.tone((196, 212, 240)), light.zenith, 0.25)
    pale = mix(white, light.haze, 0.25)
    canvas.textured(outline, (pale, blue), (pale, white), billows(), rng)


def leaf_litter(canvas: Canvas, rng: np.random.Generator, *, horizon: float) -> None:
    """Brown leaves on a forest floor."""
    colour = pick(rng, ((138, 100, 62), (152, 112, 60), (120, 92, 66)))
    _level(canvas, rng, horizon, colour, 0.24, 0.1, 8)


def _level(
    canvas: Canvas,
    rng: np.random.Generator,
    horizon: float,
    colour: Colour,
    contrast: float,
    far: float,
    wave: float,
) -> None:
    outline = under(canvas, rolling(rng, 40), horizon + 1, wave, canvas.height + 2)
    light = canvas.light
    top = light.tone(lighter(colour, 0.12), far)
    bottom = light.tone(darker(colour, 0.08))
    bright = (lighter(top, contrast * 0.25), lighter(bottom, contrast))
    dark = (darker(top, contrast * 0.3), darker(bottom, contrast * 1.2))
    canvas.textured(outline, dark, bright, ground(), rng)


def dunes(canvas: Canvas, rng: np.random.Generator, *, horizon: float) -> None:
    """Rows of dunes, each with a side in the light and a side in the shade."""
    colour = pick(rng, _DUNE)
    light = canvas.light
    n = int(rng.integers(3, 6))
    for i in range(n):
        share = i / n
        base = horizon + 6 + (canvas.height - horizon) * share * 0.85
        far = 0.3 * (1 - share)
        lit = light.tone(lighter(colour, 0.22 - 0.15 * share), far)
        shaded = light.tone(darker(colour, 0.16 + 0.12 * share), far)
        heights = rolling(rng, 60)
        outline = under(canvas, heights, base, 12 + 26 * share, canvas.height + 2)
        canvas.textured(outline, (mix(lit, shaded, 0.3), shaded), (lit, lit), ground(), rng)
        _lee(canvas, outline[:-2], shaded, lit)


def _lee(canvas: Canvas, crest: Field, shaded: Colour, lit: Colour) -> None:
    """Shade the side of each dune that is turned away from the light."""
    height, away = crest[:, 1], -canvas.light.side
    for i in range(3, len(crest) - 3):
        if height[i] > height[i - 3 : i + 4].min() or height[i] == height[i - 1]:
            continue
        stop = int(np.clip(i + away * 16, 0, len(crest) - 1))
        edge = crest[i:stop] if away > 0 else crest[stop:i][::-1]
        if len(edge) < 5:
            continue
        x, y = crest[i]
        below = [(x + away * 26, y + 40), (x + away * 6, y + 30), (x + away * 9, y + 14)]
        canvas.gradient(np.vstack([edge, below]), darker(shaded, 0.05), mix(shaded, lit, 0.7))
