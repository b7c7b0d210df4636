"""Splits into training and test rows: read, or drawn so that rare labels are on both sides."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tagloom.checks import check_number, check_whole
from tagloom.datasets.base import Rows
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels

_UNASSIGNED, _TRAINING, _TEST = -1, 0, 1
_WORDS = {"train": _TRAINING, "training": _TRAINING, "test": _TEST}


def seeded_split(truth: PartialLabels, test_share: float, random_state: int) -> tuple[Rows, Rows]:
    """Draw training and test rows; equal seeds draw equal rows.

    Labels are visited from rare to common. A label that no row of a side has yet gives that side
    one of its rows, so that a label with two presences is on both sides wherever the choices for
    rarer labels allow it. All other rows are drawn at random.
    """
    check_number("test_share", test_share, low=0.0, high=1.0, inclusive=False)
    check_whole("random_state", random_state, at_least=0)
    n_items = truth.n_items
    n_test = min(max(round(test_share * n_items), 1), n_items - 1) if n_items > 1 else 0
    rng = np.random.default_rng(random_state)
    side = np.full(n_items, _UNASSIGNED)
    room = {_TRAINING: n_items - n_test, _TEST: n_test}
    for rows in _rare_first(truth):
        _on_both_sides(side, rng.permutation(rows), room)
    rest = rng.permutation(np.flatnonzero(side == _UNASSIGNED))
    side[rest[: room[_TEST]]] = _TEST
    side[rest[room[_TEST] :]] = _TRAINING
    return rows_of_sides(side)


def _rare_first(truth: PartialLabels) -> list[Rows]:
    """Return the rows that have each label, for labels that can be on both sides."""
    entries = truth.entries()
    columns, rows = entries.columns[entries.present], entries.rows[entries.present]
    order = np.argsort(columns, kind="stable")
    size = np.bincount(columns, minlength=truth.n_labels)
    of_label = np.split(rows[order], np.cumsum(size)[:-1]) if truth.n_labels else []
    return [of_label[label] for label in np.argsort(size, kind="stable") if size[label] >= 2]


def _on_both_sides(side: npt.NDArray[np.int64], rows: Rows, room: dict[int, int]) -> None:
    for wanted in (_TRAINING, _TEST):
        free = rows[side[rows] == _UNASSIGNED]
        if len(free) and room[wanted] and not (side[rows] == wanted).any():
            side[free[0]] = wanted
            room[wanted] -= 1


def rows_of_sides(side: npt.NDArray[np.int64]) -> tuple[Rows, Rows]:
    """Return the training and the test rows."""
    return np.flatnonzero(side == _TRAINING), np.flatnonzero(side == _TEST)


def rows_of_words(words: Sequence[str], where: str) -> tuple[Rows, Rows]:
    """Return the training and test rows that a column of the words train and test says."""
    side = np.full(len(words), _UNASSIGNED)
    for row, word in enumerate(words):
        known = _WORDS.get(word.strip().lower())
        if known is None:
            raise InvalidInputError(
                f"{where}, entry {row + 1}: expected 'train' or 'test', found {word!r}."
            )
        side[row] = known
    return rows_of_sides(side)


def note_of_draw(training: Rows, test: Rows, random_state: int) -> str:
    """Say that the split was drawn here."""
    return (
        f"The split was drawn with random_state={random_state}: {len(training):,} training and "
        f"{len(test):,} test items; no published split was used."
    )
