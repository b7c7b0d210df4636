from inspect import signature

import dask.array as da
import numpy as np
import pytest
from dask_problems import Problem
from sklearn.exceptions import NotFittedError

from tagloom import dask as tagloom_dask
from tagloom.dask import ParquetItems, row_blocks, write_parquet
from tagloom.dask.graph import affinity_graph
from tagloom.errors import InvalidInputError
from tagloom.graph import affinity_graph as affinity_graph_in_memory
from tagloom.graph import diffuse
from tagloom.labels import PartialLabels
from tagloom.models import SemanticDiffusion


@pytest.fixture(scope="module")
def problem():
    return Problem(150)


@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": "rational_quadratic", "n_components": 60, "score_normalization": 0.5},
        {
            "lam": 1.0,
            "tol": 1e-6,
            "kernel": "rbf",
            "n_passes": 1,
            "smoothing": 0.0,
            "normalize_rows": False,
        },
        {"shrinkage": np.inf, "alpha": 0.3, "n_passes": 2, "n_neighbors": 5, "metric": "cosine"},
        {"shrinkage": np.inf, "smoothing": 0.0},
        {"kernel": "rational_quadratic", "n_components": 60, "self_training": 3},
        {"shrinkage": np.inf, "smoothing": 0.0, "self_training": 3},
    ],
)
def test_scores_equal_those_in_memory(client, problem, parameters):
    expected = SemanticDiffusion(**parameters).fit(problem.X, problem.Y)
    found = tagloom_dask.SemanticDiffusion(**parameters).fit(*problem.arrays(80), client=client)
    # Completed labels are solved for to the tolerance of the diffusion.
    atol = 1e-4 if parameters.get("self_training") else 1e-5
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=atol)
    scores = found.training_scores_.compute()
    np.testing.assert_allclose(scores, expected.training_scores_, atol=1e-4)
    new = np.random.default_rng(5).normal(size=(70, problem.X.shape[1]))
    scores = found.scores(da.from_array(new, chunks=(40, -1)), client=client)
    np.testing.assert_allclose(scores.compute(), expected.scores(new), atol=1e-4)


def test_lists_of_tags_in_parquet_equal_those_in_memory(client, problem, tmp_path):
    X = problem.X.astype(np.float32)
    tags = [[f"tag {j}" for j in np.flatnonzero(row == 1)] for row in problem.Y]
    known = PartialLabels.from_tags(tags, unlisted="absent")
    write_parquet(tmp_path, X, known, rows_per_file=60)
    expected = SemanticDiffusion(ridge=2.0, self_training=2).fit(X, known)
    items = ParquetItems(tmp_path, present="present", unlisted="absent")
    found = tagloom_dask.SemanticDiffusion(ridge=2.0, self_training=2).fit(items, client=client)
    assert found.classes_.tolist() == list(known.labels)
    assert found.training_scores_.dtype == np.float32
    scores = found.training_scores_.compute()
    np.testing.assert_allclose(scores, expected.training_scores_, atol=1e-4)


def test_parameters_have_the_defaults_of_the_learner_in_memory():
    expected = signature(SemanticDiffusion).parameters
    found = signature(tagloom_dask.SemanticDiffusion).parameters
    assert {name: found[name].default for name in found} == {
        name: expected[name].default for name in found
    }
    without_prior = {"prior_shrinkage", "prior_weight"}
    assert set(expected) - set(found) == {*without_prior, "warm_start"}


@pytest.mark.parametrize("alpha", [0.2, 0.9])
def test_diffusion_solves_its_equations_to_the_tolerance(client, rng, alpha):
    rows, R = rng.normal(size=(90, 3)), rng.normal(size=(90, 2))
    S = affinity_graph_in_memory(rows, 6).S
    blocks = row_blocks(da.from_array(rows, chunks=((50, 10, 30), 3)))
    graph = affinity_graph(blocks, 6, client=client)
    tables = da.from_array(R, chunks=((50, 10, 30), 2)).to_delayed().ravel()
    parts = graph.diffuse(tables, alpha, client, tol=1e-6)
    found = np.vstack(client.gather(client.compute(parts)))
    exact = (1 - alpha) * np.linalg.solve(np.eye(90) - alpha * S.toarray(), R)
    assert (np.linalg.norm(found - exact, axis=0) <= 1e-6 * np.linalg.norm(R, axis=0)).all()
    np.testing.assert_allclose(found, diffuse(S, R, alpha), atol=1e-3)


def test_items_without_neighbours_in_other_partitions_are_diffused_alone(client):
    # Two groups far apart, each a partition: no row goes from one to the other.
    rows = np.r_[np.arange(10.0), 1e6 + np.arange(10.0)][:, None]
    graph = affinity_graph(row_blocks(da.from_array(rows, chunks=(10, 1))), 3, client=client)
    assert graph.halo.joined == ((0,), (1,))


def test_wrong_parameters_and_data_are_refused(client, problem):
    X, Y = problem.arrays(80)
    with pytest.raises(InvalidInputError, match="'alpha' parameter of SemanticDiffusion"):
        tagloom_dask.SemanticDiffusion(alpha=1.0).fit(X, Y, client=client)
    with pytest.raises(InvalidInputError, match="'ridge' parameter"):
        tagloom_dask.SemanticDiffusion(ridge=0.0).fit(X, Y, client=client)
    with pytest.raises(NotFittedError):
        tagloom_dask.SemanticDiffusion().scores(X)
    model = tagloom_dask.SemanticDiffusion(shrinkage=np.inf, smoothing=0).fit(X, Y, client=client)
    with pytest.raises(InvalidInputError, match="4 features"):
        model.scores(X[:, :4], client=client)
