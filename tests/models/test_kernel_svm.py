"""The support vector machines of `KernelSVM` against scikit-learn's SVC, label by label."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.svm import SVC
from toys import forms_of_knowledge, low_rank_toy

from tagloom.models import KernelSVM, kernel_svm, kernels

TOY = low_rank_toy()
KNOWN = forms_of_knowledge(TOY)
every_form = pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
# In its own memory, for each label alone, and by LIBSVM itself.
every_size = pytest.mark.parametrize("most_items", [6000, 119, 10])


def by_scikit_learn(X, known, new):
    states, weights = known.states(), known.weights()
    decisions = np.empty((len(new), known.n_labels))
    for j in range(known.n_labels):
        rows = states[:, j] != -1
        machine = SVC(C=2.0, gamma=0.05, tol=1e-8)
        machine.fit(X[rows], states[rows, j], sample_weight=weights[rows, j])
        decisions[:, j] = machine.decision_function(new)
    return decisions


@every_size
@every_form
def test_agrees_with_scikit_learn_label_by_label(known, most_items, monkeypatch):
    for module in (kernel_svm, kernels):
        monkeypatch.setattr(module, "MOST_ITEMS", most_items)
    new = np.random.default_rng(1).normal(size=(30, 10))
    model = KernelSVM(C=2.0, gamma=0.05, tol=1e-8).fit(TOY.X, known)
    expected = 0.5 + by_scikit_learn(TOY.X, known, new) / 2
    np.testing.assert_allclose(model.scores(new), expected, atol=1e-5)


@every_size
@every_form
def test_candidates_that_share_a_kernel_are_as_fitted_alone(known, most_items, monkeypatch):
    for module in (kernel_svm, kernels):
        monkeypatch.setattr(module, "MOST_ITEMS", most_items)
    path = [{"C": C, "bandwidth": 2.0} for C in (10.0, 1.0, 0.1)]
    for params, fitted in zip(path, KernelSVM().fit_path(path, TOY.X, known, {}), strict=True):
        alone = clone(KernelSVM()).set_params(**params).fit(TOY.X, known)
        assert fitted.get_params() == alone.get_params()
        np.testing.assert_array_equal(fitted.dual_coef_, alone.dual_coef_)
        np.testing.assert_allclose(fitted.training_scores(TOY.X), alone.scores(TOY.X), atol=1e-8)


def test_a_label_known_only_as_present_scores_one():
    Y = TOY.known.to_array()
    Y[:, 2] = np.where(Y[:, 2] == 1, 1, np.nan)
    model = KernelSVM(on_unlearnable="ignore").fit(TOY.X, Y)
    np.testing.assert_array_equal(model.scores(TOY.X)[:, 2], 1.0)


@every_form
def test_same_bits_whatever_the_number_of_threads(known):
    one, two = (KernelSVM(n_jobs=n).fit(TOY.X, known) for n in (None, 2))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(one.intercept_, two.intercept_)


def test_where_gamma_is_given_only_c_is_searched():
    (stage,) = KernelSVM(gamma=0.1).default_param_grid(TOY.X, TOY.known)
    assert set(stage) == {"C"}
