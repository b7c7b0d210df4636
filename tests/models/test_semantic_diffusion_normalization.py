"""Row and score normalisation in `SemanticDiffusion`."""

import numpy as np
import pandas as pd
import pytest
from toys import low_rank_toy

from tagloom.errors import InvalidInputError
from tagloom.metrics import mean_average_precision
from tagloom.models import SemanticDiffusion, tune
from tagloom.models.semantic_diffusion import linear_scores

TOY = low_rank_toy(n=60, d=4, c=3)
NEW = np.random.default_rng(9).normal(size=(7, 4))
LINEAR = {"shrinkage": np.inf, "smoothing": 0.0}


@pytest.mark.parametrize("step", [{}, LINEAR], ids=["graph", "linear"])
@pytest.mark.parametrize(
    "normalization", [{}, {"score_normalization": 0.6}, {"normalize_rows": False}]
)
def test_the_linear_part_of_each_score_has_weights_and_a_base(step, normalization):
    """Score = x'M_x + b_x + what the graph adds, all scaled by one factor around the mean."""
    model = SemanticDiffusion(**step, **normalization).fit(TOY.X, TOY.known)
    mean = model._score_normalizer.mean
    for X, rows, F, scores in (
        (NEW, [None] * len(NEW), model._new_scores(NEW), model.scores(NEW)),
        (TOY.X, range(60), model._smoothed, model.training_scores(TOY.X)),
    ):
        P = linear_scores(model.linear_, model._normalized(X))
        for i, row in list(enumerate(rows))[:7]:
            M_x, b_x, _ = model.linear_at(X[[i]], row)
            factor = (scores[i] - mean) / (F[i] - mean)
            np.testing.assert_allclose(X[i] @ M_x + b_x, mean + factor * (P[i] - mean), atol=1e-9)
            if step:
                np.testing.assert_allclose(X[i] @ M_x + b_x, scores[i], atol=1e-9)


def test_rows_of_any_norm_are_scored_alike_with_row_normalization():
    """The direction of a row decides, and its norm hardly."""
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(400, 6))
    truth = (directions @ rng.normal(size=(6, 3)) > 0).astype(float)
    X = directions * rng.lognormal(sigma=1.0, size=(400, 1))
    found = {}
    for normalization in (True, False):
        model = SemanticDiffusion(normalize_rows=normalization, **LINEAR).fit(X[:100], truth[:100])
        found[normalization] = mean_average_precision(truth[100:], model.scores(X[100:]))
    assert found[True] > found[False] + 0.02


@pytest.mark.parametrize("outlier", [1e4, 1e8])
def test_an_outlier_spoils_nothing(outlier):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    truth = (X @ rng.normal(size=(6, 3)) > 0).astype(float)
    given = X[:100].copy()
    given[3] = outlier
    before, after = (
        SemanticDiffusion(**LINEAR).fit(rows, truth[:100]) for rows in (X[:100], given)
    )
    best = mean_average_precision(truth[100:], before.scores(X[100:]))
    assert mean_average_precision(truth[100:], after.scores(X[100:])) > best - 0.03


def as_integers(X):
    return np.clip(np.round(X * 40 + 128), 0, 255).astype(np.uint8)


@pytest.mark.parametrize(
    "given",
    [
        as_integers(TOY.X),
        as_integers(TOY.X).astype(int),
        as_integers(TOY.X).tolist(),
        TOY.X > 0,
        pd.DataFrame(TOY.X > 0).add_prefix("f"),
    ],
    ids=["uint8", "int", "list", "bool", "frame"],
)
def test_the_grid_is_that_of_the_same_numbers_as_floats(given):
    numbers = np.asarray(given, dtype=np.float64)
    expected = SemanticDiffusion().default_param_grid(numbers, TOY.known)
    assert SemanticDiffusion().default_param_grid(given, TOY.known) == expected
    assert tune(SemanticDiffusion(), given, TOY.known, cv=2).best.params["ridge"] > 0


def test_features_whose_squares_overflow_are_refused():
    with pytest.raises(InvalidInputError, match="The features are too large"):
        SemanticDiffusion().fit(TOY.X * 1e160, TOY.known)
    single = (TOY.X * 1e20).astype(np.float32)
    model = SemanticDiffusion().fit(single, TOY.known)
    expected = SemanticDiffusion().fit(TOY.X.astype(np.float32), TOY.known)
    np.testing.assert_allclose(model.training_scores(single), expected.training_scores_, atol=1e-2)


@pytest.mark.parametrize("seconds", [None, 0])
def test_scores_of_one_label_are_left_alone(seconds):
    """Score normalisation would not change their order, only their meaning."""
    one = tune(SemanticDiffusion(), TOY.X, TOY.known.to_array()[:, :1], cv=2, max_seconds=seconds)
    assert {trial.params["score_normalization"] for trial in one.trials} == {0.0}


@pytest.mark.parametrize("as_view", [False, True])
def test_a_saved_model_does_not_depend_on_later_changes_of_the_rows(tmp_path, as_view):
    X = TOY.X.copy()
    given = X
    if as_view:
        given = X.view()
        given.flags.writeable = False
    model = SemanticDiffusion(score_normalization=0.5).fit(given, TOY.known)
    before = model.scores(NEW)
    X[:] = 3 * X + 1
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(SemanticDiffusion.load(tmp_path / "m").scores(NEW), before)


def test_an_interrupted_fit_leaves_the_previous_model(monkeypatch):
    def broken(*args, **kwargs):
        raise KeyboardInterrupt

    model = SemanticDiffusion(warm_start=True, **LINEAR).fit(TOY.X, TOY.known)
    before = model.scores(NEW)
    monkeypatch.setattr("tagloom.models.semantic_diffusion.affinity_graph", broken)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(shrinkage=0.1, smoothing=0.5).fit(TOY.X, TOY.known)
    np.testing.assert_array_equal(model.scores(NEW), before)
