"""The semantic descriptor: concepts of the item and labels of its neighbours, side by side."""

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels
from tagloom.semantics.concepts import ConceptSelector
from tagloom.semantics.evidence import LabelledMixin
from tagloom.semantics.local import LocalDescriptor, as_text
from tagloom.semantics.pca import PrincipalAxes
from tagloom.validation import check_choice, is_integer

Array = npt.NDArray[Any]
SCALINGS = (None, "norm")


class SemanticDescriptor(LabelledMixin, TransformerMixin, BaseEstimator):
    """Concatenate the global and the local descriptor: the paper's s = [g; l].

    The input is one table whose first columns are visual descriptors and whose other columns are
    the posteriors of concepts, as pipelines and cross-validation need it.

    Parameters
    ----------
    n_visual : int
        Number of leading columns that are visual descriptors.
    concepts : ConceptSelector, optional
        The global part; None for the defaults, "drop" to leave it out.
    local : LocalDescriptor, optional
        The local part; None for the defaults, "drop" to leave it out.
    scaling : {None, "norm"}, default=None
        None concatenates the parts as they are, as the paper does; "norm" divides each by the root
        mean square of its rows' norms in training, so that both contribute equally to distances.
    concept_names : iterable of str, optional
        Names of all concepts, if X is not a DataFrame with column names.

    Attributes
    ----------
    concepts_, local_ : the fitted parts, None where dropped
    scales_ : array of float
        Divisor of each part.

    Examples
    --------
    >>> visual, posteriors = [[0.0], [0.1], [5.0]], [[0.9, 0.1], [0.8, 0.1], [0.1, 0.2]]
    >>> semantic = SemanticDescriptor(n_visual=1, concept_names=["sandbar", "toaster"])
    >>> semantic.fit_transform(np.hstack([visual, posteriors]), [[1], [1], [0]]).shape
    (3, 2)
    >>> semantic.get_feature_names_out().tolist()
    ['concept:sandbar', 'label:0']
    """

    concepts_: ConceptSelector | None
    local_: LocalDescriptor | None
    scales_: Array

    def __init__(
        self,
        n_visual: int,
        *,
        concepts: ConceptSelector | str | None = None,
        local: LocalDescriptor | str | None = None,
        scaling: str | None = None,
        concept_names: Iterable[str] | None = None,
    ) -> None:
        self.n_visual = n_visual
        self.concepts = concepts
        self.local = local
        self.scaling = scaling
        self.concept_names = concept_names

    def fit(self, X: Any, y: Any = None) -> Self:
        """Select concepts and store the training items."""
        self.fit_transform(X, y)
        return self

    def fit_transform(
        self,
        X: Any,
        y: Any = None,
        *,
        axes: PrincipalAxes | None = None,
        like: "SemanticDescriptor | None" = None,
        **_: Any,
    ) -> Any:
        """Select concepts and describe the training items, none by its own labels.

        Parameters
        ----------
        X, y
            As for `fit`.
        axes : PrincipalAxes, optional
            Those of the visual descriptors, if they are known.
        like : SemanticDescriptor, optional
            One that was fitted to the same X and other labels. What does not depend on labels,
            neighbours and quantiles, is taken from it; the result is the same.
        """
        rows, known = self._read(X, y)
        return self.fit_transform_parts(*self._split(rows), known, axes=axes, like=like)

    def fit_transform_parts(
        self,
        visual: Array,
        posteriors: Array,
        known: PartialLabels,
        *,
        axes: PrincipalAxes | None = None,
        like: "SemanticDescriptor | None" = None,
    ) -> Array:
        """Do as `fit_transform` with valid columns in two tables, which need not be joined."""
        check_choice("scaling", self.scaling, SCALINGS)
        if visual.shape[1] != self.n_visual:
            raise InvalidInputError(
                f"Expected n_visual={self.n_visual} visual columns; found {visual.shape[1]}."
            )
        self.n_features_in_ = visual.shape[1] + posteriors.shape[1]
        self._names: Array = self._read_names(posteriors.shape[1])
        parts = (
            self._fit_concepts(posteriors, known, None if like is None else like.concepts_),
            self._fit_local(visual, known, axes, None if like is None else like.local_),
        )
        kept = [part for part in parts if part is not None]
        del parts
        if not kept:
            raise InvalidInputError(
                "The descriptor is empty: both parts are dropped. Keep one of them."
            )
        self.scales_ = np.array([self._scale(part) for part in kept])
        return self._concatenated(kept)

    def transform(self, X: Any) -> Any:
        """Describe new items."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        visual, posteriors = self._split(rows)
        pairs = ((self.concepts_, posteriors), (self.local_, visual))
        return self._concatenated([part.transform(of) for part, of in pairs if part is not None])

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the columns, "concept:..." and "label:..."."""
        check_is_fitted(self)
        names: list[str] = []
        if self.concepts_ is not None:
            chosen = self._names[self.concepts_.get_support()]
            names += [f"concept:{name}" for name in chosen]
        if self.local_ is not None:
            names += [f"label:{name}" for name in self.local_.get_feature_names_out()]
        return as_text(names)

    def to_state(self) -> "DescriptorState":
        """Return what has to be kept of the fitted descriptor."""
        return DescriptorState(self.n_features_in_, self.scales_, self.concepts_, self.local_)

    def from_state(self, state: "DescriptorState") -> Self:
        """Take over the state of a fitted descriptor."""
        self.n_features_in_, self.scales_, self.concepts_, self.local_ = state
        self._names = self._read_names(self.n_features_in_ - self.n_visual)
        return self

    def _fit_concepts(
        self, posteriors: Array, known: PartialLabels, like: ConceptSelector | None
    ) -> Array | None:
        self.concepts_ = _part(self.concepts, ConceptSelector, "concepts")
        if self.concepts_ is None:
            return None
        self.concepts_.fit(posteriors, known, like=like)
        return np.asarray(self.concepts_.transform(posteriors))

    def _fit_local(
        self,
        visual: Array,
        known: PartialLabels,
        axes: PrincipalAxes | None,
        like: LocalDescriptor | None,
    ) -> Array | None:
        self.local_ = _part(self.local, LocalDescriptor, "local")
        if self.local_ is None:
            return None
        if like is None or like.get_params() != self.local_.get_params():
            return np.asarray(self.local_.fit_transform(visual, known, axes=axes))
        self.local_, described = like.relabelled(known)
        return described

    def _split(self, rows: Array) -> tuple[Array, Array]:
        if not is_integer(self.n_visual) or not 0 <= self.n_visual <= rows.shape[1]:
            raise InvalidInputError(
                f"n_visual must be an integer from 0 to {rows.shape[1]}, the number of "
                f"columns; got {self.n_visual!r}."
            )
        return rows[:, : self.n_visual], rows[:, self.n_visual :]

    def _read_names(self, n_concepts: int) -> Array:
        if self.concept_names is not None:
            names = as_text(self.concept_names)
        elif hasattr(self, "feature_names_in_"):
            names = as_text(self.feature_names_in_[self.n_visual :])
        else:
            names = as_text(range(n_concepts))
        if len(names) != n_concepts:
            raise InvalidInputError(
                f"Expected {n_concepts} concept names, one for each column from column "
                f"{self.n_visual} on; found {len(names)}."
            )
        return names

    def _scale(self, part: Array) -> float:
        if self.scaling is None:
            return 1.0
        size = float(np.sqrt(np.einsum("ij,ij->", part, part, dtype=np.float64) / len(part)))
        return size if size > 0 else 1.0

    def _concatenated(self, parts: list[Array]) -> Array:
        """Concatenate the parts, emptying the list so that each is freed once it is copied."""
        ends = np.cumsum([0, *(part.shape[1] for part in parts)])
        table = np.empty((len(parts[0]), ends[-1]), dtype=np.result_type(*parts))
        for start, end, scale in zip(ends[:-1], ends[1:], self.scales_, strict=True):
            table[:, start:end] = parts.pop(0)
            if self.scaling is not None:
                table[:, start:end] /= table.dtype.type(scale)
        return table


class DescriptorState(NamedTuple):
    """What a fitted descriptor consists of; a part that was dropped is None."""

    n_features: int
    scales: Array
    concepts: ConceptSelector | None
    local: LocalDescriptor | None


def _part(given: Any, kind: type[Any], name: str) -> Any:
    if given is None:
        return kind()
    if isinstance(given, str) and given == "drop":
        return None
    if not isinstance(given, kind):
        raise InvalidInputError(
            f"{name} must be a {kind.__name__}, None for the defaults or 'drop'; got {given!r}."
        )
    return clone(given)
