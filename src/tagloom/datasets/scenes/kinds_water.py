"""Scenes by the water: beach, harbour, river, and the reef below."""

from tagloom.datasets.scenes import (
    animals,
    buildings,
    furniture,
    land,
    mountains,
    people,
    plants,
    vehicles,
    water,
)
from tagloom.datasets.scenes.canvas import HEIGHT
from tagloom.datasets.scenes.kinds_air import balloons, birds, open_sky, rainfall
from tagloom.datasets.scenes.pen import Spot
from tagloom.datasets.scenes.plan import Plan, Thing


def beach(plan: Plan) -> None:
    """Plan sea and sand, palms, parasols, boats."""
    plan.horizon = plan.between(90, 118)
    shore = plan.between(150, 176)
    open_sky(plan, clouds=0.55, sun=0.5)
    if plan.chance(0.3):
        _island(plan)
    plan.add("water", water.sea, horizon=plan.horizon, shore=shore + 8)
    _boats(plan, 0.45, (0.1, 0.45), vehicles.sailing_boat, 95)
    birds(plan, 0.35)
    plan.add("sand", land.beach_sand, horizon=shore, wave=7)
    plan.add(None, water.surf, shore=shore - 4)
    sunny = plan.hour != "grey"
    near = ((shore + 14 - plan.horizon) / (240 - plan.horizon), 0.97)
    if plan.chance(0.55):
        for _ in plan.some(1, 2):
            plan.stand(
                "palm",
                plants.palm,
                tall=190,
                near=near,
                across=plan.one_of((0.03, 0.3), (0.7, 0.97)),
            )
    if sunny and plan.chance(0.5):
        for _ in plan.some(1, 2):
            spot = plan.stand("umbrella", people.umbrella, tall=88, near=near)
            if plan.chance(0.4):
                place = Spot(spot.x + spot.size * 0.4, spot.y + 3, spot.size * 0.55)
                plan.put("chair", furniture.chair, place)
    if plan.chance(0.5):
        _strollers(plan, near, 100, 0.3)
    rainfall(plan, 0.3)


def _island(plan: Plan) -> None:
    x = plan.between(0.15, 0.85) * plan.width
    plan.add(
        "lighthouse",
        buildings.lighthouse,
        spot=Spot(x, plan.horizon + 2, plan.between(46, 72), 0.12),
    )


def _boats(plan: Plan, odds: float, near: tuple[float, float], boat: Thing, tall: float) -> None:
    if plan.chance(odds):
        for _ in plan.some(1, 3):
            plan.stand("boat", boat, tall=tall, near=near)
        plan.raise_()


def _strollers(
    plan: Plan,
    near: tuple[float, float],
    tall: float,
    dogs: float,
    across: tuple[float, float] = (0.06, 0.94),
) -> None:
    for _ in plan.some(1, 3):
        plan.stand("person", people.person, tall=tall, near=near, across=across)
    if plan.chance(dogs):
        plan.stand("dog", animals.dog, tall=tall * 0.5, near=near, across=across)


def harbour(plan: Plan) -> None:
    """Plan a row of gabled houses behind boats on the water."""
    plan.horizon = plan.between(104, 126)
    open_sky(plan, clouds=0.5, sun=0.3)
    if plan.chance(0.4):
        plan.add(
            "mountain",
            mountains.mountains,
            seed=int(plan.rng.integers(2**31)),
            horizon=plan.horizon,
            high=plan.between(30, 60),
        )
    if plan.chance(0.5):
        _island(plan)
    if plan.chance(0.75):
        _quay(plan)
    plan.add("water", water.sea, horizon=plan.horizon + 6, shore=242)
    for _ in plan.some(1, 3):
        boat, tall = plan.one_of((vehicles.sailing_boat, 130), (vehicles.fishing_boat, 74))
        plan.stand("boat", boat, tall=tall, near=(0.2, 0.85))
    plan.raise_()
    birds(plan, 0.5)
    rainfall(plan, 0.35)


