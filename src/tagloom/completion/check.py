"""Checking a sample: how many suggestions are right, and how many missing tags they find.

A person answers yes or no for a small stratified random sample of open entries. Every entry was
drawn with a known probability, so that the answers tell about the whole collection whatever the
model believes: its probabilities only decide where to look (design-based inference; Cochran 1977,
"Sampling Techniques", chapters 5 and 9A).
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from tagloom.errors import InvalidInputError
from tagloom.labels.storage import Flags, Positions
from tagloom.validation import check_integer

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

N_ENTRIES = 30
CONFIDENCE = 0.95
_SHARE_OF_SUGGESTIONS = 2 / 3
# Entries below the threshold are asked about down to where this share of the presences that the
# model expects there is covered.
_COVERED = 2 / 3
_BETS = np.linspace(1 / 16, 1, 16)


@dataclass(frozen=True, eq=False)
class Check:
    """A drawn sample: one entry from each stratum.

    Attributes
    ----------
    rows, columns : arrays of int of shape (n_drawn,)
        The entries, in the random order in which they are asked about.
    is_suggested : array of bool of shape (n_drawn,)
        Whether the entry is a suggestion; the others lie below the threshold.
    probability : array of shape (n_drawn,)
        What the model believes of the entry.
    stratum_size : array of int of shape (n_drawn,)
        From how many entries it was drawn: its inclusion probability is 1 / size.
    n_suggestions : int
    expected_right : float
        The sum of the probabilities of all suggestions.
    expected_covered, expected_rest : float
        The same for entries below the threshold: those of the strata, and the less probable rest.
    """

    rows: Positions
    columns: Positions
    is_suggested: Flags
    probability: Floats
    stratum_size: Positions
    n_suggestions: int
    expected_right: float
    expected_covered: float
    expected_rest: float

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def inclusion_probability(self) -> Floats:
        """The probability with which each entry was drawn."""
        return 1.0 / self.stratum_size


def draw_check(
    P: Array, is_open: Flags, thresholds: Array, n: int = N_ENTRIES, *, random_state: int = 0
) -> Check:
    """Draw about 2/3 of n entries from the suggestions, and the rest from below the threshold.

    Both parts are sorted by probability and cut into strata, of which each gives one entry, drawn
    uniformly. Strata of suggestions are of equal size: every suggestion is drawn with the same
    probability. Below the threshold the strata have equal sums of sqrt(P), near the optimum for
    presences of probability P (Neyman 1934): probable entries are drawn more often, since what is
    surely absent tells little.

    The improbable rest, which holds a third of the presences that the model expects below the
    threshold, is not drawn from: it has far more entries than a small sample could tell about.
    `estimate` assumes that the model is wrong there by the same factor as in the strata.

    Parameters
    ----------
    P : array of shape (n_items, n_labels)
        Probabilities; entries where they are NaN are left out.
    is_open : array of bool of the same shape
    thresholds : array of shape (n_labels,)
        The probability from which each label is suggested; NaN or infinity for never.
    """
    check_integer("n", n, at_least=1)
    order: Literal["F", "C"] = "F" if P.flags.f_contiguous else "C"
    candidates = np.flatnonzero((np.asarray(is_open) & ~np.isnan(P)).ravel(order))
    if not len(candidates):
        raise InvalidInputError("There is nothing to check: no tag of any picture is open.")
    p = P.ravel(order)[candidates]
    is_suggested = (thresholds <= P).ravel(order)[candidates]
    n_suggestions = int(is_suggested.sum())
    n_below = min(
        n - min(round(n * _SHARE_OF_SUGGESTIONS), n_suggestions), int((~is_suggested).sum())
    )
    n_suggested = min(n - n_below, n_suggestions)
    suggested = _descending(p, is_suggested)
    covered = _descending(p, ~is_suggested & (p >= _least_covered(p[~is_suggested], n_below)))
    rng = np.random.default_rng(random_state)
    first, first_sizes = _one_of_each(_strata(np.ones(len(suggested)), n_suggested), rng)
    second, second_sizes = _one_of_each(
        _strata(np.sqrt(p[covered], dtype=np.float64) + 1e-9, n_below), rng
    )
    mixed = rng.permutation(n_suggested + n_below)
    chosen = np.concatenate([suggested[first], covered[second]])[mixed]
    rows, columns = np.unravel_index(candidates[chosen], P.shape, order)
    expected_covered = _sum(p[covered])
    return Check(
        rows,
        columns,
        is_suggested[chosen],
        p[chosen].astype(np.float64),
        np.concatenate([first_sizes, second_sizes])[mixed],
        n_suggestions=n_suggestions,
        expected_right=_sum(p[suggested]),
        expected_covered=expected_covered,
        expected_rest=max(_sum(p[~is_suggested]) - expected_covered, 0.0),
    )


def _descending(p: Array, among: Flags) -> Positions:
    found = np.flatnonzero(among)
    return found[np.argsort(-p[found], kind="stable")]


def _sum(p: Array) -> float:
    return float(p.sum(dtype=np.float64))


def _least_covered(p: Array, n: int) -> float:
    """Return the p from which on the entries, n at least, hold the share of the sum to cover."""
    if not n:
        return np.inf
    falling = np.sort(p)[::-1]
    total = np.cumsum(falling, dtype=np.float64)
    enough = int(np.searchsorted(total, _COVERED * total[-1]))
    return float(falling[min(max(enough, n - 1), len(p) - 1)])


def _strata(sizes: Floats, n: int) -> Positions:
    """Return the bounds of n runs of nearly equal sums, each with at least one element."""
    if not n:
        return np.zeros(1, dtype=np.int64)
    total = np.cumsum(sizes)
    bounds = np.searchsorted(total, total[-1] * np.arange(n + 1) / n * (1 - 1e-12))
    bounds[[0, n]] = 0, len(sizes)
    steps = np.arange(n + 1)
    bounds = np.maximum.accumulate(bounds - steps) + steps
    return np.asarray(np.minimum(bounds, len(sizes) - n + steps), dtype=np.int64)


def _one_of_each(bounds: Positions, rng: np.random.Generator) -> tuple[Positions, Positions]:
    sizes = np.diff(bounds)
    return bounds[:-1] + rng.integers(0, sizes), sizes


class Interval(NamedTuple):
    """An estimate with its confidence interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Estimate:
    """What the answers to a check say.

    Attributes
    ----------
    precision : Interval or None
        The share of the suggestions that are right; None without an answer about them.
    recall : Interval or None
        The share of the missing tags that are suggested.
    expected_precision : float or None
        What the model believed.
    n_suggestions : int
        How many suggestions the precision is about.
    n_right, n_checked : int
        Answers about suggestions: yes, and yes or no.
    n_missing, n_checked_below : int
        The same for entries below the threshold.
    n_unanswered : int
        Entries without a yes or no, treated as missing at random.
    """

    precision: Interval | None
    recall: Interval | None
    expected_precision: float | None
    n_suggestions: int
    n_right: int
    n_checked: int
    n_missing: int
    n_checked_below: int
    n_unanswered: int

    def metadata(self) -> dict[str, Any]:
        """Return the estimate as JSON values."""
        return asdict(self)


