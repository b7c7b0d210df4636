"""Side information about labels: M meets features of the labels instead of the labels."""

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.checks import some_of
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, is_frame
from tagloom.optim import MaskedSquaredLoss, Spread

Matrix = npt.NDArray[Any]


class SideLoss:
    """f(M) = loss(MB'), with B (labels x side features) given.

    By the chain rule the gradient is that of the loss at MB', times B, and the product of the
    Hessian with D is that of the loss with DB', times B. To a solver it is a loss with as many
    labels as B has columns.
    """

    couples_labels = True  # a column of M serves every label

    def __init__(self, loss: MaskedSquaredLoss, B: Matrix) -> None:
        self.loss = loss
        self.B = B.astype(loss.dtype)
        self.dtype = loss.dtype
        self.value_at_zero = loss.value_at_zero

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of M."""
        return self.loss.shape[0], self.B.shape[1]

    @property
    def spread(self) -> Spread:
        """What is known of the Hessian: side feature k weighs sum_j b_jk^2 w_j."""
        spread = self.loss.spread
        weight = spread.weight @ self.B.astype(np.float64) ** 2
        return spread._replace(weight=weight, least=0.0)

    @cached_property
    def slope(self) -> Matrix:
        """The gradient of f at 0."""
        return np.asarray(self.loss.slope @ self.B)

    def in_single_precision(self) -> "SideLoss":
        """Return the same loss, computed in float32."""
        return SideLoss(self.loss.in_single_precision(), self.B)

    def hessian_product(self, D: Matrix) -> Matrix:
        """Return HD, where H is the Hessian of f."""
        return np.asarray(self.loss.hessian_product(D @ self.B.T) @ self.B)

    def intercept(self, M: Matrix) -> Matrix:
        """Return the b that attains the minimum in f(M)."""
        return self.loss.intercept(M @ self.B.T)


def checked_side(given: Any, known: PartialLabels) -> npt.NDArray[np.float64]:
    """Return B, one row for each label in their order; a frame is matched by its index."""
    if is_frame(given):
        given = _matched(given, known)
    try:
        B = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"label_side must be a table of numbers; got {type(given).__name__}."
        ) from None
    if B.ndim != 2 or B.shape[0] != known.n_labels or B.shape[1] == 0:
        raise InvalidInputError(
            f"label_side must have one row for each of the {known.n_labels} labels and at least "
            f"one column; its shape is {B.shape}."
        )
    if not np.isfinite(B).all():
        row, column = np.argwhere(~np.isfinite(B))[0]
        raise InvalidInputError(
            f"label_side must be finite; label_side[{row}, {column}] = {B[row, column]}."
        )
    return B


def _matched(frame: Any, known: PartialLabels) -> Any:
    missing = [label for label in known.labels if label not in frame.index]
    twice = frame.index[frame.index.duplicated()].tolist()
    if missing or twice:
        found = f"Missing: {some_of(missing)}" if missing else f"More than once: {some_of(twice)}"
        raise InvalidInputError(
            f"The index of label_side must name every label of Y once. {found}."
        )
    return frame.loc[list(known.labels)]
