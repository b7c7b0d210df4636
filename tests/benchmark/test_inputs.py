from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta
from sklearn.linear_model import LogisticRegression
from toy_sets import make_dataset

from tagloom.benchmark.config import LISTS, PROTOCOLS
from tagloom.benchmark.inputs import (
    TrainTest,
    add_unlabelled,
    hide_labels,
    listed_share,
    normalize_rows,
    read_pattern,
    save_pattern,
    scale,
    semantic_descriptors,
    semantic_features,
    split_features,
    training_salience,
    visual_features,
)
from tagloom.datasets import Dataset, load_coco_captions
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, State, split_items, split_known
from tagloom.labels.splits import FREQUENCY_PRIOR, SALIENCE_SLOPE

UNLISTED = {"unknown": 0.0, "absent": 1.0, "weighted": 0.3}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 99), rate=st.floats(0.05, 1), unlisted=st.sampled_from(["absent", 0.5]))
def test_a_stored_pattern_keeps_the_known_labels(tmp_path_factory, protocol, seed, rate, unlisted):
    dataset = make_dataset()
    truth = dataset.truth.take(dataset.training)
    more = {"salience": training_salience(dataset), "listed": truth}
    known = hide_labels(truth, protocol, rate, seed, unlisted, **more)
    path = tmp_path_factory.mktemp("pattern") / "pattern.npz"
    save_pattern(path, known, dataset.training)
    read = read_pattern(path)
    np.testing.assert_array_equal(read.states(), known.states())
    np.testing.assert_array_equal(read.weights(), known.weights())
    assert read.labels == known.labels


def test_a_pattern_refers_to_rows_of_the_set(tmp_path):
    dataset = make_dataset()
    known = hide_labels(dataset.truth.take(dataset.training), "per-class", 0.3, 0)
    save_pattern(tmp_path / "pattern.npz", known, dataset.training)
    with np.load(tmp_path / "pattern.npz", allow_pickle=False) as stored:
        truth = dataset.truth.states()[stored["rows"], stored["columns"]]
        np.testing.assert_array_equal(truth == int(State.PRESENT), stored["present"])
        assert set(stored["rows"]) <= set(dataset.training)


def test_patterns_of_higher_rates_contain_those_of_lower_rates():
    truth = make_dataset().truth
    few, many = (hide_labels(truth, "per-class", rate, 4).states() for rate in (0.2, 0.5))
    assert np.all(few[few != int(State.UNKNOWN)] == many[few != int(State.UNKNOWN)])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_complete_tag_lists_are_hidden_like_a_table(protocol):
    tags = [["sea", "sky"], ["sea"], [], ["sun", "sky"], ["sun"]]
    truth = PartialLabels.from_tags(tags, unlisted="absent")
    table = PartialLabels.from_array(truth.to_array(), labels=truth.labels)
    more = {"salience": np.ones(truth.shape), "listed": truth}
    one, other = (hide_labels(given, protocol, 0.5, 1, **more) for given in (truth, table))
    np.testing.assert_array_equal(one.states(), other.states())


def test_incomplete_tag_lists_are_refused():
    truth = PartialLabels.from_tags([["sea"], ["sky"]], unlisted=0.3)
    with pytest.raises(InvalidInputError, match="assumed absent with weight"):
        hide_labels(truth, "per-class", 0.5, 0)


@pytest.mark.parametrize("protocol", LISTS)
def test_entries_unknown_in_the_set_stay_unknown(tmp_path, protocol):
    truth = PartialLabels.from_array([[1, 0], [np.nan, 1], [0, np.nan], [1, 0]])
    salience = np.ones(truth.shape)
    known = hide_labels(truth, protocol, 1.0, 0, unlisted="absent", salience=salience, listed=truth)
    save_pattern(tmp_path / "pattern.npz", known, np.array([7, 3, 5, 1]))
    for one in (known, read_pattern(tmp_path / "pattern.npz")):
        np.testing.assert_array_equal(
            one.states() == int(State.UNKNOWN), [[0, 0], [1, 0], [0, 1], [0, 0]]
        )


