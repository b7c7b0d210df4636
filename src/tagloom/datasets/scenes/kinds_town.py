"""Scenes among houses: street, city at night, garden."""

from tagloom.datasets.scenes import (
    air,
    animals,
    buildings,
    furniture,
    land,
    leaves,
    mountains,
    people,
    plants,
    streets,
    vehicles,
)
from tagloom.datasets.scenes.kinds_air import birds, open_sky, rainfall
from tagloom.datasets.scenes.pen import Spot
from tagloom.datasets.scenes.plan import Plan


def street(plan: Plan) -> None:
    """Plan houses along a street, with traffic and people."""
    _town(plan, towers=0.3, houses=0.85, traffic=0.9)


def city(plan: Plan) -> None:
    """Plan skyscrapers along a street, most often by night."""
    _town(plan, towers=1.0, houses=0.1, traffic=0.85)


def _town(plan: Plan, *, towers: float, houses: float, traffic: float) -> None:
    plan.horizon = plan.between(140, 152)
    foot = plan.horizon
    open_sky(plan, clouds=0.4, sun=0.2)
    birds(plan, 0.12)
    green = (104, 132, 98)
    plan.add(None, mountains.hills, base=foot, high=plan.between(20, 44), colour=green, far=0.5)
    if plan.chance(towers):
        _skyline(plan, foot)
    if plan.chance(houses):
        _row(plan, foot)
    plan.raise_()
    plan.add(None, streets.pavement, top=foot)
    top = foot + plan.between(12, 18)
    bottom = top + plan.between(40, 50)
    plan.add("street", streets.street, top=top, bottom=bottom)
    _beside(plan, foot + 6)
    if plan.chance(traffic):
        _traffic(plan, top, bottom)
    plan.raise_()
    _passers(plan, bottom)


def _skyline(plan: Plan, foot: float) -> None:
    x = plan.between(-10, 20)
    while x < plan.width + 10:
        size = plan.between(80, 170)
        plan.put(
            "skyscraper", buildings.skyscraper, Spot(x, foot, size, max(0.0, 0.35 - size / 500))
        )
        x += size * plan.between(0.2, 0.42)


def _row(plan: Plan, foot: float) -> None:
    plan.raise_()
    x = plan.between(-10, 30)
    while x < plan.width + 20:
        size = plan.between(84, 120)
        if plan.chance(0.85):
            plan.put("house", buildings.town_house, Spot(x, foot, size))
        x += size * 0.61


def _beside(plan: Plan, foot: float) -> None:
    """Add what stands on the far pavement: trees or palms, and lamps."""
    if plan.chance(0.45):
        label, grow, tall = plan.one_of(
            ("tree", plants.leafy_tree, 74),
            ("tree", plants.leafy_tree, 66),
            ("palm", plants.palm, 92),
        )
        for _ in plan.some(1, 3):
            x = plan.between(0.03, 0.97) * plan.width
            plan.put(label, grow, Spot(x, foot, tall * plan.between(0.85, 1.15)))
    if plan.chance(0.5):
        for i in range(3):
            x = (0.12 + 0.38 * i + plan.between(-0.06, 0.06)) * plan.width
            plan.put("lamp", buildings.street_lamp, Spot(x, foot + 1, plan.between(66, 80)))
    plan.raise_()


def _traffic(plan: Plan, top: float, bottom: float) -> None:
    """Add a bus and cars, each with a stretch of the street to itself."""
    lanes = ((top + bottom) / 2 - 5, bottom - 6)
    stretches = [float(x) for x in plan.rng.permutation([0.12, 0.37, 0.62, 0.88])]
    if plan.chance(0.4):
        x, lane = (stretches.pop() + plan.between(-0.08, 0.08)) * plan.width, plan.one_of(*lanes)
        plan.put("bus", vehicles.bus, Spot(x, lane, plan.between(42, 54), 0, lane == lanes[0]))
    if plan.chance(0.8):
        for _ in plan.some(1, 3):
            x = (stretches.pop() + plan.between(-0.05, 0.05)) * plan.width
            lane = plan.one_of(*lanes)
            spot = Spot(x, lane + 1, plan.between(25, 31), 0, lane == lanes[0])
            plan.put("car", vehicles.car, spot)


def _passers(plan: Plan, bottom: float) -> None:
    """Add people on the near pavement, under umbrellas if it rains."""
    wet = plan.hour == "grey" and plan.chance(0.6)
    if plan.chance(0.55):
        for _ in plan.some(1, 3):
            x, y = plan.between(0.06, 0.94) * plan.width, plan.between(bottom + 14, 238)
            size = plan.between(62, 78)
            plan.put("person", people.person, Spot(x, y, size, 0, plan.chance(0.5)))
            if wet and plan.chance(0.7):
                plan.put("umbrella", people.umbrella, Spot(x + 7, y - size * 0.5, size * 0.95))
        if plan.chance(0.25):
            plan.put(
                "dog",
                animals.dog,
                Spot(
                    plan.between(0.1, 0.9) * plan.width,
                    232,
                    plan.between(30, 38),
                    0,
                    plan.chance(0.5),
                ),
            )
    plan.raise_()
    if wet:
        plan.add("rain", air.rain)


def garden(plan: Plan) -> None:
    """Plan a lawn before a hedge: flowers, garden chairs, a cat."""
    plan.horizon = plan.between(84, 104)
    wall = plan.one_of(leaves.hedge, leaves.hedge, leaves.brick_wall)
    plan.add(None, wall, foot=plan.horizon + 6)
    if plan.chance(0.4):
        high = plan.between(34, 48)
        plan.add(None, leaves.picket_fence, foot=plan.horizon + 6, high=high)
    plan.add("grass", land.meadow, horizon=plan.horizon, wave=5)
    if plan.chance(0.4):
        for _ in plan.some(1, 2):
            plan.stand("tree", plants.leafy_tree, tall=200, near=(0.15, 0.5))
    if plan.chance(0.85):
        for _ in plan.some(2, 6):
            plan.stand("flower", plants.flowers, tall=46, near=(0.2, 0.97))
    if plan.chance(0.4):
        _terrace(plan)
    if plan.chance(0.2):
        plan.stand("lamp", buildings.street_lamp, tall=150, near=(0.2, 0.6))
    for label, animal, tall, odds in (
        ("cat", animals.cat, 76, 0.25),
        ("dog", animals.dog, 76, 0.2),
        ("bird", air.perched_bird, 36, 0.35),
    ):
        if plan.chance(odds):
            plan.stand(label, animal, tall=tall, near=(0.4, 0.95))
    if plan.chance(0.3):
        plan.stand("person", people.person, tall=124, near=(0.35, 0.85))
    rainfall(plan, 0.3)


def _terrace(plan: Plan) -> None:
    spot = plan.stand("table", furniture.table, tall=62, near=(0.4, 0.7), across=(0.25, 0.75))
    if plan.chance(0.45):
        plan.put("umbrella", people.umbrella, Spot(spot.x, spot.y + 0.5, spot.size * 2.3))
    for side in (-1, 1):
        if plan.chance(0.8):
            x = spot.x + side * spot.size * 1.45
            plan.put("chair", furniture.chair, Spot(x, spot.y + 4, spot.size * 1.35, 0, side > 0))
