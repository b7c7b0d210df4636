"""FastTag: tags enriched by tags, and predicted from features, by turns."""

from typing import Any, Self

import numpy as np
from scipy import sparse

from tagloom.checks import check_choice, check_number, check_whole
from tagloom.labels import PartialLabels
from tagloom.models.base import Array
from tagloom.models.fasttag_layers import Features, Settings, fit_layers
from tagloom.models.fasttag_search import Choice, search
from tagloom.models.grids import energy
from tagloom.models.linear import LinearLearner, refuse_too_large
from tagloom.models.parameters import check_on_unlearnable, parameter
from tagloom.models.targets import check_learnable

_BETA_SHARES = (0.1, 1.0, 10.0, 100.0)
_NOISES = (0.1, 0.3, 0.7, 0.9)
_ALPHAS = (0.1, 10.0, 100.0, 1000.0)


class FastTag(LinearLearner):
    r"""Fast image tagging (Chen, Zheng and Weinberger 2013).

    **Unknown is absent here, by the method's definition.** FastTag knows only tags that are listed
    and tags that are not. Whatever is not known to be present it takes as absent; a known absence
    teaches it nothing more than an unknown entry, and observation weights have no say. In every
    other learner of this library what is unknown takes no part.

    Minimises over B (tags x tags), W (tags x features) and two unpenalised intercepts

        1/n sum_i ||B y_i + b - W x_i - c||^2 + beta ||W||^2 + alpha r(B, b) + rho ||B||^2,
        r(B, b) = 1/n sum_i E ||y_i - B y~_i - b||^2,

    where y~ is y with every tag blanked out with probability p ("noise") on its own. B learns to
    put back what was blanked out and so adds the tags that are probably missing; W predicts the
    enriched tags from the features. The expectation has a closed form, as has each of B and W given
    the other: see `tagloom.models.fasttag_layers`. With more layers the enriched tags, squashed by
    tanh, are the tags of the next layer, and the last layer predicts.

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
        How often B and W take turns at most.
    tol : float, default=1e-2
        They stop taking turns when the objective falls by no more than this share of itself.
    search : {None, "own"}, default=None
        "own": noise, alpha and the number of layers are not taken as given but chosen as in the
        original, by the F1 of the five highest tags on held-out rows, then again for the tags
        whose F1 is still 0, so that tags may differ in parameters.
    random_state : int, default=0
        Decides which rows the own search holds out.
    on_unlearnable : {"raise", "warn", "ignore"}, default="raise"
        What to do about labels that no item is known to have.

    Attributes
    ----------
    coef_ : array of shape (n_features, n_labels)
        W'.
    intercept_ : array of shape (n_labels,)
    classes_ : array
        The names of the labels; for a one-dimensional y its two classes.
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

    noise_: Array
    alpha_: Array
    n_layers_: Array

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from the known presences; all else is taken as absent.

        Parameters
        ----------
        X : array or DataFrame of shape (n_items, n_features), float32 or float64
        Y : PartialLabels, DataFrame or array of 1, 0 and NaN (unknown) of shape (n_items, n_labels)
            A one-dimensional y with two classes is one label.
        """
        self._check_parameters()
        rows, known = self._read(X, Y)
        refuse_too_large(rows)
        check_learnable(known, "ignore")
        tags = _present_or_absent(known)
        self.learnable_ = check_learnable(tags, self.on_unlearnable)
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
        return self

    def search_space(self, X: Any, Y: Any, graph: Any = None) -> list[dict[str, list[Any]]]:
        """Return beta in shares of the mean curvature, then noise, then alpha; else beta alone."""
        n, d = np.shape(X)
        scale = energy(X, centred=True) / (n * d)
        betas: dict[str, list[Any]] = {"beta": [share * scale for share in _BETA_SHARES]}
        if self.search == "own":
            return [betas]
        return [betas, {"noise": list(_NOISES)}, {"alpha": list(_ALPHAS)}]

    @property
    def _while_tuning(self) -> dict[str, Any]:
        """The stop is part of the method, and cheap."""
        return {"tol": self.tol}

    def _check_parameters(self) -> None:
        check_number(*parameter(self, "noise"), low=0, high=0.99)
        for name in ("alpha", "beta", "ridge"):
            check_number(*parameter(self, name), low=0, inclusive=False)
        check_number(*parameter(self, "tol"), low=0)
        check_whole(*parameter(self, "n_layers"), at_least=1)
        check_whole(*parameter(self, "max_rounds"), at_least=1)
        check_whole(*parameter(self, "random_state"), at_least=0)
        check_choice(*parameter(self, "search"), (None, "own"))
        check_on_unlearnable(self)

    def _learn(self, X: Array, tags: sparse.csr_array, choices: list[Choice]) -> None:
        features = Features(X, self.beta)
        n_labels = tags.shape[1]
        self.coef_ = np.zeros((X.shape[1], n_labels), dtype=X.dtype)
        self.intercept_ = np.zeros(n_labels, dtype=X.dtype)
        self.noise_, self.alpha_ = np.zeros(n_labels), np.zeros(n_labels)
        self.n_layers_ = np.zeros(n_labels, dtype=int)
        for settings, together, chosen_for in choices:
            W, c = fit_layers(features, tags[:, together], settings)
            place = np.searchsorted(together, chosen_for)
            self.coef_[:, chosen_for], self.intercept_[chosen_for] = W[place].T, c[place]
            self.noise_[chosen_for], self.alpha_[chosen_for] = settings.noise, settings.alpha
            self.n_layers_[chosen_for] = settings.n_layers


def _present_or_absent(known: PartialLabels) -> PartialLabels:
    """Return what FastTag sees: the known presences, and absence everywhere else."""
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
