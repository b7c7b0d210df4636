"""What a user relies on, whichever learner it is."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
import sklearn
from learners import LEARNERS, name_of
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version
from toys import forms_of_knowledge, low_rank_toy

from tagloom.errors import InvalidInputError, UnlearnableLabelWarning
from tagloom.labels import PartialLabels, keep_presences
from tagloom.metrics import mean_average_precision
from tagloom.models import (
    APGGraph,
    BinaryRelevance,
    ClassifierPerLabel,
    FastTag,
    KernelRidge,
    LeastSquares,
    Maxide,
    tune,
)
from tagloom.models.base import alternatives

TOY = low_rank_toy()
HIDDEN = np.where(TOY.known.states() == -1, TOY.truth, np.nan)
NAMES = [f"label {j}" for j in range(8)]

every_learner = pytest.mark.parametrize("learner", LEARNERS, ids=name_of)


@cache
def fitted(learner):
    """Return the learner fitted to the toy; many tests look at it, and none may change it."""
    return clone(learner).fit(TOY.X, TOY.known)


@cache
def tuned(learner):
    """Return the search over the default grid of the learner, for the tests that look at it."""
    return tune(learner, TOY.X, TOY.known, cv=2)


# Solved in closed form, or by a fixed number of equal steps: a weight of 2 is an item twice.
EXACT = (
    "LeastSquares()",
    "APGGraph(solver='paper')",
    "Maxide(lam=0.3, solver='published')",
    "KernelRidge(gamma=1.0, kernel='linear', ridge=1.0)",
)


def expected_failures(learner) -> dict[str, str]:
    """Others solve to a tolerance, or find neighbours and scales among the rows that there are."""
    if repr(learner) in EXACT:
        return {}
    kinds = ("dense", "sparse") if learner.takes_sparse else ("dense",)
    check = "check_sample_weight_equivalence_on_{}_data"
    return {check.format(kind): "weights are not repeated rows here" for kind in kinds}


@parametrize_with_checks(
    [learner for learner in LEARNERS if not isinstance(learner, FastTag)],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_contract_with_weights(estimator, check):
    if "sample_weight_equivalence" in str(check) and parse_version(sklearn.__version__).minor < 9:
        pytest.skip("Older checks compare fits to different classes where there are only two.")
    check(estimator)


@parametrize_with_checks([learner for learner in LEARNERS if isinstance(learner, FastTag)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@every_learner
def test_recovers_what_is_hidden(learner):
    scores = fitted(learner).training_scores(TOY.X)
    assert mean_average_precision(HIDDEN, scores) > 0.75
    constant = np.tile(TOY.truth.mean(axis=0), (len(TOY.X), 1))
    assert mean_average_precision(HIDDEN, constant) < 0.6


@every_learner
def test_predicts_new_rows(learner):
    half = clone(learner).fit(TOY.X[:60], TOY.truth[:60])
    assert mean_average_precision(TOY.truth[60:], half.scores(TOY.X[60:])) > 0.75


@every_learner
def test_learns_from_tag_lists(learner):
    truth = PartialLabels.from_array(TOY.truth)
    for unlisted in ("absent", 0.3):
        listed = keep_presences(truth, 0.7, unlisted=unlisted, random_state=0)
        scores = clone(learner).fit(TOY.X, listed).training_scores(TOY.X)
        assert mean_average_precision(TOY.truth, scores) > 0.75


@every_learner
def test_nan_array_frame_and_partial_labels_give_the_same_model(learner):
    array = TOY.known.to_array()
    labelled = [
        clone(learner).fit(TOY.X, Y).scores(TOY.X)
        for Y in (array, pd.DataFrame(array), array.astype(object))
    ]
    for scores in labelled:
        np.testing.assert_array_equal(scores, fitted(learner).scores(TOY.X))


@every_learner
def test_unknown_is_not_absent(learner):
    array = TOY.known.to_array()
    unknown = fitted(learner).scores(TOY.X)
    absent = clone(learner).fit(TOY.X, np.nan_to_num(array)).scores(TOY.X)
    if learner.unknown_is_absent:
        np.testing.assert_array_equal(unknown, absent)
    else:
        assert unknown.mean() > absent.mean() + 0.1


@every_learner
def test_unlabelled_rows_are_allowed(learner):
    X = np.vstack([TOY.X, TOY.X[:40] + 0.01])
    Y = np.vstack([TOY.known.to_array(), np.full((40, 8), np.nan)])
    model = clone(learner).fit(X, Y)
    assert mean_average_precision(HIDDEN, model.scores(X)[:120]) > 0.7


@every_learner
def test_the_order_of_rows_does_not_matter(learner):
    order = np.random.default_rng(1).permutation(120)
    straight = fitted(learner).scores(TOY.X)
    shuffled = clone(learner).fit(TOY.X[order], TOY.known.take(order)).scores(TOY.X)
    # The dual of the hinge loss is solved only as far as its tolerance, in an order of its own, and
    # landmarks and folds are drawn by their position.
    by_order = getattr(learner, "loss", None) == "hinge" or getattr(learner, "n_components", None)
    atol = 0.25 if hasattr(learner, "n_splits") else 0.1 if by_order else 1e-6
    np.testing.assert_allclose(shuffled, straight, atol=atol)


@every_learner
def test_the_order_of_labels_does_not_matter(learner):
    straight = fitted(learner).scores(TOY.X)
    turned = clone(learner).fit(TOY.X, TOY.known.select(range(7, -1, -1))).scores(TOY.X)
    np.testing.assert_allclose(turned[:, ::-1], straight, atol=1e-6)


@every_learner
def test_same_data_same_bits(learner):
    first, second = fitted(learner), clone(learner).fit(TOY.X, TOY.known)
    np.testing.assert_array_equal(first.scores(TOY.X), second.scores(TOY.X))
    np.testing.assert_array_equal(first.training_scores(TOY.X), second.training_scores(TOY.X))


@every_learner
def test_single_precision_in_single_precision_out(learner):
    double = fitted(learner).scores(TOY.X)
    single = (
        clone(learner).fit(TOY.X.astype(np.float32), TOY.known).scores(TOY.X.astype(np.float32))
    )
    assert double.dtype == np.float64
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, atol=0.02)


@every_learner
def test_offset_features_make_no_difference(learner):
    near = fitted(learner).scores(TOY.X)
    far = clone(learner).fit(TOY.X + 1000.0, TOY.known).scores(TOY.X + 1000.0)
    np.testing.assert_allclose(far, near, atol=1e-3)


@every_learner
def test_pandas_in_pandas_out_with_names(learner):
    X = pd.DataFrame(TOY.X, index=[f"{i}.jpg" for i in range(120)]).add_prefix("f")
    Y = pd.DataFrame(TOY.known.to_array(), index=X.index, columns=NAMES)
    model = clone(learner).fit(X, Y)
    assert list(model.classes_) == NAMES
    for answer in (
        model.predict(X),
        model.scores(X),
        model.training_scores(X),
        model.decision_function(X),
    ):
        assert list(answer.columns) == NAMES
        assert list(answer.index) == list(X.index)
    shuffled = model.complete(X, Y[NAMES[::-1]])
    pd.testing.assert_frame_equal(shuffled, model.complete(X, Y))


@pytest.mark.parametrize(
    ("learner", "library"),
    [(learner, "polars") for learner in LEARNERS] + [(LeastSquares(), "pyarrow")],
    ids=str,
)
def test_tables_of_other_libraries_come_back(learner, library):
    module = pytest.importorskip(library)
    table = module.DataFrame if library == "polars" else module.table
    X = table({f"f{k}": TOY.X[:, k] for k in range(10)})
    Y = table({name: TOY.known.to_frame()[j].tolist() for j, name in enumerate(NAMES)})
    model = clone(learner).fit(X, Y)
    assert list(model.classes_) == NAMES
    assert list(model.feature_names_in_) == [f"f{k}" for k in range(10)]
    found = model.scores(X)
    assert type(found) is type(X)
    expected = fitted(learner).scores(TOY.X)
    columns = np.column_stack([found[name] for name in NAMES])
    np.testing.assert_allclose(columns, expected, atol=1e-6)


@every_learner
def test_arrays_of_other_libraries_are_read(learner):
    strict = pytest.importorskip("array_api_strict")
    X, Y = strict.asarray(TOY.X), strict.asarray(TOY.known.to_array())
    expected = fitted(learner).scores(TOY.X)
    np.testing.assert_array_equal(clone(learner).fit(X, Y).scores(X), expected)


SPARSE_X = np.where(np.abs(TOY.X) < 1, 0, TOY.X)


@every_learner
def test_sparse_features_give_the_same_or_a_clear_error(learner):
    X = sparse.csc_matrix(SPARSE_X)
    if not learner.takes_sparse:
        with pytest.raises(InvalidInputError, match=r"needs dense features.*LeastSquares, Binary"):
            clone(learner).fit(X, TOY.known)
        with pytest.raises(InvalidInputError, match="needs dense features"):
            clone(learner).fit(SPARSE_X, TOY.known).scores(X)
        return
    # LIBLINEAR penalises the intercept, and only dense rows are centred.
    atol = 0.2 if isinstance(learner, BinaryRelevance) else 1e-6
    for known in forms_of_knowledge(TOY).values():
        dense = clone(learner).fit(SPARSE_X, known)
        found = clone(learner).fit(X, known)
        np.testing.assert_allclose(found.scores(X), dense.scores(SPARSE_X), atol=atol)
        np.testing.assert_array_equal(dense.predict(X), dense.predict(SPARSE_X))
    single = clone(learner).fit(X.astype(np.float32), TOY.known).scores(X.astype(np.float32))
    assert single.dtype == np.float32


@pytest.mark.parametrize("learner", [LeastSquares(), APGGraph(), BinaryRelevance()], ids=name_of)
def test_sparse_features_are_searched_over(learner):
    X = sparse.csr_array(SPARSE_X)
    dense = learner.default_param_grid(SPARSE_X, TOY.known, TOY.graph)
    for stage, expected in zip(
        learner.default_param_grid(X, TOY.known, TOY.graph), dense, strict=True
    ):
        for name, values in stage.items():
            np.testing.assert_allclose(values, expected[name], rtol=1e-6)
    assert tune(learner, X, TOY.known, cv=2).model.score(X, TOY.truth) > 0.7


def test_least_squares_needs_no_table_of_all_pairs_of_sparse_features():
    rng = np.random.default_rng(0)
    at = rng.integers(60, size=12_000), rng.integers(200_000, size=12_000)
    X = sparse.csr_array((rng.random(12_000), at), shape=(60, 200_000))
    Y = (X[:, :1000].sum(axis=1) > X[:, 1000:2000].sum(axis=1)).astype(float)[:, None]
    model = LeastSquares(ridge=1e-6).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), Y)
    with pytest.raises(InvalidInputError, match=r"200,000 sparse features.*TruncatedSVD"):
        APGGraph().fit(X, Y)
    with pytest.raises(InvalidInputError, match="Prior scores are taken with dense features only"):
        LeastSquares().fit(X, Y, prior=Y)


@every_learner
def test_sample_weight_multiplies_the_weights_of_known_labels(learner):
    if isinstance(learner, FastTag):
        return
    weight = np.random.default_rng(0).integers(0, 4, size=120)
    found = clone(learner).fit(TOY.X, TOY.known, sample_weight=weight).scores(TOY.X)
    weighted = TOY.known.with_item_weights(weight)
    np.testing.assert_array_equal(found, clone(learner).fit(TOY.X, weighted).scores(TOY.X))
    assert np.abs(found - fitted(learner).scores(TOY.X)).max() > 0.05


@pytest.mark.parametrize(
    "learner",
    [
        LeastSquares(),
        APGGraph(lam=0.3, tol=1e-9),
        Maxide(lam=0.3, tol=1e-7),
        KernelRidge("linear", gamma=1.0),
    ],
    ids=name_of,
)
def test_a_weight_of_two_is_an_item_twice(learner):
    weight = np.random.default_rng(0).integers(0, 4, size=120)
    rows = np.repeat(np.arange(120), weight)
    found = clone(learner).fit(TOY.X, TOY.known, sample_weight=weight).scores(TOY.X)
    repeated = clone(learner).fit(TOY.X[rows], TOY.known[rows]).scores(TOY.X)
    np.testing.assert_allclose(found, repeated, atol=2e-3)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(7), r"one weight for each of the 120 items; found shape \(7,\)"),
        (np.full(120, -1.0), "at least 0; found -1.0 for item 0, and 120 such weights"),
        (np.full(120, np.nan), "must be finite"),
        (np.zeros(120), "every item with a known label is zero"),
        (["a"] * 120, "must be numbers"),
    ],
)
def test_bad_weights_are_refused(weight, message):
    with pytest.raises(InvalidInputError, match=message):
        LeastSquares().fit(TOY.X, TOY.known, sample_weight=weight)


def test_weights_of_items_and_of_unlisted_tags_are_not_mixed():
    listed = keep_presences(PartialLabels.from_array(TOY.truth), 0.7, unlisted=0.3, random_state=0)
    with pytest.raises(InvalidInputError, match=r"absent with one weight for all of them, 0\.3"):
        LeastSquares().fit(TOY.X, listed, sample_weight=np.ones(120))


def test_score_counts_items_by_their_weight():
    model = LeastSquares().fit(TOY.X, TOY.known)
    weight = np.random.default_rng(0).integers(0, 3, size=120)
    rows = np.repeat(np.arange(120), weight)
    found = model.score(TOY.X, TOY.known, sample_weight=weight)
    assert found == pytest.approx(model.score(TOY.X[rows], TOY.known[rows]))
    assert model.score(TOY.X, TOY.known, np.ones(120)) == pytest.approx(
        model.score(TOY.X, TOY.known)
    )


@every_learner
def test_probabilities_or_what_to_do_instead(learner):
    model = fitted(learner)
    if not hasattr(model, "predict_proba"):
        with pytest.raises(AttributeError) as error:
            model.predict_proba(TOY.X)
        assert f"CalibratedLearner({type(learner).__name__}(...))" in str(error.value.__cause__)
        return
    chances = model.predict_proba(TOY.X)
    assert chances.shape == TOY.truth.shape
    assert chances.min() >= 0
    assert chances.max() <= 1
    np.testing.assert_array_equal(chances > 0.5, model.predict(TOY.X) == 1)
    y = np.where(TOY.truth[:, 0] == 1, "yes", "no")
    both = clone(learner).fit(TOY.X, y).predict_proba(TOY.X)
    assert both.shape == (120, 2)
    np.testing.assert_allclose(both.sum(axis=1), 1)


def test_classifiers_of_ones_own_give_their_probabilities():
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    own = ClassifierPerLabel(LogisticRegression()).fit(TOY.X, TOY.known)
    first = own.estimators_[0].predict_proba(TOY.X)[:, 1]
    np.testing.assert_array_equal(own.predict_proba(TOY.X)[:, 0], first)
    assert not hasattr(ClassifierPerLabel(LinearSVC()), "predict_proba")


@every_learner
def test_complete_fills_only_what_is_unknown(learner):
    model = fitted(learner)
    before = TOY.known.to_array()
    was_known = ~np.isnan(before)
    labels = model.complete(TOY.X, before)
    np.testing.assert_array_equal(labels[was_known], before[was_known])
    np.testing.assert_array_equal(labels[~was_known], model.predict(TOY.X)[~was_known])
    scores = model.complete(TOY.X, TOY.known, fill="scores")
    np.testing.assert_array_equal(scores[was_known], before[was_known])
    np.testing.assert_array_equal(scores[~was_known], model.scores(TOY.X)[~was_known])


@every_learner
def test_decision_function_is_positive_where_predict_predicts_presence(learner):
    model = fitted(learner)
    np.testing.assert_array_equal(model.decision_function(TOY.X) > 0, model.predict(TOY.X) == 1)


@every_learner
def test_its_default_param_grid_is_small_and_can_be_tuned(learner):
    stages = learner.default_param_grid(TOY.X, TOY.known)
    grids = [grid for stage in stages for grid in alternatives(stage)]
    assert 2 <= sum(int(np.prod([len(v) for v in grid.values()])) for grid in grids) <= 21
    tuning = tuned(learner)
    assert set(tuning.best.params) == {name for grid in grids for name in grid}
    assert mean_average_precision(HIDDEN, tuning.model.training_scores(TOY.X)) > 0.75


@every_learner
def test_its_default_param_grid_follows_the_scale_of_the_features(learner):
    expected = tuned(learner)
    scaled = tune(learner, 100 * TOY.X, TOY.known, cv=2)
    assert scaled.best.mean == pytest.approx(expected.best.mean, abs=0.02)


def with_column(value):
    Y = TOY.known.to_array()
    Y[:, 3] = value
    return Y


ONLY_ABSENT = with_column(0.0)
NOTHING_KNOWN = with_column(np.nan)


@every_learner
@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        (np.where(TOY.X[0, 0] == TOY.X, np.nan, TOY.X), TOY.known, "X contains NaN"),
        (np.where(TOY.X[0, 0] == TOY.X, np.inf, TOY.X), TOY.known, "X contains infinity"),
        (TOY.X, np.where(TOY.truth == 1, 2.0, 0.0), r"row \d+, column \d+|2\.0"),
        (TOY.X, ONLY_ABSENT, r"1 of 8 labels are known only to be absent.*They are: 3\."),
        (TOY.X[:0], TOY.truth[:0], r"0 sample\(s\)"),
        (TOY.X[:, :0], TOY.known, r"0 feature\(s\)"),
        (TOY.X[:50], TOY.known, "X has 50 rows, Y has 120"),
        (TOY.X, TOY.truth[:, :0], "at least one label"),
        (TOY.X, np.full((120, 8), np.nan), "Y is all unknown: none of its 120 x 8 entries"),
        (TOY.X, None, "requires y to be passed"),
        (TOY.X, np.arange(120) % 3, "one column for each class"),
        (TOY.X, np.zeros(120), "only one class"),
        (TOY.X, sparse.csr_array(TOY.truth), "from_sparse"),
        (TOY.X, [["sea", "sky"]] * 120, "from_tags"),
    ],
)
def test_bad_training_data_is_refused_with_a_clear_message(learner, X, Y, message):
    with pytest.raises(ValueError, match=message):
        clone(learner).fit(X, Y)


@every_learner
def test_a_label_without_known_entries_is_refused(learner):
    # To FastTag such a label is one that no item has.
    what = "known only to be absent" if learner.unknown_is_absent else "no known entry"
    with pytest.raises(InvalidInputError, match=rf"1 of 8 labels .*{what}.*They are: 3\."):
        clone(learner).fit(TOY.X, NOTHING_KNOWN)


@every_learner
@pytest.mark.parametrize("Y", [NOTHING_KNOWN, ONLY_ABSENT], ids=["unknown", "absent"])
def test_unlearnable_labels_can_be_kept_beside_the_others(learner, Y):
    model = clone(learner).set_params(on_unlearnable="warn")
    with pytest.warns(UnlearnableLabelWarning, match=r"They are: 3\."):
        model.fit(TOY.X, Y)
    np.testing.assert_array_equal(np.flatnonzero(~model.learnable_), [3])
    scores = model.scores(TOY.X)
    np.testing.assert_allclose(scores[:, 3], 0, atol=1e-6)
    assert mean_average_precision(TOY.truth[:, :3], scores[:, :3]) > 0.75


@every_learner
def test_bad_parameters_are_refused_in_fit(learner):
    for name, given in learner.get_params(deep=False).items():
        if not isinstance(given, int | float | str):
            continue
        model = clone(learner).set_params(**{name: [given]})
        message = f"The '{name}' parameter of {type(learner).__name__} must be"
        with pytest.raises(InvalidInputError, match=message):
            model.fit(TOY.X, TOY.known)


@every_learner
def test_clone_keeps_parameters_and_fit_changes_none(learner):
    model = clone(learner)
    before = repr(model.get_params())
    model.fit(TOY.X, TOY.known)
    assert repr(clone(model).get_params()) == repr(model.get_params()) == before


@every_learner
def test_unfitted_learners_raise(learner):
    with pytest.raises(NotFittedError):
        clone(learner).scores(TOY.X)


@pytest.mark.parametrize("kind", [LeastSquares, BinaryRelevance, FastTag])
def test_features_whose_squares_overflow_are_refused(kind):
    with pytest.raises(InvalidInputError, match="features are too large: the largest is"):
        kind().fit(TOY.X * 1e200, TOY.known)


@pytest.mark.parametrize("kind", [LeastSquares, BinaryRelevance, KernelRidge])
@pytest.mark.parametrize("n_jobs", [0, 1.5, True])
def test_an_invalid_n_jobs_is_refused(kind, n_jobs):
    with pytest.raises(InvalidInputError, match=r"'n_jobs' parameter of .* other than 0"):
        kind(n_jobs=n_jobs).fit(TOY.X, TOY.known)


@every_learner
@pytest.mark.parametrize("scale", [1e76, 1e150, 1e155])
def test_features_that_cannot_be_computed_with_are_refused(learner, scale):
    with pytest.raises(InvalidInputError, match="features are too large: the largest is"):
        clone(learner).fit(TOY.X * scale, TOY.known)


@pytest.mark.parametrize("learner", [APGGraph(), Maxide()], ids=repr)
def test_scales_at_which_eigenvalues_would_not_converge_are_refused(learner):
    rng = np.random.default_rng(28)
    shape = int(rng.integers(10, 30)), int(rng.integers(2, 7))
    X = rng.normal(size=shape) * 10.0 ** rng.uniform(-140, 140, size=shape[1])
    Y = np.where(rng.random((shape[0], 3)) < 0.7, rng.random((shape[0], 3)) < 0.5, np.nan)
    Y[:2] = [[1] * 3, [0] * 3]
    with pytest.raises(InvalidInputError, match="features are too large"):
        learner.fit(X, Y)
