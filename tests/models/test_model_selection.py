import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata
from toys import low_rank_toy

from tagloom.errors import InvalidInputError, TagloomWarning
from tagloom.labels import PartialLabels, keep_presences, split_items, split_known
from tagloom.metrics import average_precision, mean_average_precision
from tagloom.models import APGGraph, LeastSquares, SemanticDiffusion, regularization_path, tune

TOY = low_rank_toy()
LISTED = keep_presences(PartialLabels.from_array(TOY.truth), 0.5, unlisted="absent", random_state=0)


def test_chooses_a_sensible_strength():
    lam_max = APGGraph().lam_max(TOY.X, TOY.known)
    grid = {"lam": [lam_max * 2, lam_max / 30], "ridge": [0.1]}
    tuning = tune(APGGraph(), TOY.X, TOY.known, param_grid=grid)
    assert tuning.best.params == {"lam": lam_max / 30, "ridge": 0.1}
    assert tuning.model.lam == lam_max / 30
    assert len(tuning.trials) == 2
    assert all(len(trial.scores) == 3 for trial in tuning.trials)


def test_default_grid_covers_lam_ridge_and_gamma_and_helps():
    tuning = tune(APGGraph(), TOY.X, TOY.known, TOY.graph)
    assert set(tuning.best.params) == {"lam", "ridge", "gamma"}
    hidden = np.where(TOY.known.states() == -1, TOY.truth, np.nan)
    assert mean_average_precision(hidden, tuning.model.scores(TOY.X)) > 0.9
    assert tuning.to_frame()["pooled"].is_monotonic_decreasing


def test_same_seed_same_choice_and_parallel_agrees():
    grid = {"lam": [3.0, 0.3], "ridge": [0.1, 1.0]}
    runs = [tune(APGGraph(), TOY.X, TOY.known, param_grid=grid, n_jobs=n) for n in (1, 1, 2)]
    assert runs[0].trials == runs[1].trials
    for ours, parallel in zip(runs[0].trials, runs[2].trials, strict=True):
        assert ours.params == parallel.params
        np.testing.assert_allclose(ours.scores, parallel.scores, atol=1e-6)


def test_every_candidate_sees_the_same_hidden_entries():
    seen = []

    def note(held_out, scores):
        seen.append(held_out)
        return float(-np.abs(scores).mean())

    tune(APGGraph(), TOY.X, TOY.known, param_grid={"lam": [3.0, 0.3], "ridge": [1.0]}, scoring=note)
    assert seen[0] == seen[1]
    assert seen[0] != seen[2]


def test_tag_lists_are_tuned_by_hiding_presences():
    listed = keep_presences(PartialLabels.from_array(TOY.truth), 0.7, unlisted=0.3, random_state=0)
    tuning = tune(APGGraph(), TOY.X, listed, param_grid={"lam": [1000.0, 0.3]})
    assert tuning.best.params == {"lam": 0.3}


def test_squared_error_is_smaller_for_the_better():
    grid = {"lam": [1000.0, 0.3]}
    tuning = tune(APGGraph(), TOY.X, TOY.known, param_grid=grid, scoring="squared_error")
    assert tuning.best.params == {"lam": 0.3}
    assert tuning.best.mean < 0


class Marked(LeastSquares):
    """Scores by its parameters, to tell in the scorer which candidate is scored."""

    def __init__(self, ridge=1.0, *, power=0.0, on_unlearnable="raise"):
        super().__init__(ridge, on_unlearnable=on_unlearnable)
        self.power = power

    def training_scores(self, X):
        return np.full((len(X), 8), 100 * self.power + self.ridge)


def mark(held_out, scores):
    """Return the mark of a candidate: its score of a held-out entry; others may be 0."""
    row, column = np.argwhere(held_out.states() != -1)[0]
    return scores[row, column]


def scored_by(values):
    """Score a candidate by its entry in the table for (ridge, power)."""

    def score(held_out, scores):
        power, ridge = divmod(mark(held_out, scores), 100)
        return values[ridge, power]

    return score


