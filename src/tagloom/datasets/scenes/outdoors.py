"""Outdoor scenes: on the land, in towns, by the water and below it."""

from typing import Any

from tagloom.datasets.scenes import buildings, creatures, furniture, land, plants, sky
from tagloom.datasets.scenes.canvas import HEIGHT, Spot
from tagloom.datasets.scenes.plan import Plan, Thing


def highlands(plan: Plan) -> None:
    """Plan ranges over a lake or a meadow."""
    plan.horizon = plan.between(112, 138)
    _open_sky(plan, clouds=0.5, sun=0.35, rainbow=0.35)
    _range(plan, 60, 96, 0.5)
    _birds(plan, 0.25)
    _balloons(plan, 0.12)
    lake = plan.chance(0.5)
    plan.add("grass", land.meadow, horizon=plan.horizon + 1, wave=5)
    if lake:
        top = plan.horizon + plan.between(3, 10)
        bottom = plan.between(186, 212)
        plan.add("water", land.lake, top=top, bottom=bottom, mirror=(96, 116, 120))
        if plan.chance(0.3):
            plan.stand("boat", buildings.sailing_boat, tall=80, near=(0.25, 0.5))
    near = (0.78, 0.97) if lake else (0.15, 0.9)
    _group(plan, 0.7, (2, 6), "tree", plants.conifer, tall=130, near=near)
    if plan.chance(0.3):
        plan.stand("house", buildings.house, tall=88, near=near)
    if not lake and plan.chance(0.35):
        _flock(plan)
    if plan.chance(0.25):
        plan.stand("person", creatures.person, tall=84, near=near)
    _rainfall(plan, 0.4)


def meadow(plan: Plan) -> None:
    """Plan rolling hills with flowers, sheep, balloons."""
    plan.horizon = plan.between(104, 136)
    _open_sky(plan, clouds=0.6, sun=0.4, rainbow=0.4)
    for base in (plan.horizon - 4, plan.horizon + 6):
        plan.add(
            None,
            land.hills,
            base=base,
            high=plan.between(16, 34),
            colour=(112, 150, 92),
            far=plan.between(0.35, 0.6),
        )
    _balloons(plan, 0.4)
    _birds(plan, 0.2)
    plan.add("grass", land.meadow, horizon=plan.horizon + 4, wave=14)
    if plan.chance(0.25):
        _country_road(plan)
    _group(plan, 0.55, (1, 3), "tree", plants.leafy_tree, tall=150, near=(0.15, 0.8))
    if plan.chance(0.45):
        _flock(plan)
    if plan.chance(0.4):
        plan.stand("house", buildings.house, tall=105, near=(0.15, 0.5))
    _group(plan, 0.55, (2, 5), "flower", plants.flowers, tall=36, near=(0.7, 0.98))
    if plan.chance(0.25):
        _walker(plan, 92, (0.5, 0.9), 48, (0.6, 0.9))
    _rainfall(plan, 0.45)


def _flock(plan: Plan) -> None:
    for _ in plan.some(2, 5):
        plan.stand("sheep", creatures.sheep, tall=54, near=(0.4, 0.92))


def _country_road(plan: Plan) -> None:
    plan.add("street", land.road, horizon=plan.horizon + 2, to=plan.between(0.3, 0.7))
    if plan.chance(0.6):
        label, vehicle, tall = plan.one_of(("car", buildings.car, 44), ("bus", buildings.bus, 66))
        plan.stand(label, vehicle, tall=tall, near=(0.5, 0.85), across=(0.4, 0.6))


def winter(plan: Plan) -> None:
    """Plan snow over a village, spruces, sometimes falling snow."""
    plan.horizon = plan.between(104, 130)
    _open_sky(plan, clouds=0.4, sun=0.2)
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
        _walker(plan, 92, (0.55, 0.93), 48, (0.6, 0.93))
    if plan.hour != "evening" and plan.chance(0.35):
        plan.raise_()
        plan.add("snow", sky.snowflakes)