def estimate(check: Check, answers: Sequence[bool | None]) -> Estimate:
    """Estimate precision and recall from the answers, None for "don't know", with 95% intervals.

    The precision is the stratified mean of the answers about suggestions. With A suggestions right
    and B missing tags below the threshold the recall is A / (A + B), where

        B = T (1 + R / C),    T = C + sum_h N_h (y_h - p_h):

    T is the difference estimator (Cochran 1977, section 7.3: unbiased, whatever the p are) of the
    presences in the strata of sizes N_h; C and R are the presences that the model expects in them
    and in the less probable rest, which no stratum covers. The interval of the recall goes from the
    lower end of A and the upper end of B to the opposite: it is wider than it need be.
    """
    if len(answers) != len(check):
        raise InvalidInputError(f"Expected {len(check)} answers, found {len(answers)}.")
    answered = np.array([one is not None for one in answers], dtype=bool)
    yes = np.array([bool(one) for one in answers], dtype=bool)
    above, below = answered & check.is_suggested, answered & ~check.is_suggested
    alpha = 1 - CONFIDENCE
    precision = _right(check, yes, above, alpha)
    return Estimate(
        precision=precision,
        recall=_recall(check, precision, _missing(check, yes, below, alpha)),
        expected_precision=(
            check.expected_right / check.n_suggestions if check.n_suggestions else None
        ),
        n_suggestions=check.n_suggestions,
        n_right=int((yes & above).sum()),
        n_checked=int(above.sum()),
        n_missing=int((yes & below).sum()),
        n_checked_below=int(below.sum()),
        n_unanswered=int((~answered).sum()),
    )


def _right(check: Check, yes: Flags, checked: Flags, alpha: float) -> Interval | None:
    """Return the share of the suggestions that are right."""
    n, total = int(checked.sum()), check.n_suggestions
    if not n:
        return None
    sizes = check.stratum_size[checked]
    share = float(sizes @ yes[checked] / sizes.sum())
    n_yes = int(yes[checked].sum())
    low, high = clopper_pearson(n * share, n, alpha)
    # What was seen is certain: if all suggestions were checked, the interval is a point.
    low, high = max(low, n_yes / total), min(high, 1 - (n - n_yes) / total)
    return Interval(share, min(low, share), max(high, share))


