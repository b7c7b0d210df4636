import dask.array as da
import numpy as np
import pytest
from dask_problems import Problem
from sklearn.exceptions import NotFittedError

from tagloom import dask as tagloom_dask
from tagloom.errors import InvalidInputError
from tagloom.models import APGGraph
from tagloom.persistence.codecs import deserialize_learner, serialize_learner

TERMS = [
    {"lam": 2.0, "ridge": 0.5, "fit_intercept": False},
    {"lam": 1.0, "ridge": 0.5, "gamma": 0.1, "gamma_labels": 0.01},
    {"lam": 0.0, "ridge": 0.5, "gamma": 0.1},
]


@pytest.fixture(scope="module")
def problem():
    return Problem()


@pytest.mark.parametrize("parameters", TERMS)
def test_same_optimum_as_in_memory(client, problem, parameters):
    graphs = {}
    if "gamma" in parameters:
        graphs["graph"] = problem.graph
    if "gamma_labels" in parameters:
        graphs["label_graph"] = problem.label_graph
    local = APGGraph(**parameters, tol=1e-6, solver="admm").fit(problem.X, problem.Y, **graphs)
    found = tagloom_dask.APGGraph(**parameters, tol=1e-6, solver="admm")
    found.fit(*problem.arrays(), **graphs, client=client)
    assert found.objective_ == pytest.approx(local.objective_, rel=2e-6)
    size = np.abs(local.coef_).max()
    np.testing.assert_allclose(found.coef_, local.coef_, atol=1e-2 * size)
    assert found.gap_ <= 1e-6


def test_columns_far_from_zero_cost_no_digits(client):
    near, far = Problem(), Problem(offset=1e4)
    found = tagloom_dask.APGGraph(2.0, tol=1e-6, gamma=0.1, solver="admm")
    found.fit(*far.arrays(), graph=far.graph, client=client)
    expected = APGGraph(2.0, tol=1e-6, gamma=0.1, solver="admm").fit(
        near.X, near.Y, graph=near.graph
    )
    assert found.objective_ == pytest.approx(expected.objective_, rel=2e-6)
    np.testing.assert_allclose(found.to_local().scores(far.X), expected.scores(near.X), atol=1e-3)


def test_label_graph_uses_columns_before_centring(client):
    far = Problem(offset=3.0)
    parameters = {"lam": 1.0, "gamma_labels": 0.01, "ridge": 2.0, "tol": 1e-6, "solver": "admm"}
    expected = APGGraph(**parameters).fit(far.X, far.Y, label_graph=far.label_graph)
    found = tagloom_dask.APGGraph(**parameters)
    found.fit(*far.arrays(), label_graph=far.label_graph, client=client)
    assert found.objective_ == pytest.approx(expected.objective_, rel=2e-6)


def test_graph_from_the_cluster_equals_that_in_memory(client, problem):
    descriptors = da.from_array(problem.descriptors, chunks=(50, 5))
    graph = tagloom_dask.semantic_graph(descriptors, 4, client=client)
    parameters = {"lam": 1.0, "gamma": 0.1, "tol": 1e-6, "solver": "admm"}
    expected = APGGraph(**parameters).fit(problem.X, problem.Y, graph=problem.graph)
    found = tagloom_dask.APGGraph(**parameters).fit(*problem.arrays(), graph=graph, client=client)
    assert found.objective_ == pytest.approx(expected.objective_, rel=2e-6)


def test_keep_does_not_change_the_iterates(client, problem):
    first, again = (
        tagloom_dask.APGGraph(2.0, tol=0.0).fit(
            *problem.arrays(60),
            client=client,
            keep=keep,
            callback=lambda line, M: line.iteration == 3,
        )
        for keep in (True, False)
    )
    np.testing.assert_allclose(first.coef_, again.coef_, rtol=1e-9, atol=1e-12)