def _quay(plan: Plan) -> None:
    foot = plan.horizon + 7
    left, right = plan.one_of((-0.02, 0.6), (0.4, 1.02), (-0.02, 1.02))
    x = left * plan.width
    while x < right * plan.width:
        size = plan.between(62, 92)
        plan.put("house", buildings.town_house, Spot(x, foot, size, 0.1))
        x += size * 0.6
    if plan.chance(0.4):
        for _ in plan.some(1, 3):
            place = plan.between(left + 0.08, right - 0.08) * plan.width
            plan.put(
                "lamp", buildings.street_lamp, Spot(place, foot + 2, plan.between(44, 54), 0.05)
            )
    plan.raise_()


def river(plan: Plan) -> None:
    """Plan a river through meadows, perhaps under a bridge."""
    plan.horizon = plan.between(86, 108)
    open_sky(plan, clouds=0.5, sun=0.4, rainbow=0.35)
    balloons(plan, 0.12)
    if plan.chance(0.4):
        plan.add(
            "mountain",
            mountains.mountains,
            seed=int(plan.rng.integers(2**31)),
            horizon=plan.horizon,
            high=plan.between(34, 64),
        )
    plan.add("grass", land.meadow, horizon=plan.horizon)
    course = {
        "start": plan.between(0.3, 0.7),
        "end": plan.between(0.38, 0.62),
        "bend": plan.one_of(-1, 1) * plan.between(0.06, 0.13),
    }
    plan.add("water", water.river, horizon=plan.horizon, **course)
    if plan.chance(0.6):
        _bridge(plan, course)
    elif plan.chance(0.6):
        share = plan.between(0.6, 0.88)
        x = water.river_middle(share, **course) * plan.width
        y = plan.horizon + (HEIGHT - plan.horizon) * share
        plan.put("boat", vehicles.fishing_boat, Spot(x, y, 56 * share))
    _banks(plan)
    birds(plan, 0.3)
    rainfall(plan, 0.45)


def _bridge(plan: Plan, course: dict[str, float]) -> None:
    """Lead a bridge over the river, a little longer than it is wide there."""
    share = plan.between(0.34, 0.56)
    y = plan.horizon + (HEIGHT - plan.horizon) * share
    middle = water.river_middle(share, **course)
    half = (0.24 * share**1.4 + 0.15) * plan.width
    ends = (middle * plan.width - half, middle * plan.width + half)
    high = plan.between(0.42, 0.58) * half
    plan.add("bridge", buildings.bridge, x=ends, y=y, high=high, far=0.06)


def _banks(plan: Plan) -> None:
    for side in ((0.02, 0.24), (0.76, 0.98)):
        if plan.chance(0.65):
            for _ in plan.some(1, 2):
                plan.stand("tree", plants.leafy_tree, tall=150, near=(0.25, 0.8), across=side)
        if plan.chance(0.3):
            plan.stand("flower", plants.flowers, tall=34, near=(0.75, 0.95), across=side)
    if plan.chance(0.4):
        plan.stand(
            "house",
            buildings.house,
            tall=100,
            near=(0.2, 0.45),
            across=plan.one_of((0.1, 0.25), (0.75, 0.9)),
        )
    if plan.chance(0.25):
        for _ in plan.some(2, 3):
            plan.stand(
                "sheep",
                animals.sheep,
                tall=52,
                near=(0.4, 0.8),
                across=plan.one_of((0.03, 0.2), (0.8, 0.97)),
            )
    if plan.chance(0.35):
        _strollers(plan, (0.35, 0.75), 84, 0.35, plan.one_of((0.03, 0.22), (0.78, 0.97)))


def reef(plan: Plan) -> None:
    """Plan fish among corals and weed, under water."""
    plan.horizon = plan.between(40, 60)
    plan.add("water", water.depths)
    floor = plan.between(190, 214)
    if plan.chance(0.6):
        plan.add("sand", land.beach_sand, horizon=floor, wave=16)
    for _ in plan.some(2, 5):
        grow = plan.one_of(water.seaweed, water.coral)
        plan.add(
            None,
            grow,
            x=plan.between(0.02, 0.98) * plan.width,
            y=plan.between(floor + 14, 243),
            size=plan.between(44, 96),
        )
    if plan.chance(0.85):
        flip = plan.chance(0.5)
        for _ in plan.some(2, 7):
            x, y = plan.between(0.1, 0.9) * plan.width, plan.between(50, 200)
            spot = Spot(x, y, plan.between(22, 58), 0.0, flip if plan.chance(0.75) else not flip)
            plan.add("fish", animals.fish, spot=spot)
