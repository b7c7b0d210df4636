"""FastTag (Chen, Zheng and Weinberger 2013): tags enriched by tags, and predicted from features.

After the learner come the closed forms of its layers, then its own search for parameters, which may
differ from tag to tag.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve, pinvh

from tagloom.labels import PartialLabels
from tagloom.models.base import (
    Array,
    LinearLearner,
    ParamGrids,
    check_learnable,
    parameter,
    squared_norm,
)
from tagloom.validation import check_choice, check_integer, check_number

Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.intp]

# The default grid.
_BETA_SHARES = (0.1, 1.0, 10.0, 100.0)
_NOISES = (0.1, 0.3, 0.7, 0.9)
_ALPHAS = (0.1, 10.0, 100.0, 1000.0)
# The grid of the method's own search.
_OWN_NOISES = tuple(step / 10 for step in range(10))
_OWN_ALPHAS = (1.0, 10.0, 100.0, 1000.0, 10000.0)
_OWN_LAYERS = (2, 3)
_N_SUGGESTED = 5
_VALIDATION_SHARE = 0.2
# Tags are made dense in blocks of about this many entries.
_ENTRIES_AT_ONCE = 1 << 22


class FastTag(LinearLearner):
    r"""Fast image tagging (Chen, Zheng and Weinberger 2013).

    **Unknown is absent here, by the definition of the method.** FastTag distinguishes only tags
    that are listed from tags that are not. Whatever is not known to be present counts as absent; a
    known absence is no more than an unknown entry, and observation weights are ignored. In every
    other learner of this library unknown entries take no part.

    Minimises over B (tags x tags), W (tags x features) and two unpenalised intercepts

        1/n sum_i ||B y_i + b - W x_i - c||^2 + beta ||W||^2 + alpha r(B, b) + rho ||B||^2,
        r(B, b) = 1/n sum_i E ||y_i - B y~_i - b||^2,

    where y~ is y with every tag blanked out with probability p ("noise") on its own. B learns to
    restore what was blanked out and so adds the tags that are probably missing; W predicts the
    enriched tags from the features. The expectation has a closed form, as has each of B and W given
    the other. With more layers the enriched tags, after tanh, are the tags of the next layer, and
    the last layer predicts.

    Parameters
    ----------
    noise : float in [0, 0.99], default=0.5
        p.
    alpha : float, default=1.0
        Weight of r.
    beta : float, default=1e-2
        Weight of ||W||^2, in the units of the squared features averaged over the items.
    n_layers : int, default=1
    ridge : float, default=1e-6
        rho, which keeps the system for B solvable.
    max_rounds : int, default=10
        Largest number of alternations between B and W.
    tol : float, default=1e-2
        Relative decrease of the objective below which the alternation stops.
    search : {None, "own"}, default=None
        "own": noise, alpha and the number of layers are chosen as in the original, by the F1 of the
        five highest tags on held-out rows, then again for the tags whose F1 is still 0; so tags may
        differ in parameters.
    random_state : int, default=0
        Seed of the rows that the own search holds out.
    on_unlearnable : {"raise", "warn", "ignore"}, default="raise"
        What to do about labels that no item is known to have.

    Attributes
    ----------
    coef_ : array of shape (n_features, n_labels)
        W'.
    intercept_ : array of shape (n_labels,)
    learnable_ : array of bool of shape (n_labels,)
        False for labels that no item, or every item, is known to have.
    noise_, alpha_, n_layers_ : arrays of shape (n_labels,)
        The parameters used for each label.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [0.9], [1.0]])
    >>> Y = np.array([[1, np.nan], [1, np.nan], [np.nan, 1], [np.nan, 1]])
    >>> FastTag(noise=0.1).fit(X, Y).predict(X)
    array([[1, 0],
           [1, 0],
           [0, 1],
           [0, 1]])
    """

    def __init__(
        self,
        noise: float = 0.5,
        *,
        alpha: float = 1.0,
        beta: float = 1e-2,
        n_layers: int = 1,
        ridge: float = 1e-6,
        max_rounds: int = 10,
        tol: float = 1e-2,
        search: str | None = None,
        random_state: int = 0,
        on_unlearnable: str = "raise",
    ) -> None:
        self.noise = noise
        self.alpha = alpha
        self.beta = beta
        self.n_layers = n_layers
        self.ridge = ridge
        self.max_rounds = max_rounds
        self.tol = tol
        self.search = search
        self.random_state = random_state
        self.on_unlearnable = on_unlearnable

    unknown_is_absent = True
    noise_: Array
    alpha_: Array
    n_layers_: Array

    def fit(self, X: Any, y: Any) -> Self:  # type: ignore[override]
        """Learn from the known presences; FastTag knows no weights.

        Parameters
        ----------
        X, y
            As for every learner.
        """
        return super().fit(X, y)

    def read_training_data(
        self, X: Any, Y: Any, prior: Any = None, sample_weight: Any = None
    ) -> tuple[Array, PartialLabels]:
        """Validate the training data; whatever is not known to be present becomes absent."""
        rows, known = self.read_data(X, Y)
        check_learnable(known, "ignore")
        tags = _present_or_absent(known)
        self.learnable_ = check_learnable(tags, self.on_unlearnable)
        return rows, tags

    def fit_known(self, rows: Array, tags: PartialLabels) -> None:
        """Learn from validated rows and labels."""
        entries = tags.entries()
        ones = np.ones(len(entries.rows))
        table = sparse.csr_array((ones, (entries.rows, entries.columns)), shape=tags.shape)
        given = Settings(
            self.noise, self.alpha, self.n_layers, self.ridge, self.max_rounds, self.tol
        )
        everything = np.arange(tags.n_labels)
        choices = [Choice(given, everything, everything)]
        if self.search == "own":
            choices = search(rows, table, self.beta, given, self.random_state)
        self._learn(rows, table, choices)

    def default_param_grid(self, X: Any, Y: Any, graph: Any = None) -> ParamGrids:
        """Return beta in shares of the mean curvature, then noise, then alpha.

        With its own search, beta alone.
        """
        n, d = np.shape(X)
        scale = squared_norm(X, centred=True) / (n * d)
        betas: dict[str, list[Any]] = {"beta": [share * scale for share in _BETA_SHARES]}
        if self.search == "own":
            return [betas]
        return [betas, {"noise": list(_NOISES)}, {"alpha": list(_ALPHAS)}]

    @property
    def tuning_params(self) -> dict[str, Any]:
        """The stopping rule is part of the method, and cheap."""
        return {"tol": self.tol}

    def check_parameters(self) -> None:
        """Raise where a parameter has a value that is not allowed."""
        super().check_parameters()
        check_number(*parameter(self, "noise"), low=0, high=0.99)
        for name in ("alpha", "beta", "ridge"):
            check_number(*parameter(self, name), low=0, inclusive=False)
        check_number(*parameter(self, "tol"), low=0)
        check_integer(*parameter(self, "n_layers"), at_least=1)
        check_integer(*parameter(self, "max_rounds"), at_least=1)
        check_integer(*parameter(self, "random_state"), at_least=0)
        check_choice(*parameter(self, "search"), (None, "own"))

    def _learn(self, X: Array, tags: sparse.csr_array, choices: "list[Choice]") -> None:
        features = Features(X, self.beta)
        n_labels = tags.shape[1]
        self.coef_ = np.zeros((X.shape[1], n_labels), dtype=X.dtype)
        self.intercept_ = np.zeros(n_labels, dtype=X.dtype)
        self.noise_, self.alpha_ = np.zeros(n_labels), np.zeros(n_labels)
        self.n_layers_ = np.zeros(n_labels, dtype=int)
        for settings, fitted_with, chosen_for in choices:
            W, c = fit_layers(features, tags[:, fitted_with], settings)
            place = np.searchsorted(fitted_with, chosen_for)
            self.coef_[:, chosen_for], self.intercept_[chosen_for] = W[place].T, c[place]
            self.noise_[chosen_for], self.alpha_[chosen_for] = settings.noise, settings.alpha
            self.n_layers_[chosen_for] = settings.n_layers


def _present_or_absent(known: PartialLabels) -> PartialLabels:
    """Return the target of FastTag: the known presences, and absence everywhere else."""
    entries = known.entries()
    where = entries.present
    return PartialLabels.from_entries(
        entries.rows[where],
        entries.columns[where],
        True,
        shape=known.shape,
        labels=known.labels,
        unlisted_weight=1.0,
    )


class Settings(NamedTuple):
    """The parameters of FastTag but for beta."""

    noise: float
    alpha: float
    n_layers: int
    ridge: float
    max_rounds: int
    tol: float


class Enrichment(NamedTuple):
    """One layer: tags y become By + b."""

    B: Floats
    b: Floats


class Features:
    """Centred features x_i, with (K + beta I)^-1 for their covariance K = 1/n sum_i x_i x_i'."""

    def __init__(self, X: npt.NDArray[Any], beta: float) -> None:
        X64 = X.astype(np.float64, copy=False)
        self.origin = X64.mean(axis=0)
        self.X = X64 - self.origin
        K = self.X.T @ self.X / len(X)
        K.flat[:: len(K) + 1] += beta
        self._solve = _positive_solver(K)

    def solve(self, right: Floats) -> Floats:
        """Return (K + beta I)^-1 times the right-hand side."""
        return np.asarray(self._solve(right))


