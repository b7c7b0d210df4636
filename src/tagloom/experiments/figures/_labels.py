"""Places for labels that must not lie upon each other."""

from collections.abc import Sequence


def spread_out(wanted: Sequence[float], gap: float) -> list[float]:
    """Move places as little as needed until neighbours are `gap` apart, keeping their order.

    Places that are too close form a group, which is laid out evenly around the mean of what its
    members wanted; groups that come too close are joined. This minimises the sum of squared moves.

    >>> spread_out([1.0, 1.0, 5.0], 1.0)
    [0.5, 1.5, 5.0]
    """
    order = sorted(range(len(wanted)), key=lambda number: (wanted[number], number))
    groups: list[list[int]] = []
    for number in order:
        groups.append([number])
        while len(groups) > 1 and _top(groups[-2], wanted, gap) + gap > _bottom(
            groups[-1], wanted, gap
        ):
            last = groups.pop()
            groups[-1] += last
    places = [0.0] * len(wanted)
    for group in groups:
        bottom = _bottom(group, wanted, gap)
        for step, number in enumerate(group):
            places[number] = bottom + step * gap
    return places


def _bottom(group: Sequence[int], wanted: Sequence[float], gap: float) -> float:
    middle = sum(wanted[number] for number in group) / len(group)
    return middle - gap * (len(group) - 1) / 2


def _top(group: Sequence[int], wanted: Sequence[float], gap: float) -> float:
    return _bottom(group, wanted, gap) + gap * (len(group) - 1)
