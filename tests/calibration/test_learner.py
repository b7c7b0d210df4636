"""Probabilities of any learner: right where the answer is known, refused where there is none."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

from tagloom.calibration import CalibratedLearner
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, hide_uniformly
from tagloom.metrics import squared_error
from tagloom.models import APGGraph, FastTag, KernelSVM, LeastSquares, make_scorer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(900, 3))
# Rates from frequent to rare, and steep to shallow.
CHANCES = expit(X @ np.array([[3.0, 0.0, 1.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.5]]) + [0, -2, 1])
TRUTH = PartialLabels.from_array((RNG.random(CHANCES.shape) < CHANCES).astype(float))
KNOWN = hide_uniformly(TRUTH, 0.7, 0)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("hold_out", ["items", "entries"])
def test_probabilities_are_near_the_true_ones(method, hold_out):
    model = CalibratedLearner(LeastSquares(), method=method, hold_out=hold_out).fit(
        X[:600], KNOWN[:600]
    )
    found = model.predict_proba(X[600:])
    assert np.abs(found - CHANCES[600:]).mean() < 0.05
    raw = np.abs(model.learner_.scores(X[600:]) - CHANCES[600:]).mean()
    assert np.abs(found - CHANCES[600:]).mean() < 0.8 * raw


@pytest.mark.parametrize("learner", [KernelSVM(), APGGraph(), FastTag()], ids=repr)
def test_brier_score_improves(learner):
    model = CalibratedLearner(learner, n_splits=2).fit(X[:300], KNOWN[:300])
    raw = squared_error(TRUTH[600:], np.clip(model.learner_.scores(X[600:]), 0, 1))
    assert squared_error(TRUTH[600:], model.predict_proba(X[600:])) < raw
    assert make_scorer("brier_score")(model, X[600:], TRUTH[600:]) > -raw
    assert make_scorer("log_loss")(model, X[600:], TRUTH[600:]) > -0.6


def test_a_label_with_few_entries_keeps_to_the_curve_of_the_others():
    few = TRUTH.to_array()
    few[8:, 2] = np.nan
    model = CalibratedLearner(LeastSquares(), method="isotonic").fit(X, few)
    slopes = [curve.slope for curve in model.curves_]
    assert 0.5 * min(slopes[:2]) < slopes[2] < 1.5 * max(slopes[:2])
    assert [curve.steps is None for curve in model.curves_] == [False, False, True]


def test_scores_of_entries_that_were_shown_are_not_calibrated_on():
    # So many features that training entries are fitted perfectly, and none of them means anything.
    rng = np.random.default_rng(1)
    noise, labels = rng.normal(size=(60, 200)), (rng.random((60, 4)) < 0.5).astype(float)
    model = CalibratedLearner(LeastSquares(ridge=1e-3)).fit(noise, labels)
    new = model.predict_proba(rng.normal(size=(500, 200)))
    assert np.abs(new - 0.5).mean() < 0.2


def test_inputs_of_the_learner_pass_through():
    prior = np.where(np.arange(3) == 1, CHANCES, np.nan)
    model = CalibratedLearner(LeastSquares()).fit(X[:600], KNOWN[:600], prior=prior[:600])
    assert model.learner_.trust_[1] > 0
    found = model.predict_proba(X[600:], prior=prior[600:])
    assert np.abs(found[:, 1] - CHANCES[600:, 1]).mean() < 0.04
    with pytest.raises(InvalidInputError, match="fitted with prior scores"):
        model.predict_proba(X[600:])


def test_a_graph_is_split_with_its_items():
    graph = sparse.csr_array((np.ones(1798), (np.r_[:899, 1:900], np.r_[1:900, :899])))
    model = CalibratedLearner(APGGraph(gamma=0.01)).fit(X, KNOWN, graph=graph)
    assert np.abs(model.predict_proba(X) - CHANCES).mean() < 0.05


@pytest.mark.parametrize(
    ("model", "Y", "message"),
    [
        (CalibratedLearner(LeastSquares()), np.where(KNOWN.states() == 1, 1, np.nan), "No absence"),
        (CalibratedLearner(FastTag(), hold_out="entries"), KNOWN, "a held-out presence is an abs"),
        (CalibratedLearner("ridge"), KNOWN, "must be a learner of tagloom; got 'ridge'"),
        (CalibratedLearner(LeastSquares(), n_splits=1), KNOWN, "'n_splits' parameter"),
        (CalibratedLearner(LeastSquares(), method="beta"), KNOWN, "must be one of 'sigmoid'"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*only to be present")
def test_what_cannot_be_calibrated_is_refused(model, Y, message):
    with pytest.raises(InvalidInputError, match=message):
        model.fit(X, Y)
