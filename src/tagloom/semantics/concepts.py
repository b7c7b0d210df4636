"""The global descriptor: the concepts that tell most about the labels."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from tagloom.checks import check_number, check_whole, is_whole
from tagloom.semantics._checks import read_labels
from tagloom.semantics._information import information_blocks
from tagloom.semantics.evidence import Floats


class ConceptSelector(SelectorMixin, BaseEstimator):
    """Keep the concepts most relevant to the labels: the paper's global semantic descriptor g.

    The relevance of concept i is R_i = sum_j I(d_i, y_j), its mutual information with every label,
    each judged over the items at which that label is known (see `mutual_information`).

    Parameters
    ----------
    n_concepts : float or int, default=0.5
        How many to keep: a float is a multiple of the number of labels (the paper's 0.5 c), an int
        the number itself. At least one and at most all are kept.
    n_bins : int, default=8
        Into how many bins of equal frequency a concept is cut to estimate mutual information.

    Attributes
    ----------
    relevance_ : array of shape (n_concepts_in,)
        R_i in nats.
    chosen_ : array of int
        Positions of the kept concepts, the most relevant first. The columns of the descriptor stay
        in the order in which the concepts came; `get_feature_names_out` names them.

    Examples
    --------
    >>> posteriors = [[0.9, 0.1], [0.8, 0.2], [0.1, 0.1], [0.2, 0.2]]
    >>> selector = ConceptSelector(n_concepts=1, n_bins=2).fit(posteriors, [[1], [1], [0], [None]])
    >>> selector.get_feature_names_out(["sandbar", "toaster"]).tolist()
    ['sandbar']
    """

    relevance_: Floats
    chosen_: npt.NDArray[np.intp]
    n_features_in_: int

    def __init__(self, n_concepts: float = 0.5, *, n_bins: int = 8) -> None:
        self.n_concepts = n_concepts
        self.n_bins = n_bins

    def fit(self, X: Any, y: Any = None) -> Self:
        """Rank the concepts.

        Parameters
        ----------
        X : array or DataFrame of shape (n_items, n_concepts)
            Posteriors of the concepts.
        y : PartialLabels, DataFrame or array of 1, 0 and NaN (unknown)
        """
        concepts = validate_data(self, X, dtype=[np.float64, np.float32])
        known = read_labels(y, len(concepts))
        n_kept = self._number_kept(known.n_labels, concepts.shape[1])
        self.relevance_ = np.empty(concepts.shape[1])
        for part, information in information_blocks(concepts, known, self.n_bins):
            self.relevance_[part] = information.sum(axis=1)
        self.chosen_ = np.argsort(-self.relevance_, kind="stable")[:n_kept]
        return self

    def _number_kept(self, n_labels: int, n_concepts: int) -> int:
        if is_whole(self.n_concepts):
            check_whole("n_concepts", self.n_concepts, at_least=1)
            wanted = int(self.n_concepts)
        else:
            check_number("n_concepts", self.n_concepts, low=0, inclusive=False)
            wanted = round(self.n_concepts * n_labels)
        return min(max(wanted, 1), n_concepts)

    def _get_support_mask(self) -> npt.NDArray[np.bool_]:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.chosen_] = True
        return mask

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags
