"""The plan of a scene: its light and its parts, from back to front."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tagloom.datasets.scenes.canvas import HEIGHT, Canvas, Colour, Light, Spot, palette, pick

Paint = Callable[[Canvas, np.random.Generator], None]
# A thing that stands at a spot.
Thing = Callable[..., None]

# Zenith, horizon, haze and glow; the ambient light; the range of heights of the sun (as shares).
_HOURS: dict[str, tuple[str, Colour, tuple[float, float]]] = {
    "day": ("#4080ce #bedef0 #c4d8e8 #fffae4", (1.0, 1.0, 1.0), (0.08, 0.2)),
    "morning": ("#7098d4 #fcd8c8 #eed6d4 #ffeed6", (1.0, 0.95, 0.92), (0.15, 0.3)),
    "evening": ("#52589e #fcb274 #f0b694 #ffd88c", (1.0, 0.84, 0.72), (0.22, 0.36)),
    "grey": ("#929cae #d0d6dc #c6cdd6 #dee2e6", (0.84, 0.87, 0.91), (0.1, 0.2)),
    "night": ("#0c1232 #343e70 #2c3662 #606c9c", (0.36, 0.42, 0.62), (0.1, 0.25)),
    "lamplight": ("#3c323c #5a4646 #967864 #ffe2aa", (0.92, 0.8, 0.66), (0.1, 0.2)),
}


@dataclass(frozen=True)
class Part:
    """One part of a scene.

    Attributes
    ----------
    label
        The label if the part is visible; None if it has no label.
    paint
        The function that draws it.
    number
        Selects its own stream of random numbers, so that leaving out another part does not
        change it.
    """

    label: str | None
    paint: Paint
    number: int


class Plan:
    """The parts of a scene, from back to front.

    `add` adds a part in front of all earlier ones. `stand` and `put` place things on the ground;
    they are drawn together, far ones first, once `raise_` is called or the scene is complete.
    """

    def __init__(self, rng: np.random.Generator, hour: str, width: float) -> None:
        self.rng = rng
        self.hour = hour
        self.width = width
        self.light = light_of(hour, rng)
        self.horizon = 120.0
        self._parts: list[Part] = []
        self._standing: list[tuple[float, Part]] = []
        self._taken: list[tuple[float, float]] = []
        self._count = 0

    def chance(self, odds: float) -> bool:
        """Return True with a probability."""
        return bool(self.rng.uniform() < odds)

    def between(self, low: float, high: float) -> float:
        """Draw a number uniformly."""
        return float(self.rng.uniform(low, high))

    def some(self, low: int, high: int) -> range:
        """Draw a number of repetitions, as a range."""
        return range(int(self.rng.integers(low, high + 1)))

    def one_of(self, *choices: Any) -> Any:
        """Draw one of the choices."""
        return choices[int(self.rng.integers(len(choices)))]

    def add(self, label: str | None, paint: Callable[..., None], **options: Any) -> None:
        """Add a part in front of all earlier ones."""
        self._parts.append(self._part(label, partial(paint, **options)))

    def stand(
        self,
        label: str | None,
        thing: Thing,
        *,
        tall: float,
        near: tuple[float, float] = (0.3, 0.95),
        across: tuple[float, float] = (0.06, 0.94),
        **options: Any,
    ) -> Spot:
        """Place a thing on the ground where there is room.

        Its height is `tall` at the lower edge and shrinks towards the horizon; `near` is how far
        down it may stand (0: horizon, 1: lower edge), `across` is where from left to right.
        """
        share = self.between(*near)
        size = tall * (0.12 + 0.88 * share) * self.between(0.9, 1.1)
        y = self.horizon + (HEIGHT - self.horizon) * share
        x = self._room(share, (across[0] * self.width, across[1] * self.width))
        spot = Spot(x, y, size, 0.35 * (1 - share) ** 1.5, self.chance(0.5))
        self.put(label, thing, spot, **options)
        return spot

    def put(self, label: str | None, thing: Thing, spot: Spot, **options: Any) -> None:
        """Place a thing at a given spot."""
        self._taken.append((spot.x, spot.y))
        self._standing.append((spot.y, self._part(label, partial(thing, spot=spot, **options))))

    def raise_(self) -> None:
        """Add the things on the ground; parts that are added later are in front of them."""
        self._parts += [part for _, part in sorted(self._standing, key=lambda pair: pair[0])]
        self._standing = []

    def parts(self) -> list[Part]:
        """Return all parts, back to front."""
        self.raise_()
        return list(self._parts)

    def _room(self, share: float, across: tuple[float, float]) -> float:
        """Try some places and return the one farthest from the things already placed."""
        y = self.horizon + (HEIGHT - self.horizon) * share
        tries = self.rng.uniform(*across, size=7)
        if not self._taken:
            return float(tries[0])
        taken = np.array(self._taken)
        gaps = np.abs(tries[:, None] - taken[:, 0]) + 0.8 * np.abs(y - taken[:, 1])
        return float(tries[gaps.min(axis=1).argmax()])

    def _part(self, label: str | None, paint: Paint) -> Part:
        self._count += 1
        return Part(label, paint, self._count)


def light_of(hour: str, rng: np.random.Generator) -> Light:
    """Return the light of an hour, with small random variations."""
    colours, ambient, heights = _HOURS[hour]
    zenith, horizon, haze, glow = palette(colours)
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
