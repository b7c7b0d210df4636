"""How many scores of a line are at least as high as each of its presences.

Only this is needed of a ranking. Sorting the scores answers it, and is the best way for short
lines. Of a long one only the few scores close to a presence need an exact comparison.
"""

import numpy as np
import numpy.typing as npt

from tagloom.metrics._scores import Scores

Counts = npt.NDArray[np.int64]

# Below this many scores the dozen calls that cells take cost more than sorting (measured).
_LONG = 2000
# Keys have 16 bits, which numpy sorts by counting; the outermost cells are for scores beyond.
_N_CELLS = 1 << 16


def n_at_least(scores: Scores, presences: Scores) -> Counts:
    """Count for each of the rising `presences` the scores that are as high or higher."""
    if len(scores) < _LONG:
        return counted_by_sorting(scores, presences)
    return counted_by_cells(scores, presences)


def counted_by_sorting(scores: Scores, presences: Scores) -> Counts:
    """Sort the bare scores, which is several times quicker than sorting their places."""
    return len(scores) - np.searchsorted(np.sort(scores), presences)


def counted_by_cells(scores: Scores, presences: Scores) -> Counts:
    """Put the scores into cells of equal width; compare only within cells that hold a presence.

    With c(s) the cell of a score, which never falls as s rises,

        #{s_i >= s} = #{c(s_i) > c(s)} + #{c(s_i) = c(s), s_i >= s}.
    """
    low, scale = _cells_over(presences)
    if scale == 0.0:
        return counted_by_sorting(scores, presences)
    cells, wanted = _cells(scores, low, scale), _cells(presences, low, scale)
    holds_presence = np.zeros(_N_CELLS, dtype=bool)
    holds_presence[wanted] = True
    close = np.sort(scores[holds_presence[cells]])
    n_close_at_least = len(close) - np.searchsorted(close, presences)
    n_close_beyond = _n_greater(_cells(close, low, scale), wanted)
    cells.sort(kind="stable")
    return _n_greater(cells, wanted) + n_close_at_least - n_close_beyond


def _n_greater(rising: npt.NDArray[np.uint16], wanted: npt.NDArray[np.uint16]) -> Counts:
    return len(rising) - np.searchsorted(rising, wanted, side="right")


def _cells_over(presences: Scores) -> tuple[np.floating, float]:
    """Return the lowest presence and the cells per unit of score; 0 where cells cannot be made."""
    low, high = presences[0], presences[-1]
    width = float(high) - float(low)
    most = float(np.finfo(presences.dtype).max)
    if not _N_CELLS / most < width <= most:
        return low, 0.0
    return low, (_N_CELLS - 3) / width


def _cells(scores: Scores, low: np.floating, scale: float) -> npt.NDArray[np.uint16]:
    """Return c(s) = (s - low) scale + 1, rounded down and held between the outermost cells.

    Subtraction, product and rounding never reverse an order, so neither does c.
    """
    with np.errstate(over="ignore"):
        place = scores - low
        place *= scale
    place += 1
    return np.clip(place, 0, _N_CELLS - 1, out=place).astype(np.uint16)
