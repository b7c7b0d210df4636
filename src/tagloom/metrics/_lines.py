"""Average precision by lines: the columns or the rows of a table, each ranked by itself."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.labels import PartialLabels, State
from tagloom.metrics._counting import n_at_least
from tagloom.metrics._scores import Codes, Flags, Floats, Scores

# Lines are copied in groups of about this many entries, to stay within the cache.
_ENTRIES_AT_ONCE = 1 << 18
PrecisionOf = Callable[[Floats, npt.NDArray[np.integer[Any]]], float]


@dataclass(frozen=True)
class Lines:
    """Scores by line, -infinity where the truth is unknown, and which of them are presences."""

    scores: Scores
    present: Flags

    def fill_average_precision(self, result: Floats, precision_of: PrecisionOf) -> None:
        """Write the average precision of each line that has a presence."""
        for line, scores in enumerate(self.scores):
            presences = np.sort(scores[self.present[line]])
            if len(presences):
                # What is unknown lies at -infinity, below every presence, and is never counted.
                n_known = n_at_least(scores, presences)
                n_found = len(presences) - np.searchsorted(presences, presences)
                result[line] = precision_of(n_found / n_known, n_found)


def _area(precision: Floats, n_found: npt.NDArray[np.integer[Any]]) -> float:
    return float(precision.mean())


def _voc11(precision: Floats, n_found: npt.NDArray[np.integer[Any]]) -> float:
    """Take the best precision at recall t or more, t = 0, 0.1, ..., 1, and their mean.

    Recall falls along the line. Whole numbers are compared: n_found / n >= i / 10 in floats would
    hang on the last bit.
    """
    best = np.maximum.accumulate(precision)
    wanted = np.arange(11) * len(precision)
    n_reaching = np.searchsorted(-10 * n_found, -wanted, side="right")
    return float(best[n_reaching - 1].mean())


PRECISION_OF: dict[str, PrecisionOf] = {"area": _area, "voc11": _voc11}


def blocks_of_lines(known: PartialLabels, scores: Scores, axis: int) -> Iterator[tuple[int, Lines]]:
    """Yield groups of lines along `axis` (0: columns, 1: rows) with the number of the first."""
    states, table = _known_part(known, scores, axis)
    n_lines, length = states.shape[1 - axis], states.shape[axis]
    # Half precision is too coarse to compute with; single precision holds it exactly.
    dtype = np.result_type(table.dtype, np.float32)
    step = max(1, _ENTRIES_AT_ONCE // max(1, length))
    for start in range(0, n_lines, step):
        chosen = slice(start, start + step)
        where = (slice(None), chosen) if axis == 0 else (chosen, slice(None))
        part = states[where].T if axis == 0 else states[where]
        lines = np.array(table[where].T if axis == 0 else table[where], dtype=dtype, order="C")
        unknown = part == int(State.UNKNOWN)
        if unknown.any():
            lines[unknown] = -np.inf
        yield start, Lines(lines, np.ascontiguousarray(part == int(State.PRESENT)))


def _known_part(known: PartialLabels, scores: Scores, axis: int) -> tuple[Codes, Scores]:
    """Return states and scores; where few are known, only those, pushed together along `axis`.

    Lines of unequal length are filled up with unknown entries, which no metric counts.
    """
    if not known.is_sparse or known.unlisted_weight:
        return known.states(), scores
    entries = known.entries()
    line = entries.columns if axis == 0 else entries.rows
    order = np.argsort(line, kind="stable")
    line = line[order]
    length = np.bincount(line, minlength=known.shape[1 - axis])
    place = np.arange(len(line)) - (np.cumsum(length) - length)[line]
    shape = (int(length.max(initial=0)), len(length))
    states = np.full(shape, int(State.UNKNOWN), dtype=np.int8)
    states[place, line] = entries.present[order]
    pushed = np.zeros(shape, dtype=scores.dtype)
    pushed[place, line] = scores[entries.rows[order], entries.columns[order]]
    return (states, pushed) if axis == 0 else (states.T, pushed.T)
