"""Water: the sea, lakes, rivers, and the world below the surface."""

import numpy as np

from tagloom.datasets.scenes.canvas import Canvas
from tagloom.datasets.scenes.colours import Colour, darker, lighter, mix, pick
from tagloom.datasets.scenes.outlines import rolling
from tagloom.datasets.scenes.textures import as_grey, billows, layered_noise, ripples

_SEA: tuple[Colour, ...] = ((44, 122, 158), (36, 104, 150), (52, 142, 156), (60, 126, 170))


def sea(canvas: Canvas, rng: np.random.Generator, *, horizon: float, shore: float) -> None:
    """Open water from the horizon to the shore: ripples, the sky's colour, glitter."""
    light = canvas.light
    colour = pick(rng, _SEA)
    far = mix(light.tone(colour), light.horizon, 0.45)
    near = light.tone(lighter(colour, 0.06))
    corners = [(-2, horizon), (canvas.width + 2, horizon)]
    corners += [(canvas.width + 2, shore), (-2, shore)]
    dark = (darker(far, 0.12), darker(near, 0.34))
    bright = (lighter(far, 0.18), mix(lighter(near, 0.24), light.horizon, 0.2))
    canvas.textured(corners, dark, bright, ripples(), rng)
    _glitter(canvas, rng, horizon, shore)


def _glitter(canvas: Canvas, rng: np.random.Generator, horizon: float, shore: float) -> None:
    """Short bright strokes below the sun."""
    light = canvas.light
    shine = mix(light.glow, (255, 255, 250), 0.35)
    centre = light.sun[0] * canvas.width
    for _ in range(70):
        share = rng.uniform(0, 1)
        y = horizon + 1 + (shore - horizon - 2) * share
        x = centre + rng.normal(0, 7 + 26 * share)
        long = 1.5 + 5 * share * rng.uniform(0.4, 1)
        canvas.line(
            [(x - long, y), (x + long, y)],
            mix(shine, light.horizon, rng.uniform(0, 0.5)),
            0.5 + 0.5 * share,
        )


def surf(canvas: Canvas, rng: np.random.Generator, *, shore: float) -> None:
    """Rows of foam that run up a beach."""
    light = canvas.light
    across = np.linspace(-2, canvas.width + 2, 50)
    for away, thick in ((-14, 1.2), (-7, 1.8), (1, 3.0)):
        wave = shore + away + 6 * (rolling(rng, 50) - 0.5)
        foam = np.abs(rng.normal(0, thick * 0.5, 50)) + thick * 0.6
        lower = np.column_stack([across, wave + foam])[::-1]
        shade = light.tone((250, 252, 252), 0.05)
        canvas.polygon(np.vstack([np.column_stack([across, wave]), lower]), shade)


def lake(
    canvas: Canvas, rng: np.random.Generator, *, top: float, bottom: float, mirror: Colour
) -> None:
    """Still water that mirrors what stands behind it."""
    light = canvas.light
    across = np.linspace(-2, canvas.width + 2, 40)
    lower = np.column_stack([across, bottom + 9 * (rolling(rng, 40) - 0.5)])[::-1]
    outline = np.vstack([[[-2, top], [canvas.width + 2, top]], lower])
    reflected = mix(light.tone(mirror), light.horizon, 0.3)
    deep = mix(light.tone((40, 96, 128)), light.zenith, 0.3)
    dark = (darker(reflected, 0.1), darker(deep, 0.15))
    bright = (lighter(reflected, 0.15), lighter(mix(deep, light.horizon, 0.35), 0.1))
    canvas.textured(outline, dark, bright, ripples(), rng)


def river_middle(share: float, start: float, end: float, bend: float) -> float:
    """Return the middle of a river, as a share of the width, at a share of the way to the eye."""
    return start + (end - start) * share + bend * float(np.sin(share * np.pi * 1.6))


def river(
    canvas: Canvas,
    rng: np.random.Generator,
    *,
    horizon: float,
    start: float,
    end: float,
    bend: float,
) -> None:
    """Let a river wind from the horizon to the lower edge."""
    light = canvas.light
    share = np.linspace(0.02, 1.02, 40)
    middle = canvas.width * np.array([river_middle(s, start, end, bend) for s in share])
    half = 3 + canvas.width * rng.uniform(0.2, 0.28) * share**1.4
    y = horizon + (canvas.height + 4 - horizon) * share
    _ribbon(canvas, middle, half + 2 + 4 * share, y, light.tone((122, 104, 72), 0.1))
    left, right = np.column_stack([middle - half, y]), np.column_stack([middle + half, y])
    blue: Colour = (46, 124, 164)
    near = mix(light.tone(blue), blue, 0.0 if light.night else 0.5)
    far = mix(light.tone((110, 172, 204)), light.horizon, 0.45)
    dark, bright = (far, darker(near, 0.3)), (lighter(far, 0.2), lighter(near, 0.28))
    canvas.textured(np.vstack([left, right[::-1]]), dark, bright, ripples(), rng)


