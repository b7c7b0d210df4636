"""The tools of scikit-learn on every learner, with unknown labels."""

import numpy as np
import pandas as pd
import pytest
from learners import LEARNERS, name_of
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    learning_curve,
    train_test_split,
    validation_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from toys import low_rank_toy

from tagloom.errors import InvalidInputError
from tagloom.graph import ItemGraph
from tagloom.labels import PartialLabels, hide_uniformly
from tagloom.metrics import average_precision, mean_average_precision, roc_auc
from tagloom.models import (
    APGGraph,
    LeastSquares,
    MultilabelStratifiedKFold,
    cross_val_scores,
    make_scorer,
    tune,
)

TOY = low_rank_toy(n=60, d=4, c=3, rate=0.7)
# One of each kind is enough here.
KINDS = list({type(learner): learner for learner in LEARNERS}.values())
GRIDS = {
    "CalibratedLearner": {"estimator__ridge": [0.1, 1.0]},
    "LeastSquares": {"ridge": [0.1, 1.0]},
    "BinaryRelevance": {"C": [0.1, 1.0]},
    "KernelSVM": {"C": [0.1, 1.0]},
    "FastTag": {"beta": [0.1, 1.0]},
    "KNeighborsTagger": {"n_neighbors": [5, 15]},
    "KernelRidge": {"ridge": [0.1, 1.0]},
    "LabelPropagation": {"alpha": [0.5, 0.8]},
    "SemanticDiffusion": {"shrinkage": [0.1, 1.0]},
}
FOLDS = MultilabelStratifiedKFold(2)

every_kind = pytest.mark.parametrize("learner", KINDS, ids=name_of)


def grid_of(learner):
    return GRIDS.get(type(learner).__name__, {"lam": [0.1, 0.3]})


@every_kind
def test_cross_val_score(learner):
    known = TOY.known
    given = {"cv": 2, "error_score": "raise"}
    plain = cross_val_score(clone(learner), TOY.X, known, **given)
    assert plain.min() > 0.5
    array = cross_val_score(
        clone(learner), TOY.X, known.to_array(), cv=KFold(2), error_score="raise"
    )
    np.testing.assert_allclose(plain, array)
    frame = pd.DataFrame(known.to_array()).astype(object)
    np.testing.assert_allclose(
        plain, cross_val_score(clone(learner), pd.DataFrame(TOY.X), frame, **given)
    )


@every_kind
def test_searches(learner):
    grid = grid_of(learner)
    searches = [
        GridSearchCV(clone(learner), grid, cv=2, error_score="raise"),
        RandomizedSearchCV(clone(learner), grid, n_iter=2, cv=2, error_score="raise"),
        HalvingGridSearchCV(
            clone(learner), grid, cv=FOLDS, min_resources=30, error_score="raise", random_state=0
        ),
    ]
    for search in searches:
        search.fit(TOY.X, TOY.known)
        assert search.best_score_ > 0.5
        assert search.best_params_.items() <= search.best_estimator_.get_params().items()
        assert search.score(TOY.X, TOY.known) > 0.7


@every_kind
def test_curves(learner):
    (name, values), *_ = grid_of(learner).items()
    given = {"cv": FOLDS, "error_score": "raise"}
    _, training, held_out = learning_curve(
        clone(learner), TOY.X, TOY.known, train_sizes=[0.7, 1.0], **given
    )
    assert training.shape == held_out.shape == (2, 2)
    _, held_out = validation_curve(
        clone(learner), TOY.X, TOY.known, param_name=name, param_range=values, **given
    )
    assert held_out.min() > 0.5


@every_kind
def test_held_out_scores_and_predictions(learner):
    scores = cross_val_scores(clone(learner), TOY.X, TOY.known, cv=2)
    assert scores.shape == TOY.truth.shape
    assert mean_average_precision(TOY.truth, scores) > 0.6
    (train, test), *_ = FOLDS.split(TOY.X, TOY.known)
    fitted = clone(learner).fit(TOY.X[train], TOY.known[train])
    np.testing.assert_allclose(scores[test], fitted.scores(TOY.X[test]), atol=1e-6)
    labels = cross_val_predict(clone(learner), TOY.X, TOY.known, cv=FOLDS)
    np.testing.assert_array_equal(labels, scores > 0.5)


@every_kind
def test_pipelines(learner):
    pipeline = make_pipeline(StandardScaler(), clone(learner))
    train_X, test_X, train_Y, test_Y = train_test_split(TOY.X, TOY.known, random_state=0)
    pipeline.fit(train_X, train_Y)
    assert pipeline.score(test_X, test_Y) > 0.5
    name = f"{type(learner).__name__.lower()}__{next(iter(grid_of(learner)))}"
    search = GridSearchCV(
        pipeline, {name: next(iter(grid_of(learner).values()))}, cv=2, error_score="raise"
    )
    assert search.fit(TOY.X, TOY.known).best_score_ > 0.5
    assert cross_val_scores(pipeline, TOY.X, TOY.known, cv=2).shape == TOY.truth.shape


def test_encoded_labels_are_refused_instead_of_unknown_becoming_a_class():
    with pytest.raises(InvalidInputError, match="cross_val_scores"):
        cross_val_predict(LeastSquares(), TOY.X, TOY.known, method="decision_function")
    with pytest.raises(InvalidInputError, match="min_resources"):
        HalvingGridSearchCV(LeastSquares(), {"ridge": [1]}, cv=FOLDS).fit(TOY.X, TOY.known)


