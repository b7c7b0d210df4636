"""An inverse of the Hessian that needs no pass over the rows."""

import numpy as np

from tagloom.optim.arrays import Matrix
from tagloom.optim.objective import Objective


class Preconditioner:
    """The inverse of sigma I + H_j, were the known rows of each label j drawn at random.

    Then H_j is about v_j S + A, with S the mean scatter of the rows, v_j the weight of what is
    known of the label and A the ridge and the graph of the items. With Q the eigenvectors of
    mean(v) S + A, and only the diagonals of Q'SQ and Q'AQ kept, the inverse is

        Q diag(1 / (v_j diag(Q'SQ) + diag(Q'AQ) + sigma)) Q':

    exact where all labels weigh the same and are known at the same rows, positive definite always,
    and as cheap for another sigma.
    """

    def __init__(self, objective: Objective) -> None:
        S = objective.loss.spread.scatter
        weight = objective.weight_of_scatter
        A = objective.curvature_of_items
        self.spectrum, Q = np.linalg.eigh(weight.mean() * S + A)
        self._Q = Q.astype(objective.dtype)
        along_S = np.einsum("ij,ij->j", Q, S @ Q)
        along_A = np.einsum("ij,ij->j", Q, A @ Q)
        curvature = np.maximum(0.0, np.outer(along_S, weight) + along_A[:, None])
        self._curvature = curvature.astype(objective.dtype)

    def solve(self, R: Matrix, sigma: float) -> Matrix:
        """Return about (sigma I + H)^-1 R."""
        turned = self._Q.T @ R
        turned /= self._curvature + turned.dtype.type(sigma)
        product: Matrix = self._Q @ turned
        return product

    @property
    def typical(self) -> float:
        """The median curvature: a scale for sigma."""
        return float(np.median(np.maximum(self.spectrum, 0.0)))
