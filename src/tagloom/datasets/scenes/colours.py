"""Colours: mixing, varying, and the light that falls on a scene."""

from dataclasses import dataclass

import numpy as np

Colour = tuple[float, float, float]
Whole = tuple[int, int, int]

WHITE: Colour = (255, 255, 255)
BLACK: Colour = (0, 0, 0)


def mix(one: Colour, other: Colour, share: float) -> Colour:
    """Go from one colour towards the other by a share of the way.

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
    """Go towards white."""
    return mix(colour, WHITE, share)


def darker(colour: Colour, share: float = 0.2) -> Colour:
    """Go towards a dark blue, as shadows do."""
    return mix(colour, (18, 22, 48), share)


def whole(colour: Colour) -> Whole:
    """Round to what a picture can hold."""
    red, green, blue = colour
    return _byte(red), _byte(green), _byte(blue)


def _byte(value: float) -> int:
    return 0 if value < 0 else 255 if value > 255 else round(value)


def pick(rng: np.random.Generator, colours: tuple[Colour, ...], spread: float = 12) -> Colour:
    """Choose one of the colours and shift it a little."""
    red, green, blue = colours[int(rng.integers(len(colours)))]
    shift, tint = rng.uniform(-spread, spread), rng.uniform(-spread / 2, spread / 2)
    return red + shift + tint, green + shift, blue + shift - tint


@dataclass(frozen=True)
class Light:
    """The light of a scene: what it does to colours, and the sky it comes from.

    Attributes
    ----------
    zenith, horizon
        Colours of the sky at the top and at the bottom.
    ambient
        What each channel of a lit colour is multiplied by.
    haze
        What far things fade to.
    side
        -1 or 1: whether the light comes from the left or the right.
    sun
        Where the brightest place of the sky lies, in shares of width and height.
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
        """Show a colour in this light, seen from afar by a share of the way to the haze."""
        red, green, blue = self.ambient
        lit = (colour[0] * red, colour[1] * green, colour[2] * blue)
        return mix(lit, self.haze, far)