def test_scores_and_predictions_are_lazy_and_equal_those_in_memory(client, problem):
    X, Y = problem.arrays()
    found = tagloom_dask.APGGraph(2.0, ridge=1.0, tol=0.1).fit(X, Y, client=client)
    local = found.to_local()
    assert isinstance(found.scores(X), da.Array)
    np.testing.assert_allclose(found.scores(X).compute(), local.scores(problem.X), atol=1e-12)
    np.testing.assert_array_equal(found.predict(X).compute(), local.predict(problem.X))
    np.testing.assert_allclose(found.scores(problem.X), local.scores(problem.X))


@pytest.mark.parametrize("method", ["complete", "score"])
def test_methods_that_gather_all_items_work_in_memory_only(problem, method):
    local = APGGraph(2.0, ridge=1.0, tol=0.1).fit(problem.X, problem.Y)
    model = deserialize_learner(tagloom_dask.APGGraph, serialize_learner(local))
    with pytest.raises(InvalidInputError, match="would gather"):
        getattr(model, method)(*problem.arrays())
    expected = getattr(local, method)(problem.X, problem.Y)
    np.testing.assert_array_equal(getattr(model, method)(problem.X, problem.Y), expected)


def test_saved_model_is_read_in_memory_and_on_the_cluster(client, problem, tmp_path):
    found = tagloom_dask.APGGraph(2.0, ridge=1.0, tol=0.1).fit(*problem.arrays(), client=client)
    found.save(tmp_path / "model.safetensors")
    for kind in (APGGraph, tagloom_dask.APGGraph):
        again = kind.load(tmp_path / "model.safetensors")
        np.testing.assert_array_equal(again.coef_, found.coef_)


def test_lam_max_equals_that_in_memory(client, problem):
    expected = APGGraph().lam_max(problem.X, problem.Y)
    found = tagloom_dask.APGGraph().lam_max(*problem.arrays(), client=client)
    assert found == pytest.approx(expected, rel=1e-10)


def test_a_label_that_cannot_be_learned_is_named(client, problem):
    Y = problem.Y.copy()
    Y[:, 4] = np.nan
    with pytest.raises(InvalidInputError, match=r"no known entry.*They are: 4"):
        tagloom_dask.APGGraph().fit(problem.arrays()[0], da.from_array(Y), client=client)
    found = tagloom_dask.APGGraph(2.0, ridge=1.0, tol=0.1, on_unlearnable="ignore")
    found.fit(problem.arrays()[0], da.from_array(Y), client=client)
    assert found.learnable_.tolist() == [j != 4 for j in range(9)]


def test_an_invalid_label_is_named_by_its_row(client, problem):
    Y = problem.Y.copy()
    Y[130, 2] = 7
    with pytest.raises(InvalidInputError, match=r"130"):
        tagloom_dask.APGGraph().fit(problem.arrays()[0], da.from_array(Y, chunks=50), client=client)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, Y: (X, Y[:100]), "X has 240 rows, Y has 100"),
        (lambda X, Y: (X, None), "Y is missing"),
        (lambda X, Y: (X, Y * np.nan), "all unknown"),
        (lambda X, Y: (X[X[:, 0] > 0], Y), "compute_chunk_sizes"),
    ],
)
def test_invalid_input_is_refused(client, problem, change, message):
    with pytest.raises(InvalidInputError, match=message):
        tagloom_dask.APGGraph().fit(*change(*problem.arrays()), client=client)


def test_callback_stops_the_fit_and_passes_are_counted(client, problem):
    found = tagloom_dask.APGGraph(2.0, tol=0.0)
    found.fit(
        *problem.arrays(),
        client=client,
        callback=lambda line, M: line.iteration == 3,
        verbose=True,
    )
    assert found.n_iter_ == 3
    assert found.n_passes_ >= 5


def test_an_interrupt_leaves_the_cluster_usable(client, problem):
    def interrupt(line, M):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tagloom_dask.APGGraph(2.0, ridge=1.0, tol=0.1).fit(
            *problem.arrays(), client=client, callback=interrupt
        )
    assert client.submit(sum, [1, 2]).result() == 3


def test_scores_before_fit_are_refused(problem):
    with pytest.raises(NotFittedError):
        tagloom_dask.APGGraph().scores(problem.arrays()[0])