def test_a_stage_keeps_what_the_stage_before_found():
    values = {(1, 0): 0.2, (2, 0): 0.5, (3, 0): 0.3, (2, 1): 0.6, (2, 2): 0.7}
    stages = [{"ridge": [1, 2, 3]}, {"power": [1, 2]}]
    tuning = tune(Marked(), TOY.X, TOY.known, param_grid=stages, scoring=scored_by(values))
    assert tuning.best.params == {"ridge": 2, "power": 2}
    assert (tuning.model.ridge, tuning.model.power) == (2, 2)
    assert [trial.params for trial in tuning.trials] == [
        {"ridge": 1},
        {"ridge": 2},
        {"ridge": 3},
        {"ridge": 2, "power": 1},
        {"ridge": 2, "power": 2},
    ]


def test_the_best_of_the_last_stage_is_chosen_even_if_an_earlier_one_was_better():
    values = {(1, 0): 0.9, (2, 0): 0.5, (1, 1): 0.3, (1, 2): 0.4}
    stages = [{"ridge": [1, 2]}, {"power": [1, 2]}]
    tuning = tune(Marked(), TOY.X, TOY.known, param_grid=stages, scoring=scored_by(values))
    assert tuning.best.params == {"ridge": 1, "power": 2}
    assert tuning.best.mean == pytest.approx(0.4)
    assert tuning.to_frame()["pooled"].iloc[0] == pytest.approx(0.9)


def test_a_later_stage_may_search_a_parameter_again():
    values = {(1, 0): 0.1, (5, 0): 0.2, (4, 0): 0.3, (6, 0): 0.1}
    stages = [{"ridge": [1, 5]}, {"ridge": [4, 6]}]
    tuning = tune(Marked(), TOY.X, TOY.known, param_grid=stages, scoring=scored_by(values))
    assert tuning.best.params == {"ridge": 4}


def test_alternatives_of_a_stage_are_all_tried():
    values = {(1, 0): 0.2, (2, 0): 0.1, (3, 1): 0.6, (3, 2): 0.5}
    stage = [{"ridge": [1, 2], "power": [0]}, {"ridge": [3], "power": [1, 2]}]
    tuning = tune(Marked(), TOY.X, TOY.known, param_grid=[stage], scoring=scored_by(values))
    tried = [(trial.params["ridge"], trial.params["power"]) for trial in tuning.trials]
    assert tried == [*values]
    assert tuning.best.params == {"ridge": 3, "power": 1}


@pytest.mark.parametrize(
    ("hold_out", "unlisted"), [("entries", 0), ("items", 0), ("items", 1), ("auto", 0), ("auto", 1)]
)
def test_folds_are_scored_together(hold_out, unlisted):
    """The pooled score is that of a table in which each fold ranked what it held out."""
    Y = LISTED if unlisted else TOY.known
    found = tune(
        LeastSquares(), TOY.X, Y, param_grid={"ridge": [2.0]}, cv=2, hold_out=hold_out
    ).best
    by_items = hold_out == "items" or (hold_out == "auto" and unlisted)
    split = split_items if by_items else split_known
    table = np.zeros(TOY.truth.shape)
    for fold in split(Y, 2, 0):
        model = LeastSquares(2.0, on_unlearnable="ignore").fit(TOY.X, fold.training)
        held = fold.held_out.states() != -1
        table[held] = rankdata(model.scores(TOY.X), axis=0)[held]
    assert found.pooled == pytest.approx(mean_average_precision(Y, table))
    assert found.pooled == pytest.approx(np.nanmean(found.label_scores))


def test_an_entry_that_several_folds_hold_out_has_its_mean_score():
    grid = {"ridge": [2.0]}
    (found,) = tune(LeastSquares(), TOY.X, LISTED, param_grid=grid, cv=2, hold_out="entries").trials
    total, count = np.zeros(TOY.truth.shape), np.zeros(TOY.truth.shape)
    for fold in split_known(LISTED, 2, 0):
        model = LeastSquares(2.0, on_unlearnable="ignore").fit(TOY.X, fold.training)
        held = fold.held_out.states() != -1
        total[held] += rankdata(model.scores(TOY.X), axis=0)[held]
        count[held] += 1
    assert count.max() == 2
    assert found.pooled == pytest.approx(mean_average_precision(LISTED, total / count))