def desert(plan: Plan) -> None:
    """Plan dunes, cactuses, red mountains, perhaps a road."""
    plan.horizon = plan.between(100, 130)
    _open_sky(plan, clouds=0.2, sun=0.65)
    if plan.chance(0.45):
        rock = plan.one_of((170, 96, 72), (150, 100, 92), (186, 120, 84))
        _mountain(plan, 30, 62, rock=rock)
    _birds(plan, 0.15)
    plan.add("sand", land.dunes, horizon=plan.horizon)
    if plan.chance(0.3):
        plan.add("street", land.road, horizon=plan.horizon + 8, to=plan.between(0.3, 0.7))
        if plan.chance(0.6):
            plan.stand("car", buildings.car, tall=44, near=(0.5, 0.85), across=(0.4, 0.6))
    if plan.chance(0.75):
        for _ in plan.some(1, 4):
            plan.stand("cactus", plants.cactus, tall=116, near=(0.25, 0.95))
    else:
        _group(plan, 0.5, (1, 3), "palm", plants.palm, tall=150, near=(0.3, 0.7))


def forest(plan: Plan) -> None:
    """Plan a forest path between trees, without sky."""
    plan.horizon = plan.between(126, 146)
    plan.add(None, land.thicket, floor=plan.horizon + 6)
    if plan.chance(0.7):
        plan.add("grass", land.meadow, horizon=plan.horizon, wave=8)
    else:
        plan.add(None, land.leaf_litter, horizon=plan.horizon)
    for _ in plan.some(5, 9):
        plan.stand("tree", plants.trunk, tall=260, near=(0.08, 0.9))
    _group(plan, 0.4, (1, 4), "flower", plants.flowers, tall=36, near=(0.5, 0.97))
    if plan.chance(0.3):
        _walker(plan, 104, (0.5, 0.92), 54, (0.6, 0.93))
    _group(plan, 0.35, (1, 2), "bird", sky.perched_bird, tall=34, near=(0.6, 0.97))


def street(plan: Plan) -> None:
    """Plan houses along a street, with traffic and people."""
    _town(plan, towers=0.3, houses=0.85, traffic=0.9)


def city(plan: Plan) -> None:
    """Plan skyscrapers along a street, most often by night."""
    _town(plan, towers=1.0, houses=0.1, traffic=0.85)


def _town(plan: Plan, *, towers: float, houses: float, traffic: float) -> None:
    plan.horizon = plan.between(140, 152)
    foot = plan.horizon
    _open_sky(plan, clouds=0.4, sun=0.2)
    _birds(plan, 0.12)
    green = (104, 132, 98)
    plan.add(None, land.hills, base=foot, high=plan.between(20, 44), colour=green, far=0.5)
    if plan.chance(towers):
        _skyline(plan, foot)
    if plan.chance(houses):
        _row(plan, foot)
    plan.raise_()
    plan.add(None, land.pavement, top=foot)
    top = foot + plan.between(12, 18)
    bottom = top + plan.between(40, 50)
    plan.add("street", land.street, top=top, bottom=bottom)
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
    """Add trees or palms, and lamps, on the far pavement."""
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
        plan.put("bus", buildings.bus, Spot(x, lane, plan.between(42, 54), 0, lane == lanes[0]))
    if plan.chance(0.8):
        for _ in plan.some(1, 3):
            x = (stretches.pop() + plan.between(-0.05, 0.05)) * plan.width
            lane = plan.one_of(*lanes)
            spot = Spot(x, lane + 1, plan.between(25, 31), 0, lane == lanes[0])
            plan.put("car", buildings.car, spot)


