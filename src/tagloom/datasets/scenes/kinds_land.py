"""Scenes on the land: mountains, meadow, winter, desert, forest."""

from tagloom.datasets.scenes import (
    air,
    animals,
    buildings,
    land,
    leaves,
    mountains,
    people,
    plants,
    streets,
    vehicles,
    water,
)
from tagloom.datasets.scenes.kinds_air import balloons, birds, open_sky, rainfall
from tagloom.datasets.scenes.plan import Plan


def _range(plan: Plan, low: float, high: float, snow: float) -> None:
    """Add one or two ranges of mountains, perhaps with snow."""
    snowy = plan.chance(snow)
    heights = [plan.between(low, high)]
    if plan.chance(0.5):
        heights = [plan.between(high * 0.9, high * 1.15), plan.between(low * 0.6, low)]
    for tall in heights:
        seed = int(plan.rng.integers(2**31))
        plan.add("mountain", mountains.mountains, seed=seed, horizon=plan.horizon, high=tall)
        if snowy:
            plan.add("snow", mountains.snow_caps, seed=seed, horizon=plan.horizon, high=tall)


def highlands(plan: Plan) -> None:
    """Plan ranges over a lake or a meadow."""
    plan.horizon = plan.between(112, 138)
    open_sky(plan, clouds=0.5, sun=0.35, rainbow=0.35)
    _range(plan, 60, 96, 0.5)
    birds(plan, 0.25)
    balloons(plan, 0.12)
    lake = plan.chance(0.5)
    plan.add("grass", land.meadow, horizon=plan.horizon + 1, wave=5)
    if lake:
        top = plan.horizon + plan.between(3, 10)
        bottom = plan.between(186, 212)
        plan.add("water", water.lake, top=top, bottom=bottom, mirror=(96, 116, 120))
        if plan.chance(0.3):
            plan.stand("boat", vehicles.sailing_boat, tall=80, near=(0.25, 0.5))
    near = (0.78, 0.97) if lake else (0.15, 0.9)
    if plan.chance(0.7):
        for _ in plan.some(2, 6):
            plan.stand("tree", plants.conifer, tall=130, near=near)
    if plan.chance(0.3):
        plan.stand("house", buildings.house, tall=88, near=near)
    if not lake and plan.chance(0.35):
        _flock(plan)
    if plan.chance(0.25):
        plan.stand("person", people.person, tall=84, near=near)
    rainfall(plan, 0.4)


def _country_road(plan: Plan) -> None:
    plan.add("street", streets.road, horizon=plan.horizon + 2, to=plan.between(0.3, 0.7))
    if plan.chance(0.6):
        label, vehicle, tall = plan.one_of(("car", vehicles.car, 44), ("bus", vehicles.bus, 66))
        plan.stand(label, vehicle, tall=tall, near=(0.5, 0.85), across=(0.4, 0.6))


def _flock(plan: Plan) -> None:
    for _ in plan.some(2, 5):
        plan.stand("sheep", animals.sheep, tall=54, near=(0.4, 0.92))


def meadow(plan: Plan) -> None:
    """Plan rolling hills with flowers, sheep, balloons."""
    plan.horizon = plan.between(104, 136)
    open_sky(plan, clouds=0.6, sun=0.4, rainbow=0.4)
    for base in (plan.horizon - 4, plan.horizon + 6):
        plan.add(
            None,
            mountains.hills,
            base=base,
            high=plan.between(16, 34),
            colour=(112, 150, 92),
            far=plan.between(0.35, 0.6),
        )
    balloons(plan, 0.4)
    birds(plan, 0.2)
    plan.add("grass", land.meadow, horizon=plan.horizon + 4, wave=14)
    if plan.chance(0.25):
        _country_road(plan)
    if plan.chance(0.55):
        for _ in plan.some(1, 3):
            plan.stand("tree", plants.leafy_tree, tall=150, near=(0.15, 0.8))
    if plan.chance(0.45):
        _flock(plan)
    if plan.chance(0.4):
        plan.stand("house", buildings.house, tall=105, near=(0.15, 0.5))
    if plan.chance(0.55):
        for _ in plan.some(2, 5):
            plan.stand("flower", plants.flowers, tall=36, near=(0.7, 0.98))
    if plan.chance(0.25):
        plan.stand("person", people.person, tall=92, near=(0.5, 0.9))
        if plan.chance(0.5):
            plan.stand("dog", animals.dog, tall=48, near=(0.6, 0.9))
    rainfall(plan, 0.45)


