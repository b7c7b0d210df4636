"""The land: level ground, mountains and hills, hedges and walls, streets, and water."""

import numpy as np

from tagloom.datasets.scenes.canvas import (
    Canvas,
    Colour,
    Field,
    as_grey,
    billows,
    darker,
    grain,
    ground,
    layered_noise,
    lighter,
    mix,
    pick,
    ripples,
)

_GRASS: tuple[Colour, ...] = ((98, 152, 62), (122, 164, 70), (84, 140, 76), (140, 160, 66))
_SAND: tuple[Colour, ...] = ((232, 208, 156), (226, 190, 136), (238, 220, 180))
_DUNE: tuple[Colour, ...] = ((222, 168, 104), (212, 150, 96), (230, 188, 124))
_ROCK: tuple[Colour, ...] = ((104, 110, 130), (118, 104, 100), (92, 108, 116), (126, 112, 128))
_SEA: tuple[Colour, ...] = ((44, 122, 158), (36, 104, 150), (52, 142, 156), (60, 126, 170))


def meadow(canvas: Canvas, rng: np.random.Generator, *, horizon: float, wave: float = 8) -> None:
    """Draw grass to the horizon, with blades in front."""
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
    """Draw fine pale sand."""
    _level(canvas, rng, horizon, pick(rng, _SAND, 8), 0.1, 0.05, wave)


def snowfield(canvas: Canvas, rng: np.random.Generator, *, horizon: float, wave: float = 8) -> None:
    """Draw snow with blue hollows."""
    outline = under(canvas, rolling(rng, 40), horizon + 1, wave, canvas.height + 2)
    light = canvas.light
    white = mix(light.tone((250, 252, 255)), (250, 252, 255), 0.0 if light.night else 0.4)
    blue = mix(light.tone((196, 212, 240)), light.zenith, 0.25)
    pale = mix(white, light.haze, 0.25)
    canvas.textured(outline, (pale, blue), (pale, white), billows(), rng)


def leaf_litter(canvas: Canvas, rng: np.random.Generator, *, horizon: float) -> None:
    """Draw brown leaves on a forest floor."""
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
    """Draw rows of dunes, each with a lit and a shaded side."""
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
    """Shade the side of each dune that faces away from the light."""
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


def mountains(
    canvas: Canvas,
    rng: np.random.Generator,
    *,
    seed: int,
    horizon: float,
    high: float,
    rock: Colour | None = None,
) -> None:
    """Draw a range of mountains in the haze, lit from one side."""
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
    """Shade the sides of the peaks that face away from the light."""
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
    """Draw snow on the upper parts of the range with the same seed."""
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
    """Return the outline of a range of mountains, the same for its rock and its snow."""
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
    """Draw soft hills that fade into the haze below."""
    outline = under(canvas, rolling(rng, 60), base, high, base + high)
    light = canvas.light
    top, foot = light.tone(colour, far), light.tone(lighter(colour, 0.1), min(far + 0.2, 0.95))
    canvas.textured(outline, (darker(top, 0.15), foot), (top, foot), billows(), rng, 0.5)


def hedge(canvas: Canvas, rng: np.random.Generator, *, foot: float) -> None:
    """Draw a clipped hedge that fills the background."""
    colour = pick(rng, ((84, 136, 66), (70, 120, 74), (104, 140, 64)))
    _wall_of_leaves(canvas, rng, foot, colour, (0.4, 0.0))
    _dabs(canvas, rng, foot, colour, 420)


def thicket(canvas: Canvas, rng: np.random.Generator, *, floor: float) -> None:
    """Draw the depth of a forest: light between leaves above, dark below."""
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
    """Draw single leaves."""
    across, down = rng.uniform(0, canvas.width, n), rng.uniform(0, foot - 3, n)
    for x, y, size, share in zip(
        across, down, rng.uniform(1.5, 4, n), rng.uniform(0, 1, n), strict=True
    ):
        shade = canvas.light.tone(mix(darker(colour, 0.45), lighter(colour, 0.22), share))
        canvas.ellipse((x - size, y - size * 0.6, x + size, y + size * 0.6), shade)


def brick_wall(canvas: Canvas, rng: np.random.Generator, *, foot: float) -> None:
    """Draw a brick wall that fills the background."""
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
    """Draw a road that runs to a vanishing point on the horizon."""
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
    """Draw stone slabs from a line down to the lower edge."""
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


def sea(canvas: Canvas, rng: np.random.Generator, *, horizon: float, shore: float) -> None:
    """Draw open water from the horizon to the shore: ripples, reflected sky, glitter."""
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
    """Draw short bright strokes below the sun."""
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
    """Draw rows of foam that run up a beach."""
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
    """Draw still water that mirrors the colour behind it."""
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
    """Return the middle of a river, as a share of the width, at a share of its course."""
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
    """Draw a river that winds from the horizon to the lower edge."""
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
    """Draw blue water below the surface, with shafts of light."""
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
    """Draw a tuft of swaying seaweed."""
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


def ridge(rng: np.random.Generator, n: int, rough: float, peaks: int) -> Field:
    """Return heights in [0, 1] of a jagged line: peaks joined by rough straight slopes."""
    knots = rng.uniform(0.12, 0.45, 2 * peaks + 1)
    knots[1::2] = rng.uniform(0.65, 1.0, peaks)
    places = np.linspace(0, 1, 2 * peaks + 1) + rng.uniform(-0.25, 0.25, 2 * peaks + 1) / (
        2 * peaks
    )
    across = np.linspace(0, 1, n)
    line = np.interp(across, np.sort(places), knots)
    for cells in (24, 48, 96):
        steps = rng.uniform(-1, 1, cells)
        line += rough * 4.0 / cells * np.interp(across, np.linspace(0, 1, cells), steps)
    return line


def rolling(rng: np.random.Generator, n: int) -> Field:
    """Return heights in [0, 1] of a softly rolling line."""
    across = np.linspace(0, 2 * np.pi, n)
    line = np.zeros(n)
    for frequency, weight in ((0.6, 0.5), (1.3, 0.3), (2.6, 0.12)):
        line += weight * np.sin(frequency * across + rng.uniform(0, 2 * np.pi))
    return (line + 0.92) / 1.84


def under(canvas: Canvas, heights: Field, base: float, high: float, floor: float) -> Field:
    """Return the polygon between a line of heights above `base` and a floor."""
    across = np.linspace(-2, canvas.width + 2, len(heights))
    top = np.column_stack([across, base - heights * high])
    return np.vstack([top, [[canvas.width + 2, floor], [-2, floor]]])
