"""A pen that draws a thing in its own measure: 1 high, standing on its foot, light included."""

from collections.abc import Sequence
from dataclasses import dataclass

from tagloom.datasets.scenes.canvas import Canvas
from tagloom.datasets.scenes.colours import Colour


@dataclass(frozen=True)
class Spot:
    """Where a thing stands.

    Attributes
    ----------
    x, y
        Its foot, on the canvas.
    size
        Its height.
    far
        The share of haze between it and the eye.
    flip
        Whether it is mirrored.
    """

    x: float
    y: float
    size: float
    far: float = 0.0
    flip: bool = False


class Pen:
    """Draws at a spot: x from left to right, y upwards from the foot, in heights of the thing."""

    def __init__(self, canvas: Canvas, spot: Spot) -> None:
        self.canvas = canvas
        self.spot = spot
        self._sign = -1.0 if spot.flip else 1.0

    @property
    def side(self) -> float:
        """Where the light comes from, in the thing's own directions."""
        return self.canvas.light.side * self._sign

    def tone(self, colour: Colour) -> Colour:
        """Show a colour in the light of the scene."""
        return self.canvas.light.tone(colour, self.spot.far)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the place on the canvas."""
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
        """Throw a soft shadow of that half width around the foot."""
        size = self.spot.size
        place, foot = self.at(x, 0)
        weight = strength * (1 - self.spot.far)
        self.canvas.shadow(place, foot, wide * size, high * size, weight)

    def glow(self, x: float, y: float, reach: float, colour: Colour, strength: float) -> None:
        """Let light spread softly around a place."""
        centre_x, centre_y = self.at(x, y)
        reach *= self.spot.size
        box = (centre_x - reach, centre_y - reach, centre_x + reach, centre_y + reach)
        self.canvas.blur(box, colour, strength)