def winter(plan: Plan) -> None:
    """Plan snow over a village, spruces, sometimes falling snow."""
    plan.horizon = plan.between(104, 130)
    open_sky(plan, clouds=0.4, sun=0.2)
    if plan.chance(0.6):
        _range(plan, 46, 84, 1.0)
    plan.add("snow", land.snowfield, horizon=plan.horizon, wave=14)
    village = plan.chance(0.6)
    if village:
        for _ in plan.some(1, 3):
            plan.stand("house", buildings.house, tall=110, near=(0.2, 0.6), snowy=True)
        if plan.chance(0.4):
            plan.stand("lamp", buildings.street_lamp, tall=100, near=(0.5, 0.85))
    if not village or plan.chance(0.85):
        for _ in plan.some(2, 6):
            plan.stand("tree", plants.conifer, tall=130, near=(0.2, 0.9), snowy=True)
    if plan.chance(0.35):
        plan.stand("person", people.person, tall=92, near=(0.55, 0.93))
        if plan.chance(0.5):
            plan.stand("dog", animals.dog, tall=48, near=(0.6, 0.93))
    if plan.hour != "evening" and plan.chance(0.35):
        plan.raise_()
        plan.add("snow", air.snowflakes)


def desert(plan: Plan) -> None:
    """Plan dunes, cactuses, red mountains, perhaps a road."""
    plan.horizon = plan.between(100, 130)
    open_sky(plan, clouds=0.2, sun=0.65)
    if plan.chance(0.45):
        rock = plan.one_of((170, 96, 72), (150, 100, 92), (186, 120, 84))
        plan.add(
            "mountain",
            mountains.mountains,
            seed=int(plan.rng.integers(2**31)),
            horizon=plan.horizon,
            high=plan.between(30, 62),
            rock=rock,
        )
    birds(plan, 0.15)
    plan.add("sand", land.dunes, horizon=plan.horizon)
    if plan.chance(0.3):
        plan.add("street", streets.road, horizon=plan.horizon + 8, to=plan.between(0.3, 0.7))
        if plan.chance(0.6):
            plan.stand("car", vehicles.car, tall=44, near=(0.5, 0.85), across=(0.4, 0.6))
    if plan.chance(0.75):
        for _ in plan.some(1, 4):
            plan.stand("cactus", plants.cactus, tall=116, near=(0.25, 0.95))
    elif plan.chance(0.5):
        for _ in plan.some(1, 3):
            plan.stand("palm", plants.palm, tall=150, near=(0.3, 0.7))


def forest(plan: Plan) -> None:
    """Plan a walk between the trees, where no sky is seen."""
    plan.horizon = plan.between(126, 146)
    plan.add(None, leaves.thicket, floor=plan.horizon + 6)
    if plan.chance(0.7):
        plan.add("grass", land.meadow, horizon=plan.horizon, wave=8)
    else:
        plan.add(None, land.leaf_litter, horizon=plan.horizon)
    for _ in plan.some(5, 9):
        plan.stand("tree", plants.trunk, tall=260, near=(0.08, 0.9))
    if plan.chance(0.4):
        for _ in plan.some(1, 4):
            plan.stand("flower", plants.flowers, tall=36, near=(0.5, 0.97))
    if plan.chance(0.3):
        plan.stand("person", people.person, tall=104, near=(0.5, 0.92))
        if plan.chance(0.5):
            plan.stand("dog", animals.dog, tall=54, near=(0.6, 0.93))
    if plan.chance(0.35):
        for _ in plan.some(1, 2):
            plan.stand("bird", air.perched_bird, tall=34, near=(0.6, 0.97))
