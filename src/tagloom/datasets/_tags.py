"""Lists of tags as the truth of a set."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from tagloom.labels import PartialLabels, State

Unlisted = Literal["unknown", "absent"] | float | None


def truth_of_tags(
    tags: Mapping[str, Iterable[str]], unlisted: Unlisted, labels: Sequence[str] | None = None
) -> PartialLabels:
    """Read lists of tags as `PartialLabels.from_tags` does.

    Where an unlisted tag is absent, each absence becomes an entry of its own: an experiment hides
    known entries one by one, and a presumption about all that is not listed cannot be hidden.
    """
    known = PartialLabels.from_tags(tags, unlisted=unlisted, labels=labels)
    if unlisted != "absent":
        return known
    present = known.states() == int(State.PRESENT)
    return PartialLabels.from_array(present, labels=known.labels, items=known.items)
