"""How often each tag is forgotten, and what an unlisted tag therefore says.

Lists of tags are positive-unlabelled (PU) data: a present tag is listed with some probability, its
*label frequency* c, and a tag that is not listed may be absent or merely forgotten. People name the
train and the cat and never the sky, and the car that fills the picture rather than the one in the
background: c depends on the tag and on the picture (Bekker and Davis 2020 call this "selected at
random", in contrast to the one c of Elkan and Noto 2008).

What can be observed is the probability g that a tag is listed (`tagloom.calibration.listing`). With
p the probability of presence, g = e p, where e depends on tag and picture. Lists alone cannot tell
e from p. The assumptions made here, in the order of what they decide:

1. *The top of a tag's own ranking is nearly pure*, the more so the better the held-out ranking and
   the more frequent the tag: what is not listed there was forgotten. How pure a top can be expected
   to be was measured once, on photographs whose truth is known.
2. *Tags of one collection are forgotten in a related way*: their c come from one beta distribution
   (empirical Bayes). Where all well-ranked tags agree, a badly ranked tag that is rarely listed at
   its top is taken to be badly ranked, not often forgotten.
3. *Where tags are forgotten differently, so are pictures*: the more the c spread, the more e falls
   with the score, so that presence and listing are two thresholds on one scale, as in a
   proportional odds model (McCullagh 1980). Where all c agree, tags are forgotten at random.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq, minimize
from scipy.special import expit, logit, xlog1py, xlogy

from tagloom.persistence.container import Serialized

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

# The top of a ranking holds a quarter of the listed entries, at most 150 of them.
_SHARE_OF_LISTED, _MOST_LISTED = 0.25, 150
# Log-odds of an entry at the top to be present, by [1, log-odds of the ROC AUC, log of the listed
# share, log of the lift at the top, log of c], and how much it varies between tags (alpha + beta of
# a beta distribution). Fitted by `benchmarks/purity.py` to Corel5k and to photographs with
# captions.
_PURITY = (1.46, 0.81, 1.39, 0.99, -0.9)
_PURITY_CONCENTRATION = 14.6
# Below the first ROC AUC a ranking says less and less about which entries are present, down to
# nothing at 0.5; the share of the purity that is then expected is never quite zero.
_INFORMATIVE_AUC, _LEAST_PURITY = 0.8, 0.02
# A label with so many listings is taken to be forgotten half as much as its top says, in log c.
_FEW_LISTINGS = 3.0
# See `_trust`.
_TRUSTED, _PSEUDO_LISTINGS = (0.6, 0.8), 10.0
# A ROC AUC from n listed entries is shrunk as if one more entry had this value.
_PRIOR_AUC = 0.75
# Normal priors of the log-odds of the mean label frequency and of log(alpha + beta): few listings
# do not make a tag one that is mostly forgotten.
_MEANS, _DEVIATIONS = np.array([1.0, 1.5]), np.array([1.0, 1.5])
_GRID = (np.arange(60) + 0.5) / 60
# Label frequencies that spread like a beta distribution with alpha + beta <= 3 depend on the
# picture fully.
_SELECTIVE = 4.0
# See `estimate_forgetting`.
_STEEPEST, _STEEPER = 6.0, 1.5
_LARGEST_SHIFT = 8.0


@dataclass(frozen=True, eq=False)
class Forgetting:
    """From the probability of being listed, g = m_j sigmoid(z), to that of being present, p.

        p = max(g, sigmoid(z + d_j)).

    With m_j = c and d_j = 0 tags are forgotten at random, and p = g / c. With m_j = 1 the odds of
    presence are those of listing, multiplied by exp(d_j).

    Attributes
    ----------
    ceilings : array of shape (n_labels,)
        m, the probability with which a tag that is surely present is listed; 0 for tags that no
        list could hold.
    shifts : array of shape (n_labels,)
        d.
    label_frequencies : array of shape (n_labels,)
        The share of each tag's presences that is listed: estimated, or given by the owner.
    estimated : bool
        Whether they were estimated.
    """

    ceilings: Floats
    shifts: Floats
    label_frequencies: Floats
    estimated: bool = True

    def present(self, z: Floats, column: int) -> Floats:
        """Return p."""
        return _presence(z, self.ceilings[column], self.shifts[column])

    def for_labels(self, labels: Sequence[Hashable], wanted: Sequence[Hashable]) -> "Forgetting":
        """Return the model for other labels; new ones are forgotten like the median of the old.

        Labels that no list could hold say nothing about forgetting.
        """
        listed = self.ceilings > 0
        place = {label: column for column, label in enumerate(labels) if listed[column]}
        at = [place.get(label) for label in wanted]

        def chosen(values: Floats) -> Floats:
            usual = float(np.median(values[listed]))
            return np.array([usual if column is None else values[column] for column in at])

        values = {name: chosen(getattr(self, name)) for name in _ARRAYS}
        return Forgetting(**values, estimated=self.estimated)

    def to_state(self) -> Serialized:
        """Return arrays and metadata from which `from_state` restores it."""
        return Serialized(
            {name: getattr(self, name) for name in _ARRAYS}, {"estimated": self.estimated}
        )

    @classmethod
    def from_state(cls, state: Serialized) -> "Forgetting":
        """Return what `to_state` has serialised."""
        arrays = {name: state.arrays[name] for name in _ARRAYS}
        return cls(**arrays, estimated=state.metadata["estimated"])


_ARRAYS = ("ceilings", "shifts", "label_frequencies")


def _presence(z: Floats, ceiling: float, shift: float) -> Floats:
    return np.maximum(expit(z + shift), ceiling * expit(z))


def overall_label_frequency(n_listed: Array, label_frequencies: Array) -> float:
    """Return the share of the presences of all labels that is listed: sum n_j / sum (n_j / c_j)."""
    n_present = n_listed / np.maximum(label_frequencies, 1e-9)
    return float(n_listed.sum() / n_present.sum()) if n_listed.any() else 1.0


def nothing_forgotten(n_labels: int) -> Forgetting:
    """Return the model of labels whose absences are annotated, or whose lists are complete."""
    return Forgetting(np.ones(n_labels), np.zeros(n_labels), np.ones(n_labels), False)


def forgotten_at_random(label_frequency: float, n_labels: int) -> Forgetting:
    """Return the model with the one label frequency that the owner of the lists has given."""
    c = np.full(n_labels, label_frequency)
    return Forgetting(c, np.zeros(n_labels), c, False)


class Clear(NamedTuple):
    """What the clearest entries of each label tell: label frequency, purity, and how they vary."""

    frequency: Floats
    purity: Floats
    selectivity: float
    """From 0, tags are forgotten at random, to 1, whether a tag is listed depends on the
    picture."""

    @property
    def ceilings(self) -> Floats:
        """The probability with which a tag that is surely present is listed."""
        return np.asarray(self.frequency ** (1 - self.selectivity))


def judge_clear_entries(
    G: Sequence[Floats], pooled: Sequence[Floats], listed: Sequence[Array], auc: Floats
) -> Clear:
    """Estimate how often clear presences are listed.

    Parameters
    ----------
    G : one array for each label
        Held-out probabilities of being listed, for the entries that could have been listed.
    pooled : one array for each label
        The same, by one curve for all labels: comparing labels by their own curves would favour
        those that are listed often by chance.
    listed : one array of bool for each label
        Whether they are.
    auc : array of shape (n_labels,)
        ROC AUC of the held-out scores, listed against unlisted entries; NaN where undefined.
    """
    tops = [top_of(g, y) for g, y in zip(G, listed, strict=True)]
    prior = np.stack(
        [_expected_purity(top, y, a) for top, y, a in zip(tops, listed, auc, strict=True)]
    )
    frequency, purity, concentration = _empirical_bayes(tops, prior)
    selectivity = min(1.0, _SELECTIVE / (1 + concentration)) ** 2
    # Where all tags are forgotten alike, the best of all entries tell best how often.
    common = top_of(np.concatenate(pooled), np.concatenate(listed)).share
    n = np.array([y.sum() for y in listed])
    frequency = frequency ** (selectivity * n / (n + _FEW_LISTINGS)) * common ** (1 - selectivity)
    return Clear(frequency ** _trust(auc, listed), purity, selectivity)


def _trust(auc: Floats, listed: Sequence[Array]) -> float:
    """Return from 0 to 1 how far the tops of rankings can be trusted at all.

    That is clip((A - 0.6) / 0.2, 0, 1), with A the mean ROC AUC, weighted by listings and shrunk to
    0.5 by ten pseudo-listings. Where rankings say nothing, the top of all of them is as mixed as
    the rest, and what is not listed there was not forgotten.
    """
    n = np.array([y.sum() for y in listed], dtype=np.float64)
    defined = ~np.isnan(auc)
    total = n[defined] @ auc[defined] + 0.5 * _PSEUDO_LISTINGS
    mean = total / (n[defined].sum() + _PSEUDO_LISTINGS)
    low, high = _TRUSTED
    return float(np.clip((mean - low) / (high - low), 0, 1))


def estimate_forgetting(clear: Clear, Z: Sequence[Floats], listed: Sequence[Array]) -> Forgetting:
    """Estimate how each tag is forgotten.

    The shift d is such that the mean p of a tag's top is its purity, within two bounds. With c the
    label frequency of clear presences and s the selectivity, at least c^(1 + 1.5 s) of all
    presences are listed; and d is at most -6 s log c, since near certainty log-odds tell too
    little.

    Parameters
    ----------
    Z : one array for each label
        Held-out log-odds, with the ceilings of `clear`: g = m sigmoid(z).
    listed : one array of bool for each label
    """
    bounds = -_STEEPEST * clear.selectivity * np.log(clear.frequency)
    least = clear.frequency ** (1 + _STEEPER * clear.selectivity)
    shifts = np.array(
        [
            min(_shift(top_of(z, y).values, m, pure), _shift(z, m, y.mean() / c), bound)
            for z, y, m, pure, c, bound in zip(
                Z, listed, clear.ceilings, clear.purity, least, bounds, strict=True
            )
        ]
    )
    frequencies = np.array(
        [
            y.sum() / max(_presence(z, m, d).sum(), y.sum(), 1)
            for z, y, m, d in zip(Z, listed, clear.ceilings, shifts, strict=True)
        ]
    )
    return Forgetting(clear.ceilings, shifts, frequencies)


@dataclass(frozen=True, eq=False)
class Top:
    """The most probable entries: how many, how many of them are listed, and by what they rank."""

    n: int
    n_listed: int
    values: Floats

    @property
    def share(self) -> float:
        """The share of them that is listed."""
        return max(self.n_listed, 1) / max(self.n, 1)


def top_of(values: Floats, listed: Array) -> Top:
    """Return the top of the ranking, which ends with the entry that makes up its listed entries.

    With that entry there are r listed among N entries; without it, which is there because it ends
    the top, r - 1 among N - 1.
    """
    order = np.argsort(-values, kind="stable")
    so_far = np.cumsum(listed[order])
    wanted = min(_MOST_LISTED, max(1.0, _SHARE_OF_LISTED * float(listed.sum())))
    end = int(np.searchsorted(so_far, wanted))
    if end == len(values):
        # Nothing is listed: nothing is known of the top.
        return Top(0, 0, values[order[:1]])
    return Top(end, int(so_far[end]) - 1, values[order[: end + 1]])


def _expected_purity(top: Top, listed: Array, auc: float) -> Floats:
    """Return the expected share of entries at the top that are present, for each c of the grid.

    logit = w'[1, logit A, log b, log(s / b), log c] with A the ROC AUC, b the share of entries that
    are listed and s that at the top; where A is below 0.8, times (A - 0.5) / 0.3.
    """
    n_listed = int(listed.sum())
    if not n_listed:
        return np.full(len(_GRID), 0.5)
    a = (_PRIOR_AUC if np.isnan(auc) else auc) * n_listed + _PRIOR_AUC
    a = np.clip(a / (n_listed + 1), 1e-3, 1 - 1e-3)
    base = n_listed / len(listed)
    lift = (top.n_listed + 1) / (top.n + 1) / base
    constant = np.dot(_PURITY[:4], [1.0, logit(a), np.log(base), np.log(lift)])
    informative = np.clip((a - 0.5) / (_INFORMATIVE_AUC - 0.5), _LEAST_PURITY, 1)
    return np.asarray(informative * expit(constant + _PURITY[4] * np.log(_GRID)))


def _empirical_bayes(tops: list[Top], prior: Floats) -> tuple[Floats, Floats, float]:
    """Return the posterior means of each label's c and purity, and the concentration of c.

    Of the N entries at the top of label j a share u_j, its purity, is present, of which a share c_j
    is listed: r ~ Binomial(N, c_j u_j), with

        u_j ~ Beta of mean `prior[j, c_j]` and concentration 14.6,    c_j ~ Beta(alpha, beta),

    where alpha and beta maximise the likelihood of all labels, with a weak prior on log(alpha +
    beta). All integrals are sums over a grid.
    """
    r = np.array([top.n_listed for top in tops], dtype=np.float64)[:, None, None]
    n = np.array([top.n for top in tops], dtype=np.float64)[:, None, None]
    product = _GRID[:, None] * _GRID
    log_likelihood = xlogy(r, product) + xlog1py(n - r, -product)
    joint = log_likelihood + _log_beta(prior, _PURITY_CONCENTRATION)
    joint = np.exp(joint - joint.max(axis=(1, 2), keepdims=True))
    of_c = joint.sum(axis=2)

    def loss(x: Floats) -> float:
        evidence = np.log(of_c @ np.exp(_log_beta(expit(x[0]), np.exp(x[1]))) + 1e-300)
        prior = (x - _MEANS) / _DEVIATIONS
        return float(-evidence.sum() + 0.5 * prior @ prior)

    starts = [(m, s) for m in (-1.5, 0.0, 1.5) for s in (0.5, 3.0)]
    fits = [minimize(loss, start, method="Nelder-Mead") for start in starts]
    best = min(fits, key=lambda fit: fit.fun).x
    mean, concentration = float(expit(best[0])), float(np.exp(best[1]))
    posterior = joint * np.exp(_log_beta(mean, concentration))[:, None]
    posterior /= posterior.sum(axis=(1, 2), keepdims=True)
    c, purity = posterior.sum(axis=2) @ _GRID, posterior.sum(axis=1) @ _GRID
    return c, purity, concentration


def _log_beta(mean: Any, concentration: float) -> Floats:
    """Return log-probabilities of beta distributions on the grid, along a new last axis."""
    mean = np.asarray(mean, dtype=np.float64)[..., None]
    log_p = (mean * concentration - 1) * np.log(_GRID)
    log_p = log_p + ((1 - mean) * concentration - 1) * np.log1p(-_GRID)
    return np.asarray(log_p - np.logaddexp.reduce(log_p, axis=-1, keepdims=True))


def _shift(z: Floats, ceiling: float, purity: float) -> float:
    """Return the d >= 0 with which the mean p of entries is their purity."""

    def excess(shift: float) -> float:
        return float(_presence(z, ceiling, shift).mean() - purity)

    if excess(0.0) >= 0:
        return 0.0
    if excess(_LARGEST_SHIFT) <= 0:
        return _LARGEST_SHIFT
    return float(brentq(excess, 0.0, _LARGEST_SHIFT))
