"""Binary relevance against scikit-learn, label by label."""

import numpy as np
import pytest
import sklearn
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from toys import low_rank_toy

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, keep_presences
from tagloom.models import BinaryRelevance, ClassifierPerLabel

TOY = low_rank_toy()
LISTED = keep_presences(
    PartialLabels.from_array(TOY.truth), 0.7, unlisted=0.3, random_state=0
).with_hidden([0, 1, 2], [0, 0, 0])

LOSSES = {
    "squared_hinge": lambda t: np.maximum(0, 1 - t) ** 2,
    "hinge": lambda t: np.maximum(0, 1 - t),
    "logistic": lambda t: np.logaddexp(0, -t),
}


def objective(model, known, j):
    """The objective of one label as a function of (m, b), its intercept not penalised."""
    rows = known.states()[:, j] != -1
    z = np.where(known.states()[rows, j] == 1, 1, -1)
    X, weights, loss = TOY.X[rows], known.weights()[rows, j], LOSSES[model.loss]

    def value(v):
        m, b = v[:-1], v[-1]
        return m @ m / 2 + model.C * weights @ loss(z * (X @ m + b))

    return value


@pytest.mark.parametrize("known", [TOY.known, LISTED], ids=["entries", "weighted tag lists"])
@pytest.mark.parametrize("loss", LOSSES)
def test_minimises_with_an_intercept_that_is_hardly_penalised(loss, known):
    model = BinaryRelevance(C=0.5, loss=loss, tol=1e-5, max_iter=100_000).fit(TOY.X, known)
    for j in range(known.n_labels):
        value = objective(model, known, j)
        start = np.append(model.coef_[:, j], model.intercept_[j])
        options = {"xtol": 1e-8, "ftol": 1e-10, "maxiter": 30}
        best = minimize(value, start, method="Powell", options=options).fun
        assert best <= value(start) <= best * 1.005


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_agrees_with_scikit_learn_on_the_known_rows(loss):
    model = BinaryRelevance(C=0.5, loss=loss, tol=1e-6).fit(TOY.X, LISTED)
    weights = LISTED.weights()
    for j in range(LISTED.n_labels):
        rows = LISTED.states()[:, j] != -1
        if loss == "logistic":
            other = LogisticRegression(C=0.5, tol=1e-9, max_iter=1000)
        else:
            other = LinearSVC(C=0.5, dual=False, tol=1e-9, intercept_scaling=100, max_iter=10_000)
        other.fit(TOY.X[rows], LISTED.states()[rows, j], sample_weight=weights[rows, j])
        # LIBLINEAR's penalty moves the intercept by about a hundredth.
        np.testing.assert_allclose(model.coef_[:, j], other.coef_[0], atol=0.03)
        np.testing.assert_allclose(model.intercept_[j], other.intercept_[0], atol=0.05)


def test_scores_are_on_the_common_scale():
    by_loss = {loss: BinaryRelevance(loss=loss).fit(TOY.X, TOY.known) for loss in LOSSES}
    for loss, model in by_loss.items():
        decision = TOY.X @ model.coef_ + model.intercept_
        expected = 1 / (1 + np.exp(-decision)) if loss == "logistic" else 0.5 + decision / 2
        np.testing.assert_allclose(model.scores(TOY.X), expected)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.filterwarnings("ignore::tagloom.errors.UnlearnableLabelWarning")
def test_a_label_of_one_class_scores_a_constant(loss):
    Y = TOY.known.to_array()
    Y[:, 1] = np.where(np.isnan(Y[:, 1]), np.nan, 1.0)
    Y[:, 2] = np.where(np.isnan(Y[:, 2]), np.nan, 0.0)
    scores = BinaryRelevance(loss=loss, on_unlearnable="warn").fit(TOY.X, Y).scores(TOY.X)
    np.testing.assert_array_equal(scores[:, 1], 1.0)
    np.testing.assert_array_equal(scores[:, 2], 0.0)


@pytest.mark.parametrize("loss", LOSSES)
def test_same_bits_whatever_the_number_of_workers(loss):
    one, two = (BinaryRelevance(loss=loss, n_jobs=n).fit(TOY.X, TOY.known) for n in (None, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.intercept_, two.intercept_)


@pytest.mark.parametrize("loss", LOSSES)
def test_one_warning_says_for_how_many_labels_it_stopped_short(loss):
    with pytest.warns(ConvergenceWarning, match="for 8 of 8 labels: raise max_iter") as caught:
        BinaryRelevance(C=100.0, loss=loss, tol=1e-6, max_iter=1).fit(TOY.X, TOY.known)
    assert len(caught) == 1


@parametrize_with_checks([ClassifierPerLabel(LogisticRegression())])
def test_scikit_learn_contract_of_own_classifiers(estimator, check):
    if sklearn.__version__.startswith("1.6") and "sample_weight_equivalence" in str(check):
        pytest.skip("scikit-learn 1.6 compares fits to different classes of a binary target")
    check(estimator)


@pytest.mark.parametrize("known", [TOY.known, LISTED], ids=["entries", "tag lists"])
@pytest.mark.parametrize("classifier", [LogisticRegression(C=0.3), GaussianNB()])
def test_own_classifiers_see_the_known_entries_of_each_label_with_their_weights(classifier, known):
    scores = ClassifierPerLabel(classifier).fit(TOY.X, known).scores(TOY.X)
    states, weights = known.states(), known.weights()
    for j in range(known.n_labels):
        rows = states[:, j] != -1
        alone = clone(classifier).fit(TOY.X[rows], states[rows, j], weights[rows, j])
        p = alone.predict_proba(TOY.X)[:, 1]
        np.testing.assert_array_equal(np.argsort(scores[:, j]), np.argsort(p))
        np.testing.assert_array_equal(scores[:, j] > 0.5, p > 0.5)
    assert 0 < scores.min() < scores.max() < 1


def test_own_classifiers_score_labels_that_cannot_be_learned_as_constants():
    Y = TOY.known.to_array()
    Y[:, 1], Y[:, 2] = np.where(Y[:, 1] == 1, 1, np.nan), np.nan
    model = ClassifierPerLabel(LogisticRegression(), on_unlearnable="ignore").fit(TOY.X, Y)
    np.testing.assert_array_equal(model.scores(TOY.X)[:, 1:3], np.tile([1.0, 0.0], (120, 1)))


def test_own_classifiers_without_weights_are_refused_only_where_weights_differ():
    model = ClassifierPerLabel(KNeighborsClassifier())
    model.fit(TOY.X, TOY.known)
    with pytest.raises(InvalidInputError, match="KNeighborsClassifier takes no sample_weight"):
        model.fit(TOY.X, LISTED)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [(Ridge(), "Ridge has neither decision_function nor predict_proba"), (3, "got 3")],
)
def test_what_cannot_rank_items_is_refused(estimator, message):
    with pytest.raises(InvalidInputError, match=message):
        ClassifierPerLabel(estimator).fit(TOY.X, TOY.known)
