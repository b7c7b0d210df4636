"""The sky over a scene: one way to fill it for every kind under the open sky."""

from tagloom.datasets.scenes import air, sky
from tagloom.datasets.scenes.pen import Spot
from tagloom.datasets.scenes.plan import Plan


def open_sky(plan: Plan, *, clouds: float = 0.5, sun: float = 0.45, rainbow: float = 0.0) -> None:
    """Add sky, and by chance what hangs in it; the hour decides what is possible."""
    plan.add("sky", sky.sky, horizon=plan.horizon)
    if plan.hour == "night":
        _night(plan)
        clouds *= 0.5
    elif plan.hour == "grey":
        plan.add("cloud", sky.overcast, horizon=plan.horizon)
        return
    elif plan.hour in ("day", "morning") and plan.chance(rainbow):
        plan.add("rainbow", air.rainbow, horizon=plan.horizon)
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


def rainfall(plan: Plan, odds: float) -> bool:
    """On a grey day it may rain; to be called last, for rain falls before everything."""
    raining = plan.hour == "grey" and plan.chance(odds)
    if raining:
        plan.raise_()
        plan.add("rain", air.rain)
    return raining


def birds(plan: Plan, odds: float) -> None:
    """Let one to four birds fly in a loose flock."""
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
        plan.add("bird", air.flying_bird, spot=place)


def balloons(plan: Plan, odds: float) -> None:
    """Let one or two balloons float before the sky."""
    if not plan.chance(odds):
        return
    for _ in plan.some(1, 2):
        size = plan.between(34, 70)
        x, y = plan.between(0.12, 0.88) * plan.width, plan.between(0.55, 0.95) * plan.horizon
        plan.add("balloon", air.balloon, spot=Spot(x, y, size, max(0.0, 0.3 - size / 200)))
