"""Which learner the tagger uses, and how it learns."""

from typing import Any

import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels
from tagloom.models import APGDiffusion, APGGraph, PartialLabelLearner, Tuning, tune

_TUNED: dict[str, type[PartialLabelLearner]] = {"diffusion": APGDiffusion, "paper": APGGraph}


def check_learner(learner: Any) -> None:
    """Refuse what is neither a learner nor the name of one."""
    by_name = isinstance(learner, str) and learner in _TUNED
    if not by_name and not isinstance(learner, PartialLabelLearner):
        names = ", ".join(repr(name) for name in _TUNED)
        raise InvalidInputError(
            f"learner must be one of {names} or a learner of tagloom.models; got {learner!r}."
        )


def takes_graph(learner: PartialLabelLearner | str) -> bool:
    """Say whether the learner has the paper's graph term; others take no graph."""
    return isinstance(learner, APGGraph) or learner == "paper"


def learned(
    learner: PartialLabelLearner | str,
    X: npt.NDArray[Any],
    known: PartialLabels,
    graph: sparse.csr_array | None,
    *,
    random_state: int,
    progress: bool,
    **search: Any,
) -> tuple[Tuning | None, Any]:
    """Fit a learner as it is, or tune one that is named; `search` is passed to `tune`."""
    if isinstance(learner, str):
        # Among many tags there are nearly always some of which nothing can be learned.
        model = _TUNED[learner](on_unlearnable="warn")
        tuning = tune(
            model, X, known, graph, random_state=random_state, progress=progress, **search
        )
        return tuning, tuning.model
    given = {} if graph is None else {"graph": graph}
    fitted: Any = clone(learner)
    return None, fitted.fit(X, known, **given)
