"""What a scene is drawn on: a picture at twice its size, and a map of what is visible where."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tagloom.datasets.scenes.colours import Colour, Light, whole
from tagloom.datasets.scenes.textures import Tile, cut

if TYPE_CHECKING:
    from PIL.Image import Image

Points = Sequence[tuple[float, float]] | npt.NDArray[np.float64]
Box = tuple[float, float, float, float]

# Drawn at this many times the size and scaled down: edges come out smooth.
_OVERSAMPLING = 2
# All drawing is done in units of which a picture is this many high, whatever its size.
HEIGHT = 240.0


class Canvas:
    """A picture in the making.

    Every stroke goes both to the picture and, under the number of the part that is being drawn,
    to a map of owners: whoever painted a pixel last is what is visible there. Shadows and glows
    fall on what others own and are not entered.
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
        self._image = Image.new("RGB", fine_size, whole(light.haze))
        self._owners = Image.new("L", size, 0)
        self._draw = ImageDraw.Draw(self._image)
        self._mark = ImageDraw.Draw(self._owners)

    def finished(self) -> "Image":
        """Return the picture at its size."""
        from PIL import Image

        return self._image.resize(self._size, Image.Resampling.LANCZOS)

    def owned(self) -> npt.NDArray[np.float64]:
        """Return how many pixels each owner has, as if the picture were of the usual size."""
        return np.array(self._owners.histogram()) / self._coarse**2

    def polygon(self, points: Points, colour: Colour) -> None:
        """Fill a polygon."""
        spots = np.asarray(points, dtype=np.float64)
        self._draw.polygon((spots * self._fine).ravel().tolist(), fill=whole(colour))
        self._mark.polygon((spots * self._coarse).ravel().tolist(), fill=self.owner)

    def ellipse(self, box: Box, colour: Colour) -> None:
        """Fill an ellipse."""
        left, top, right, bottom = box
        if right <= left or bottom <= top:
            return
        self._draw.ellipse([value * self._fine for value in box], fill=whole(colour))
        self._mark.ellipse([value * self._coarse for value in box], fill=self.owner)

    def rectangle(self, box: Box, colour: Colour, radius: float = 0) -> None:
        """Fill a rectangle, with round corners if asked."""
        left, top, right, bottom = box
        if right <= left or bottom <= top:
            return
        fine = [value * self._fine for value in box]
        self._draw.rounded_rectangle(fine, radius * self._fine, fill=whole(colour))
        self._mark.rectangle([value * self._coarse for value in box], fill=self.owner)

    def line(self, points: Points, colour: Colour, width: float = 1.0) -> None:
        """Draw a line along points, with round joints."""
        spots = np.asarray(points, dtype=np.float64)
        for drawing, scale, ink in (
            (self._draw, self._fine, whole(colour)),
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
        tile: Tile,
        rng: np.random.Generator,
        share: float = 0.6,
    ) -> None:
        """Fill a polygon with two gradients, (top, bottom) each, mixed as a tile says."""
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
            self._image.paste(whole(fill), (left, top), stretched)
        else:
            self._image.paste(fill.resize(size, Image.Resampling.BILINEAR), (left, top), stretched)
        if owned:
            corner = (round(box[0] * self._coarse), round(box[1] * self._coarse))
            small = (max(1, size[0] // _OVERSAMPLING), max(1, size[1] // _OVERSAMPLING))
            seen = mask.resize(small, Image.Resampling.BILINEAR).point(_MOSTLY)
            self._owners.paste(self.owner, corner, seen)

    def backdrop(self, picture: "Image", foot: float) -> None:
        """Stretch a picture over everything from the upper edge to a foot."""
        from PIL import Image

        size = (self._image.width, round(foot * self._fine))
        self._image.paste(picture.resize(size, Image.Resampling.BILINEAR), (0, 0))
        self._mark.rectangle((0, 0, size[0], foot * self._coarse), fill=self.owner)

    def blur(self, box: Box, colour: Colour, strength: float) -> None:
        """Let a soft round shadow or glow fall on what is there; it owns nothing."""
        pixels = self._pixels(box)
        if pixels is None:
            return
        mask = _soft_disc().point([round(value * strength) for value in range(256)])
        self.stencil(mask, box, colour, owned=False)

    def shadow(self, x: float, y: float, wide: float, high: float, strength: float = 0.5) -> None:
        """Let something that stands at a place throw a soft shadow around its foot."""
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
        """Return the pixels of a box that lie on the picture; None if there are none."""
        left, top = (max(0, int(value * self._fine)) for value in box[:2])
        right = min(self._image.width, int(box[2] * self._fine) + 1)
        bottom = min(self._image.height, int(box[3] * self._fine) + 1)
        return (left, top, right, bottom) if right > left and bottom > top else None


_MOSTLY = [255 if value > 110 else 0 for value in range(256)]


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