def test_folds_on_different_scales_are_pooled_by_rank():
    """A learner whose scores shrink with the labels it was shown is not blamed for their scale."""

    class Scaled(LeastSquares):
        def training_scores(self, X, **inputs):
            return super().training_scores(X, **inputs) * 10.0 ** float(self.coef_[0, 0])

    folds = {"param_grid": {"ridge": [2.0]}, "cv": 3}
    plain, scaled = (tune(one(), TOY.X, TOY.known, **folds).best for one in (LeastSquares, Scaled))
    assert scaled.pooled == pytest.approx(plain.pooled)


def test_where_held_out_scores_are_too_many_to_keep_folds_are_averaged(monkeypatch):
    monkeypatch.setattr("tagloom.models.model_selection._POOLED_BYTES", 0)
    found = tune(LeastSquares(), TOY.X, TOY.known, param_grid={"ridge": [2.0]}, cv=2).best
    by_fold = []
    for fold in split_known(TOY.known, 2, 0):
        model = LeastSquares(2.0, on_unlearnable="ignore").fit(TOY.X, fold.training)
        by_fold.append(average_precision(fold.held_out, model.scores(TOY.X)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(found.label_scores, np.nanmean(by_fold, axis=0))
    assert found.pooled == pytest.approx(np.nanmean(found.label_scores))


@pytest.mark.parametrize(
    "grid", [{"power": [1, 1, 2]}, [[{"power": [1, 3]}, {"power": [1, 2]}]]], ids=["list", "stage"]
)
def test_candidates_that_come_twice_do_not_mix_up_the_others(grid):
    values = {(1, 1): 0.5, (1, 2): 0.7, (1, 3): 0.1}
    tuning = tune(
        Marked(), TOY.X, TOY.known, param_grid=grid, scoring=scored_by(values), checkpoint={}
    )
    assert all(one.pooled == values[1, one.params["power"]] for one in tuning.trials)
    assert tuning.best.params == {"power": 2}


def test_every_stage_sees_the_same_hidden_entries():
    seen = []

    def note(held_out, scores):
        seen.append(held_out)
        return 0.0

    stages = [{"ridge": [1.0]}, {"power": [1.0]}]
    tune(Marked(), TOY.X, TOY.known, param_grid=stages, scoring=note, cv=2)
    # Two folds, then both together.
    assert seen[0] == seen[3] != seen[1] == seen[4]
    assert seen[2] == seen[5] == TOY.known


def test_stages_of_a_warm_learner_are_scored_as_candidates_fitted_alone():
    """Each trial of a path has the score of that candidate fitted by itself on the fold."""
    tuning = tune(SemanticDiffusion(), TOY.X, TOY.known, cv=2)
    folds = list(split_known(TOY.known, 2, 0))
    # Two kernels with a ridge each and a linear part with three; diffusion with self-training and
    # without, and neither.
    assert len(tuning.trials) == (1 + 1 + 3) + (3 + 3 + 1) * 2
    for trial in tuning.trials:
        for fold, score in zip(folds, trial.scores, strict=True):
            alone = SemanticDiffusion(on_unlearnable="ignore", **trial.params)
            scores = alone.fit(TOY.X, fold.training).training_scores(TOY.X)
            assert mean_average_precision(fold.held_out, scores) == score


def test_a_candidate_that_cannot_be_scored_is_not_the_best():
    values = {(1, 0): np.nan, (2, 0): 0.2, (3, 0): np.nan}
    for order in ([1, 2, 3], [2, 1, 3], [3, 1, 2]):
        grid = {"ridge": order}
        tuning = tune(Marked(), TOY.X, TOY.known, param_grid=grid, scoring=scored_by(values))
        assert tuning.best.params == {"ridge": 2}


@pytest.mark.parametrize("grid", [[], [{"ridge": [1.0]}, "power"], "ridge"])
def test_malformed_stages_are_refused(grid):
    with pytest.raises(InvalidInputError, match="param_grid must be a mapping"):
        tune(LeastSquares(), TOY.X, TOY.known, param_grid=grid)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"param_grid": {"lamda": [1.0]}}, r"Unknown: \['lamda'\]"),
        ({"param_grid": {"lam": []}}, r"empty: \['lam'\]"),
        ({"scoring": "accuracy"}, "scoring must be one of"),
        ({"cv": 1}, "cv must be an integer of at least 2"),
        ({"cv": 2.5}, "cv must be an integer"),
        ({"n_jobs": 0}, "n_jobs must be an integer other than 0"),
        (
            {"param_grid": {"lam": 1.0}},
            r"param_grid\['lam'\] must be a list of values to try; got 1.0",
        ),
        ({"scoring": ["a"]}, "scoring must be one of"),
        ({"search_labels": ["no such label"]}, "no such label"),
        ({"search_labels": []}, "search_labels must name a label"),
        (
            {"search_labels": [0], "label_graph": np.eye(TOY.known.n_labels)},
            "search_labels cannot be given with label_graph",
        ),
    ],
)
def test_bad_requests_are_refused(changes, message):
    with pytest.raises(InvalidInputError, match=message):
        tune(APGGraph(), TOY.X, TOY.known, **({"param_grid": {"lam": [1.0]}} | changes))


