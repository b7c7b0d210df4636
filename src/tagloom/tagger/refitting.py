"""Learn again from more, without another search for parameters."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone

from tagloom.models import APGGraph
from tagloom.tagger.describing import Describer
from tagloom.tagger.lesson import Lesson

Array = npt.NDArray[Any]


def learned_again(
    learner: Any, before: Lesson, after: Lesson, graph: sparse.csr_array | None
) -> Any:
    """Fit a learner of the same parameters; an `APGGraph` starts from the M of the one before."""
    fresh: Any = clone(learner)
    given: dict[str, Any] = {} if graph is None else {"graph": graph}
    if not isinstance(fresh, APGGraph):
        return fresh.fit(after.training.X, after.known, **given)
    asked = fresh.warm_start
    fresh.set_params(warm_start=True)
    fresh.coef_ = carried(learner.coef_, before, after)
    fresh.fit(after.training.X, after.known, **given)
    return fresh.set_params(warm_start=asked)


def carried(M: Array, before: Lesson, after: Lesson) -> Array:
    """Return M for other features, as near as these can express what it said.

    The features are x = C (row / scale - mean), so that x'm weighs the columns [visual; s] by
    w = C'm / scale. Columns and labels are matched by name, new ones weigh nothing, and w is
    projected on the new components: M = C_new (scale_new w).
    """
    old, new = before.describer.pca, after.describer.pca
    w = (old.pca_.components_.T @ M) / old.scales_[:, None]
    moved = np.zeros((len(new.scales_), after.known.n_labels), dtype=M.dtype)
    columns = _shared(_columns(before.describer), _columns(after.describer))
    labels = _shared(before.known.labels, after.known.labels)
    moved[np.ix_(columns[1], labels[1])] = w[np.ix_(columns[0], labels[0])]
    return np.asarray(new.pca_.components_ @ (moved * new.scales_[:, None]), dtype=M.dtype)


def _columns(describer: Describer) -> list[Any]:
    return [*range(describer.n_visual), *describer.descriptor.get_feature_names_out()]


def _shared(before: Sequence[Any], after: Sequence[Any]) -> tuple[list[int], list[int]]:
    """Return the positions of the names that both have, in both."""
    there = {name: place for place, name in enumerate(before)}
    pairs = [(there[name], place) for place, name in enumerate(after) if name in there]
    return [old for old, _ in pairs], [new for _, new in pairs]
