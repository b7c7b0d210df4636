"""Where to look for good parameters, in the units of the data."""

from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom.graph import check_weights, laplacian
from tagloom.labels import PartialLabels

if TYPE_CHECKING:
    from tagloom.models.apg_graph import APGGraph

_LAM_SHARES = (0.1, 0.03, 0.01, 0.003)
_RIDGE_SHARES = (0.1, 1.0, 10.0)
_GAMMA_SHARES = (0.0, 0.1, 1.0)
_RIDGE_ALONE_SHARES = (0.1, 0.3, 1.0, 3.0, 10.0)
_SHRINKAGES = (0.03, 0.3, 3.0)
_SHRINKAGES_OF_PRESENCES = (0.3, 3.0, 10.0)
_SMOOTHINGS = (0.0, 0.5, 0.8)
_SCORE_NORMALIZATIONS = (0.0, 0.5)
_LAM_ALONE_SHARES = (0.08, 0.04, 0.02, 0.01, 0.005)


def apg_grid(model: "APGGraph", X: Any, known: PartialLabels, graph: Any) -> dict[str, list[Any]]:
    """Return values of lam, ridge and gamma around the scale at which each begins to matter.

    lam: shares of the exact value at which M is 0. ridge: shares of the mean curvature of the loss,
    (known share) * ||X||_F^2 / d. gamma: shares of the strength at which the graph term has as much
    curvature as the loss, (known share) * ||X||_F^2 / (2 tr(X'LX)).
    """
    lam_max = model.lam_max(X, known)
    rows = np.asarray(X, dtype=np.float64)
    curvature = _mean_weight(known) * energy(rows, model.fit_intercept)
    grid: dict[str, list[Any]] = {
        "lam": [share * lam_max for share in _LAM_SHARES],
        "ridge": [share * curvature / rows.shape[1] for share in _RIDGE_SHARES],
    }
    if graph is not None:
        L = laplacian(check_weights(graph, len(rows), name="graph", nodes="items"))
        roughness = float(np.sum(rows * (L @ rows)))
        if roughness > 0:
            grid["gamma"] = [share * curvature / (2 * roughness) for share in _GAMMA_SHARES]
    return grid


def ridge_grid(X: Any, known: PartialLabels, fit_intercept: bool) -> list[float]:
    """Return shares of the mean curvature of the squared loss of one label."""
    rows = np.asarray(X, dtype=np.float64)
    curvature = _mean_weight(known) * energy(rows, fit_intercept) / rows.shape[1]
    return [share * curvature for share in _RIDGE_ALONE_SHARES]


def diffusion_stages(X: Any, known: PartialLabels) -> list[dict[str, list[Any]]]:
    """Return ridge for the linear part, then shrinkage and smoothing, then whether to even scores.

    The weakest ridge of least squares is left out, that all learners search about as long. Where
    absence is only presumed, nobody but presences is heard, and their mean is always high: there
    the shrinkage must be large. Score normalisation helps more often than not: it is on before.
    """
    shrinkages = _SHRINKAGES_OF_PRESENCES if known.unlisted_weight else _SHRINKAGES
    even = {"score_normalization": [max(_SCORE_NORMALIZATIONS)]}
    return [
        {
            "ridge": ridge_grid(X, known, True)[1:],
            "shrinkage": [np.inf],
            "smoothing": [0.0],
            **even,
        },
        {"shrinkage": list(shrinkages), "smoothing": list(_SMOOTHINGS), **even},
        {"score_normalization": list(_SCORE_NORMALIZATIONS)},
    ]


def lam_grid(lam_max: float) -> list[float]:
    """Return shares of the exact lam at which M is 0."""
    return [share * lam_max for share in _LAM_ALONE_SHARES]


def energy(X: Any, centred: bool) -> float:
    """Return ||X||_F^2, of the centred rows where there is an intercept; 1 where it is 0."""
    rows = np.asarray(X, dtype=np.float64)
    total = float(np.sum((rows - rows.mean(axis=0) if centred else rows) ** 2))
    return total if total > 0 else 1.0


def _mean_weight(known: PartialLabels) -> float:
    """Return the mean weight of an entry, counting 0 for the unknown."""
    entries = known.entries()
    n_entries = known.n_items * known.n_labels
    n_unlisted = n_entries - len(entries.rows) - len(known.hidden_entries()[0])
    return float((entries.weights.sum() + known.unlisted_weight * n_unlisted) / n_entries)