def test_complete_labels_need_nothing_of_ours():
    complete = PartialLabels.from_array(TOY.truth)
    expected = cross_val_predict(LeastSquares(), TOY.X, TOY.truth, method="decision_function", cv=2)
    found = cross_val_predict(LeastSquares(), TOY.X, complete, method="decision_function", cv=2)
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("n_splits", [2, 3, 5])
@pytest.mark.parametrize("shuffle", [False, True])
def test_folds_share_out_presences_and_absences_of_each_label(n_splits, shuffle):
    rng = np.random.default_rng(0)
    truth = rng.random((300, 12)) < np.geomspace(0.02, 0.6, 12)
    known = hide_uniformly(PartialLabels.from_array(truth), 0.5, 0)
    folds = MultilabelStratifiedKFold(n_splits, shuffle=shuffle, random_state=0)
    tests = [test for _, test in folds.split(None, known)]
    np.testing.assert_array_equal(np.sort(np.concatenate(tests)), np.arange(300))
    counts = [known[test].counts() for test in tests]
    present = np.array([count.present for count in counts])
    # All but the most frequent label, which is dealt out last, are shared out to the last item.
    assert np.ptp(present, axis=0)[:-1].max() <= 1
    assert np.ptp([len(test) for test in tests]) <= 10


def test_a_label_with_two_presences_can_be_learned_in_each_of_two_folds():
    Y = np.full((20, 2), np.nan)
    Y[:10, 0], Y[10:, 0] = 1, 0
    Y[[3, 4], 1], Y[[5, 6, 7], 1] = 1, 0
    for train, _ in MultilabelStratifiedKFold(2).split(Y, Y):
        LeastSquares().fit(np.arange(20.0)[train, None], Y[train])
    with pytest.raises(InvalidInputError, match="no known entry"):
        cross_val_score(
            LeastSquares(), np.arange(20.0)[:, None], Y, cv=KFold(2), error_score="raise"
        )


def test_folds_of_one_column_and_of_items_without_labels():
    y = np.array(["no", "yes"] * 6)
    for train, test in MultilabelStratifiedKFold(3).split(None, y):
        assert (y[test] == "yes").sum() == 2
        assert len(train) == 8
    Y = np.vstack([np.eye(2), np.full((6, 2), np.nan)])
    assert [len(test) for _, test in MultilabelStratifiedKFold(4).split(None, Y)] == [2] * 4


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        (MultilabelStratifiedKFold(1), "'n_splits' parameter must be an integer of at least 2"),
        (MultilabelStratifiedKFold(2, shuffle=3), "'shuffle' parameter must be True or False"),
        (MultilabelStratifiedKFold(100), "100 folds need as many items at least; Y has 60"),
    ],
)
def test_impossible_folds_are_refused(folds, message):
    with pytest.raises(InvalidInputError, match=message):
        list(folds.split(TOY.X, TOY.known))


def test_scorers_count_known_entries_alone():
    model = LeastSquares().fit(TOY.X[:40], TOY.known[:40])
    rest, scores = TOY.known[40:], model.scores(TOY.X[40:])
    expected = {
        "mean_average_precision": np.nanmean(average_precision(rest, scores)),
        "roc_auc": np.nanmean(roc_auc(rest, scores)),
        "squared_error": -np.nanmean((scores - rest.to_array()) ** 2),
    }
    for name, value in expected.items():
        for y in (rest, rest.to_array(), rest.to_frame()):
            assert make_scorer(name)(model, TOY.X[40:], y) == pytest.approx(value)
    own = make_scorer(lambda truth, table: float(table[truth.states() == 1].mean()))
    assert own(model, TOY.X[40:], rest) == pytest.approx(scores[rest.to_array() == 1].mean())
    several = {name: make_scorer(name) for name in expected}
    search = GridSearchCV(LeastSquares(), {"ridge": [1.0]}, scoring=several, refit="roc_auc", cv=2)
    assert search.fit(TOY.X, TOY.known).cv_results_["mean_test_squared_error"][0] < 0


def test_scorers_of_one_column():
    y = np.where(TOY.truth[:, 0] == 1, "yes", "no")
    found = cross_val_score(LeastSquares(), TOY.X, y, cv=2, scoring=make_scorer("roc_auc"))
    theirs = cross_val_score(LeastSquares(), TOY.X, y, cv=2, scoring="roc_auc")
    np.testing.assert_allclose(found, theirs)


def test_an_unknown_metric_is_refused():
    with pytest.raises(InvalidInputError, match="metric must be one of 'mean_average_precision'"):
        make_scorer("accuracy")


def test_a_graph_of_items_is_split_with_them():
    model = APGGraph(lam=0.1, gamma=0.1)
    given = {"cv": KFold(2), "error_score": "raise"}
    params = {"graph": ItemGraph(TOY.graph)}
    found = cross_val_score(model, TOY.X, TOY.known, params=params, **given)
    expected = []
    for train, test in KFold(2).split(TOY.X):
        graph = TOY.graph[train][:, train]
        fitted = clone(model).fit(TOY.X[train], TOY.known[train], graph)
        expected.append(fitted.score(TOY.X[test], TOY.known[test]))
    np.testing.assert_allclose(found, expected)
    scores = cross_val_scores(model, TOY.X, TOY.known, cv=2, params=params)
    assert np.isfinite(scores).all()


def test_a_tuning_prints_in_one_line():
    found = repr(tune(LeastSquares(), TOY.X, TOY.known, cv=2, param_grid={"ridge": [0.5]}))
    assert found.startswith("Tuning(LeastSquares: best of 1 trials 0.")
    assert found.endswith("with {'ridge': 0.5})")
