"""Which kinds of scene there are, how often, and at which hours."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tagloom.datasets.scenes import kinds_land, kinds_rooms, kinds_town, kinds_water
from tagloom.datasets.scenes.plan import Plan

_OUTDOORS = {"day": 0.4, "morning": 0.15, "evening": 0.2, "grey": 0.15, "night": 0.1}
_CITY = {"day": 0.2, "morning": 0.05, "evening": 0.15, "grey": 0.2, "night": 0.4}
_SHADE = {"day": 0.6, "morning": 0.15, "evening": 0.15, "grey": 0.1}
_INDOORS = {"day": 0.5, "morning": 0.2, "lamplight": 0.3}


@dataclass(frozen=True)
class Kind:
    """A kind of scene: how it is composed, how often it comes, at which hours."""

    compose: Callable[[Plan], None]
    weight: float
    hours: dict[str, float]


KINDS: dict[str, Kind] = {
    "beach": Kind(kinds_water.beach, 0.07, _OUTDOORS),
    "harbour": Kind(kinds_water.harbour, 0.06, _OUTDOORS),
    "river": Kind(kinds_water.river, 0.06, _OUTDOORS),
    "reef": Kind(kinds_water.reef, 0.08, {"day": 1.0}),
    "mountains": Kind(kinds_land.highlands, 0.06, _OUTDOORS),
    "meadow": Kind(kinds_land.meadow, 0.07, _OUTDOORS),
    "winter": Kind(kinds_land.winter, 0.05, {**_OUTDOORS, "night": 0.3}),
    "desert": Kind(kinds_land.desert, 0.05, {"day": 0.4, "evening": 0.35, "night": 0.25}),
    "forest": Kind(kinds_land.forest, 0.09, _SHADE),
    "street": Kind(kinds_town.street, 0.07, {**_OUTDOORS, "grey": 0.35}),
    "city": Kind(kinds_town.city, 0.05, _CITY),
    "garden": Kind(kinds_town.garden, 0.09, _SHADE),
    "living room": Kind(kinds_rooms.living_room, 0.11, _INDOORS),
    "dining room": Kind(kinds_rooms.dining_room, 0.1, _INDOORS),
    "study": Kind(kinds_rooms.study, 0.07, _INDOORS),
}


def _drawn(rng: np.random.Generator, weights: dict[str, float]) -> str:
    shares = np.array(list(weights.values()))
    return list(weights)[int(rng.choice(len(shares), p=shares / shares.sum()))]


def compose(rng: np.random.Generator, width: float) -> tuple[str, Plan]:
    """Draw a kind of scene and its hour, and plan it."""
    name = _drawn(rng, {name: kind.weight for name, kind in KINDS.items()})
    plan = Plan(rng, _drawn(rng, KINDS[name].hours), width)
    KINDS[name].compose(plan)
    return name, plan