def _ribbon(
    canvas: Canvas, middle: np.ndarray, half: np.ndarray, y: np.ndarray, colour: Colour
) -> None:
    left, right = np.column_stack([middle - half, y]), np.column_stack([middle + half, y])[::-1]
    canvas.polygon(np.vstack([left, right]), colour)


def depths(canvas: Canvas, rng: np.random.Generator) -> None:
    """Blue water seen from below the surface, with shafts of light."""
    top = pick(rng, ((92, 200, 214), (70, 178, 216), (104, 208, 196)))
    bottom = pick(rng, ((10, 62, 108), (8, 74, 104), (16, 52, 110)))
    corners = [(-2.0, -2.0), (canvas.width + 2, -2.0)]
    corners += [(canvas.width + 2, canvas.height + 2), (-2.0, canvas.height + 2)]
    canvas.textured(
        corners,
        (darker(top, 0.08), bottom),
        (lighter(top, 0.1), lighter(bottom, 0.12)),
        billows(),
        rng,
        0.5,
    )
    slant = rng.uniform(-0.4, 0.4)
    rows, columns = 60, 120
    down = np.arange(rows)[:, None] / rows
    place = np.arange(columns)[None, :] - slant * columns * down
    rays = layered_noise(rng, (2, columns * 3), 60, 2)[0]
    strength = np.interp(place + columns, np.arange(columns * 3), rays)
    alpha = np.clip((strength - 0.52) * 2.2, 0, 0.6) * (1 - down) ** 1.3
    canvas.stencil(
        as_grey(alpha), (0, 0, canvas.width, canvas.height), (220, 250, 248), owned=False
    )


def seaweed(canvas: Canvas, rng: np.random.Generator, *, x: float, y: float, size: float) -> None:
    """Draw a tuft of swaying ribbons."""
    colour = pick(rng, ((44, 128, 92), (88, 140, 60), (130, 70, 90), (40, 110, 110)))
    for _ in range(int(rng.integers(4, 8))):
        tall, foot = size * rng.uniform(0.5, 1), x + rng.normal(0, size * 0.14)
        share = np.linspace(0, 1, 10)
        sway = size * 0.1 * np.sin(share * rng.uniform(4, 7) + rng.uniform(0, 6)) * share
        half = size * 0.035 * (1.05 - share)
        left = np.column_stack([foot + sway - half, y - tall * share])
        right = np.column_stack([foot + sway + half, y - tall * share])[::-1]
        canvas.polygon(
            np.vstack([left, right]), mix(darker(colour, 0.3), lighter(colour, 0.25), rng.uniform())
        )


def coral(canvas: Canvas, rng: np.random.Generator, *, x: float, y: float, size: float) -> None:
    """Draw a branching coral."""
    colour = pick(rng, ((236, 110, 104), (244, 160, 92), (214, 110, 176), (240, 200, 110)))
    _branch(canvas, rng, (x, y), -np.pi / 2, size * 0.42, size * 0.13, colour, 3)


def _branch(
    canvas: Canvas,
    rng: np.random.Generator,
    foot: tuple[float, float],
    turn: float,
    long: float,
    thick: float,
    colour: Colour,
    depth: int,
) -> None:
    tip = (foot[0] + long * np.cos(turn), foot[1] + long * np.sin(turn))
    shade = mix(darker(colour, 0.3), lighter(colour, 0.2), (3 - depth) / 3)
    canvas.line([foot, tip], shade, thick)
    radius = thick * 0.52
    canvas.ellipse((tip[0] - radius, tip[1] - radius, tip[0] + radius, tip[1] + radius), shade)
    if depth:
        for spread in (-0.55, 0.0, 0.55):
            lean = turn + spread + rng.normal(0, 0.15)
            _branch(
                canvas,
                rng,
                tip,
                lean,
                long * rng.uniform(0.55, 0.8),
                thick * 0.68,
                colour,
                depth - 1,
            )