def clopper_pearson(k: float, n: int, alpha: float) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson (1934) for a share, k of n being yes.

    It holds with probability 1 - alpha at least. One draw from each of n equal strata varies less
    than n draws from all entries (Hoeffding 1956), so that it holds for a stratified sample too.
    """
    low = 0.0 if k <= 0 else float(betaincinv(k, n - k + 1, alpha / 2))
    high = 1.0 if k >= n else float(betaincinv(k + 1, n - k, 1 - alpha / 2))
    return low, high


def _missing(check: Check, yes: Flags, checked: Flags, alpha: float) -> Interval | None:
    """Return the number of presences below the threshold: B, with its interval."""
    drawn = ~check.is_suggested
    if not drawn.any():
        return Interval(0.0, 0.0, 0.0)
    if not checked.any():
        return None
    sizes, y, p = (
        one[checked].astype(np.float64) for one in (check.stratum_size, yes, check.probability)
    )
    n_entries = float(check.stratum_size[drawn].sum())
    # Strata without an answer are like the others.
    scale = n_entries / sizes.sum()
    found = check.expected_covered + scale * float(sizes @ (y - p))
    values = sizes * y / sizes.max()
    to_total = len(values) * sizes.max() * scale
    low, high = (to_total * bound for bound in betting_interval(values, alpha))
    n_yes = float(y.sum())
    low, high = max(low, n_yes), min(high, n_entries - (len(y) - n_yes))
    rest = check.expected_rest / check.expected_covered if check.expected_covered else 0.0
    found = min(max(found, low), high)
    return Interval(*((1 + rest) * one for one in (found, low, high)))


def betting_interval(values: Floats, alpha: float) -> tuple[float, float]:
    """Return an interval for the mean of independent variables in [0, 1], one drawn value of each.

    Waudby-Smith and Ramdas (2024), "Estimating means of bounded random variables by betting": if
    the mean is m, a gambler whose fortune is multiplied by 1 + b (x - m) at each value x expects to
    keep what he has, and with probability 1 - alpha never owns more than 1 / alpha. So every m at
    which he would have become that rich is excluded. For a constant b the variables need not have
    the same mean, as the product of their expected factors is at most 1 (AM-GM inequality): the
    interval holds for one draw from each stratum. Here the fortune is the average over 16 values
    of b, upwards for one bound and downwards for the other.
    """
    rich = 2 / alpha
    seen = float(np.mean(values))

    def from_below(m: float) -> float:
        return float(np.prod(1 + _BETS[:, None] * (values / m - 1), axis=1).mean())

    def from_above(m: float) -> float:
        return float(np.prod(1 - _BETS[:, None] * (values - m) / (1 - m), axis=1).mean())

    low = _crossing(lambda m: from_below(m) >= rich, 0.0, seen) if seen > 0 else 0.0
    high = _crossing(lambda m: from_above(m) < rich, seen, 1.0) if seen < 1 else 1.0
    return low, high


def _crossing(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return where a condition that holds from `low` on ceases to hold."""
    for _ in range(50):
        middle = (low + high) / 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _recall(check: Check, right: Interval | None, missing: Interval | None) -> Interval | None:
    if not check.n_suggestions:
        right = Interval(0.0, 0.0, 0.0)
    if right is None or missing is None:
        return None
    A = Interval(*(check.n_suggestions * one for one in right))
    return Interval(
        _share(A.value, missing.value), _share(A.low, missing.high), _share(A.high, missing.low)
    )


def _share(part: float, rest: float) -> float:
    return part / (part + rest) if part + rest > 0 else 0.0


def describe(found: Estimate) -> list[str]:
    """Return what the answers say, in sentences for the owner of the pictures."""
    lines = []
    if found.precision is not None:
        lines.append(
            f"{found.n_right} of {found.n_checked} checked suggestions are right. Of all "
            f"{found.n_suggestions:,} suggestions {_in_words(found.precision)} are right; "
            f"{found.expected_precision:.0%} were expected."
        )
    elif not found.n_suggestions:
        lines.append("Nothing is suggested, so there is no precision.")
    if found.recall is not None:
        checked = _counted(found.n_checked_below, "checked tag", "below the threshold")
        lines.append(
            f"{found.n_missing} of {checked} {'is' if found.n_missing == 1 else 'are'} missing. "
            f"Of all missing tags {_in_words(found.recall)} are suggested."
        )
    if found.n_unanswered:
        lines.append(f"{_counted(found.n_unanswered, 'entry', plural='entries')} without an answer "
                     "did not count.")  # fmt: skip
    n = found.n_checked + found.n_checked_below
    if n:
        lines.append(
            f"This rests on {_counted(n, 'answer')}, whatever the program believes: in 95 of 100 "
            "such checks the true share lies in the interval. More answers make it narrower."
        )
    return lines


def _in_words(share: Interval) -> str:
    if share.low == share.high:
        return f"{share.value:.0%}"
    if share.value == 1:
        return f"at least {share.low:.0%}"
    if share.value == 0:
        return f"at most {share.high:.0%}"
    return f"about {share.value:.0%} (between {share.low:.0%} and {share.high:.0%})"


def _counted(n: int, noun: str, rest: str = "", *, plural: str = "") -> str:
    words = noun if n == 1 else plural or f"{noun}s"
    return f"{n:,} {words} {rest}".rstrip()
