"""An inverse of the Hessian that needs no pass over the rows."""

from functools import cached_property

import numpy as np

from tagloom.optim.arrays import Matrix
from tagloom.optim.objective import Objective

# Curvatures below this share of the largest are rounding, or as good as none.
_NO_CURVATURE = 1e-6


class Preconditioner:
    """The inverse of sigma I + H_j, were the known rows of each label j drawn at random.

    Then H_j is about v_j S + A, with S the mean scatter of the rows, v_j the weight of what is
    known of the label and A the ridge and the graph of the items. With Q the eigenvectors of
    mean(v) S + A, and only the diagonals of Q'SQ and Q'AQ kept, the inverse is

        Q diag(1 / (v_j diag(Q'SQ) + diag(Q'AQ) + sigma)) Q':

    exact where all labels weigh the same and are known at the same rows, positive definite always,
    and as cheap for another sigma. Nothing is computed before it is asked for.
    """

    def __init__(self, objective: Objective) -> None:
        # An approximation needs no more digits than the products it goes with.
        self._S = objective.loss.spread.scatter.astype(objective.dtype)
        self._A = objective.curvature_of_items.astype(objective.dtype)
        self._weight = objective.weight_of_scatter.astype(objective.dtype)

    def solve(self, R: Matrix, sigma: float) -> Matrix:
        """Return about (sigma I + H)^-1 R."""
        _, Q = self._spectrum
        turned = Q.T @ R
        turned /= self._curvature + turned.dtype.type(sigma)
        product: Matrix = Q @ turned
        return product

    @property
    def typical(self) -> float:
        """The median of the curvatures that are not rounding, a scale for sigma; 1 if all are."""
        eigenvalues, _ = self._spectrum
        some = eigenvalues[eigenvalues > _NO_CURVATURE * eigenvalues.max(initial=0)]
        return float(np.median(some)) if len(some) else 1.0

    @cached_property
    def _spectrum(self) -> tuple[Matrix, Matrix]:
        eigenvalues, Q = np.linalg.eigh(self._weight.mean() * self._S + self._A)
        return eigenvalues, Q

    @cached_property
    def _curvature(self) -> Matrix:
        """v_j diag(Q'SQ) + diag(Q'AQ), one column for each label."""
        _, Q = self._spectrum
        along_S = np.einsum("ij,ij->j", Q, self._S @ Q)
        along_A = np.einsum("ij,ij->j", Q, self._A @ Q)
        curvature: Matrix = np.maximum(0, np.outer(along_S, self._weight) + along_A[:, None])
        return curvature
