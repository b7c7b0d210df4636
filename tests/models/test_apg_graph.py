"""What a user of the estimator relies on."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from toys import low_rank_toy

from tagloom.errors import InvalidInputError, UnlearnableLabelWarning
from tagloom.labels import PartialLabels, keep_presences
from tagloom.metrics import mean_average_precision
from tagloom.models import APGGraph

TOY = low_rank_toy()


def test_recovers_what_is_hidden():
    model = APGGraph(lam=0.3, gamma=0.01).fit(TOY.X, TOY.known, TOY.graph)
    hidden = np.where(TOY.known.states() == -1, TOY.truth, np.nan)
    assert mean_average_precision(hidden, model.scores(TOY.X)) > 0.9
    constant = np.tile(TOY.truth.mean(axis=0), (len(TOY.X), 1))
    assert mean_average_precision(hidden, constant) < 0.6


def test_rows_without_any_label_take_part_through_the_graph():
    # Two items joined by an edge; nothing is known of the second. In its own direction of feature
    # space only the graph can teach M anything.
    X = np.eye(3)
    Y = np.array([[1.0], [0.0], [np.nan]])
    W = np.zeros((3, 3))
    W[0, 2] = W[2, 0] = 1.0
    alone = APGGraph(lam=0.01, fit_intercept=False).fit(X, Y)
    joined = APGGraph(lam=0.01, gamma=1.0, fit_intercept=False).fit(X, Y, W)
    assert alone.scores(X)[2, 0] == pytest.approx(0.0)
    assert joined.scores(X)[2, 0] > 0.5


def test_label_graph_draws_labels_together():
    X, Y = TOY.X, TOY.known.to_array()
    W = np.zeros((8, 8))
    W[0, 1] = W[1, 0] = 1.0
    apart = APGGraph(lam=0.3).fit(X, Y).scores(X)
    near = APGGraph(lam=0.3, gamma_labels=10.0).fit(X, Y, label_graph=W).scores(X)

    def distance(scores):
        centred = scores - scores.mean(axis=0)
        return np.linalg.norm(centred[:, 0] - centred[:, 1])

    assert distance(near) < 0.2 * distance(apart)


def test_complete_leaves_listed_tags_and_refills_presumed_absences():
    truth = PartialLabels.from_array(TOY.truth)
    listed = keep_presences(truth, 0.5, unlisted=0.2, random_state=0)
    model = APGGraph(lam=0.3).fit(TOY.X, listed)
    filled = model.complete(TOY.X, listed, fill="scores")
    present = listed.states() == 1
    np.testing.assert_array_equal(filled[present], 1.0)
    np.testing.assert_array_equal(filled[~present], model.scores(TOY.X)[~present])
    complete = keep_presences(truth, 0.5, unlisted="absent", random_state=0)
    np.testing.assert_array_equal(model.complete(TOY.X, complete), present)


def test_coef_is_the_papers_M_and_rank_falls_with_lam():
    weak = APGGraph(lam=0.3, tol=1e-8).fit(TOY.X, TOY.known)
    strong = APGGraph(lam=8.0, tol=1e-8).fit(TOY.X, TOY.known)
    assert weak.coef_.shape == (10, 8)
    np.testing.assert_allclose(weak.scores(TOY.X), TOY.X @ weak.coef_ + weak.intercept_)
    assert strong.rank_ < weak.rank_
    assert strong.rank_ == np.linalg.matrix_rank(strong.coef_)


def test_lam_max_is_the_smallest_at_which_M_is_zero():
    lam_max = APGGraph().lam_max(TOY.X, TOY.known)
    assert not APGGraph(lam=lam_max * 1.000001).fit(TOY.X, TOY.known).coef_.any()
    assert APGGraph(lam=lam_max * 0.999, tol=1e-9).fit(TOY.X, TOY.known).coef_.any()


def test_same_data_same_bits():
    first, second = (
        APGGraph(lam=0.3, gamma=0.01).fit(TOY.X, TOY.known, TOY.graph) for _ in range(2)
    )
    np.testing.assert_array_equal(first.coef_, second.coef_)
    np.testing.assert_array_equal(first.intercept_, second.intercept_)


def test_warm_start_needs_fewer_iterations_and_ends_in_the_same_place():
    model = APGGraph(lam=0.3, tol=1e-9, warm_start=True).fit(TOY.X, TOY.known)
    cold = model.n_iter_
    model.set_params(lam=0.29).fit(TOY.X, TOY.known)
    assert model.n_iter_ < cold
    fresh = APGGraph(lam=0.29, tol=1e-9).fit(TOY.X, TOY.known)
    np.testing.assert_allclose(model.coef_, fresh.coef_, atol=1e-4)


def test_single_precision_in_single_precision_out():
    model = APGGraph(lam=0.3).fit(TOY.X.astype(np.float32), TOY.known)
    assert model.coef_.dtype == model.intercept_.dtype == np.float32
    double = APGGraph(lam=0.3, tol=1e-8).fit(TOY.X, TOY.known)
    assert model.objective_ == pytest.approx(double.objective_, rel=1e-4)


def test_certificate_is_reported():
    model = APGGraph(lam=0.3, tol=1e-6).fit(TOY.X, TOY.known)
    assert 0 <= model.gap_ <= 1e-6
    assert len(model.history_) == model.n_iter_


def test_too_few_iterations_warn_with_a_remedy():
    with pytest.warns(ConvergenceWarning, match="raise max_iter or tol"):
        APGGraph(lam=0.3, max_iter=2).fit(TOY.X, TOY.known)
    with pytest.warns(ConvergenceWarning, match="pass X as float64"):
        APGGraph(lam=0.3, max_iter=2).fit(TOY.X.astype(np.float32), TOY.known)


def test_one_dimensional_y_with_unknowns():
    y = np.array([0.0, 1.0, np.nan, 1.0])
    X = np.array([[0.0], [1.0], [0.9], [1.1]])
    np.testing.assert_array_equal(APGGraph(lam=0.01).fit(X, y).predict(X), [0, 1, 1, 1])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"graph": np.triu(np.ones((120, 120)))}, "graph must be symmetric"),
        ({"graph": -TOY.graph}, "is negative"),
        ({"graph": TOY.graph[:5]}, "one row for each of the 120 items"),
        ({"label_graph": np.ones((3, 3))}, "one row for each of the 8 labels"),
    ],
)
def test_bad_graphs_are_refused_even_where_their_weight_is_zero(changes, message):
    with pytest.raises(InvalidInputError, match=message):
        APGGraph().fit(TOY.X, TOY.known, **changes)


@pytest.mark.parametrize("parameter", ["gamma", "gamma_labels"])
def test_smoothness_without_a_graph_is_refused(parameter):
    with pytest.raises(InvalidInputError, match=f"or set {parameter}=0"):
        APGGraph(**{parameter: 1.0}).fit(TOY.X, TOY.known)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"lam": -1}, r"The 'lam' parameter of APGGraph must be a finite number in \[0, inf"),
        ({"gamma": np.nan}, "'gamma' parameter"),
        ({"ridge": "much"}, "got 'much'"),
        ({"max_iter": 0}, "'max_iter' parameter of APGGraph must be an integer of at least 1"),
        ({"solver": "newton"}, "'solver' parameter of APGGraph must be one of 'admm', 'apg', "),
        ({"fit_intercept": 1}, "must be True or False"),
        ({"on_unlearnable": "drop"}, "'on_unlearnable' parameter"),
    ],
)
def test_bad_parameters_are_refused_in_fit(params, message):
    model = APGGraph(**params)
    with pytest.raises(InvalidInputError, match=message):
        model.fit(TOY.X, TOY.known)


def test_labels_known_only_as_present_are_warned_of():
    listed = keep_presences(PartialLabels.from_array(TOY.truth), 0.5, unlisted="unknown")
    with pytest.warns(UnlearnableLabelWarning, match="say what an unlisted tag means"):
        APGGraph().fit(TOY.X, listed)


def test_wrong_label_names_are_refused():
    names = [f"label {j}" for j in range(8)]
    Y = pd.DataFrame(TOY.known.to_array(), columns=names)
    model = APGGraph(lam=0.3).fit(TOY.X, Y)
    renamed = Y.rename(columns={"label 0": "beach"})
    with pytest.raises(InvalidInputError, match=r"Missing: 'label 0'. Unexpected: 'beach'"):
        model.complete(TOY.X, renamed)
    with pytest.raises(InvalidInputError, match="Y has 3 columns; the model was fitted with 8"):
        model.complete(TOY.X, TOY.truth[:, :3])
    with pytest.raises(InvalidInputError, match="X has 120 rows, Y has 5"):
        model.complete(TOY.X, Y[:5])


def test_clone_keeps_parameters_and_fit_changes_none():
    model = APGGraph(lam=0.5, gamma=0.1)
    before = model.get_params()
    model.fit(TOY.X, TOY.known, TOY.graph)
    assert clone(model).get_params() == model.get_params() == before


def test_masked_and_missing_values_of_a_column_are_unknown():
    y = TOY.truth[:, 0].astype(int)
    unknown = np.arange(120) < 60
    expected = APGGraph(lam=0.1).fit(TOY.X, np.where(unknown, np.nan, y)).coef_
    masked = np.ma.masked_array(y, mask=unknown)
    with_none = np.where(unknown, None, y)
    for column in (masked, with_none, pd.Series(with_none), pd.array(with_none, dtype="Int64")):
        np.testing.assert_array_equal(APGGraph(lam=0.1).fit(TOY.X, column).coef_, expected)


def test_strings_with_gaps_are_two_classes():
    words = np.where(TOY.truth[:, 0] == 1, "yes", "no").astype(object)
    words[:20] = None
    model = APGGraph(lam=0.1).fit(TOY.X, words)
    assert list(model.classes_) == ["no", "yes"]
    assert set(model.predict(TOY.X)) == {"no", "yes"}
    assert model.score(TOY.X, words) > 0.8


def test_frames_in_after_a_one_dimensional_y():
    X = pd.DataFrame(TOY.X).add_prefix("f")
    model = APGGraph(lam=0.1).fit(X, np.where(TOY.truth[:, 0] == 1, "yes", "no"))
    assert list(model.scores(X).columns) == ["yes"]
    column = TOY.known.to_array()[:, :1]
    assert model.complete(X, column).shape == (120, 1)
    assert list(model.complete(X, pd.DataFrame(column)).columns) == ["yes"]


def test_labels_named_by_numbers_are_matched_by_name():
    three = PartialLabels.from_array(TOY.known.to_array()[:, :3])
    model = APGGraph(lam=0.1).fit(TOY.X, three.select([2, 1, 0]))
    completed = model.complete(TOY.X, three)
    known = ~np.isnan(three.to_array())
    np.testing.assert_array_equal(completed[:, ::-1][known], three.to_array()[known])


def test_frames_that_name_items_in_different_orders_are_refused():
    X = pd.DataFrame(TOY.X, index=[f"{i}.jpg" for i in range(120)]).add_prefix("f")
    Y = pd.DataFrame(TOY.known.to_array(), index=X.index)
    with pytest.raises(InvalidInputError, match=r"Pass Y.loc\[X.index\]"):
        APGGraph().fit(X, Y.iloc[::-1])