class Moments(NamedTuple):
    """Averages over the items, from which the closed forms are computed."""

    mean: Floats
    """y^ = 1/n sum_i y_i."""
    S: Floats
    """1/n sum_i (y_i - y^)(y_i - y^)'."""
    squares: Floats
    """1/n sum_i y_ik^2 for each tag k."""
    C: Floats
    """1/n sum_i x_i (y_i - y^)', features x tags."""


def corrupted_moments(mean_square: Floats, S: Floats, noise: float) -> tuple[Floats, Floats]:
    r"""Return P and Q, the moments of tags that are blanked out, each with probability p.

    Blank-out noise turns y into y~ with y~_k = 0 with probability p and y_k otherwise, tag by tag.
    Its mean is (1-p) y, its variance p(1-p) y_k^2 for tag k, and different tags are independent.
    With y^ the mean of y over the items, and averaged over items and noise alike,

        P = avg (y - y^)(y~ - (1-p) y^)' = (1-p) S,
        Q = avg (y~ - (1-p) y^)(y~ - (1-p) y^)' = (1-p)^2 S + p (1-p) diag(avg y_k^2).
    """
    p = noise
    return (1 - p) * S, (1 - p) ** 2 * S + p * (1 - p) * np.diag(mean_square)


def fit_layers(features: Features, tags: sparse.csr_array, settings: Settings) -> Enrichment:
    """Return M' and the intercept of the last layer's prediction from features not yet centred."""
    layers: list[Enrichment] = []
    for _ in range(settings.n_layers):
        moments = _moments(features, tags, layers)
        solved = features.solve(moments.C)
        B = _enrichment(moments, moments.C.T @ solved, settings)
        # The b that minimises r: the mean of the enriched tags is then right.
        b = moments.mean - (1 - settings.noise) * (B @ moments.mean)
        layers.append(Enrichment(B, b))
    W = B @ solved.T
    return Enrichment(W, B @ moments.mean + b - W @ features.origin)


