"""Methods that know the names of the labels, and their controls."""

import dataclasses

import numpy as np
import pytest
from toy_sets import RIDGE, make_dataset, small

from tagloom.benchmark.inputs import (
    TrainTest,
    append_prior,
    prior_scores,
    shuffle_prior,
    split_features,
)
from tagloom.benchmark.methods import METHODS, WORDS, select_methods
from tagloom.benchmark.plan import plan_benchmark
from tagloom.benchmark.run import run_plan
from tagloom.benchmark.summary import write_tables
from tagloom.errors import InvalidInputError
from tagloom.vision import Features


def with_recognised_cats(concepts):
    """The toy set with posteriors that tell cats from the rest: the first class shows them."""
    dataset = make_dataset(n_concepts=len(concepts))
    features, has_cat = dataset.features, dataset.truth.to_array()[:, 3]
    posteriors = 0.2 * features.posteriors
    posteriors[:, 0] = 0.8 * has_cat
    own = Features(features.items, features.visual, posteriors, list(concepts))
    return dataclasses.replace(dataset, features=own)


CATS = with_recognised_cats(["tabby", "espresso"])


def results(tmp_path, names, dataset=CATS, **changes):
    config = small(tmp_path, rates=(0.3,), **changes)
    plan = plan_benchmark(config, dataset, select_methods(names))
    assert run_plan(plan) == {}
    return write_tables(plan)


@pytest.mark.parametrize("protocol", ["per-class", "presences"])
def test_words_help_where_the_encoder_knows_what_a_label_means(tmp_path, protocol):
    names = ["least-squares", "least-squares+words", "semantic-diffusion+words", "words"]
    labels = results(tmp_path, names, protocols=(protocol,)).labels
    ap = labels[labels.label == "cat"].groupby("method").ap.mean()
    assert ap["words"] == 1.0
    assert ap["least-squares+words"] > ap["least-squares"]
    assert ap["semantic-diffusion+words"] > ap["least-squares"]
    other = labels[labels.label == "sky"].groupby("method").ap.mean()
    assert other["least-squares+words"] == pytest.approx(other["least-squares"], abs=0.1)


def test_words_that_mean_no_concept_change_nothing(tmp_path):
    dataset = with_recognised_cats(["concept-0", "concept-1"])
    tables = results(tmp_path, ["least-squares", "least-squares+words"], dataset)
    maps = tables.results.set_index(["method", "seed"])["map"]
    np.testing.assert_array_equal(maps["least-squares"], maps["least-squares+words"])


def test_prior_scores_are_computed_from_training_labels_and_names():
    training, test = split_features(CATS)
    prior = prior_scores(training, test, CATS.truth.take(CATS.training))
    np.testing.assert_allclose(prior.test[:, 3], np.sqrt(test.posteriors[:, 0]))
    assert np.isnan(prior.training[:, :3]).all()


def test_shuffling_exchanges_columns_only_between_labels_that_have_some():
    rows = np.where(np.arange(12) % 4 == 0, np.nan, np.arange(12.0))
    prior = TrainTest(np.tile(rows, (5, 1)), np.tile(rows, (3, 1)))
    shuffled = shuffle_prior(prior, seed=1)
    np.testing.assert_array_equal(np.isnan(shuffled.test), np.isnan(prior.test))
    np.testing.assert_array_equal(np.sort(shuffled.training, axis=1), np.sort(prior.training))
    np.testing.assert_array_equal(shuffled.training[0], shuffled.test[0])
    assert not np.array_equal(shuffled.test, prior.test, equal_nan=True)


def test_baselines_without_prior_scores_get_them_as_columns(tmp_path):
    names = ["kernel-ridge", "kernel-ridge+word-columns"]
    labels = results(tmp_path, names).labels
    ap = labels[labels.label == "cat"].groupby("method").ap.mean()
    assert ap["kernel-ridge+word-columns"] > ap["kernel-ridge"]


def test_appended_columns_have_the_variance_of_the_features_and_no_unknown_value():
    rng = np.random.default_rng(0)
    X = TrainTest(rng.normal(size=(50, 4)).astype(np.float32), np.ones((3, 4), np.float32))
    T = rng.random((53, 3))
    T[:, 1] = np.nan
    joined = append_prior(X, TrainTest(T[:50], T[50:]))
    assert joined.training.shape == (50, 6)
    assert joined.test.dtype == np.float32
    own, given = joined.training[:, :4].var(axis=0).sum(), joined.training[:, 4:].var(axis=0).sum()
    assert given == pytest.approx(own, rel=1e-5)
    np.testing.assert_array_equal(joined.test[:, :4], X.test)
    # Training and test items are shifted and scaled alike.
    slope = (joined.test[0, 4] - joined.training[0, 4]) / (T[50, 0] - T[0, 0])
    assert slope == pytest.approx(
        (joined.test[1, 4] - joined.training[0, 4]) / (T[51, 0] - T[0, 0]), rel=1e-4
    )


def test_sets_without_concepts_are_refused_before_anything_runs(tmp_path):
    with pytest.raises(InvalidInputError, match=r"least-squares\+words need posteriors"):
        plan_benchmark(
            small(tmp_path), make_dataset(n_concepts=0), select_methods(["least-squares+words"])
        )


def test_they_run_only_by_request_and_leave_other_cells_as_they_are():
    assert not {method.name for method in METHODS} & {method.name for method in WORDS}
    assert "words" not in RIDGE.metadata()
    assert all(method.metadata()["words"] for method in WORDS)
