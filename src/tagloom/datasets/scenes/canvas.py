"""The canvas of a scene, with light, pen, textures and colours.

A canvas holds the picture and a map of which part is visible at each pixel.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from PIL.Image import Image

Colour = tuple[float, float, float]
Field = npt.NDArray[np.float64]
Points = Sequence[tuple[float, float]] | npt.NDArray[np.float64]
Box = tuple[float, float, float, float]

WHITE: Colour = (255, 255, 255)

# All drawing is in units of which a picture is this many high, whatever its size.
HEIGHT = 240.0
# Drawn at a multiple of the size and scaled down, for smooth edges.
_OVERSAMPLING = 2
# Pixels of a mask above this level belong to the part that is drawn.
_OPAQUE = [255 if value > 110 else 0 for value in range(256)]


@dataclass(frozen=True)
class Light:
    """The light of a scene and the colours of its sky.

    Attributes
    ----------
    zenith, horizon
        Colours of the sky at the top and at the bottom.
    ambient
        Factor of each channel of a lit colour.
    haze
        The colour to which far things fade.
    side
        -1 or 1: whether the light comes from the left or the right.
    sun
        The brightest place of the sky, in shares of width and height.
    glow
        The colour there.
    night
        Whether lamps are lit.
    """

    zenith: Colour
    horizon: Colour
    ambient: Colour
    haze: Colour
    side: int
    sun: tuple[float, float]
    glow: Colour
    night: bool = False

    def tone(self, colour: Colour, far: float = 0.0) -> Colour:
        """Return a colour in this light, mixed with a share of haze."""
        red, green, blue = self.ambient
        lit = (colour[0] * red, colour[1] * green, colour[2] * blue)
        return mix(lit, self.haze, far)


class Canvas:
    """A picture that is being drawn.

    Every stroke is drawn both in the picture and, with the number of the current part, in a map of
    owners: the part that painted a pixel last is visible there. Shadows and glows do not change
    the owner of a pixel.
    """

    def __init__(self, size: tuple[int, int], light: Light) -> None:
        from PIL import Image, ImageDraw

        self.light = light
        self.height = HEIGHT
        self.width = HEIGHT * size[0] / size[1]
        self.owner = 0
        self._size = size
        self._coarse = size[1] / HEIGHT
        self._fine = _OVERSAMPLING * self._coarse
        fine_size = (_OVERSAMPLING * size[0], _OVERSAMPLING * size[1])
        self._image = Image.new("RGB", fine_size, to_rgb(light.haze))
        self._owners = Image.new("L", size, 0)
        self._draw = ImageDraw.Draw(self._image)
        self._mark = ImageDraw.Draw(self._owners)

    def finished(self) -> "Image":
        """Return the picture at its final size."""
        from PIL import Image

        return self._image.resize(self._size, Image.Resampling.LANCZOS)

    def owned(self) -> npt.NDArray[np.float64]:
        """Return the number of pixels of each owner, scaled to a picture 240 pixels high."""
        return np.array(self._owners.histogram()) / self._coarse**2

    def polygon(self, points: Points, colour: Colour) -> None:
        """Fill a polygon."""
        spots = np.asarray(points, dtype=np.float64)
        self._draw.polygon((spots * self._fine).ravel().tolist(), fill=to_rgb(colour))
        self._mark.polygon((spots * self._coarse).ravel().tolist(), fill=self.owner)

    def ellipse(self, box: Box, colour: Colour) -> None:
        """Fill an ellipse."""
        left, top, right, bottom = box
        if right <= left or bottom <= top:
            return
        self._draw.ellipse([value * self._fine for value in box], fill=to_rgb(colour))
        self._mark.ellipse([value * self._coarse for value in box], fill=self.owner)

    def rectangle(self, box: Box, colour: Colour, radius: float = 0) -> None:
        """Fill a rectangle, optionally with round corners."""
        left, top, right, bottom = box
        if right <= left or bottom <= top:
            return
        fine = [value * self._fine for value in box]
        self._draw.rounded_rectangle(fine, radius * self._fine, fill=to_rgb(colour))
        self._mark.rectangle([value * self._coarse for value in box], fill=self.owner)

    def line(self, points: Points, colour: Colour, width: float = 1.0) -> None:
        """Draw a line through points, with round joints."""
        spots = np.asarray(points, dtype=np.float64)
        for drawing, scale, ink in (
            (self._draw, self._fine, to_rgb(colour)),
            (self._mark, self._coarse, self.owner),
        ):
            thick = max(1, round(width * scale))
            drawing.line((spots * scale).ravel().tolist(), fill=ink, width=thick, joint="curve")

    def gradient(self, points: Points, top: Colour, bottom: Colour) -> None:
        """Fill a polygon with a colour that changes from its top to its bottom."""
        spots = np.asarray(points, dtype=np.float64)
        box = self._pixels(_around(spots))
        if box is not None:
            self._fill(spots, _faded(_size_of(box), top, bottom), box)

    def textured(
        self,
        points: Points,
        dark: tuple[Colour, Colour],
        light: tuple[Colour, Colour],
        tile: "Tile",
        rng: np.random.Generator,
        share: float = 0.6,
    ) -> None:
        """Fill a polygon with two (top, bottom) gradients, mixed by a tile."""
        from PIL import Image

        spots = np.asarray(points, dtype=np.float64)
        box = self._pixels(_around(spots))
        if box is None:
            return
        size = _size_of(box)
        mask = cut(tile, rng, size, share)
        self._fill(spots, Image.composite(_faded(size, *light), _faded(size, *dark), mask), box)

    def stencil(self, mask: "Image", box: Box, fill: "Colour | Image", owned: bool = True) -> None:
        """Paint a colour or a picture through a grey mask that is stretched over a box."""
        from PIL import Image

        left, top, right, bottom = (round(value * self._fine) for value in box)
        size = (max(1, right - left), max(1, bottom - top))
        stretched = mask.resize(size, Image.Resampling.BILINEAR)
        if isinstance(fill, tuple):
            self._image.paste(to_rgb(fill), (left, top), stretched)
        else:
            self._image.paste(fill.resize(size, Image.Resampling.BILINEAR), (left, top), stretched)
        if owned:
            corner = (round(box[0] * self._coarse), round(box[1] * self._coarse))
            small = (max(1, size[0] // _OVERSAMPLING), max(1, size[1] // _OVERSAMPLING))
            seen = mask.resize(small, Image.Resampling.BILINEAR).point(_OPAQUE)
            self._owners.paste(self.owner, corner, seen)

    def backdrop(self, picture: "Image", foot: float) -> None:
        """Stretch a picture from the upper edge down to a height."""
        from PIL import Image

        size = (self._image.width, round(foot * self._fine))
        self._image.paste(picture.resize(size, Image.Resampling.BILINEAR), (0, 0))
        self._mark.rectangle((0, 0, size[0], foot * self._coarse), fill=self.owner)

    def blur(self, box: Box, colour: Colour, strength: float) -> None:
        """Draw a soft round shadow or glow, which owns no pixels."""
        pixels = self._pixels(box)
        if pixels is None:
            return
        mask = _soft_disc().point([round(value * strength) for value in range(256)])
        self.stencil(mask, box, colour, owned=False)

    def shadow(self, x: float, y: float, wide: float, high: float, strength: float = 0.5) -> None:
        """Draw the soft shadow of a thing around its foot."""
        shift = -self.light.side * wide * 0.25
        dark = self.light.tone((14, 18, 40))
        weight = strength * (0.5 if self.light.night else 1.0)
        box = (x - wide + shift, y - high, x + wide + shift, y + high)
        self.blur(box, dark, weight)

    def _fill(
        self, spots: npt.NDArray[np.float64], ink: "Image", box: tuple[int, int, int, int]
    ) -> None:
        from PIL import Image, ImageDraw

        mask = Image.new("L", _size_of(box), 0)
        inside = spots * self._fine - np.array(box[:2])
        ImageDraw.Draw(mask).polygon(inside.ravel().tolist(), fill=255)
        self._image.paste(ink, box[:2], mask)
        self._mark.polygon((spots * self._coarse).ravel().tolist(), fill=self.owner)

    def _pixels(self, box: Box) -> tuple[int, int, int, int] | None:
        """Return the pixels of a box that are on the picture; None if there are none."""
        left, top = (max(0, int(value * self._fine)) for value in box[:2])
        right = min(self._image.width, int(box[2] * self._fine) + 1)
        bottom = min(self._image.height, int(box[3] * self._fine) + 1)
        return (left, top, right, bottom) if right > left and bottom > top else None


def _around(spots: npt.NDArray[np.float64]) -> Box:
    (left, top), (right, bottom) = spots.min(axis=0), spots.max(axis=0)
    return float(left), float(top), float(right), float(bottom)


def _size_of(box: tuple[int, int, int, int]) -> tuple[int, int]:
    return box[2] - box[0], box[3] - box[1]


def _faded(size: tuple[int, int], top: Colour, bottom: Colour) -> "Image":
    from PIL import Image

    share = np.linspace(0, 1, size[1])[:, None]
    column = np.array(top) * (1 - share) + np.array(bottom) * share
    strip = np.rint(np.clip(column, 0, 255)).astype(np.uint8)[:, None, :]
    return Image.fromarray(strip).resize(size, Image.Resampling.NEAREST)


@cache
def _soft_disc() -> "Image":
    from PIL import Image

    axis = np.linspace(-1, 1, 64)
    distance = np.hypot(axis[:, None], axis[None, :])
    weight = np.clip(1 - distance, 0, 1) ** 1.5
    return Image.fromarray(np.rint(weight * 255).astype(np.uint8))


@dataclass(frozen=True)
class Spot:
    """The place of a thing.

    Attributes
    ----------
    x, y
        Its foot on the canvas.
    size
        Its height.
    far
        The share of haze in front of it.
    flip
        Whether it is mirrored.
    """

    x: float
    y: float
    size: float
    far: float = 0.0
    flip: bool = False


class Pen:
    """Draws a thing at a spot in its own units: it is 1 high and stands on (0, 0), y upwards."""

    def __init__(self, canvas: Canvas, spot: Spot) -> None:
        self.canvas = canvas
        self.spot = spot
        self._sign = -1.0 if spot.flip else 1.0

    @property
    def side(self) -> float:
        """The side of the light, in the directions of the thing."""
        return self.canvas.light.side * self._sign

    def tone(self, colour: Colour) -> Colour:
        """Return a colour in the light of the scene."""
        return self.canvas.light.tone(colour, self.spot.far)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the position on the canvas."""
        spot = self.spot
        return spot.x + self._sign * x * spot.size, spot.y - y * spot.size

    def poly(self, points: Sequence[tuple[float, float]], colour: Colour) -> None:
        """Fill a polygon."""
        self.canvas.polygon([self.at(x, y) for x, y in points], self.tone(colour))

    def oval(self, x: float, y: float, wide: float, high: float, colour: Colour) -> None:
        """Fill an ellipse with this centre and these half axes."""
        self.bare_oval(x, y, wide, high, self.tone(colour))

    def bare_oval(self, x: float, y: float, wide: float, high: float, colour: Colour) -> None:
        """Fill an ellipse with a colour that shines by itself."""
        centre_x, centre_y = self.at(x, y)
        wide, high = wide * self.spot.size, high * self.spot.size
        box = (centre_x - wide, centre_y - high, centre_x + wide, centre_y + high)
        self.canvas.ellipse(box, colour)

    def box(
        self, x: tuple[float, float], y: tuple[float, float], colour: Colour, round_by: float = 0
    ) -> None:
        """Fill a rectangle from x to x and from y to y."""
        self.bare_box(x, y, self.tone(colour), round_by)

    def bare_box(
        self, x: tuple[float, float], y: tuple[float, float], colour: Colour, round_by: float = 0
    ) -> None:
        """Fill a rectangle with a colour that shines by itself."""
        (one, low), (other, high) = self.at(x[0], y[0]), self.at(x[1], y[1])
        box = (min(one, other), high, max(one, other), low)
        self.canvas.rectangle(box, colour, round_by * self.spot.size)

    def line(self, points: Sequence[tuple[float, float]], colour: Colour, width: float) -> None:
        """Draw a line; its width is in heights of the thing."""
        places = [self.at(x, y) for x, y in points]
        self.canvas.line(places, self.tone(colour), width * self.spot.size)

    def shadow(self, wide: float, high: float = 0.06, strength: float = 0.55, x: float = 0) -> None:
        """Draw a soft shadow of that half width around the foot."""
        size = self.spot.size
        place, foot = self.at(x, 0)
        weight = strength * (1 - self.spot.far)
        self.canvas.shadow(place, foot, wide * size, high * size, weight)

    def glow(self, x: float, y: float, reach: float, colour: Colour, strength: float) -> None:
        """Draw a soft glow around a place."""
        centre_x, centre_y = self.at(x, y)
        reach *= self.spot.size
        box = (centre_x - reach, centre_y - reach, centre_x + reach, centre_y + reach)
        self.canvas.blur(box, colour, strength)


