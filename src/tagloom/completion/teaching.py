"""Which entries to ask a person about next."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Question(NamedTuple):
    """An entry by its place, and how much its answer is expected to teach."""

    row: int
    column: int
    value: float


def worth_asking(
    P: Array, open_to: npt.NDArray[np.bool_], S: Any | None, count: int, *, per_label: int = 5
) -> list[Question]:
    """Return the open entries whose answer would teach most, most first.

    The answer removes the variance u = P (1 - P) of the entry, and moves like pictures by their
    affinity S: it teaches u o (u + S u). At most `per_label` questions are of one label and two of
    one picture, for the next ones teach less.
    """
    U = np.where(open_to, P * (1 - P), 0).astype(np.float32)
    value = U * (U if S is None else U + S @ U)
    flat = value.ravel()
    likely = min(flat.size, 50 * count)
    if not likely:
        return []
    order = np.argpartition(-flat, likely - 1)[:likely]
    order = order[np.lexsort((order, -flat[order]))]
    chosen: list[Question] = []
    asked_of_label: dict[int, int] = {}
    asked_of_item: dict[int, int] = {}
    for place in order.tolist():
        row, column = divmod(place, P.shape[1])
        full = asked_of_label.get(column, 0) >= per_label or asked_of_item.get(row, 0) >= 2
        if flat[place] <= 0 or full:
            continue
        asked_of_label[column] = asked_of_label.get(column, 0) + 1
        asked_of_item[row] = asked_of_item.get(row, 0) + 1
        chosen.append(Question(row, column, float(flat[place])))
        if len(chosen) == count:
            break
    return chosen
