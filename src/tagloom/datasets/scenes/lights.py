"""The hours and weathers a scene can have."""

import numpy as np

from tagloom.datasets.scenes.colours import Colour, Light, pick

# zenith, horizon, ambient, haze, glow, and how high the sun stands (share of the height).
_HOURS: dict[str, tuple[Colour, Colour, Colour, Colour, Colour, tuple[float, float]]] = {
    "day": (
        (64, 128, 206),
        (190, 222, 240),
        (1.0, 1.0, 1.0),
        (196, 216, 232),
        (255, 250, 228),
        (0.08, 0.2),
    ),
    "morning": (
        (112, 152, 212),
        (252, 216, 200),
        (1.0, 0.95, 0.92),
        (238, 214, 212),
        (255, 238, 214),
        (0.15, 0.3),
    ),
    "evening": (
        (82, 88, 158),
        (252, 178, 116),
        (1.0, 0.84, 0.72),
        (240, 182, 148),
        (255, 216, 140),
        (0.22, 0.36),
    ),
    "grey": (
        (146, 156, 174),
        (208, 214, 220),
        (0.84, 0.87, 0.91),
        (198, 205, 214),
        (222, 226, 230),
        (0.1, 0.2),
    ),
    "night": (
        (12, 18, 50),
        (52, 62, 112),
        (0.36, 0.42, 0.62),
        (44, 54, 98),
        (96, 108, 156),
        (0.1, 0.25),
    ),
    "lamplight": (
        (60, 50, 60),
        (90, 70, 70),
        (0.92, 0.8, 0.66),
        (150, 120, 100),
        (255, 226, 170),
        (0.1, 0.2),
    ),
}


def light_of(hour: str, rng: np.random.Generator) -> Light:
    """Return the light of an hour, each time a little different."""
    zenith, horizon, ambient, haze, glow, heights = _HOURS[hour]
    side = 1 if rng.uniform() < 0.5 else -1
    x = 0.5 + side * rng.uniform(0.08, 0.38)
    strength = rng.uniform(0.94, 1.05)
    return Light(
        zenith=pick(rng, (zenith,), 14),
        horizon=pick(rng, (horizon,), 8),
        ambient=(ambient[0] * strength, ambient[1] * strength, ambient[2] * strength),
        haze=pick(rng, (haze,), 6),
        side=side,
        sun=(x, rng.uniform(*heights)),
        glow=glow,
        night=hour in ("night", "lamplight"),
    )