@dataclass(frozen=True)
class Tile:
    """A grey texture; `lying` if its upper edge is the horizon."""

    image: "Image"
    lying: bool = False


# The noise tiles are the same for every scene; scenes cut different pieces from them.
_SEED = 20
_SIDE = 512


@cache
def grain() -> Tile:
    """Return fine grain, the same in all directions."""
    return Tile(as_grey(layered_noise(np.random.default_rng(_SEED), (_SIDE, _SIDE), 48, 3)))


@cache
def billows() -> Tile:
    """Return large soft noise."""
    return Tile(as_grey(layered_noise(np.random.default_rng(_SEED + 1), (_SIDE, _SIDE), 5, 5)))


@cache
def ground() -> Tile:
    """Return tufts and stones on level ground, in perspective."""
    rng = np.random.default_rng(_SEED + 2)
    flat = 0.55 * layered_noise(rng, (_SIDE, _SIDE), 40, 3) + 0.45 * rng.uniform(
        size=(_SIDE, _SIDE)
    )
    patches = layered_noise(rng, (_SIDE, _SIDE), 4, 3)
    return Tile(as_grey(_stretched(0.6 * _lying(flat, 0.12) + 0.4 * patches)), lying=True)


@cache
def ripples() -> Tile:
    """Return waves on level water, in perspective."""
    rng = np.random.default_rng(_SEED + 3)
    flat = layered_noise(rng, (_SIDE, _SIDE), 24, 3)
    crests = np.abs(flat - 0.5) * 2
    return Tile(as_grey(_stretched(1 - _lying(crests, 0.05) ** 0.7)), lying=True)


