"""APG-Graph for data sets that do not fit on one machine, and its objective in passes over rows."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from tagloom import models
from tagloom.dask.blocks import (
    TREE_WIDTH,
    DataSummary,
    LazyBlock,
    RowBlocks,
    TrainingData,
    add_all,
    compute,
    constant,
    get_client,
    load_block,
    persist,
    read_training_data,
    register_sizes,
    summarize,
    task,
    to_dask_array,
    tree_sum,
)
from tagloom.dask.graph import GraphBlocks, congruence
from tagloom.dask.parquet import ParquetItems
from tagloom.errors import InvalidInputError
from tagloom.graph import check_weights, laplacian
from tagloom.labels import PartialLabels
from tagloom.models.base import ParamGrids, check_learnable
from tagloom.optim import (
    Callback,
    InMemoryRows,
    InstanceLaplacian,
    LabelLaplacian,
    LossSums,
    MaskedSquaredLoss,
    Objective,
    ProductSums,
)
from tagloom.optim.loss import centre_of
from tagloom.persistence.codecs import deserialize_learner, serialize_learner
from tagloom.progress import progress_bar
from tagloom.validation import check_choice, check_flag

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Dtype = np.dtype[Any]


class APGGraph(models.APGGraph):
    """`tagloom.models.APGGraph` on a Dask cluster: the same objective, parameters and attributes.

    `fit` takes dask arrays or `ParquetItems`, whose partitions are never gathered on one worker.
    The solver runs on the client, which holds M (features x labels) and matrices of size
    features x features. Every product with the rows is a pass over the partitions, whose sums are
    added in a tree in a fixed order: apart from rounding differences between processors, results do
    not depend on the number of workers.

    `scores`, `decision_function` and `predict` of a dask array or of `ParquetItems` return lazy
    dask arrays; for rows in memory they return what the learner in memory does. `save` writes the
    same file.

    Attributes
    ----------
    n_passes_ : int
        Number of passes over the rows.
    """

    n_passes_: int

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        graph: Any = None,
        label_graph: Any = None,
        *,
        callback: Callback | None = None,
        client: Any = None,
        keep: str | bool = "auto",
        verbose: bool = False,
    ) -> Self:
        """Learn M from the known labels.

        Parameters
        ----------
        X : dask array of shape (n_items, n_features), or ParquetItems
            A partition is a chunk of rows, or a row group.
        y : dask array of 1, 0 and NaN (unknown) of shape (n_items, n_labels)
            None where X is ParquetItems, which bring their labels.
        graph : GraphBlocks, or a square matrix over the items in memory, optional
            Required where gamma > 0.
        label_graph : square matrix over the labels, dense or sparse, optional
            Required where gamma_labels > 0.
        callback : callable, optional
            Called as callback(iteration, M) after every iteration; a true result stops the fit.
        client : distributed.Client, optional
            By default the client that was created last.
        keep : "auto" or bool, default="auto"
            Whether partitions stay in the memory of the workers. If not, every pass reads them
            again, and a worker holds one at a time for each of its threads. "auto" keeps them where
            they fill at most 40% of the workers' memory.
        verbose : bool, default=False
            Show a progress bar over the passes.
        """
        self.check_parameters()
        client = get_client(client)
        passes = PassCounter()
        with passes.shown(self.max_iter, verbose):
            objective = self._distributed_objective(X, y, graph, label_graph, client, keep, passes)
            self._minimize(objective, callback)
        self.n_passes_ = passes.number
        return self

    def lam_max(self, X: Any, Y: Any = None, *, client: Any = None) -> float:
        """Return the smallest lam at which M is 0, in two passes over the rows."""
        check_flag("The 'fit_intercept' parameter of APGGraph", self.fit_intercept)
        unpenalised = APGGraph(fit_intercept=self.fit_intercept, on_unlearnable="ignore")
        where = (get_client(client), False, PassCounter())
        return unpenalised._distributed_objective(X, Y, None, None, *where).lam_max()

    def default_param_grid(self, X: Any, Y: Any, graph: Any = None) -> ParamGrids:
        """Refuse: a search fits many models, for which a sample in memory serves as well."""
        raise InvalidInputError(
            "Parameters are not tuned on a cluster. Choose them on a sample of the items in "
            "memory, with tagloom.models.APGGraph and tune. The penalties are weighed against a "
            "sum over the items: multiply lam and ridge by (all items) / (items of the sample)."
        )

    def complete(self, X: Any, Y: Any, *, fill: str = "labels", prior: Any = None) -> Any:
        """Fill in the unknown labels of items in memory; all items would have to be gathered."""
        _refuse_to_gather(X, "complete")
        return super().complete(X, Y, fill=fill, prior=prior)

    def score(self, X: Any, y: Any, sample_weight: Any = None, prior: Any = None) -> float:
        """Return the mean average precision on items in memory; all would have to be gathered."""
        _refuse_to_gather(X, "score")
        return super().score(X, y, sample_weight, prior)

    def to_local(self) -> models.APGGraph:
        """Return the fitted model as a learner in memory."""
        return deserialize_learner(models.APGGraph, serialize_learner(self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model as the learner in memory does, atomically."""
        check_is_fitted(self)
        self.to_local().save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` wrote, here or of the learner in memory."""
        return deserialize_learner(cls, serialize_learner(models.APGGraph.load(path)))

    def _distributed_objective(
        self,
        X: Any,
        Y: Any,
        graph: Any,
        label_graph: Any,
        client: Any,
        keep: str | bool,
        passes: "PassCounter",
    ) -> Objective:
        """Prepare the data and join the terms whose weight is not 0."""
        rows, item_penalty = self._prepare(X, Y, graph, client, keep, passes)
        sums = rows.sums()
        loss = MaskedSquaredLoss(rows, fit_intercept=self.fit_intercept, sums=sums)
        label_penalty = label_term(self.gamma_labels, label_graph, sums, rows.centre)
        terms = [term for term in (item_penalty, label_penalty) if term is not None]
        return Objective(loss, self.lam, ridge=self.ridge, terms=terms)

    def _prepare(
        self, X: Any, Y: Any, graph: Any, client: Any, keep: str | bool, passes: "PassCounter"
    ) -> "tuple[DistributedRows, InstanceLaplacian | None]":
        """Read and check the data, and return what the passes need.

        Nothing else stays referenced: where partitions are kept, the workers can drop those that
        were read as soon as they are centred.
        """
        if not isinstance(keep, bool):
            check_choice("keep", keep, ("auto",))
        data = read_training_data(X, Y, client)
        kept = data.fits_in_memory(client) if keep == "auto" else bool(keep)
        data = data.persisted(client) if kept else data
        summary = summarize(data, client)
        passes.count()
        self._check_data(data, summary)
        mean = summary.total / summary.n_items
        term = item_term(self.gamma, data, graph, mean, client)
        centre = None
        if self.fit_intercept:
            centre = centre_of(summary.n_items, summary.total, summary.squares)
        rows = DistributedRows(data, centre, client, keep=kept, on_pass=passes.count)
        return rows, term

    def _check_data(self, data: TrainingData, summary: DataSummary) -> None:
        """Set the attributes that describe the data; refuse data that nothing is known of."""
        if not (summary.present.any() or summary.absent.any()):
            raise InvalidInputError(
                f"Y is all unknown: none of its {summary.n_items} x {len(data.labels)} entries "
                "is 0 or 1. There is nothing to learn from."
            )
        self.learnable_ = check_learnable(summary.in_two_rows(data.labels), self.on_unlearnable)
        self.classes_ = np.asarray(data.labels)
        self.one_dimensional_ = False
        self.n_features_in_ = data.rows.width

    def score_rows(self, X: Any) -> Any:
        """Return the scores of validated rows."""
        if not hasattr(X, "dask"):
            return super().score_rows(X)
        model = constant((self.coef_, self.intercept_))
        dtype = np.result_type(X.dtype, self.coef_.dtype)
        chunks = (X.chunks[0], (len(self.classes_),))
        return X.map_blocks(_linear_scores, model=model, dtype=dtype, chunks=chunks)

    def checked_rows(self, X: Any) -> Any:
        """Return the rows of X, validated; the learner must be fitted."""
        if not _is_on_cluster(X):
            return super().checked_rows(X)
        check_is_fitted(self)
        table = to_dask_array(X)
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


def _linear_scores(block: Array, model: tuple[Array, Array]) -> Array:
    M, b = model
    table: Array = block @ M + b
    return table


class PassCounter:
    """Counts passes over the data, with a progress bar on request."""

    def __init__(self) -> None:
        self.number = 0
        self._advance: Callable[[], None] | None = None

    def count(self) -> None:
        """Count one more pass over all partitions."""
        self.number += 1
        if self._advance is not None:
            self._advance()

    @contextmanager
    def shown(self, at_most: int, show: bool) -> Iterator[None]:
        """Show a progress bar of `at_most` passes meanwhile; most fits end sooner."""
        with progress_bar(at_most, "fitting", show=show, unit="passes") as advance:
            self._advance = advance
            yield
        self._advance = None


class DistributedRows:
    """`tagloom.optim.SummableRows` in partitions: every sum is one pass over all of them.

    M is sent to all workers and sums of the size of M are returned, added in a tree. A worker holds
    its partitions, M, a few sums, and at most one partition of another worker.

    Parameters
    ----------
    data : TrainingData
    centre : array of shape (n_features,), optional
        What is subtracted from every row.
    client : distributed.Client
    keep : bool
        Whether to keep the partitions in the memory of the workers; else they are loaded again in
        every pass and forgotten one by one.
    on_pass : callable
        Called after every pass.
    """

    def __init__(
        self,
        data: TrainingData,
        centre: Floats | None,
        client: Any,
        *,
        keep: bool,
        on_pass: Callable[[], None],
    ) -> None:
        self.centre = centre
        self.dtype: Dtype = np.dtype(np.float64)
        self.stored: Dtype = data.rows.dtype
        self._client = client
        self._on_pass = on_pass
        pairs = zip(data.rows.blocks, data.known, strict=True)
        self._parts = [[block, known, centre] for block, known in pairs]
        if keep:
            self._parts = persist(client, [task(_centred, *part) for part in self._parts])

    def in_single_precision(self) -> "DistributedRows":
        """Return the same rows, summed in float32; they are converted when they are used."""
        single = copy(self)
        single.dtype = np.dtype(np.float32)
        return single

    def sums(self) -> LossSums:
        """Return the sums that do not depend on M."""
        result: LossSums = self._sum(_sums)
        return result

    def products(self, M: Array) -> ProductSums:
        """Return X'(W o XM) and 1'(W o XM)."""
        result: ProductSums = self._sum(_products, M)
        # An array from the network may be read-only, and the loss changes it in place.
        return replace(result, features=np.require(result.features, requirements="W"))

    def _sum(self, function: Callable[..., Any], *arguments: Array) -> Any:
        shared = [constant(argument) for argument in arguments]
        terms = [task(function, group, self.dtype, *shared) for group in self._groups()]
        result = compute(self._client, tree_sum(terms))
        self._on_pass()
        return result

    def _groups(self) -> list[list[Any]]:
        """Return groups of partitions, each summed by one task.

        Where partitions are read from files and there are many, a task takes as many as the tree
        adds at a time: fewer sums are sent, and they are added in the same order.
        """
        from_files = all(
            isinstance(part, list) and isinstance(part[0], LazyBlock) for part in self._parts
        )
        threads = sum(self._client.nthreads().values())
        many = len(self._parts) >= 2 * TREE_WIDTH * max(1, threads)
        size = TREE_WIDTH if from_files and many else 1
        return [self._parts[start : start + size] for start in range(0, len(self._parts), size)]


def _sums(parts: Sequence[Any], dtype: Dtype) -> LossSums:
    result: LossSums = add_all(_load_rows(part, dtype).sums() for part in parts)
    return result


def _products(parts: Sequence[Any], dtype: Dtype, M: Array) -> ProductSums:
    result: ProductSums = add_all(_load_rows(part, dtype).products(M) for part in parts)
    return result


def _load_rows(part: Any, dtype: Dtype) -> InMemoryRows:
    """Return the rows that were kept, or load them, in the required precision."""
    rows = part if isinstance(part, InMemoryRows) else _centred(*part)
    return rows if rows.dtype == dtype else rows.in_single_precision()


def _centred(block: Any, known: Any, centre: Floats | None) -> InMemoryRows:
    register_sizes(InMemoryRows, LossSums, ProductSums, PartialLabels)
    return InMemoryRows(load_block(block), load_block(known), centre)


def item_term(
    gamma: float, data: TrainingData, graph: Any, mean: Floats, client: Any
) -> InstanceLaplacian | None:
    """Return gamma_s tr(M'X'L_s X M), with X'L_s X summed over pairs of partitions."""
    if graph is None:
        _refuse_missing_graph(gamma, "gamma", "graph", "items")
        return None
    sizes = data.rows.sizes
    blocks = graph if isinstance(graph, GraphBlocks) else GraphBlocks.from_matrix(graph, sizes)
    if gamma == 0:
        return None
    return InstanceLaplacian.from_congruence(gamma, congruence(data.rows, blocks, mean, client))


def label_term(
    gamma: float, label_graph: Any, sums: LossSums, centre: Floats | None
) -> LabelLaplacian | None:
    """Return gamma_t tr(X M L_t M'X')."""
    if label_graph is None:
        _refuse_missing_graph(gamma, "gamma_labels", "label_graph", "labels")
        return None
    n_labels = len(sums.weight)
    weights = check_weights(label_graph, n_labels, name="label_graph", nodes="labels")
    if gamma == 0:
        return None
    # The term depends on X through X'X alone: any matrix with the same X'X may replace it.
    root = _root(_second_moments(sums, centre))
    return LabelLaplacian(gamma, root, laplacian(weights))


def _second_moments(sums: LossSums, centre: Floats | None) -> Floats:
    """Return X'X of the rows before centring, from sums of centred rows.

    With X = C + 1m' it is C'C + C'1 m' + m 1'C + n m m'.
    """
    if centre is None:
        return sums.second_moments
    mixed = np.outer(sums.total, centre)
    around_zero = mixed + mixed.T + sums.n_items * np.outer(centre, centre)
    return np.asarray(sums.second_moments + around_zero)


def _root(gram: Floats) -> Floats:
    """Return R with R'R = gram."""
    squares, vectors = np.linalg.eigh(gram)
    return np.asarray(np.sqrt(np.maximum(squares, 0.0))[:, None] * vectors.T)


def _refuse_missing_graph(strength: float, parameter: str, name: str, nodes: str) -> None:
    if strength > 0:
        raise InvalidInputError(
            f"{parameter}={strength} asks for smoothness on a graph of the {nodes}, but {name} is "
            f"None. Pass {name}=, or set {parameter}=0."
        )
