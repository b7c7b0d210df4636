"""Ridges that are solved for at once are chosen as if each had been fitted alone."""

import numpy as np
import pytest
from sklearn.base import clone
from toys import low_rank_toy

from tagloom.labels import PartialLabels, keep_presences, split_items, split_known
from tagloom.metrics import mean_average_precision
from tagloom.models import LeastSquares, SemanticDiffusion, tune

TOY = low_rank_toy()


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    "learner", [LeastSquares(), SemanticDiffusion(shrinkage=np.inf, smoothing=0.0)]
)
@pytest.mark.parametrize("listed", [False, True])
def test_ridges_are_tried_in_their_order_and_scored_as_if_fitted_alone(learner, listed, n_jobs):
    truth = PartialLabels.from_array(TOY.truth)
    known = keep_presences(truth, 0.7, unlisted=0.3, random_state=0) if listed else TOY.known
    ridges = [1.0, 0.1, 300.0, 0.0, 30.0, 1e-3]
    tuning = tune(learner, TOY.X, known, param_grid={"ridge": ridges}, cv=2, n_jobs=n_jobs)
    folds = list((split_items if listed else split_known)(known, 2, 0))
    expected = []
    for ridge in ridges:
        scores = []
        for fold in folds:
            alone = clone(learner).set_params(ridge=ridge, on_unlearnable="ignore")
            found = alone.fit(TOY.X, fold.training).training_scores(TOY.X)
            scores.append(mean_average_precision(fold.held_out, found))
        expected.append(scores)
    assert [trial.params for trial in tuning.trials] == [{"ridge": ridge} for ridge in ridges]
    assert [list(trial.scores) for trial in tuning.trials] == expected
    best = int(np.argmax([trial.pooled for trial in tuning.trials]))
    assert tuning.best == tuning.trials[best]
    alone = clone(learner).set_params(ridge=ridges[best]).fit(TOY.X, known)
    np.testing.assert_array_equal(tuning.model.coef_, alone.coef_)


def test_of_ridges_that_are_equally_good_the_first_is_chosen():
    grid = {"ridge": [2.0, 1.0, 3.0]}
    tuning = tune(LeastSquares(), TOY.X, TOY.known, param_grid=grid, scoring=lambda *_: 0.5)
    assert tuning.best.params == {"ridge": 2.0}


def test_an_interrupted_search_for_ridge_resumes_with_the_remaining_paths():
    grid, checkpoint, scored = [{"ridge": [0.1, 1.0]}, {"ridge": [10.0]}], {}, []

    def breaking(held_out, scores):
        scored.append(held_out)
        if len(scored) == 10:
            raise KeyboardInterrupt
        return mean_average_precision(held_out, scores)

    options = {"param_grid": grid, "cv": 3, "scoring": breaking}
    whole = {"param_grid": grid, "cv": 3, "scoring": mean_average_precision}
    with pytest.raises(KeyboardInterrupt):
        tune(LeastSquares(), TOY.X, TOY.known, checkpoint=checkpoint, **options)
    resumed = tune(LeastSquares(), TOY.X, TOY.known, checkpoint=checkpoint, **options)
    # Three folds and all of them together, for two ridges; the other ridge is scored anew.
    assert len(scored) == 10 + 4
    assert resumed.trials == tune(LeastSquares(), TOY.X, TOY.known, **whole).trials


def test_ridge_beside_parameters_of_the_graph_is_scored_as_if_fitted_alone():
    grid = {"ridge": [0.1, 10.0], "shrinkage": [0.1, 1.0]}
    tuning = tune(SemanticDiffusion(), TOY.X, TOY.known, param_grid=grid, cv=2)
    assert len(tuning.trials) == 4
    for trial in tuning.trials:
        for fold, score in zip(split_known(TOY.known, 2, 0), trial.scores, strict=True):
            alone = SemanticDiffusion(on_unlearnable="ignore", **trial.params)
            scores = alone.fit(TOY.X, fold.training).training_scores(TOY.X)
            assert mean_average_precision(fold.held_out, scores) == score