def test_listed_tags_are_what_people_wrote_right_or_wrong():
    truth = PartialLabels.from_array([[1, 0, 1], [1, 1, 0]], labels=["cat", "dog", "sign"])
    wrote = [["sky", "dog"], ["cat", "sky"]]
    listed = PartialLabels.from_tags(wrote, unlisted="unknown")
    known = hide_labels(truth, "listed", 0.5, 0, unlisted="absent", listed=listed)
    assert known.labels == truth.labels
    np.testing.assert_array_equal(known.to_array(), [[0, 1, 0], [1, 0, 0]])
    named = PartialLabels.from_array(truth.to_array(), labels=truth.labels, items=["a", "b"])
    own = PartialLabels.from_tags(dict(zip("ab", wrote, strict=True)), unlisted="unknown")
    assert listed_share(Dataset("toy", named, [0, 1], [], listed=own)) == 1 / 4
    with pytest.raises(InvalidInputError, match="does not say which tags people have listed"):
        listed_share(make_dataset())


def test_salience_is_that_of_the_set_or_how_clear_an_example_is():
    dataset = make_dataset()
    clear = training_salience(dataset)
    present = dataset.truth.take(dataset.training).to_array() == 1
    for column in range(present.shape[1]):
        own = present[:, column]
        assert clear[own, column].mean() > clear[~own, column].mean() + 0.2
    salience = np.random.default_rng(0).uniform(size=dataset.truth.shape)
    own = training_salience(replace(dataset, salience=salience))
    np.testing.assert_array_equal(own, salience[dataset.training])


def test_the_own_labels_of_an_item_do_not_affect_its_salience():
    dataset = make_dataset()
    changed = dataset.truth.to_array()
    row = dataset.training[0]
    changed[row] = 1 - changed[row]
    other = replace(
        dataset,
        truth=PartialLabels.from_array(changed, labels=dataset.truth.labels, items=dataset.items),
    )
    before, after = training_salience(dataset), training_salience(other)
    np.testing.assert_allclose(after[0], before[0])
    assert not np.allclose(after, before)


def test_captions_forget_as_the_protocol_does(data_folder):
    root = data_folder / "coco_captions"
    if not (root / "features.npz").is_file():
        pytest.skip(f"no captioned photographs at {root}")
    dataset = load_coco_captions(root)
    salience, rows = training_salience(dataset), dataset.training
    truth, listed = dataset.truth.take(rows), dataset.listed.take(rows)
    frequencies, slopes = [], []
    for label in set(truth.labels) & set(listed.labels):
        column = truth.labels.index(label)
        present = truth.select([label]).to_array()[:, 0] == 1
        wrote = listed.select([label]).to_array()[present, 0] == 1
        score = salience[present, column]
        score = (score - score.mean()) / score.std()
        frequencies.append(wrote.mean())
        slopes.append(LogisticRegression(C=100).fit(score[:, None], wrote).coef_[0, 0])
    np.testing.assert_allclose(
        beta.fit(frequencies, floc=0, fscale=1)[:2], FREQUENCY_PRIOR, rtol=0.1
    )
    np.testing.assert_allclose(np.median(slopes), SALIENCE_SLOPE, atol=0.2)


def partial_labels(unlisted, seed=0):
    rng = np.random.default_rng(seed)
    rows, columns = np.nonzero(rng.random((12, 4)) < 0.5)
    known = PartialLabels.from_entries(
        rows,
        columns,
        # Where unlisted labels are absent, only presences are listed.
        True if unlisted else rng.random(len(rows)) < 0.5,
        shape=(12, 4),
        weights=rng.uniform(0.2, 1.0, size=len(rows)),
        labels=["sky", "sea", "sun", "cat"],
        unlisted_weight=unlisted,
    )
    return known.with_hidden([3, 5], [1, 2])