def test_path_runs_from_zero_to_full_with_the_solutions_of_single_fits():
    path = list(regularization_path(APGGraph(tol=1e-8), TOY.X, TOY.known, n_lams=6, eps=0.01))
    lams = [model.lam for model in path]
    assert lams == sorted(lams, reverse=True)
    assert not path[0].coef_.any()
    assert [m.rank_ for m in path] == sorted(m.rank_ for m in path)
    alone = APGGraph(lam=lams[-1], tol=1e-8).fit(TOY.X, TOY.known)
    assert path[-1].objective_ == pytest.approx(alone.objective_, rel=1e-6)
    assert not path[-1].warm_start


def test_path_takes_given_values():
    path = list(regularization_path(APGGraph(), TOY.X, TOY.known, lams=[0.3, 3.0]))
    assert [model.lam for model in path] == [3.0, 0.3]
    with pytest.raises(InvalidInputError, match="eps must be"):
        list(regularization_path(APGGraph(), TOY.X, TOY.known, eps=2.0))


@pytest.mark.parametrize("named", [False, True])
def test_a_search_on_some_labels_chooses_as_if_there_were_no_others(named):
    chosen = list(TOY.known.labels[1:4])
    prior = np.random.default_rng(0).normal(size=TOY.known.shape)
    if named:
        prior = pd.DataFrame(prior, columns=[*TOY.known.labels])[[*reversed(TOY.known.labels)]]
    tuning = tune(LeastSquares(), TOY.X, TOY.known, prior=prior, search_labels=chosen)
    alone = tune(
        LeastSquares(),
        TOY.X,
        TOY.known.select(chosen),
        prior=prior[chosen] if named else prior[:, 1:4],
    )
    assert [trial.params for trial in tuning.trials] == [trial.params for trial in alone.trials]
    np.testing.assert_allclose(
        [trial.label_scores for trial in tuning.trials],
        [trial.label_scores for trial in alone.trials],
    )
    assert tuning.best.params == alone.best.params
    expected = LeastSquares(**tuning.best.params).fit(TOY.X, TOY.known, prior=prior)
    np.testing.assert_array_equal(tuning.model.coef_, expected.coef_)


def test_a_fold_without_a_score_does_not_decide():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6))
    Y = np.zeros((40, 1))
    Y[np.argsort(-X[:, 0])[:2]] = 1  # two presences, three folds: one has none
    tuning = tune(APGGraph(), X, Y, param_grid={"lam": [100.0, 1.0]})
    assert np.isnan(tuning.best.scores).sum() == 1
    assert tuning.best.params == {"lam": 1.0}


