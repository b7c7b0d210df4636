"""Semantic diffusion for data sets that do not fit on one machine."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from tagloom import models
from tagloom.dask.apg_graph import APGGraph, DistributedRows
from tagloom.dask.blocks import (
    DataSummary,
    RowBlocks,
    TrainingData,
    compute,
    constant,
    get_client,
    load_block,
    persist,
    persist_and_wait,
    read_training_data,
    row_blocks,
    sampled_positions,
    summarize,
    take_rows,
    task,
    to_dask_array,
    tree_sum,
)
from tagloom.dask.graph import AffinityBlocks, Halo, affinity_graph
from tagloom.dask.neighbors import Candidates, nearest_neighbors
from tagloom.dask.pca import moments_of
from tagloom.errors import InvalidInputError
from tagloom.graph.diffusion import local_scales, positive_or_one, self_tuning_affinities, shrunk
from tagloom.labels import PartialLabels
from tagloom.models.base import check_learnable, parameter
from tagloom.models.kernels import Kernel, KernelMap
from tagloom.models.least_squares import NormalEquations
from tagloom.models.self_training import complete_labels, completing_step, largest_weight
from tagloom.models.semantic_diffusion import INTERMEDIATE, default_landmarks
from tagloom.neighbors import Neighbors, neighbor_table
from tagloom.normalization import RowNormalizer, ScoreAugmenter, ScoreNormalizer
from tagloom.optim import MaskedSquaredLoss
from tagloom.optim.loss import centre_of
from tagloom.optim.solvers.cg import RidgeSolver
from tagloom.validation import check_number

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

# Centres, norms, bandwidth and landmarks are learned from at most so many rows, drawn at random and
# held by the client.
_SAMPLE_SIZE = 20_000
# Conjugate gradients for M stop at this residual, relative to that of M = 0, or after so many.
_CG_RESIDUAL = 1e-8
_CG_MAX_ITER = 500
# Labels are diffused together until the rows that a partition needs have so many entries.
_ENTRIES_AT_ONCE = 1 << 23


class SemanticDiffusion(BaseEstimator):
    r"""`tagloom.models.SemanticDiffusion` on a Dask cluster: the same scores and parameters.

    Features, kernel features, affinities and tables of scores stay in partitions in the memory of
    the workers, which spill to disk what does not fit. The client holds M and a sample of the rows.
    In each step of the diffusion a partition receives the rows that its edges lead to, and no
    others.

    Row normalisation, bandwidth and landmarks of the kernel, and what later passes and the score
    normalisation learn of the scores, are learned from at most 20,000 rows drawn at random: with
    that many items or fewer, scores equal those in memory but for rounding and the tolerances
    of the solvers.

    Parameters
    ----------
    lam, ridge, shrinkage, smoothing, score_normalization, normalize_rows, alpha, n_neighbors
        See `tagloom.models.SemanticDiffusion`. ridge must be positive where lam is 0.
    n_passes, self_training, kernel, bandwidth, n_components, random_state, metric, tol, max_iter
        See `tagloom.models.SemanticDiffusion`.
    on_unlearnable
        See `tagloom.models.SemanticDiffusion`.
    algorithm : {"auto", "exact", "approximate"}, default="auto"
        See `tagloom.dask.nearest_neighbors`.

    Attributes
    ----------
    coef_ : array of shape (n_features, n_labels)
        The paper's M, for normalised rows, or for features of the kernel.
    intercept_ : array of shape (n_labels,)
        b.
    training_scores_ : dask array of shape (n_items, n_labels)
        F, after score normalisation.
    classes_ : array of shape (n_labels,)
        The labels.
    learnable_ : array of bool, shape (n_labels,)
    n_iter_ : int
        Iterations made for M.
    """

    coef_: Array
    intercept_: Array
    training_scores_: Any
    classes_: npt.NDArray[Any]
    learnable_: npt.NDArray[np.bool_]
    n_iter_: int
    n_features_in_: int
    _feature_map: "FeatureMap"
    _passes: "list[DiffusionPass]"
    _score_normalizer: ScoreNormalizer
    # That of the score normalisation when the model was fitted.
    _exponent: float

    def __init__(
        self,
        lam: float = 0.0,
        *,
        ridge: float = 1.0,
        shrinkage: float = 0.1,
        smoothing: float = 0.5,
        score_normalization: float = 0.0,
        normalize_rows: bool = True,
        alpha: float = 0.8,
        n_neighbors: int = 20,
        n_passes: int = 2,
        self_training: int = 0,
        kernel: str = "linear",
        bandwidth: float = 0.5,
        n_components: int | None = None,
        random_state: int = 0,
        metric: str = "euclidean",
        algorithm: str = "auto",
        tol: float = 1e-3,
        max_iter: int = 1000,
        on_unlearnable: str = "raise",
    ) -> None:
        self.lam = lam
        self.ridge = ridge
        self.shrinkage = shrinkage
        self.smoothing = smoothing
        self.score_normalization = score_normalization
        self.normalize_rows = normalize_rows
        self.alpha = alpha
        self.n_neighbors = n_neighbors
        self.n_passes = n_passes
        self.self_training = self_training
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.n_components = n_components
        self.random_state = random_state
        self.metric = metric
        self.algorithm = algorithm
        self.tol = tol
        self.max_iter = max_iter
        self.on_unlearnable = on_unlearnable

    def fit(self, X: Any, y: Any = None, *, client: Any = None, verbose: bool = False) -> Self:
        """Learn from the known labels.

        Parameters
        ----------
        X : dask array of shape (n_items, n_features), or ParquetItems
            A partition is a chunk of rows, or a row group.
        y : dask array of 1, 0 and NaN (unknown) of shape (n_items, n_labels)
            None where X is ParquetItems, which bring their labels.
        client : distributed.Client, optional
            By default the client that was created last.
        verbose : bool, default=False
            Show progress bars.
        """
        self._check_parameters()
        client = get_client(client)
        data = read_training_data(X, y, client)
        if data.rows.n_rows < 2:
            raise InvalidInputError("At least 2 items are needed, for one alone has no neighbour.")
        n_landmarks = self.n_components or default_landmarks(data.rows.n_rows)
        sample = sampled_positions(
            data.rows.n_rows, max(_SAMPLE_SIZE, n_landmarks), self.random_state
        )
        rows = take_rows(client, data.rows, sample)
        self._feature_map = self._learn_features(rows, n_landmarks)
        U = self._feature_map.normalized(data.rows)
        U = replace(U, blocks=tuple(persist(client, U.blocks)))
        P = self._fit_linear(U, data, client)
        run = _Diffusion(P, data.known, len(data.labels), self.alpha, client, verbose=verbose)
        self._passes, F = self._diffuse(run, U, sample)
        if self.self_training and self._passes:
            run = self._self_train(run, self._feature_map.mapped(U))
            self._passes, F = self._diffuse(run, U, sample, self._passes[0].graph)
        self._finish(F, U, sample, client)
        return self

    def scores(self, X: Any, *, client: Any = None) -> Any:
        """Return the scores of new items as a dask array, in the memory of the workers.

        Every row is treated as a new item; the scores of the training items are
        `training_scores_`. X is a dask array or `ParquetItems`.
        """
        check_is_fitted(self)
        client, rows = get_client(client), row_blocks(X)
        if rows.width != self.n_features_in_:
            raise InvalidInputError(
                f"X has {rows.width} features, but SemanticDiffusion was fitted with "
                f"{self.n_features_in_}."
            )
        U = self._feature_map.normalized(rows)
        U = replace(U, blocks=tuple(persist(client, U.blocks)))
        P = persist(client, self._linear_scores(self._feature_map.mapped(U)))
        features, F = U, P
        for one in self._passes:
            if one.augmenter is not None:
                features = _augmented(one.augmenter, U, F, client)
            F = one.out_of_sample(features, P, client)
        return self._as_array(F, rows.sizes, U.dtype)

    def _check_parameters(self) -> None:
        models.SemanticDiffusion(**self.get_params()).check_parameters()
        if self.lam == 0:
            check_number(*parameter(self, "ridge"), low=0, inclusive=False)

    def _learn_features(self, rows: Array, n_landmarks: int) -> "FeatureMap":
        """Learn row normalisation and kernel from a sample of the rows."""
        normalizer = RowNormalizer.of(rows) if self.normalize_rows else None
        if self.kernel == "linear":
            return FeatureMap(normalizer, None)
        U = rows if normalizer is None else normalizer(rows)
        kernel = Kernel.of(U, self.kernel, bandwidth=self.bandwidth)
        found = KernelMap.of(kernel, U, n_landmarks, self.random_state)
        return FeatureMap(normalizer, found)

    def _fit_linear(self, U: RowBlocks, data: TrainingData, client: Any) -> list[Any]:
        """Learn M and b; return tasks for the linear scores of the training items."""
        Z = self._feature_map.mapped(U)
        if Z is not U:
            Z = replace(Z, blocks=tuple(persist(client, Z.blocks)))
        mapped = replace(data, rows=Z)
        summary = summarize(mapped, client)
        self.learnable_ = check_learnable(summary.in_two_rows(data.labels), self.on_unlearnable)
        self.classes_, self.n_features_in_ = np.asarray(data.labels), data.rows.width
        if self.lam > 0:
            how: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
            linear = APGGraph(self.lam, ridge=self.ridge, **how, on_unlearnable="ignore")
            linear.fit(mapped, client=client)
            self.coef_, self.intercept_ = linear.coef_, linear.intercept_
            self.n_iter_ = linear.n_iter_
        else:
            M, b, self.n_iter_ = _ridge_regression(mapped, summary, self.ridge, client)
            self.coef_, self.intercept_ = M.astype(Z.dtype), b.astype(Z.dtype)
        return persist(client, self._linear_scores(Z))

    def _self_train(self, run: "_Diffusion", Z: RowBlocks) -> "_Diffusion":
        """Fit M again to completed labels, round by round, see `self_train`."""
        client, graph = run.client, self._passes[-1].graph
        Z = replace(Z, blocks=tuple(persist(client, Z.blocks)))
        moments = moments_of(Z, client)
        step = completing_step(compute(client, task(_unlisted_weight, run.known[0])))
        weights = [task(_largest_weight, part) for part in run.known]
        largest = compute(client, task(max, weights))
        equations = NormalEquations(moments.scatter, np.empty((0, 0)))
        solve = equations.solver(self.ridge / largest)
        for _ in range(self.self_training):
            F = run.on(graph, step, None).F
            parts = zip(Z.blocks, run.known, F, strict=True)
            tasks = [task(_completed_sums, *part, largest) for part in parts]
            sums = compute(client, tree_sum(tasks))
            mean = sums[-1] / moments.n_rows
            M = solve(sums[:-1] - np.outer(moments.mean, sums[-1]))
            M = np.where(self.learnable_, M, 0.0)
            self.coef_ = M.astype(self.coef_.dtype)
            b = np.where(self.learnable_, mean - moments.mean @ M, self.intercept_)
            self.intercept_ = b.astype(self.intercept_.dtype)
            run = replace(run, P=persist(client, self._linear_scores(Z)))
        return run

    def _linear_scores(self, Z: RowBlocks) -> list[Any]:
        model = constant((self.coef_, self.intercept_))
        return [task(_linear, block, model) for block in Z.blocks]

    def _diffuse(
        self, run: "_Diffusion", U: RowBlocks, sample: Any, graph: AffinityBlocks | None = None
    ) -> "tuple[list[DiffusionPass], list[Any]]":
        """Correct and smooth the linear scores, pass by pass; the first may have its `graph`."""
        if self.shrinkage == np.inf and self.smoothing == 0:
            return [], run.P
        passes: list[DiffusionPass] = []
        features, F, augmenter = U, run.P, None
        for n in range(self.n_passes):
            if n:
                F_sample = _taken(run.client, F, U, sample)
                augmenter = ScoreAugmenter.of(take_rows(run.client, U, sample), F_sample)
                features = _augmented(augmenter, U, F, run.client)
            if n or graph is None:
                graph = affinity_graph(
                    features,
                    self.n_neighbors,
                    metric=self.metric,
                    algorithm=self.algorithm,
                    random_state=self.random_state,
                    client=run.client,
                    verbose=run.verbose,
                )
            is_last = n == self.n_passes - 1
            between = INTERMEDIATE["shrinkage"], INTERMEDIATE["smoothing"]
            step = (self.shrinkage, self.smoothing) if is_last else between
            passes.append(run.on(graph, step, augmenter))
            F = passes[-1].F
        return passes, F

    def _finish(self, F: list[Any], U: RowBlocks, sample: Any, client: Any) -> None:
        """Set the scores of the training items, after score normalisation."""
        self._exponent = float(self.score_normalization)
        self._score_normalizer = ScoreNormalizer.of(_taken(client, F, U, sample))
        self.training_scores_ = self._as_array(F, U.sizes, U.dtype)

    def _as_array(self, F: Sequence[Any], sizes: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        scaled = [task(self._score_normalizer, block, self._exponent) for block in F]
        return to_dask_array(RowBlocks(tuple(scaled), sizes, len(self.classes_), dtype))


def _linear(block: Any, model: tuple[Array, Array]) -> Array:
    M, b = model
    return np.asarray(load_block(block) @ M + b)


def _unlisted_weight(known: Any) -> float:
    labels: PartialLabels = load_block(known)
    return labels.unlisted_weight


def _largest_weight(known: Any) -> float:
    return largest_weight(load_block(known))


def _completed_sums(block: Any, known: Any, F: Array, largest: float) -> Floats:
    """Return Z'T and, below it, 1'T, with the completed labels T."""
    Z = load_block(block).astype(np.float64)
    T = complete_labels(load_block(known), F.copy(), largest).astype(np.float64)
    return np.vstack([Z.T @ T, T.sum(axis=0)])


def _taken(client: Any, blocks: Sequence[Any], like: RowBlocks, positions: Any) -> Array:
    """Return rows of a table in blocks of these sizes."""
    return take_rows(client, replace(like, blocks=tuple(blocks)), positions)


def _augmented(augmenter: ScoreAugmenter, U: RowBlocks, F: Sequence[Any], client: Any) -> RowBlocks:
    """Return rows with their scores appended."""
    given = constant(augmenter)
    tasks = [task(_call, given, u, f) for u, f in zip(U.blocks, F, strict=True)]
    width = U.width + len(augmenter.mean)
    return replace(U, blocks=tuple(persist(client, tasks)), width=width)


def _call(function: Any, *arguments: Any) -> Any:
    return function(*(load_block(argument) for argument in arguments))


class FeatureMap(NamedTuple):
    """From rows to the features of graph and linear part, partition by partition."""

    normalizer: RowNormalizer | None
    kernel_map: KernelMap | None

    def normalized(self, rows: RowBlocks) -> RowBlocks:
        """Return U."""
        return rows if self.normalizer is None else _mapped(self.normalizer, rows, rows.width)

    def mapped(self, U: RowBlocks) -> RowBlocks:
        """Return the features of the linear part: U, or those of the kernel."""
        if self.kernel_map is None:
            return U
        return _mapped(self.kernel_map, U, self.kernel_map.projection.shape[1])


def _mapped(function: Any, rows: RowBlocks, width: int) -> RowBlocks:
    given = constant(function)
    return replace(
        rows, blocks=tuple(task(_call, given, block) for block in rows.blocks), width=width
    )


def _ridge_regression(
    data: TrainingData, summary: DataSummary, ridge: float, client: Any
) -> tuple[Floats, Floats, int]:
    """Return M and b of the ridge regression of each label, and the number of iterations.

    One pass over the rows for each iteration, see `RidgeSolver`.
    """
    centre = centre_of(summary.n_items, summary.total, summary.squares)
    rows = DistributedRows(data, centre, client, keep=True, on_pass=lambda: None)
    loss = MaskedSquaredLoss(rows, fit_intercept=True)
    found = RidgeSolver(loss).solve(
        -loss.gradient_at_zero, ridge, tol=_CG_RESIDUAL, max_iter=_CG_MAX_ITER
    )
    if not found.converged:
        warnings.warn(
            f"The ridge regression did not converge in {found.n_iter} passes over the rows. "
            "Raise ridge.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return found.M, np.asarray(loss.intercept(found.M)), found.n_iter


@dataclass(frozen=True, eq=False)
class DiffusionPass:
    """What was diffused over one graph, in partitions, and how features for it are made.

    Attributes
    ----------
    graph : AffinityBlocks
    augmenter : ScoreAugmenter, or None
        Appends the scores of the previous pass; None in the first.
    residuals, weights : tuple
        Tasks for the diffused residuals and weights of the known labels.
    F : list
        Tasks for the scores.
    alpha : float
    step : tuple of float
        Shrinkage and smoothing that gave F.
    chunks : list of slice
        Labels that are computed together.
    """

    graph: AffinityBlocks
    augmenter: ScoreAugmenter | None
    residuals: list[Any]
    weights: list[Any]
    F: list[Any]
    alpha: float
    step: tuple[float, float]
    chunks: list[slice]

    def out_of_sample(self, queries: RowBlocks, P: Sequence[Any], client: Any) -> list[Any]:
        """Return tasks for the scores of new items, see `ResidualDiffusion.out_of_sample`."""
        graph = self.graph
        found = nearest_neighbors(
            graph.rows,
            min(graph.n_neighbors, graph.rows.n_rows),
            queries,
            metric=graph.metric,
            algorithm=graph.algorithm,
            random_state=graph.random_state,
            client=client,
        ).blocks
        halo = Halo.of(client, [task(Candidates.positions, block) for block in found], graph.rows)
        parts = zip(found, halo(graph.scales), halo(graph.factors), strict=True)
        s_x = persist(client, [task(_new_affinities, *part, queries.dtype) for part in parts])
        finished: list[list[Any]] = [[] for _ in P]
        for columns in self.chunks:
            tables = (halo(table, columns) for table in (self.residuals, self.weights, self.F))
            new = [
                task(_new_scores, *part, columns, self.alpha, self.step)
                for part in zip(s_x, P, *tables, strict=True)
            ]
            for rows, part in zip(finished, persist(client, new), strict=True):
                rows.append(part)
        return persist(client, [task(np.hstack, rows) for rows in finished])


def _new_affinities(
    found: Candidates, scales: list[Floats], factors: list[Floats], dtype: np.dtype[Any]
) -> Any:
    """Return the affinities of new items to the rows of the halo, see `AffinityGraph`."""
    positions, near = np.unique(found.indices, return_inverse=True)
    local = Neighbors(near.reshape(found.indices.shape), found.distances, 1.0, "exact")
    own = local_scales(local.distances)
    weights = self_tuning_affinities(local, own, np.concatenate(scales))
    weights *= np.concatenate(factors)[local.indices]
    weights /= positive_or_one(weights.sum(axis=1, keepdims=True))
    return neighbor_table(weights.astype(dtype), local.indices, len(positions))


def _new_scores(
    s_x: Any,
    P: Array,
    residuals: list[Array],
    weights: list[Array],
    F: list[Array],
    columns: slice,
    alpha: float,
    step: tuple[float, float],
) -> Array:
    shrinkage, smoothing = step
    near = alpha * (s_x @ np.concatenate(residuals))
    corrected = P[:, columns] + shrunk(near, alpha * (s_x @ np.concatenate(weights)), shrinkage)
    smooth = s_x @ np.concatenate(F)
    return np.asarray(smoothing * smooth + (1 - smoothing) * corrected, dtype=P.dtype)


@dataclass(frozen=True, eq=False)
class _Diffusion:
    """Linear scores and known labels in partitions, to be corrected and smoothed on graphs."""

    P: list[Any]
    known: tuple[Any, ...]
    n_labels: int
    alpha: float
    client: Any
    verbose: bool

    def on(
        self, graph: AffinityBlocks, step: tuple[float, float], augmenter: ScoreAugmenter | None
    ) -> DiffusionPass:
        """Correct and smooth the scores, some labels at a time, see `ResidualDiffusion`."""
        chunks = self._chunks(graph.halo.n_rows)
        finished: list[list[list[Any]]] = [[[] for _ in self.P] for _ in range(3)]
        for columns in chunks:
            new = self._on_chunk(graph, columns, *step)
            for tables, parts in zip(finished, new, strict=True):
                for rows, part in zip(tables, parts, strict=True):
                    rows.append(part)
        residuals, weights, F = (
            persist(self.client, [task(np.hstack, rows) for rows in tables]) for tables in finished
        )
        return DiffusionPass(graph, augmenter, residuals, weights, F, self.alpha, step, chunks)

    def _chunks(self, n_rows: int) -> list[slice]:
        # Residuals and weights are diffused side by side.
        width = max(1, _ENTRIES_AT_ONCE // (2 * max(1, n_rows)))
        starts = range(0, self.n_labels, width)
        return [slice(start, min(start + width, self.n_labels)) for start in starts]

    def _on_chunk(
        self, graph: AffinityBlocks, columns: slice, shrinkage: float, smoothing: float
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """Return tasks for the diffused residuals and weights, and for the scores."""
        pairs = zip(self.known, self.P, strict=True)
        tables = [task(_known_residuals, known, P, columns) for known, P in pairs]
        diffused = graph.diffuse(tables, self.alpha, self.client)
        width = columns.stop - columns.start
        residuals = [task(_half, table, 0, width) for table in diffused]
        weights = [task(_half, table, width, 2 * width) for table in diffused]
        parts = zip(self.P, residuals, weights, strict=True)
        corrected = [task(_corrected, *part, columns, shrinkage) for part in parts]
        smoothed = graph.diffuse(corrected, smoothing, self.client)
        n = len(self.P)
        found = persist_and_wait(
            self.client,
            [*residuals, *weights, *smoothed],
            "diffusing",
            verbose=self.verbose,
            unit="blocks",
        )
        return found[:n], found[n : 2 * n], found[2 * n :]


def _known_residuals(known: Any, P: Array, columns: slice) -> Array:
    """Return R = W o (Y - P) and W side by side, for these labels; see `ResidualDiffusion`.

    Unlisted tags that count as absent were not annotated: they are not diffused.
    """
    labels: PartialLabels = load_block(known)
    entries = labels.entries()
    chosen = (entries.columns >= columns.start) & (entries.columns < columns.stop)
    rows, label = entries.rows[chosen], entries.columns[chosen]
    weights, present = entries.weights[chosen], entries.present[chosen]
    width = columns.stop - columns.start
    table = np.zeros((len(P), 2 * width), dtype=P.dtype)
    table[rows, label - columns.start] = weights * (present - P[rows, label])
    table[rows, label - columns.start + width] = weights
    return table


def _half(table: Array, start: int, stop: int) -> Array:
    return np.ascontiguousarray(table[:, start:stop])


def _corrected(
    P: Array, residuals: Array, weights: Array, columns: slice, shrinkage: float
) -> Array:
    return np.asarray(P[:, columns] + shrunk(residuals, weights, shrinkage))
