"""Which entries to ask a person about next."""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_PER_PICTURE = 2


class Question(NamedTuple):
    """An entry by its place, and how much its answer is expected to teach."""

    row: int
    column: int
    value: float


def worth_asking(
    P: Array,
    open_to: npt.NDArray[np.bool_],
    n_present: Array,
    count: int,
    *,
    per_label: int = 5,
) -> list[Question]:
    """Return the open entries whose answer would teach most, most first.

    The answer removes the variance P (1 - P) of the entry, and says the more of its label the fewer
    presences n of it are known: it teaches P (1 - P) / n. At most `per_label` questions are of one
    label and two of one picture, for the next ones teach less.
    """
    value = np.where(open_to, P * (1 - P) / np.maximum(1, n_present), 0).astype(np.float32)
    chosen: list[Question] = []
    of_label: Counter[int] = Counter()
    of_item: Counter[int] = Counter()
    # Before an entry of a label is asked, others of it are passed over only if their picture has
    # had its two questions, and these are at most half as many pictures as questions.
    for question in _most_valuable(value, per_label + count // 2):
        if len(chosen) == count:
            break
        if of_label[question.column] < per_label and of_item[question.row] < _PER_PICTURE:
            of_label[question.column] += 1
            of_item[question.row] += 1
            chosen.append(question)
    return chosen


def _most_valuable(value: Array, of_each_label: int) -> list[Question]:
    """Return the highest positive values of each label, all in falling order."""
    questions = []
    for column in range(value.shape[1]):
        rows = np.argsort(-value[:, column], kind="stable")[:of_each_label]
        questions += [
            Question(row, column, float(value[row, column]))
            for row in rows.tolist()
            if value[row, column] > 0
        ]
    return sorted(questions, key=lambda one: (-one.value, one.row, one.column))
