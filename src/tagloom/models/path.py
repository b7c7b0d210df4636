"""The regularisation path: the same problem from strong to weak nuclear norm."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from tagloom.checks import check_number, check_whole
from tagloom.models.apg_graph import APGGraph


def regularization_path(
    model: APGGraph,
    X: Any,
    Y: Any,
    graph: Any = None,
    label_graph: Any = None,
    *,
    lams: Sequence[float] | None = None,
    n_lams: int = 20,
    smallest: float = 1e-3,
) -> Iterator[APGGraph]:
    """Yield fitted copies of `model` for falling lam, each started from the one before.

    Parameters
    ----------
    model : APGGraph
        Gives every parameter but `lam`; stays untouched.
    X, Y, graph, label_graph
        As for `APGGraph.fit`.
    lams : sequence of float, optional
        The values of lam; they are taken from the largest to the smallest. By default `n_lams`
        values, evenly spaced in the logarithm from `model.lam_max(X, Y)`, at which M is 0, down to
        `smallest` times it.
    """
    if lams is None:
        check_whole("n_lams", n_lams, at_least=1)
        check_number("smallest", smallest, low=0, high=1, inclusive=False)
        lams = (model.lam_max(X, Y) * np.geomspace(1.0, smallest, n_lams)).tolist()
    before: APGGraph | None = None
    for lam in sorted(lams, reverse=True):
        fitted = clone(model).set_params(lam=lam, warm_start=True)
        if before is not None:
            fitted.coef_ = before.coef_
        fitted.fit(X, Y, graph, label_graph)
        fitted.set_params(warm_start=model.warm_start)
        yield fitted
        before = fitted