def test_no_score_in_any_fold_is_an_error():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20, 3)), np.zeros((20, 1))
    with pytest.raises(InvalidInputError, match="No candidate could be scored"):
        tune(APGGraph(on_unlearnable="ignore"), X, Y, param_grid={"lam": [1.0]})


def test_unlearnable_labels_are_an_error_before_the_search():
    Y = TOY.known.to_array()
    Y[:, 2] = 0
    with pytest.raises(InvalidInputError, match="known only to be absent"):
        tune(APGGraph(), TOY.X, Y, param_grid={"lam": [1.0]}, scoring=lambda truth, scores: 1 / 0)


def test_a_search_with_presences_alone_warns():
    toy = low_rank_toy()
    truth = PartialLabels.from_array(toy.truth)
    known = keep_presences(truth, 0.8, unlisted="unknown", random_state=0)
    with pytest.warns(TagloomWarning, match="No absence is known"):
        tune(LeastSquares(on_unlearnable="ignore"), toy.X, known, cv=2)


def test_an_interrupted_search_resumes():
    fitted = []

    class Counting(SemanticDiffusion):
        def fit(self, X, Y):
            fitted.append((self.ridge, self.shrinkage, self.smoothing))
            return super().fit(X, Y)

    checkpoint = {}
    unbroken = tune(Counting(), TOY.X, TOY.known, cv=2, checkpoint=checkpoint)
    wanted = len(fitted)
    for forgotten in list(checkpoint)[::2]:
        del checkpoint[forgotten]
    fitted.clear()
    resumed = tune(Counting(), TOY.X, TOY.known, cv=2, checkpoint=checkpoint)
    assert resumed.trials == unbroken.trials
    assert 1 < len(fitted) < wanted


def test_without_time_the_first_candidate_of_every_path_is_scored():
    tuning = tune(SemanticDiffusion(), TOY.X, TOY.known, cv=2, max_seconds=0)
    # The linear part has a path for each kernel, in which ridges are solved jointly; the rest has
    # two with diffusion, after self-training and without it, and one without.
    assert len(tuning.trials) == (1 + 1 + 3) + (1 + 1 + 1)
    first, last = SemanticDiffusion().default_param_grid(TOY.X, TOY.known)
    for trials, grids in ((tuning.trials[:5], first), (tuning.trials[5:], last)):
        safest = {name: values[0] for name, values in grids[0].items()}
        assert safest.items() <= trials[0].params.items()
    assert tuning.best in tuning.trials[5:]


