import numpy as np
import pytest
from toy_sets import make_dataset

from tagloom.benchmark.inputs import (
    Pair,
    evened,
    hidden,
    scaled,
    semantic_descriptors,
    semantic_features,
    split_features,
    visual_features,
)
from tagloom.errors import InvalidInputError


def test_few_numbers_are_all_kept_and_only_moved_and_scaled():
    training, test = split_features(make_dataset(n_concepts=0))
    X = visual_features(training, test, 0.5)
    assert X.training.dtype == np.float64
    assert X.training.shape == (40, 8)
    distance = np.linalg.norm(training.visual[:1].astype(float) - test.visual, axis=1)
    ratio = np.linalg.norm(X.training[:1] - X.test, axis=1) / distance
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-5)


def test_components_keep_the_energy_and_are_found_on_training_rows_alone():
    training, test = split_features(make_dataset(n_visual=120))
    X = visual_features(training, test, 0.9)
    spectrum = np.linalg.svd(training.visual - training.visual.mean(axis=0), compute_uv=False) ** 2
    share = np.cumsum(spectrum) / spectrum.sum()
    assert X.training.shape[1] == np.searchsorted(share, 0.9) + 1
    fewer = visual_features(
        training,
        type(test)(test.items[:1], test.visual[:1], test.posteriors[:1], test.concepts),
        0.9,
    )
    np.testing.assert_array_equal(fewer.training, X.training)
    np.testing.assert_allclose(fewer.test, X.test[:1], atol=1e-6)


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e4])
def test_mean_squared_row_norm_is_one_whatever_the_units(factor):
    rng = np.random.default_rng(0)
    table = rng.normal(3.0, size=(30, 5))
    X = scaled(factor * table[:20], factor * table[20:])
    assert np.mean(np.sum(X.training**2, axis=1)) == pytest.approx(1)
    np.testing.assert_allclose(X.test, scaled(table[:20], table[20:]).test, atol=1e-9)


def test_features_without_spread_stay_finite():
    X = scaled(np.ones((4, 2)), np.ones((2, 2)))
    assert np.all(X.training == 0)
    assert np.all(X.test == 0)


def test_standardized_columns_forget_their_units():
    dataset = make_dataset(n_concepts=0)
    units = np.array([1e-3, 1, 1e4, 1, 1, 7, 1, 1])
    seen = dataset.features
    other = type(seen)(seen.items, seen.visual * units, seen.posteriors, seen.concepts)
    foreign = type(dataset)(
        "foreign", dataset.truth, dataset.training, dataset.test, features=other
    )
    plain, changed = (split_features(one, standardize=True) for one in (dataset, foreign))
    for one, two in zip(plain, changed, strict=True):
        np.testing.assert_allclose(one.visual, two.visual, rtol=1e-5)
    np.testing.assert_allclose(plain[0].visual.std(axis=0), 1, rtol=1e-5)


def test_semantic_features_and_descriptors_agree():
    dataset = make_dataset()
    parts = split_features(dataset)
    known = hidden(dataset.truth.take(dataset.training), "per-class", 0.5, 0)
    X, S = semantic_features(*parts, known, 1.0)
    alone = semantic_descriptors(*parts, known)
    np.testing.assert_array_equal(S.training, alone.training)
    np.testing.assert_array_equal(S.test, alone.test)
    assert X.training.shape == (40, 8 + S.training.shape[1])


def test_a_set_without_concepts_is_described_by_neighbors_alone():
    dataset = make_dataset(n_concepts=0)
    known = hidden(dataset.truth.take(dataset.training), "per-class", 0.5, 0)
    assert semantic_descriptors(*split_features(dataset), known).training.shape == (40, 4)


def test_a_set_that_was_not_looked_at_is_refused():
    dataset = make_dataset()
    blind = type(dataset)("blind", dataset.truth, dataset.training, dataset.test)
    with pytest.raises(InvalidInputError, match="blind has no features"):
        split_features(blind)
    no_test = type(dataset)("none", dataset.truth, dataset.training, [], features=dataset.features)
    with pytest.raises(InvalidInputError, match="none has no test rows"):
        split_features(no_test)


def test_evened_rows_are_about_one_long_seen_from_the_training_mean():
    training = np.random.default_rng(0).normal(size=(200, 5)) + 3
    test = np.vstack([training[:2], 100 * training[:2]])
    X = evened(Pair(training, test))
    np.testing.assert_allclose(X.training[:2], X.test[:2])
    np.testing.assert_allclose(np.linalg.norm(X.test[2:], axis=1), 1, atol=1e-2)
    lengths = np.linalg.norm(X.training, axis=1)
    assert lengths.std() / lengths.mean() < 0.2