@pytest.mark.parametrize("unlisted", UNLISTED.values(), ids=UNLISTED)
@pytest.mark.parametrize("n_items", [0, 1, 5])
def test_unlabelled_items_are_added_and_nothing_else_changes(unlisted, n_items):
    known = partial_labels(unlisted)
    joined = add_unlabelled(known, n_items)
    assert joined.shape == (12 + n_items, 4)
    assert joined.labels == known.labels
    assert joined.unlisted_weight == known.unlisted_weight
    assert joined.take(range(12)) == known
    assert (joined.states()[12:] == int(State.UNKNOWN)).all()
    assert not joined.weights()[12:].any()
    np.testing.assert_array_equal(joined.weights()[:12], known.weights())


@pytest.mark.parametrize("split", [split_known, split_items])
@settings(max_examples=30, deadline=None)
@given(
    unlisted=st.sampled_from(list(UNLISTED.values())),
    n_items=st.integers(1, 60),
    seed=st.integers(0, 999),
    n_splits=st.integers(2, 4),
)
def test_unlabelled_items_do_not_change_the_folds_and_are_never_evaluated(
    split, unlisted, n_items, seed, n_splits
):
    known = partial_labels(unlisted, seed)
    joined = add_unlabelled(known, n_items)
    for alone, beside in zip(
        split(known, n_splits, seed), split(joined, n_splits, seed), strict=True
    ):
        for small_part, large_part in zip(alone, beside, strict=True):
            assert large_part.take(range(12)) == small_part
            assert (large_part.states()[12:] == int(State.UNKNOWN)).all()


def test_few_columns_are_all_kept_centred_and_scaled():
    training, test = split_features(make_dataset(n_concepts=0))
    X = visual_features(training, test, 0.5)
    assert X.training.dtype == np.float64
    assert X.training.shape == (40, 8)
    distance = np.linalg.norm(training.visual[:1].astype(float) - test.visual, axis=1)
    ratio = np.linalg.norm(X.training[:1] - X.test, axis=1) / distance
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-5)


def test_components_keep_the_variance_and_are_fitted_on_training_rows_alone():
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
    X = scale(factor * table[:20], factor * table[20:])
    assert np.mean(np.sum(X.training**2, axis=1)) == pytest.approx(1)
    np.testing.assert_allclose(X.test, scale(table[:20], table[20:]).test, atol=1e-9)


def test_features_without_spread_stay_finite():
    X = scale(np.ones((4, 2)), np.ones((2, 2)))
    assert np.all(X.training == 0)
    assert np.all(X.test == 0)


def test_standardized_columns_do_not_depend_on_units():
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
    known = hide_labels(dataset.truth.take(dataset.training), "per-class", 0.5, 0)
    X, S = semantic_features(*parts, known, None)
    alone = semantic_descriptors(*parts, known)
    np.testing.assert_array_equal(S.training, alone.training)
    np.testing.assert_array_equal(S.test, alone.test)
    assert X.training.shape == (40, 8 + S.training.shape[1])


def test_a_set_without_concepts_is_described_by_neighbors_alone():
    dataset = make_dataset(n_concepts=0)
    known = hide_labels(dataset.truth.take(dataset.training), "per-class", 0.5, 0)
    assert semantic_descriptors(*split_features(dataset), known).training.shape == (40, 4)


def test_a_set_without_features_is_refused():
    dataset = make_dataset()
    blind = type(dataset)("blind", dataset.truth, dataset.training, dataset.test)
    with pytest.raises(InvalidInputError, match="blind has no features"):
        split_features(blind)
    no_test = type(dataset)("none", dataset.truth, dataset.training, [], features=dataset.features)
    with pytest.raises(InvalidInputError, match="none has no test rows"):
        split_features(no_test)


def test_normalized_rows_are_about_one_long_around_the_training_mean():
    training = np.random.default_rng(0).normal(size=(200, 5)) + 3
    test = np.vstack([training[:2], 100 * training[:2]])
    X = normalize_rows(TrainTest(training, test))
    np.testing.assert_allclose(X.training[:2], X.test[:2])
    np.testing.assert_allclose(np.linalg.norm(X.test[2:], axis=1), 1, atol=1e-2)
    lengths = np.linalg.norm(X.training, axis=1)
    assert lengths.std() / lengths.mean() < 0.2