def _passers(plan: Plan, bottom: float) -> None:
    """Add people on the near pavement, under umbrellas if it rains."""
    wet = plan.hour == "grey" and plan.chance(0.6)
    if plan.chance(0.55):
        for _ in plan.some(1, 3):
            x, y = plan.between(0.06, 0.94) * plan.width, plan.between(bottom + 14, 238)
            size = plan.between(62, 78)
            plan.put("person", creatures.person, Spot(x, y, size, 0, plan.chance(0.5)))
            if wet and plan.chance(0.7):
                plan.put("umbrella", creatures.umbrella, Spot(x + 7, y - size * 0.5, size * 0.95))
        if plan.chance(0.25):
            plan.put(
                "dog",
                creatures.dog,
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
        plan.add("rain", sky.rain)


def garden(plan: Plan) -> None:
    """Plan a lawn in front of a hedge: flowers, garden chairs, a cat."""
    plan.horizon = plan.between(84, 104)
    wall = plan.one_of(land.hedge, land.hedge, land.brick_wall)
    plan.add(None, wall, foot=plan.horizon + 6)
    if plan.chance(0.4):
        high = plan.between(34, 48)
        plan.add(None, land.picket_fence, foot=plan.horizon + 6, high=high)
    plan.add("grass", land.meadow, horizon=plan.horizon, wave=5)
    _group(plan, 0.4, (1, 2), "tree", plants.leafy_tree, tall=200, near=(0.15, 0.5))
    _group(plan, 0.85, (2, 6), "flower", plants.flowers, tall=46, near=(0.2, 0.97))
    if plan.chance(0.4):
        _terrace(plan)
    if plan.chance(0.2):
        plan.stand("lamp", buildings.street_lamp, tall=150, near=(0.2, 0.6))
    for label, animal, tall, odds in (
        ("cat", creatures.cat, 76, 0.25),
        ("dog", creatures.dog, 76, 0.2),
        ("bird", sky.perched_bird, 36, 0.35),
    ):
        if plan.chance(odds):
            plan.stand(label, animal, tall=tall, near=(0.4, 0.95))
    if plan.chance(0.3):
        plan.stand("person", creatures.person, tall=124, near=(0.35, 0.85))
    _rainfall(plan, 0.3)


def _terrace(plan: Plan) -> None:
    spot = plan.stand("table", furniture.table, tall=62, near=(0.4, 0.7), across=(0.25, 0.75))
    if plan.chance(0.45):
        plan.put("umbrella", creatures.umbrella, Spot(spot.x, spot.y + 0.5, spot.size * 2.3))
    for side in (-1, 1):
        if plan.chance(0.8):
            x = spot.x + side * spot.size * 1.45
            plan.put("chair", furniture.chair, Spot(x, spot.y + 4, spot.size * 1.35, 0, side > 0))


def beach(plan: Plan) -> None:
    """Plan sea and sand, palms, parasols, boats."""
    plan.horizon = plan.between(90, 118)
    shore = plan.between(150, 176)
    _open_sky(plan, clouds=0.55, sun=0.5)
    if plan.chance(0.3):
        _island(plan)
    plan.add("water", land.sea, horizon=plan.horizon, shore=shore + 8)
    _boats(plan, 0.45, (0.1, 0.45), buildings.sailing_boat, 95)
    _birds(plan, 0.35)
    plan.add("sand", land.beach_sand, horizon=shore, wave=7)
    plan.add(None, land.surf, shore=shore - 4)
    sunny = plan.hour != "grey"
    near = ((shore + 14 - plan.horizon) / (240 - plan.horizon), 0.97)
    if plan.chance(0.55):
        for _ in plan.some(1, 2):
            side = plan.one_of((0.03, 0.3), (0.7, 0.97))
            plan.stand("palm", plants.palm, tall=190, near=near, across=side)
    if sunny and plan.chance(0.5):
        for _ in plan.some(1, 2):
            spot = plan.stand("umbrella", creatures.umbrella, tall=88, near=near)
            if plan.chance(0.4):
                place = Spot(spot.x + spot.size * 0.4, spot.y + 3, spot.size * 0.55)
                plan.put("chair", furniture.chair, place)
    if plan.chance(0.5):
        _strollers(plan, near, 100, 0.3)
    _rainfall(plan, 0.3)


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
        plan.stand("person", creatures.person, tall=tall, near=near, across=across)
    if plan.chance(dogs):
        plan.stand("dog", creatures.dog, tall=tall * 0.5, near=near, across=across)


def harbour(plan: Plan) -> None:
    """Plan a row of gabled houses behind boats on the water."""
    plan.horizon = plan.between(104, 126)
    _open_sky(plan, clouds=0.5, sun=0.3)
    if plan.chance(0.4):
        _mountain(plan, 30, 60)
    if plan.chance(0.5):
        _island(plan)
    if plan.chance(0.75):
        _quay(plan)
    plan.add("water", land.sea, horizon=plan.horizon + 6, shore=242)
    for _ in plan.some(1, 3):
        boat, tall = plan.one_of((buildings.sailing_boat, 130), (buildings.fishing_boat, 74))
        plan.stand("boat", boat, tall=tall, near=(0.2, 0.85))
    plan.raise_()
    _birds(plan, 0.5)
    _rainfall(plan, 0.35)


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
    _open_sky(plan, clouds=0.5, sun=0.4, rainbow=0.35)
    _balloons(plan, 0.12)
    if plan.chance(0.4):
        _mountain(plan, 34, 64)
    plan.add("grass", land.meadow, horizon=plan.horizon)
    course = {
        "start": plan.between(0.3, 0.7),
        "end": plan.between(0.38, 0.62),
        "bend": plan.one_of(-1, 1) * plan.between(0.06, 0.13),
    }
    plan.add("water", land.river, horizon=plan.horizon, **course)
    if plan.chance(0.6):
        _bridge(plan, course)
    elif plan.chance(0.6):
        share = plan.between(0.6, 0.88)
        x = land.river_middle(share, **course) * plan.width
        y = plan.horizon + (HEIGHT - plan.horizon) * share
        plan.put("boat", buildings.fishing_boat, Spot(x, y, 56 * share))
    _banks(plan)
    _birds(plan, 0.3)
    _rainfall(plan, 0.45)


def _bridge(plan: Plan, course: dict[str, float]) -> None:
    """Add a bridge that is a little longer than the river is wide."""
    share = plan.between(0.34, 0.56)
    y = plan.horizon + (HEIGHT - plan.horizon) * share
    middle = land.river_middle(share, **course)
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
        side = plan.one_of((0.1, 0.25), (0.75, 0.9))
        plan.stand("house", buildings.house, tall=100, near=(0.2, 0.45), across=side)
    if plan.chance(0.25):
        for _ in plan.some(2, 3):
            side = plan.one_of((0.03, 0.2), (0.8, 0.97))
            plan.stand("sheep", creatures.sheep, tall=52, near=(0.4, 0.8), across=side)
    if plan.chance(0.35):
        _strollers(plan, (0.35, 0.75), 84, 0.35, plan.one_of((0.03, 0.22), (0.78, 0.97)))


def reef(plan: Plan) -> None:
    """Plan fish among corals and seaweed, under water."""
    plan.horizon = plan.between(40, 60)
    plan.add("water", land.depths)
    floor = plan.between(190, 214)
    if plan.chance(0.6):
        plan.add("sand", land.beach_sand, horizon=floor, wave=16)
    for _ in plan.some(2, 5):
        grow = plan.one_of(land.seaweed, land.coral)
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
            plan.add("fish", creatures.fish, spot=spot)


def _range(plan: Plan, low: float, high: float, snow: float) -> None:
    """Add one or two ranges of mountains, perhaps with snow."""
    snowy = plan.chance(snow)
    heights = [plan.between(low, high)]
    if plan.chance(0.5):
        heights = [plan.between(high * 0.9, high * 1.15), plan.between(low * 0.6, low)]
    for tall in heights:
        seed = int(plan.rng.integers(2**31))
        plan.add("mountain", land.mountains, seed=seed, horizon=plan.horizon, high=tall)
        if snowy:
            plan.add("snow", land.snow_caps, seed=seed, horizon=plan.horizon, high=tall)


def _group(
    plan: Plan, odds: float, count: tuple[int, int], label: str, thing: Thing, **place: Any
) -> None:
    """Add, perhaps, several things of one kind; `place` is as in `Plan.stand`."""
    if plan.chance(odds):
        for _ in plan.some(*count):
            plan.stand(label, thing, **place)


def _walker(
    plan: Plan,
    tall: float,
    near: tuple[float, float],
    dog_tall: float,
    dog_near: tuple[float, float],
) -> None:
    """Add a person, perhaps with a dog."""
    plan.stand("person", creatures.person, tall=tall, near=near)
    if plan.chance(0.5):
        plan.stand("dog", creatures.dog, tall=dog_tall, near=dog_near)


def _mountain(plan: Plan, low: float, high: float, **options: Any) -> None:
    """Add one range of mountains."""
    plan.add(
        "mountain",
        land.mountains,
        seed=int(plan.rng.integers(2**31)),
        horizon=plan.horizon,
        high=plan.between(low, high),
        **options,
    )


def _open_sky(plan: Plan, *, clouds: float = 0.5, sun: float = 0.45, rainbow: float = 0.0) -> None:
    """Add the sky and, at random, things in it that the hour allows."""
    plan.add("sky", sky.sky, horizon=plan.horizon)
    if plan.hour == "night":
        _night(plan)
        clouds *= 0.5
    elif plan.hour == "grey":
        plan.add("cloud", sky.overcast, horizon=plan.horizon)
        return
    elif plan.hour in ("day", "morning") and plan.chance(rainbow):
        plan.add("rainbow", sky.rainbow, horizon=plan.horizon)
        clouds = 0.8
    elif plan.chance(sun):
        plan.add("sun", sky.sun)
    if plan.chance(clouds):
        _clouds(plan)


def _night(plan: Plan) -> None:
    if plan.chance(0.75):
        plan.add("stars", sky.stars, horizon=plan.horizon)
    if plan.chance(0.6):
        plan.add("moon", sky.moon)


def _clouds(plan: Plan) -> None:
    if plan.chance(0.25):
        plan.add("cloud", sky.veil, y=plan.between(0, 20), high=plan.horizon * 0.7)
        return
    for _ in plan.some(1, 4):
        x, y = plan.between(0.05, 0.95) * plan.width, plan.between(0.12, 0.62) * plan.horizon
        plan.add("cloud", sky.cumulus, x=x, y=y, wide=plan.between(70, 150))


def _rainfall(plan: Plan, odds: float) -> None:
    """Add rain, perhaps, on a grey day; call it last, because rain is in front of everything."""
    if plan.hour == "grey" and plan.chance(odds):
        plan.raise_()
        plan.add("rain", sky.rain)


def _birds(plan: Plan, odds: float) -> None:
    """Add, perhaps, one to four birds in a loose flock."""
    if not plan.chance(odds):
        return
    x, y = plan.between(0.15, 0.8) * plan.width, plan.between(0.25, 0.75) * plan.horizon
    size, flip = plan.between(13, 24), plan.chance(0.5)
    for i in plan.some(1, 4):
        place = Spot(
            x + i * plan.between(18, 38),
            y + plan.between(-22, 22),
            size * plan.between(0.75, 1.1),
            0.0,
            flip,
        )
        plan.add("bird", sky.flying_bird, spot=place)


def _balloons(plan: Plan, odds: float) -> None:
    """Add, perhaps, one or two balloons in front of the sky."""
    if not plan.chance(odds):
        return
    for _ in plan.some(1, 2):
        size = plan.between(34, 70)
        x, y = plan.between(0.12, 0.88) * plan.width, plan.between(0.55, 0.95) * plan.horizon
        plan.add("balloon", sky.balloon, spot=Spot(x, y, size, max(0.0, 0.3 - size / 200)))