def _enrichment(moments: Moments, H: Floats, settings: Settings) -> Floats:
    r"""Return B, alternating with W; H = C'(K + beta I)^-1 C.

    With biases b, c minimised out the objective is

        J(B, W) = 1/n sum_i ||B (y_i - y^) - W x_i||^2 + beta ||W||^2 + alpha r(B) + rho ||B||^2,
        r(B) = 1/n sum_i E ||(y_i - y^) - B (y~_i - (1-p) y^)||^2 = tr(S - 2 B P' + B Q B').

    For given B the best W is B C'(K + beta I)^-1; for given W the best B solves
    B (alpha Q + S + rho I) = alpha P + W C, where W C = B H. With W at its best, J is
    tr(B (S - H) B') + alpha r(B) + rho ||B||^2. B starts at the minimiser of r alone.
    """
    S, alpha = moments.S, settings.alpha
    P, Q = corrupted_moments(moments.squares, S, settings.noise)
    eye = np.eye(len(S))
    solve = _positive_solver(alpha * Q + S + settings.ridge * eye)
    curvature = S - H + alpha * Q + settings.ridge * eye

    def objective(B: Floats) -> float:
        return float(np.vdot(B @ curvature - 2 * alpha * P, B) + alpha * np.trace(S))

    B = _positive_solver(Q + settings.ridge * eye)(P).T
    value = objective(B)
    for _ in range(settings.max_rounds):
        B = solve((alpha * P + B @ H).T).T
        previous, value = value, objective(B)
        if previous - value <= settings.tol * abs(previous):
            break
    return np.asarray(B)