def random_lists(n_items, n_features, n_untagged=0):
    """Return random rows and lists of their tags; nothing is known of the last items."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(n_items, n_features)), rng.random((n_items, 3)) < 0.3
    listed = keep_presences(PartialLabels.from_array(Y), 0.5, unlisted="absent", random_state=0)
    return X, listed.with_hidden_items(np.arange(n_items) >= n_items - n_untagged)


@pytest.mark.parametrize(
    ("n_features", "n_untagged", "kernel", "n_candidates"),
    [
        (20, 0, "rational_quadratic", 2 + 3 * 2),  # it always diffuses
        (150, 0, "linear", 3 + 4 * 2),
        (20, 220, "linear", 3 + 4 * 2),  # too few labelled items for so many features
    ],
)
def test_lists_begin_with_a_kernel_where_there_are_many_labelled_items_for_few_features(
    n_features, n_untagged, kernel, n_candidates
):
    X, listed = random_lists(300, n_features, n_untagged)
    tuning = tune(SemanticDiffusion(), X, listed, cv=2)
    assert tuning.trials[0].params["kernel"] == kernel
    assert len(tuning.trials) == n_candidates
    diffuses = {np.isfinite(trial.params["shrinkage"]) for trial in tuning.trials[-3:]}
    assert diffuses == ({True} if kernel != "linear" else {True, False})
    assert tuning.best.params["self_training"] == 0


@pytest.mark.parametrize("known", [TOY.known, LISTED], ids=["absences", "lists"])
def test_a_learner_that_does_not_normalise_rows_searches_plain_rows_alone(known):
    learner = SemanticDiffusion(normalize_rows=False)
    (linear_parts, *_), X = learner.default_param_grid(1e3 * TOY.X, known), TOY.X
    assert all(grid["normalize_rows"] == [False] for grid in linear_parts)
    assert {"linear", "rational_quadratic"} == {grid["kernel"][0] for grid in linear_parts}
    # Ridges of the linear part are in the units of these rows.
    for large, small in zip(linear_parts, learner.default_param_grid(X, known)[0], strict=True):
        factor = 1e6 if large["kernel"] == ["linear"] else 1.0
        np.testing.assert_allclose(large["ridge"], factor * np.array(small["ridge"]))


def test_too_few_known_entries_to_hold_out_are_named():
    Y = np.full((6, 1), np.nan)
    Y[0], Y[1] = 1, 0
    X = np.random.default_rng(0).normal(size=(6, 2))
    with pytest.raises(InvalidInputError, match="too few known entries to hold some out"):
        tune(LeastSquares(), X, Y, cv=2)
    with pytest.raises(InvalidInputError, match="cv=100000 folds need"):
        tune(LeastSquares(), X, Y, cv=100_000)


def by_label(table):
    """Return a scoring by label: the row of a table that the marked learner's ridge names."""

    def scoring(held_out, scores):
        return np.asarray(table[int(mark(held_out, scores))], dtype=float)

    return scoring


@pytest.mark.parametrize(
    ("gains", "chosen"),
    [
        ([0.1, 0.1, 0.1, 0.1], 2),  # sure: no spread
        ([0.9, -0.7, 0.3, -0.1], 1),  # the same mean, but a standard error of 0.34
        ([0.3, 0.1, 0.2, np.nan], 2),  # labels without a score take no part
        ([-0.1, -0.1, -0.1, -0.1], 1),
    ],
)
def test_another_than_the_safest_must_be_better_by_a_standard_error(gains, chosen):
    table = {1: np.full(4, 0.5), 2: 0.5 + np.array(gains)}
    grid = {"ridge": [1, 2]}
    tuning = tune(
        Marked(), TOY.X, TOY.known, param_grid=grid, scoring=by_label(table), safest_first=True
    )
    assert tuning.best.params == {"ridge": chosen}
    best = tune(Marked(), TOY.X, TOY.known, param_grid=grid, scoring=by_label(table))
    assert best.best.params == {"ridge": 2 if np.nanmean(gains) > 0 else 1}


def test_where_scores_are_not_by_label_folds_decide():
    # The last score of either is that of all folds together.
    by_fold = {1: iter([0.5, 0.5, 0.5, 0.5]), 2: iter([0.6, 0.4, 0.55, 0.55])}

    def scoring(held_out, scores):
        return next(by_fold[int(mark(held_out, scores))])

    grid = {"ridge": [1, 2]}
    tuning = tune(Marked(), TOY.X, TOY.known, param_grid=grid, scoring=scoring, safest_first=True)
    assert tuning.best.params == {"ridge": 1}
    assert max(tuning.trials, key=lambda trial: trial.pooled).params == {"ridge": 2}


@pytest.mark.parametrize("gammas", [[0.0, 0.1], [0.1, 0.0], [0.1]])
def test_what_a_search_sums_once_is_that_of_separate_fits(gammas):
    X = TOY.X.astype(np.float32)
    grid = {"lam": [1.0, 0.3], "gamma": gammas}
    tuning = tune(APGGraph(ridge=0.1), X, TOY.known, TOY.graph, param_grid=grid)
    alone = APGGraph(ridge=0.1, **tuning.best.params).fit(X, TOY.known, TOY.graph)
    np.testing.assert_array_equal(tuning.model.coef_, alone.coef_)