def _lying(field: Field, stretch: float) -> Field:
    """Lay a texture on the ground in perspective; the upper edge is the horizon."""
    side = _SIDE
    rows = np.arange(side) / side
    depth = 1.0 / (rows + 0.09)
    v = (depth * 55).astype(np.int64) % side
    across = (np.arange(side) - side / 2)[None, :] * depth[:, None] * stretch
    u = (across + side / 2).astype(np.int64) % side
    return field[v[:, None], u]


def _stretched(field: Field) -> Field:
    low, high = (float(value) for value in np.quantile(field, [0.01, 0.99]))
    return np.clip((field - low) / (high - low), 0, 1)


def cut(tile: Tile, rng: np.random.Generator, size: tuple[int, int], share: float = 0.6) -> "Image":
    """Cut a random piece of a tile, a share of its width, and stretch it to a size."""
    from PIL import Image

    image = tile.image
    wide = max(1, int(image.width * share))
    high = image.height if tile.lying else min(image.height, max(1, wide * size[1] // size[0]))
    left = int(rng.integers(0, image.width - wide + 1))
    top = int(rng.integers(0, image.height - high + 1))
    box = (left, top, left + wide, top + high)
    piece = image.resize(size, Image.Resampling.BILINEAR, box=box)
    return piece.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if rng.uniform() < 0.5 else piece


def smooth_noise(rng: np.random.Generator, shape: tuple[int, int], cells: int) -> Field:
    """Return noise in [0, 1] with `cells` random values across, interpolated smoothly."""
    from PIL import Image

    rows, columns = shape
    coarse = rng.uniform(size=(max(2, cells * rows // columns), max(2, cells)))
    picture = Image.fromarray(coarse.astype(np.float32))
    grown = picture.resize((columns, rows), Image.Resampling.BICUBIC)
    return np.asarray(grown, dtype=np.float64)


def layered_noise(rng: np.random.Generator, shape: tuple[int, int], cells: int, n: int) -> Field:
    """Return the sum of `n` noises, each twice as fine and 0.6 times as strong, in [0, 1]."""
    total = sum(0.6**i * smooth_noise(rng, shape, cells * 2**i) for i in range(n))
    field = np.asarray(total, dtype=np.float64)
    low, high = float(field.min()), float(field.max())
    stretched: Field = (field - low) / max(high - low, 1e-9)
    return stretched


def as_grey(field: Field) -> "Image":
    """Convert numbers in [0, 1] to a grey picture."""
    from PIL import Image

    return Image.fromarray(np.rint(np.clip(field, 0, 1) * 255).astype(np.uint8))


def mix(one: Colour, other: Colour, share: float) -> Colour:
    """Interpolate between two colours.

    >>> mix((0, 0, 0), (200, 100, 50), 0.5)
    (100.0, 50.0, 25.0)
    """
    rest = 1.0 - share
    return (
        one[0] * rest + other[0] * share,
        one[1] * rest + other[1] * share,
        one[2] * rest + other[2] * share,
    )


def lighter(colour: Colour, share: float = 0.2) -> Colour:
    """Mix with white."""
    return mix(colour, WHITE, share)


def darker(colour: Colour, share: float = 0.2) -> Colour:
    """Mix with a dark blue, as in shadows."""
    return mix(colour, (18, 22, 48), share)


def to_rgb(colour: Colour) -> tuple[int, int, int]:
    """Round a colour to bytes."""
    red, green, blue = colour
    return _byte(red), _byte(green), _byte(blue)


def _byte(value: float) -> int:
    return 0 if value < 0 else 255 if value > 255 else round(value)


def palette(colours: str) -> tuple[Colour, ...]:
    """Return colours that are written as on the web: `palette("#ff8000 #ffffff")`."""
    channels = (bytes.fromhex(colour.removeprefix("#")) for colour in colours.split())
    return tuple((red, green, blue) for red, green, blue in channels)


def pick(rng: np.random.Generator, colours: tuple[Colour, ...], spread: float = 12) -> Colour:
    """Draw one of the colours and vary it a little."""
    red, green, blue = colours[int(rng.integers(len(colours)))]
    shift, tint = rng.uniform(-spread, spread), rng.uniform(-spread / 2, spread / 2)
    return red + shift + tint, green + shift, blue + shift - tint
