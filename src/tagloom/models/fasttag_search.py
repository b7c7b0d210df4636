"""FastTag's own choice of parameters, which may differ from tag to tag."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom.models.fasttag_layers import Features, Floats, Settings, fit_layers

NOISES = tuple(step / 10 for step in range(10))
ALPHAS = (1.0, 10.0, 100.0, 1000.0, 10000.0)
LAYERS = (2, 3)
N_SUGGESTED = 5
_VALIDATION_SHARE = 0.2

Positions = npt.NDArray[np.intp]


class Choice(NamedTuple):
    """Settings, the tags that were learned together under them, and those they were chosen for."""

    settings: Settings
    together: Positions
    chosen_for: Positions


def search(
    X: npt.NDArray[np.floating], tags: sparse.csr_array, beta: float, given: Settings, seed: int
) -> list[Choice]:
    """Choose noise, alpha and layers on held-out rows; repeat for the tags that are never right.

    A fifth of the rows is held out. What gives the best F1 of the five highest tags is chosen for
    all tags with an F1 above 0. The others are searched again, among themselves, until a search
    finds nothing for any of them; those are left with what was best in that last search.
    """
    order = np.random.default_rng(seed).permutation(len(X))
    n_held = max(1, int(_VALIDATION_SHARE * len(X)))
    held, kept = np.sort(order[:n_held]), np.sort(order[n_held:])
    features = Features(X[kept], beta)
    left: Positions = np.arange(tags.shape[1])
    choices: list[Choice] = []
    while len(left):
        part = tags[:, left]
        trials = _Trials(features, part[kept], X[held], part[held].toarray() > 0)
        settings, f1 = trials.best(given)
        solved = f1 > 0
        if not solved.any():
            choices.append(Choice(settings, left, left))
            break
        choices.append(Choice(settings, left, left[solved]))
        left = left[~solved]
    return choices


class _Trials:
    def __init__(
        self,
        features: Features,
        tags: sparse.csr_array,
        X_held: npt.NDArray[np.floating],
        truth: npt.NDArray[np.bool_],
    ) -> None:
        self.features, self.tags, self.X_held, self.truth = features, tags, X_held, truth

    def best(self, given: Settings) -> tuple[Settings, Floats]:
        """Try noise and alpha with one layer, then more layers with the best of those."""
        first = given._replace(n_layers=1)
        tried = [
            self._judged(first._replace(noise=noise, alpha=alpha))
            for noise in NOISES
            for alpha in ALPHAS
        ]
        settings = max(tried, key=lambda trial: trial[0])[1]
        tried += [self._judged(settings._replace(n_layers=n)) for n in LAYERS]
        _, settings, f1 = max(tried, key=lambda trial: trial[0])
        return settings, f1

    def _judged(self, settings: Settings) -> tuple[float, Settings, Floats]:
        W, c = fit_layers(self.features, self.tags, settings)
        overall, f1 = f1_at(self.X_held @ W.T + c, self.truth, N_SUGGESTED)
        return overall, settings, f1


def f1_at(scores: Floats, truth: npt.NDArray[np.bool_], k: int) -> tuple[float, Floats]:
    """Return F1 of the k highest tags of every row: overall, and for each tag.

    Precision and recall are taken tag by tag (0 where never suggested). The overall F1 is that of
    their means over the tags that occur.
    """
    k = min(k, scores.shape[1])
    highest = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    suggested = np.zeros(scores.shape, dtype=bool)
    np.put_along_axis(suggested, highest, True, axis=1)
    right = (suggested & truth).sum(axis=0)
    occurs = truth.any(axis=0)
    precision = right / np.maximum(suggested.sum(axis=0), 1)
    recall = right / np.maximum(truth.sum(axis=0), 1)
    if not occurs.any():
        return 0.0, np.zeros(scores.shape[1])
    overall = _harmonic(precision[occurs].mean(), recall[occurs].mean())
    return float(overall), _harmonic(precision, recall)


def _harmonic(a: Floats, b: Floats) -> Floats:
    return np.asarray(2 * a * b / np.maximum(a + b, np.finfo(float).tiny))
