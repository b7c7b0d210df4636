"""The global descriptor: the concepts that are most informative about the labels."""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import xlogy
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, as_partial_labels
from tagloom.semantics.evidence import (
    Evidence,
    Floats,
    LabelledMixin,
    evidence_blocks,
    read_labels,
)
from tagloom.validation import check_integer, check_number, is_integer

Matrix = npt.NDArray[np.floating[Any]]

# Joint counts and indicators of bins held at a time (each about 64 MiB).
_COUNTS_AT_ONCE = 1 << 23
_INDICATORS_AT_ONCE = 1 << 23
# Values sorted at a time to find quantiles.
_VALUES_AT_ONCE = 1 << 25
_ROWS_AT_ONCE = 8192


class ConceptSelector(LabelledMixin, SelectorMixin, BaseEstimator):
    """Keep the concepts most relevant to the labels: the paper's global semantic descriptor g.

    The relevance of concept i is R_i = sum_j I(d_i, y_j), its mutual information with every label,
    estimated over the items at which that label is known (see `mutual_information`).

    Parameters
    ----------
    n_concepts : float or int, default=0.5
        Concepts to keep: a float is a multiple of the number of labels (the paper's 0.5 c), an
        integer is the number itself. At least one and at most all are kept.
    n_bins : int, default=8
        Number of bins of equal frequency for the estimate of mutual information.

    Attributes
    ----------
    relevance_ : array of shape (n_concepts_in,)
        R_i in nats.
    chosen_ : array of int
        Positions of the kept concepts, the most relevant first. The columns of the descriptor are
        in the original order; `get_feature_names_out` names them.

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
    # The quantiles of the training items, for further labels of the same items.
    _edges: Matrix | None = None

    def __init__(self, n_concepts: float = 0.5, *, n_bins: int = 8) -> None:
        self.n_concepts = n_concepts
        self.n_bins = n_bins

    def fit(self, X: Any, y: Any = None, *, like: "ConceptSelector | None" = None) -> Self:
        """Rank the concepts.

        Parameters
        ----------
        X : array or DataFrame of shape (n_items, n_concepts)
            Posteriors of the concepts.
        y : PartialLabels, DataFrame or array of 1, 0 and NaN (unknown)
        like : ConceptSelector, optional
            One that was fitted to the same X, whose quantiles are not searched again.
        """
        concepts, known = self._read(X, y)
        n_kept = self._n_kept(known.n_labels, concepts.shape[1])
        check_integer("n_bins", self.n_bins, at_least=2)
        shared = None if like is None or like.n_bins != self.n_bins else like._edges
        self._edges = bin_edges(concepts, self.n_bins) if shared is None else shared
        self.relevance_ = np.empty(concepts.shape[1])
        for part, information in _information_blocks(concepts, known, self._edges):
            self.relevance_[part] = information.sum(axis=1)
        self.chosen_ = np.argsort(-self.relevance_, kind="stable")[:n_kept]
        return self

    def _n_kept(self, n_labels: int, n_concepts: int) -> int:
        if is_integer(self.n_concepts):
            check_integer("n_concepts", self.n_concepts, at_least=1)
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


def mutual_information(concepts: npt.ArrayLike, Y: Any, *, n_bins: int = 8) -> Floats:
    r"""Return I(d_i, y_j) in nats for every concept i and label j.

    Each concept is divided into `n_bins` bins at its quantiles over all items; quantiles that
    coincide leave a bin empty, so that equal values share a bin. With observation weights w (0:
    unknown) let p(b, y) be the share of the weight of label j's known items that lie in bin b and
    have y_j = y. The result is the plug-in estimate

        I(d_i, y_j) = sum_{b, y} p(b, y) log( p(b, y) / (p(b) p(y)) ).

    Items at which y_j is unknown are ignored. It is 0 for a label without known entries.

    Parameters
    ----------
    concepts : array of shape (n_items, n_concepts)
        Posteriors, or any scores: only their order matters.
    Y : PartialLabels, DataFrame or array of 1, 0 and NaN of shape (n_items, n_labels)
    n_bins : int, default=8

    Examples
    --------
    >>> mutual_information([[0.1], [0.2], [0.8], [0.9]], [[0], [0], [1], [1]], n_bins=2).round(4)
    array([[0.6931]])
    """
    known, table = as_partial_labels(Y), _as_floats(concepts)
    check_integer("n_bins", n_bins, at_least=2)
    _check_concepts(table, known)
    edges = bin_edges(table, n_bins)
    parts = [part for _, part in _information_blocks(table, known, edges)]
    return np.concatenate(parts) if parts else np.empty((0, known.n_labels))


def _information_blocks(
    concepts: Matrix, known: PartialLabels, edges: Matrix
) -> Iterator[tuple[slice, Floats]]:
    """Yield the mutual information of some concepts at a time, in bounded memory."""
    labelled = known.known_items()
    if not labelled.all():
        concepts, known = concepts[labelled], known.take(labelled)
    n_bins = len(edges) + 1
    step = max(1, _COUNTS_AT_ONCE // (n_bins * max(1, known.n_labels)))
    for start in range(0, concepts.shape[1], step):
        part = slice(start, start + step)
        yield part, _information(*_joint_counts(concepts[:, part], edges[:, part], known))


def bin_edges(concepts: Matrix, n_bins: int) -> Matrix:
    """Return the inner quantiles of every concept, one row for each quantile.

    Quantiles are values that occur, without interpolation.
    """
    edges = np.zeros((n_bins - 1, concepts.shape[1]), dtype=concepts.dtype)
    inner = np.linspace(0, 1, n_bins + 1)[1:-1]
    step = max(1, _VALUES_AT_ONCE // max(1, len(concepts)))
    for start in range(0, concepts.shape[1] if len(concepts) else 0, step):
        part = slice(start, start + step)
        # A contiguous copy, which may be overwritten.
        columns = np.array(concepts[:, part].T, order="C")
        edges[:, part] = np.quantile(
            columns, inner, axis=1, method="inverted_cdf", overwrite_input=True
        )
    return edges


def binned(concepts: Matrix, edges: Matrix) -> npt.NDArray[np.unsignedinteger[Any]]:
    """Return the bin of every value: the number of quantiles of its concept below it."""
    codes = np.zeros(concepts.shape, dtype=np.min_scalar_type(len(edges) + 1))
    for edge in edges:
        codes += concepts > edge
    return codes


def _joint_counts(concepts: Matrix, edges: Matrix, known: PartialLabels) -> tuple[Floats, Floats]:
    """Return the weights of presences and of known entries by concept, bin and label."""
    n_bins = len(edges) + 1
    n_indicators = concepts.shape[1] * n_bins
    present = np.zeros((n_indicators, known.n_labels))
    total = np.zeros_like(present)
    rows = max(1, _INDICATORS_AT_ONCE // max(1, n_indicators))
    for part, evidence in evidence_blocks(known, rows):
        A = _indicators(binned(concepts[part], edges), n_bins, evidence)
        present_part, total_part = evidence.sums(A)
        present += present_part
        total += total_part
    shape = (concepts.shape[1], n_bins, known.n_labels)
    return present.reshape(shape), total.reshape(shape)


def _indicators(codes: npt.NDArray[Any], n_bins: int, evidence: Evidence) -> Any:
    """Return 1 where an item (column) lies in a bin of a concept (row); sparse for sparse labels.

    Few of the items have labels then, and each lies in one bin of each concept.
    """
    n_items, n_concepts = codes.shape
    dtype = evidence.present.dtype
    if isinstance(evidence.present, np.ndarray):
        indicators = codes[:, :, None] == np.arange(n_bins, dtype=codes.dtype)
        return indicators.reshape(n_items, -1).astype(dtype).T
    columns = codes + n_bins * np.arange(n_concepts, dtype=np.int32)
    starts = np.arange(n_items + 1) * n_concepts
    ones = np.ones(columns.size, dtype=dtype)
    shape = n_items, n_bins * n_concepts
    return sparse.csr_array((ones, columns.ravel(), starts), shape=shape).T


def _information(present: Floats, known: Floats) -> Floats:
    """Return I = H(y) + H(b) - H(b, y) from joint weights n.

    With N = sum of all weights, sum p log(p / (p_b p_y)) =
    (sum n log n - sum n_b log n_b - sum n_y log n_y + N log N) / N.
    """
    absent = np.maximum(known - present, 0)
    total = known.sum(axis=1)
    joint = (xlogy(present, present) + xlogy(absent, absent)).sum(axis=1)
    by_bin = xlogy(known, known).sum(axis=1)
    has, lacks = present.sum(axis=1), absent.sum(axis=1)
    nats = joint - by_bin - xlogy(has, has) - xlogy(lacks, lacks) + xlogy(total, total)
    information = np.divide(nats, total, out=np.zeros_like(nats), where=total > 0)
    return np.asarray(np.maximum(information, 0))


def _as_floats(concepts: npt.ArrayLike) -> Matrix:
    table = np.asarray(concepts)
    return table if table.dtype.kind == "f" else table.astype(np.float64)


def _check_concepts(table: npt.NDArray[Any], known: PartialLabels) -> None:
    """Require a finite table with as many rows as there are items."""
    if table.ndim != 2:
        raise InvalidInputError(
            f"Concepts must be a table, items x concepts; found {table.ndim} dimension(s)."
        )
    read_labels(known, len(table))
    for start in range(0, len(table), _ROWS_AT_ONCE):
        wrong = ~np.isfinite(table[start : start + _ROWS_AT_ONCE])
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise InvalidInputError(
                f"Concepts must be finite; found {table[start + row, column]} in row "
                f"{start + row}, column {column}."
            )
