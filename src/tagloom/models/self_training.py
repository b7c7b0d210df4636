"""Self-training: a linear model refitted to labels that diffusion has completed.

A model that learns from its own answers is self-training (Scudder 1965). Here the answers come from
a graph, which sees what the linear model cannot: label propagation gives pseudo-labels for a model
of the features, as in Iscen et al. (2019), with soft labels instead of decisions.
"""

from copy import copy

import numpy as np

from tagloom.graph.diffusion import ResidualDiffusion, column_blocks, known_residuals
from tagloom.labels import PartialLabels
from tagloom.models.base import Array
from tagloom.models.least_squares import Floats, LeastSquares, NormalEquations, Rows

SHRINKAGE, SHRINKAGE_OF_LISTS = 0.3, 10.0
"""Shrinkage of diffused residuals; those of lists are of presences alone, and always high."""

# Smoothing of the scores that complete the labels. It is not searched, nor is their shrinkage: then
# every candidate would need rounds of its own.
_SMOOTHING = 0.5
# Unlisted entries that count as absent keep this share of their weight; with the rest they are
# open.
_ABSENCE = 0.5


def self_train(
    linear: LeastSquares,
    Z: Array,
    known: PartialLabels,
    diffusion: ResidualDiffusion,
    n_rounds: int,
    offset: Array | None = None,
) -> LeastSquares:
    r"""Return the linear model after some rounds of self-training.

    A round completes the labels, T, and fits all labels to them at all items together,

        P = ZM + b,    F = the scores P corrected and smoothed on the graph,
        t_ij = w_ij / L y_ij + (1 - w_ij / L) f_ij,
        M, b = argmin L/2 ||ZM + 1b' - T||_F^2 + rho/2 ||M||_F^2,

    with the weight w of a known label (0: unknown) and the largest weight L, usually 1; for an
    unlisted entry that counts as absent w is half of its weight. Every label is now complete, so
    that all of them share one factorisation, whatever is known of them. Where F = P this would only
    be the EM algorithm for the missing labels, whose fixed point is the fit that it started from:
    what is gained comes from the graph.

    Parameters
    ----------
    linear : LeastSquares
        Fitted to the known labels.
    Z : array of shape (n_items, n_features)
    known : PartialLabels
    diffusion : ResidualDiffusion
        Of the residuals of `linear`, over the graph that serves all rounds.
    n_rounds : int
    offset : array of shape (n_items, n_labels), optional
        What prior scores add to the linear scores; it stays.
    """
    shared, largest = SharedRidge(Z), largest_weight(known)
    step = completing_step(known.unlisted_weight)
    for round_number in range(n_rounds):
        P = linear.score_rows(Z)
        if offset is not None:
            P += offset
        if round_number:
            diffusion = diffusion.of_residuals(known_residuals(known, P).residuals)
        T = complete_labels(known, diffusion.scores(P, *step), largest)
        if offset is not None:
            T -= offset
        linear = shared.refitted(linear, T, linear.ridge / largest)
    return linear


def completing_step(unlisted_weight: float) -> tuple[float, float]:
    """Return shrinkage and smoothing of the scores that complete the labels."""
    return SHRINKAGE_OF_LISTS if unlisted_weight else SHRINKAGE, _SMOOTHING


def largest_weight(known: PartialLabels) -> float:
    """Return L, the largest weight of a known entry; 0 where none is known."""
    return float(np.max(known.entries().weights, initial=known.unlisted_weight))


def complete_labels(known: PartialLabels, F: Array, largest: float = 1.0) -> Array:
    """Return w/L y + (1 - w/L) f for every entry, in the place of the scores F."""
    entries = known.entries()
    hidden = known.hidden_entries()
    at = entries.rows, entries.columns
    listed, open_scores = F[at], F[hidden]
    F *= F.dtype.type(1 - _ABSENCE * known.unlisted_weight / largest)
    F[hidden] = open_scores
    w = entries.weights / largest
    F[at] = w * entries.present + (1 - w) * listed
    return F


class SharedRidge:
    """Ridge regression of complete labels: one factorisation serves all of them."""

    def __init__(self, Z: Array) -> None:
        self._rows = Rows(Z, fit_intercept=True)
        self._equations = NormalEquations(self._rows.gram, np.empty((0, 0)))

    def refitted(self, linear: LeastSquares, T: Array, ridge: float) -> LeastSquares:
        """Return a copy of the model, fitted to T; what it could not learn stays as it is."""
        found = copy(linear)
        found.coef_, found.intercept_ = linear.coef_.copy(), linear.intercept_.copy()
        solve = self._equations.solver(ridge)
        learned = np.flatnonzero(linear.learnable_)
        for block in column_blocks(len(T), len(learned)):
            labels = learned[block]
            mean = T[:, labels].mean(axis=0, dtype=np.float64)
            M: Floats = solve(self._rows.products(T[:, labels] - mean))
            found.coef_[:, labels] = M
            found.intercept_[labels] = mean - self._rows.origin @ M
        return found
