"""The sky and what hangs in it: clouds, sun, moon, stars."""

import numpy as np

from tagloom.datasets.scenes.canvas import Canvas
from tagloom.datasets.scenes.colours import WHITE, Colour, lighter, mix
from tagloom.datasets.scenes.textures import as_grey, layered_noise


def sky(canvas: Canvas, rng: np.random.Generator, *, horizon: float) -> None:
    """Fade from the zenith to the horizon, brighter and warmer around the sun."""
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
    """Draw a heap of cloud: lit above, flat and shaded below."""
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
    """Streaks of high cloud across the whole sky."""
    rows, columns = 40, 80
    field = layered_noise(rng, (rows * 4, columns), 5, 4)[::4]
    edge = np.sin(np.linspace(0, np.pi, rows))[:, None]
    alpha = np.clip((field - 0.42) * 3.0, 0, 0.9) * edge
    light = canvas.light
    colour = mix(lighter(light.tone((250, 250, 252)), 0.1), light.glow, 0.35)
    canvas.stencil(as_grey(alpha), (0, y, canvas.width, y + high), colour)


def overcast(canvas: Canvas, rng: np.random.Generator, *, horizon: float) -> None:
    """Draw a closed cover of heavy cloud."""
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
    """Many small stars and a few that sparkle."""
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
