"""APG-Graph for rows that no machine holds together."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from tagloom.dask.blocks import RowBlocks, array_of, client_or_default, constant
from tagloom.dask.objective import (
    ClusterRows,
    Lessons,
    Survey,
    item_term,
    label_term,
    read_lessons,
    surveyed,
)
from tagloom.dask.parquet import ParquetItems
from tagloom.errors import InvalidInputError
from tagloom.models import APGGraph
from tagloom.models.base import check_learnable
from tagloom.optim import Callback, InstanceLaplacian, MaskedSquaredLoss, Objective, solve
from tagloom.optim.loss import centre_of
from tagloom.progress import progress_bar
from tagloom.validation import check_choice, check_flag

# §§ passes
# How often the data were gone through, told while it happens.


class Passes:
    """Counts passes over the data, and moves a bar where somebody looks."""

    def __init__(self) -> None:
        self.number = 0
        self._advance: Callable[[], None] | None = None

    def count(self) -> None:
        """Note that all partitions were gone through once more."""
        self.number += 1
        if self._advance is not None:
            self._advance()

    @contextmanager
    def shown(self, at_most: int, show: bool) -> Iterator[None]:
        """Draw a bar meanwhile; how many passes there will be nobody knows, but not more."""
        with progress_bar(at_most, "fitting", show=show, unit="passes") as advance:
            self._advance = advance
            yield
        self._advance = None


# §§ main apg_graph


Array = npt.NDArray[Any]


class _Laid(NamedTuple):
    """The data of a fit, ready to be summed."""

    survey: Survey
    item_term: InstanceLaplacian | None
    rows: ClusterRows


class ClusterAPGGraph(APGGraph):
    """`tagloom.models.APGGraph` on a Dask cluster: the same objective, parameters and attributes.

    `fit` takes dask arrays or `ParquetItems`, whose partitions never gather on one worker. M, of
    size features x labels, and matrices of size features x features are held where the client is,
    and so the iterations are made there; every product with the rows is a pass over the partitions,
    whose sums are added in a tree, with the same partitions always in the same order: whatever the
    number of workers, results differ by no more than the rounding of their processors.

    `scores`, `decision_function` and `predict` of a dask array or of `ParquetItems` are dask arrays
    that are computed when they are asked for; of rows in memory they are what `APGGraph` gives.
    `save` writes the file that `APGGraph` writes.

    Attributes
    ----------
    n_passes_ : int
        How often the rows were gone through.
    """

    n_passes_: int

    def fit(
        self,
        X: Any,
        Y: Any = None,
        graph: Any = None,
        label_graph: Any = None,
        *,
        callback: Callback | None = None,
        client: Any = None,
        keep: str | bool = "auto",
        show_progress: bool = False,
    ) -> Self:
        """Learn M from what is known.

        Parameters
        ----------
        X : dask array of shape (n_items, n_features), or ParquetItems
            A partition is a chunk of rows, or a row group.
        Y : dask array of 1, 0 and NaN (unknown) of shape (n_items, n_labels)
            None where X is ParquetItems, which bring their labels.
        graph : GraphBlocks, or a square matrix over the items in memory, optional
            Required where gamma > 0.
        label_graph : square matrix over the labels, dense or sparse, optional
            Required where gamma_labels > 0.
        callback : callable, optional
            Called as callback(iteration, M) after every iteration; a true answer stops the fit.
        client : distributed.Client, optional
            By default the client that was made last.
        keep : "auto" or bool, default="auto"
            Whether partitions stay in the memory of the workers. If not, every pass reads them
            again, and a worker holds one at a time for each of its threads. "auto" keeps them where
            they fill no more than 40% of the workers' memory.
        show_progress : bool, default=False
            Draw a bar of the passes over the data.
        """
        self._check_parameters()
        start = getattr(self, "coef_", None) if self.warm_start else None
        client = client_or_default(client)
        passes = Passes()
        with passes.shown(self.max_iter, show_progress):
            objective = self._objective_on(X, Y, graph, label_graph, client, keep, passes)
            if start is not None and start.shape != objective.shape:
                start = None
            solution = solve(
                objective,
                self.solver,
                start=None if start is None else start.astype(objective.dtype),
                tol=self.tol,
                max_iter=self.max_iter,
                callback=callback,
            )
            self._keep(solution, objective.loss)
        self.n_passes_ = passes.number
        return self

    def lam_max(self, X: Any, Y: Any = None, *, client: Any = None) -> float:
        """Return the smallest lam at which M is 0, in two passes over the rows."""
        check_flag("The 'fit_intercept' parameter of APGGraph", self.fit_intercept)
        unpenalised = ClusterAPGGraph(fit_intercept=self.fit_intercept, on_unlearnable="ignore")
        where = (client_or_default(client), False, Passes())
        return unpenalised._objective_on(X, Y, None, None, *where).lam_max()

    def default_param_grid(self, X: Any, Y: Any, graph: Any = None) -> list[dict[str, list[Any]]]:
        """Refuse: a search fits many models, which a sample in memory does as well."""
        raise InvalidInputError(
            "Parameters are not sought on a cluster. Choose them on a sample of the items in "
            "memory, with tagloom.models.APGGraph and tune; lam, gamma and ridge weigh against "
            "sums over the items, so multiply lam and ridge by (all items) / (items of the sample)."
        )

    def complete(self, X: Any, Y: Any, *, fill: str = "labels") -> Any:
        """Fill in what is unknown of items in memory; a table of all items would gather them."""
        _refuse_to_gather(X, "complete")
        return super().complete(X, Y, fill=fill)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean average precision on items in memory, to rank all would gather them."""
        _refuse_to_gather(X, "score")
        return super().score(X, y, sample_weight)

    def to_local(self) -> APGGraph:
        """Return the fitted model as an `APGGraph`."""
        return APGGraph._deserialized(self._serialized())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model as an `APGGraph`, whole or not at all."""
        check_is_fitted(self)
        self.to_local().save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` or `APGGraph` wrote."""
        return cls._deserialized(APGGraph.load(path)._serialized())

    def _objective_on(
        self,
        X: Any,
        Y: Any,
        graph: Any,
        label_graph: Any,
        client: Any,
        keep: str | bool,
        passes: Passes,
    ) -> Objective:
        """Lay out the data and join the terms whose weight is not 0."""
        laid = self._laid_out(X, Y, graph, client, keep, passes)
        # Rows are moved before they are summed: only the survey has seen how large they were.
        sums = replace(laid.rows.sums(), largest=laid.survey.largest)
        loss = MaskedSquaredLoss(laid.rows, fit_intercept=self.fit_intercept, sums=sums)
        weights = label_term(
            self.gamma_labels, label_graph, sums, laid.rows.centre, laid.rows.dtype
        )
        terms = [term for term in (laid.item_term, weights) if term is not None]
        return Objective(loss, self.lam, ridge=self.ridge, terms=terms)

    def _laid_out(
        self, X: Any, Y: Any, graph: Any, client: Any, keep: str | bool, passes: Passes
    ) -> "_Laid":
        """Read and check the data, and make of them what the passes need.

        Nothing but that is held on to: where partitions are kept, those that were read can go as
        soon as they are moved to their centre.
        """
        if not isinstance(keep, bool):
            check_choice("keep", keep, ("auto",))
        lessons = read_lessons(X, Y, client)
        stays = lessons.fit_in(client) if keep == "auto" else bool(keep)
        lessons = lessons.kept(client) if stays else lessons
        survey = surveyed(lessons, client)
        passes.count()
        self._note(lessons, survey)
        mean = survey.total / survey.n_items
        term = item_term(self.gamma, lessons, graph, mean, client)
        centre = None
        if self.fit_intercept:
            centre = centre_of(survey.n_items, survey.total, survey.squares)
        rows = ClusterRows(lessons, centre, client, keep=stays, on_pass=passes.count)
        return _Laid(survey, term, rows)

    def _note(self, lessons: Lessons, survey: Survey) -> None:
        """Note what was seen, and refuse what teaches nothing."""
        if not (survey.present.any() or survey.absent.any()):
            raise InvalidInputError(
                f"Y is all unknown: none of its {survey.n_items} x {len(lessons.labels)} entries "
                "is 0 or 1. There is nothing to learn from."
            )
        self.learnable_ = check_learnable(survey.in_two_rows(lessons.labels), self.on_unlearnable)
        self.classes_ = np.asarray(lessons.labels)
        self._one_dimensional_ = False
        self.n_features_in_ = lessons.rows.width

    def _scores(self, X: Any) -> Any:
        if not hasattr(X, "dask"):
            return super()._scores(X)
        model = constant((self.coef_, self.intercept_))
        dtype = np.result_type(X.dtype, self.coef_.dtype)
        chunks = (X.chunks[0], (len(self.classes_),))
        return X.map_blocks(_scored, model=model, dtype=dtype, chunks=chunks)

    def _checked_rows(self, X: Any) -> Any:
        if not _is_on_cluster(X):
            return super()._checked_rows(X)
        check_is_fitted(self)
        table = array_of(X)
        if table.shape[1] != self.n_features_in_:
            raise InvalidInputError(
                f"X has {table.shape[1]} features, but {type(self).__name__} was fitted with "
                f"{self.n_features_in_}."
            )
        return table


def _is_on_cluster(X: Any) -> bool:
    return isinstance(X, ParquetItems | RowBlocks) or hasattr(X, "dask")


def _refuse_to_gather(X: Any, method: str) -> None:
    if _is_on_cluster(X):
        raise InvalidInputError(
            f"{method} would gather all items in the memory of the client. Call scores, whose "
            f"result stays in partitions, or {method} with items in memory."
        )


def _scored(block: Array, model: tuple[Array, Array]) -> Array:
    M, b = model
    table: Array = block @ M + b
    return table