def _moments(features: Features, tags: sparse.csr_array, layers: list[Enrichment]) -> Moments:
    n, n_tags = tags.shape
    total, second = np.zeros(n_tags), np.zeros((n_tags, n_tags))
    C = np.zeros((features.X.shape[1], n_tags))
    for rows, Y in _blocks(tags, layers):
        total += Y.sum(axis=0)
        second += Y.T @ Y
        C += features.X[rows].T @ Y
    mean = total / n
    second /= n
    # The features are centred: centring the tags as well would not change C.
    return Moments(mean, second - np.outer(mean, mean), np.diag(second).copy(), C / n)


def _blocks(tags: sparse.csr_array, layers: list[Enrichment]) -> Iterator[tuple[slice, Floats]]:
    """Yield blocks of tags after the earlier layers, each y <- tanh(By + b)."""
    step = max(1, _ENTRIES_AT_ONCE // max(1, tags.shape[1]))
    for start in range(0, tags.shape[0], step):
        rows = slice(start, min(start + step, tags.shape[0]))
        Y = tags[rows].toarray()
        for layer in layers:
            Y = np.tanh(Y @ layer.B.T + layer.b)
        yield rows, Y


def _positive_solver(S: Floats) -> Callable[[Floats], Floats]:
    """Return the product with S^-1, or with the pseudo-inverse where S is numerically singular."""
    try:
        return partial(cho_solve, cho_factor(S, lower=True))
    except LinAlgError:
        return partial(np.matmul, pinvh(S))


class Choice(NamedTuple):
    """Settings, the tags that are fitted together with them, and those they were chosen for."""

    settings: Settings
    fitted_with: Positions
    chosen_for: Positions


def search(
    X: npt.NDArray[np.floating], tags: sparse.csr_array, beta: float, given: Settings, seed: int
) -> list[Choice]:
    """Choose noise, alpha and layers on held-out rows; repeat for the tags whose F1 is 0.

    A fifth of the rows is held out. The settings with the best F1 of the five highest tags are
    chosen for all tags with an F1 above 0. The search is repeated on the other tags alone, until it
    improves none of them; these keep the best settings of the last search.
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
    """Fits on the kept rows, scored on the held-out ones."""

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
            self._scored(first._replace(noise=noise, alpha=alpha))
            for noise in _OWN_NOISES
            for alpha in _OWN_ALPHAS
        ]
        settings = max(tried, key=lambda trial: trial[0])[1]
        tried += [self._scored(settings._replace(n_layers=n)) for n in _OWN_LAYERS]
        _, settings, f1 = max(tried, key=lambda trial: trial[0])
        return settings, f1

    def _scored(self, settings: Settings) -> tuple[float, Settings, Floats]:
        W, c = fit_layers(self.features, self.tags, settings)
        overall, f1 = f1_at(self.X_held @ W.T + c, self.truth, _N_SUGGESTED)
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
