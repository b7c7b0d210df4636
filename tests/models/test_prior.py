"""Prior scores: a column of each label's own, trusted as far as the examples support it."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import clone
from toys import forms_of_knowledge, low_rank_toy

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, hide_per_class
from tagloom.models import APGGraph, LeastSquares, SemanticDiffusion, tune
from tagloom.models.prior import shrunk_trust

TOY = low_rank_toy()
KNOWN = forms_of_knowledge(TOY)
NEW = np.random.default_rng(3).normal(size=(5, TOY.X.shape[1]))
LEARNERS = [LeastSquares(ridge=0.7), SemanticDiffusion(ridge=0.7, n_neighbors=6)]


def some_prior(n=None, seed=0, without=(2, 5)):
    """Noisy prior scores of all labels but some; those of the training items hold the truth."""
    rng = np.random.default_rng(seed)
    truth = TOY.truth if n is None else rng.integers(0, 2, (n, TOY.truth.shape[1]))
    prior = np.clip(0.6 * truth + rng.normal(scale=0.3, size=truth.shape), 0, 1)
    prior[:, list(without)] = np.nan
    return prior


PRIOR, NEW_PRIOR = some_prior(), some_prior(len(NEW))
LINKED = ~np.isnan(PRIOR).all(axis=0)


def objective(known, model, M, b, theta, common, prior):
    """What LeastSquares minimises, over all labels."""
    W, Y = known.weights(), np.nan_to_num(known.to_array())
    scores = TOY.X @ M + b + np.nan_to_num(prior) * theta
    fit = 0.5 * np.sum(W * (scores - Y) ** 2) + 0.5 * model.ridge * np.sum(M**2)
    return fit + 0.5 * model.prior_shrinkage * np.sum((theta[LINKED] - common) ** 2)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("name", KNOWN)
def test_least_squares_minimises_the_joint_objective(name, fit_intercept):
    known = KNOWN[name]
    model = LeastSquares(0.7, prior_shrinkage=2.0, fit_intercept=fit_intercept)
    model.fit(TOY.X, known, PRIOR)
    theta = np.nan_to_num(model.trust_)
    assert (theta[LINKED] > 0).all()  # else a bound would be active
    shapes = [model.coef_.shape, model.intercept_.shape, theta[LINKED].shape, ()]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])

    def value(flat):
        M, b, free, common = (
            part.reshape(shape)
            for part, shape in zip(np.split(flat, ends[:-1]), shapes, strict=True)
        )
        full = np.zeros(len(b))
        full[LINKED] = free
        return objective(known, model, M, b if fit_intercept else 0 * b, full, common, PRIOR)

    common = theta[LINKED].mean()
    found = np.concatenate([model.coef_.ravel(), model.intercept_, theta[LINKED], [common]])
    best = minimize(value, found, method="L-BFGS-B", options={"maxiter": 30})
    assert value(found) <= best.fun + 1e-7 * (1 + abs(best.fun))


@pytest.mark.parametrize("weight", [0.0, 0.3])
@pytest.mark.parametrize("name", KNOWN)
def test_a_weight_is_the_mean_of_the_fits_with_and_without_prior_scores(name, weight):
    with_prior = LeastSquares(0.7).fit(TOY.X, KNOWN[name], PRIOR)
    without = LeastSquares(0.7).fit(TOY.X, KNOWN[name])
    model = LeastSquares(0.7, prior_weight=weight).fit(TOY.X, KNOWN[name], PRIOR)
    expected = weight * with_prior.scores(NEW, NEW_PRIOR) + (1 - weight) * without.scores(NEW)
    np.testing.assert_allclose(model.scores(NEW, NEW_PRIOR), expected, atol=1e-9)


@pytest.mark.parametrize("name", KNOWN)
def test_labels_without_prior_scores_keep_their_bits(name):
    without = LeastSquares(0.7).fit(TOY.X, KNOWN[name])
    model = LeastSquares(0.7).fit(TOY.X, KNOWN[name], PRIOR)
    np.testing.assert_array_equal(model.coef_[:, ~LINKED], without.coef_[:, ~LINKED])
    np.testing.assert_array_equal(model.intercept_[~LINKED], without.intercept_[~LINKED])
    assert np.isnan(model.trust_[~LINKED]).all()
    assert not np.array_equal(model.coef_[:, LINKED], without.coef_[:, LINKED])


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_prior_that_says_nothing_changes_no_bit(learner):
    without = clone(learner).fit(TOY.X, TOY.known)
    nothing = np.full(TOY.truth.shape, np.nan)
    model = clone(learner).fit(TOY.X, TOY.known, nothing)
    assert model.trust_ is None
    np.testing.assert_array_equal(model.scores(NEW), without.scores(NEW))
    np.testing.assert_array_equal(model.scores(NEW, nothing[: len(NEW)]), without.scores(NEW))


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_good_prior_helps_new_items(learner):
    rng = np.random.default_rng(1)
    X, truth = rng.normal(size=(300, 4)), (rng.random((300, 3)) < 0.3).astype(float)
    prior = np.clip(0.7 * truth + 0.2 * rng.random((300, 3)), 0, 1)
    known = hide_per_class(PartialLabels.from_array(truth[:200]), 0.3, 0)
    test = PartialLabels.from_array(truth[200:])
    plain = clone(learner).fit(X[:200], known)
    model = clone(learner).fit(X[:200], known, prior[:200])
    assert model.score(X[200:], test, prior=prior[200:]) > 0.9 > 0.6 > plain.score(X[200:], test)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_label_without_examples_is_ranked_by_its_prior(learner):
    table = np.array(TOY.known.to_array())
    table[:, 3] = np.nan
    model = clone(learner).set_params(on_unlearnable="ignore").fit(TOY.X, table, PRIOR)
    others = np.delete(model.trust_[LINKED], 3 - 1)
    assert others.min() <= model.trust_[3] <= others.max()
    halved = clone(model).set_params(prior_weight=0.5).fit(TOY.X, table, PRIOR)
    assert halved.trust_[3] == model.trust_[3]  # there is no fit without prior scores to average
    assert halved.trust_[0] == model.trust_[0] / 2
    if isinstance(learner, LeastSquares):
        scores = model.scores(NEW, NEW_PRIOR)[:, 3]
        np.testing.assert_allclose(scores, model.trust_[3] * NEW_PRIOR[:, 3])
    absent = np.where(np.isnan(table), np.nan, table)
    absent[:50, 3] = 0.0  # known only to be absent: as little of it is known
    model = clone(learner).set_params(on_unlearnable="ignore").fit(TOY.X, absent, PRIOR)
    assert model.trust_[3] > 0


@pytest.mark.parametrize("learner", LEARNERS)
def test_misleading_prior_scores_are_ignored(learner):
    model = clone(learner).fit(TOY.X, TOY.known, 1 - PRIOR)
    np.testing.assert_array_equal(model.trust_[LINKED], 0.0)


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_public_method_takes_the_prior(learner):
    model = clone(learner).fit(TOY.X, TOY.known, PRIOR)
    scores = model.scores(NEW, NEW_PRIOR)
    np.testing.assert_array_equal(model.predict(NEW, NEW_PRIOR), (scores > 0.5).astype(int))
    np.testing.assert_array_equal(model.decision_function(NEW, NEW_PRIOR), scores - 0.5)
    unknown = np.full(scores.shape, np.nan)
    filled = model.complete(NEW, unknown, fill="scores", prior=NEW_PRIOR)
    np.testing.assert_array_equal(filled, scores)
    assert model.training_scores(TOY.X, PRIOR).shape == TOY.truth.shape


@pytest.mark.parametrize("learner", LEARNERS)
def test_columns_with_names_are_matched_by_name(learner):
    names = [f"label {j}" for j in range(TOY.truth.shape[1])]
    Y = pd.DataFrame(TOY.known.to_array(), columns=names)
    prior = pd.DataFrame(PRIOR, columns=names)
    model = clone(learner).fit(TOY.X, Y, prior)
    other = clone(learner).fit(TOY.X, Y, prior[names[::-1]])
    np.testing.assert_array_equal(model.trust_, other.trust_)
    with pytest.raises(InvalidInputError, match="columns of prior must be the labels"):
        clone(learner).fit(TOY.X, Y, prior[names[1:]])


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (PRIOR[:-1], "one row for each item"),
        (PRIOR[:, 1:], "a column for each of the 8 labels"),
        (np.where(np.arange(len(PRIOR))[:, None] > 3, PRIOR, np.nan), "NaN for every item"),
        (np.where(LINKED, np.inf, PRIOR), "finite score"),
        ([["high"] * 8] * len(PRIOR), "table of numbers"),
    ],
)
def test_bad_prior_scores_are_refused(prior, message):
    with pytest.raises(InvalidInputError, match=message):
        LeastSquares().fit(TOY.X, TOY.known, prior)


@pytest.mark.parametrize("learner", LEARNERS)
def test_new_items_need_the_prior_scores_that_fit_had(learner):
    model = clone(learner).fit(TOY.X, TOY.known, PRIOR)
    with pytest.raises(InvalidInputError, match="fitted with prior scores"):
        model.scores(NEW)
    lacking = NEW_PRIOR.copy()
    lacking[:, 0] = np.nan
    with pytest.raises(InvalidInputError, match="Missing: 0"):
        model.scores(NEW, lacking)
    with pytest.raises(InvalidInputError, match="without prior scores"):
        clone(learner).fit(TOY.X, TOY.known).scores(NEW, NEW_PRIOR)
    more = np.where(np.isnan(NEW_PRIOR), 0.5, NEW_PRIOR)
    np.testing.assert_array_equal(model.scores(NEW, more), model.scores(NEW, NEW_PRIOR))


def test_learners_that_take_none_say_so():
    with pytest.raises(InvalidInputError, match="APGGraph takes no prior"):
        tune(APGGraph(), TOY.X, TOY.known, prior=PRIOR)
    with pytest.raises(InvalidInputError, match="lam=0"):
        SemanticDiffusion(lam=0.3).fit(TOY.X, TOY.known, PRIOR)


def test_a_warm_start_with_prior_scores_gives_the_same_bits():
    warm = SemanticDiffusion(n_neighbors=6, warm_start=True)
    for prior, changes in (
        (PRIOR, {}),
        (PRIOR, {"smoothing": 0.2}),
        (PRIOR, {"prior_shrinkage": 1.0}),
        (PRIOR, {"prior_weight": 0.2}),
        (some_prior(seed=1), {}),
        (some_prior(seed=1, without=(0,)), {"shrinkage": 1.0}),
        (None, {}),
    ):
        warm.set_params(**changes).fit(TOY.X, TOY.known, prior)
        cold = clone(warm).set_params(warm_start=False).fit(TOY.X, TOY.known, prior)
        np.testing.assert_array_equal(warm.training_scores(TOY.X), cold.training_scores(TOY.X))


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_saved_and_loaded_they_are_the_same(learner, dtype, tmp_path):
    X = TOY.X.astype(dtype)
    model = clone(learner).fit(X, TOY.known, PRIOR)
    model.save(tmp_path / "m")
    loaded = type(learner).load(tmp_path / "m")
    new = NEW.astype(dtype)
    scores = model.scores(new, NEW_PRIOR)
    assert scores.dtype == dtype
    np.testing.assert_array_equal(loaded.scores(new, NEW_PRIOR), scores)
    np.testing.assert_array_equal(loaded.training_scores(X, PRIOR), model.training_scores(X, PRIOR))
    np.testing.assert_array_equal(loaded.trust_, model.trust_)


def test_the_search_takes_prior_scores():
    for learner in (LeastSquares(), SemanticDiffusion(n_neighbors=6)):
        found = tune(learner, TOY.X, TOY.known, prior=PRIOR, cv=2)
        single = clone(learner).set_params(**found.best.params).fit(TOY.X, TOY.known, PRIOR)
        np.testing.assert_array_equal(
            found.model.training_scores(TOY.X, PRIOR), single.training_scores(TOY.X, PRIOR)
        )
        without = tune(learner, TOY.X, TOY.known, cv=2)
        assert found.best.pooled > without.best.pooled


@pytest.mark.parametrize("learner", [LeastSquares(), SemanticDiffusion(warm_start=True)])
def test_a_path_gives_the_bits_of_separate_fits(learner):
    path = [
        {"ridge": ridge, "prior_shrinkage": mu, **more}
        for ridge in (0.3, 3.0)
        for mu in (1.0, 50.0)
        for more in [{} if isinstance(learner, LeastSquares) else {"shrinkage": 1.0}]
    ]
    inputs = {"prior": PRIOR}
    for params, fitted in zip(
        path, clone(learner).fit_path(path, TOY.X, TOY.known, inputs), strict=True
    ):
        alone = clone(learner).set_params(**params).fit(TOY.X, TOY.known, PRIOR)
        np.testing.assert_array_equal(fitted.coef_, alone.coef_)
        np.testing.assert_array_equal(fitted.trust_, alone.trust_)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(
        st.tuples(st.floats(-5, 5), st.one_of(st.just(0.0), st.floats(0.01, 100))),
        min_size=1,
        max_size=6,
    ),
    st.floats(0.01, 1000),
)
def test_trust_lies_between_that_of_the_label_and_the_common_one(sums, mu):
    p, q = (np.array(column) for column in zip(*sums, strict=True))
    each, common = shrunk_trust(p, q, mu)
    assert common >= 0
    assert (each >= 0).all()
    own = np.maximum(0, np.divide(p, q, out=np.full_like(p, common), where=q > 0))
    assert (each >= np.minimum(own, common) - 1e-9).all()
    assert (each <= np.maximum(own, common) + 1e-9).all()
    np.testing.assert_array_equal(each[q == 0], common)


def test_strong_shrinkage_is_one_trust_and_weak_shrinkage_each_its_own():
    p, q = np.array([1.0, 4.0]), np.array([2.0, 4.0])
    np.testing.assert_allclose(shrunk_trust(p, q, 1e9).each, 5 / 6)
    np.testing.assert_allclose(shrunk_trust(p, q, 1e-9).each, [0.5, 1.0])
    assert shrunk_trust(p, 0 * q, 1.0).common == 1.0
