"""Indoor scenes: living room, dining room, study."""

from tagloom.datasets.scenes import creatures, furniture
from tagloom.datasets.scenes.canvas import Spot
from tagloom.datasets.scenes.plan import Plan


def _walls(plan: Plan, window: float, painting: float) -> float:
    """Add the room and things on its walls; return where the floor begins."""
    floor = plan.between(158, 172)
    plan.horizon = floor - 20
    plan.add(None, furniture.room, floor=floor)
    left = plan.chance(0.5)
    places = [plan.between(0.16, 0.34), plan.between(0.66, 0.84)]
    if plan.chance(window):
        x = places[0 if left else 1] * plan.width
        plan.add(None, furniture.window, spot=Spot(x, plan.between(96, 108), plan.between(72, 88)))
    if plan.chance(painting):
        x = places[1 if left else 0] * plan.width
        plan.add(None, furniture.painting, spot=Spot(x, plan.between(66, 84), plan.between(34, 50)))
    return floor


def living_room(plan: Plan) -> None:
    """Plan a living room around a sofa."""
    floor = _walls(plan, 0.6, 0.6)
    if plan.chance(0.35):
        _shelf(plan, floor)
    if plan.chance(0.65):
        plan.add(
            None,
            furniture.rug,
            x=plan.between(0.4, 0.6) * plan.width,
            y=plan.between(206, 220),
            wide=plan.between(160, 230),
        )
    if plan.chance(0.55):
        x = plan.one_of(plan.between(0.05, 0.14), plan.between(0.86, 0.95)) * plan.width
        plan.put(
            "lamp",
            furniture.floor_lamp,
            Spot(x, floor + plan.between(8, 22), plan.between(112, 136)),
        )
    if plan.chance(0.92):
        size = plan.between(62, 76)
        spot = Spot(plan.between(0.36, 0.64) * plan.width, floor + plan.between(14, 26), size)
        plan.put("sofa", furniture.sofa, spot)
        if plan.chance(0.35):
            plan.put(
                "person",
                creatures.seated_person,
                Spot(spot.x + plan.one_of(-0.5, 0.5) * size, spot.y + 3, size * 1.75),
            )
    if plan.chance(0.4):
        _low_table(plan)
    _pets(plan, 0.4, 0.3)


def _low_table(plan: Plan) -> None:
    spot = Spot(plan.between(0.4, 0.6) * plan.width, plan.between(222, 234), plan.between(30, 38))
    plan.put("table", furniture.table, spot)
    plan.raise_()
    _upon(plan, spot, 0.35)


def _pets(plan: Plan, cat: float, dog: float) -> None:
    if plan.chance(cat):
        plan.stand("cat", creatures.cat, tall=84, near=(0.55, 0.95))
    if plan.chance(dog):
        plan.stand("dog", creatures.dog, tall=84, near=(0.6, 0.95))


def _shelf(plan: Plan, floor: float) -> None:
    x = plan.one_of(plan.between(0.1, 0.25), plan.between(0.75, 0.9)) * plan.width
    plan.put("book", furniture.bookshelf, Spot(x, floor + 3, plan.between(122, 146)))


def dining_room(plan: Plan) -> None:
    """Plan a table with chairs and a lamp above."""
    _walls(plan, 0.6, 0.5)
    if plan.chance(0.5):
        plan.add(
            "lamp",
            furniture.hanging_lamp,
            spot=Spot(
                plan.between(0.42, 0.58) * plan.width, plan.between(50, 74), plan.between(30, 40)
            ),
        )
    size = plan.between(66, 78)
    spot = Spot(plan.between(0.4, 0.6) * plan.width, plan.between(214, 226), size)
    has_table = plan.chance(0.9)
    if not has_table or plan.chance(0.85):
        for place in ((-0.55, -20), (0.5, -22), (-1.45, 4), (1.45, 4)):
            if plan.chance(0.7):
                plan.put(
                    "chair",
                    furniture.chair,
                    Spot(spot.x + place[0] * size, spot.y + place[1], size * 1.42, 0, place[0] > 0),
                )
    if plan.chance(0.3):
        x = spot.x + plan.one_of(-0.1, 1.0, -1.0) * size
        plan.put(
            "person",
            creatures.person,
            Spot(x, spot.y - 16, plan.between(136, 150), 0, plan.chance(0.5)),
        )
    if has_table:
        _laid_table(plan, spot)
    _pets(plan, 0.22, 0.1)


def _laid_table(plan: Plan, spot: Spot) -> None:
    plan.put("table", furniture.table, spot)
    plan.raise_()
    plan.add(None, furniture.on_table, spot=spot)
    _upon(plan, spot, 0.5)


def _upon(plan: Plan, table: Spot, flowers: float) -> None:
    """Put flowers, books, a cactus or nothing on a table."""
    x, y = table.x + plan.between(-0.35, 0.35) * table.size, table.y - table.size * 0.88
    if plan.chance(flowers):
        plan.add("flower", furniture.vase, spot=Spot(x, y, plan.between(42, 56)))
    elif plan.chance(0.25):
        plan.add("book", furniture.book_pile, spot=Spot(x, y, plan.between(15, 22)))
    elif plan.chance(0.25):
        plan.add("cactus", furniture.potted_cactus, spot=Spot(x, y, plan.between(40, 54)))


def study(plan: Plan) -> None:
    """Plan shelves of books, a desk and a chair."""
    floor = _walls(plan, 0.35, 0.3)
    size = plan.between(128, 150)
    n = len(plan.some(1, 3))
    first = plan.between(0.08, 0.5)
    for i in range(n):
        spot = Spot((first + 0.26 * i) * plan.width, floor + 3, size)
        plan.put("book", furniture.bookshelf, spot)
    plan.raise_()
    if plan.chance(0.45):
        x = plan.one_of(0.07, 0.93) * plan.width
        spot = Spot(x, floor + plan.between(6, 16), plan.between(112, 130))
        plan.put("lamp", furniture.floor_lamp, spot)
    if plan.chance(0.6):
        _desk(plan)
    if plan.chance(0.3):
        plan.stand("person", creatures.person, tall=150, near=(0.45, 0.8))
    _pets(plan, 0.35, 0.12)
    if plan.chance(0.2):
        plan.stand("cactus", furniture.potted_cactus, tall=86, near=(0.35, 0.8))


def _desk(plan: Plan) -> None:
    x, y = plan.between(0.3, 0.7) * plan.width, plan.between(208, 222)
    desk = Spot(x, y, plan.between(56, 66))
    plan.put("table", furniture.table, desk)
    if plan.chance(0.7):
        x += plan.one_of(-0.3, 0.4) * desk.size
        chair = Spot(x, y + 14, desk.size * 1.4, 0, plan.chance(0.5))
        plan.put("chair", furniture.chair, chair)
