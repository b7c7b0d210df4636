import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import mutual_info_score

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels
from tagloom.semantics import ConceptSelector, mutual_information
from tagloom.semantics import concepts as module
from tagloom.semantics.concepts import bin_edges, binned

NAN = float("nan")


def bins(concepts, n_bins):
    return binned(concepts, bin_edges(concepts, n_bins))


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    Y = (rng.random((400, 16)) < 0.3).astype(float)
    concepts = rng.random((400, 11)) + 0.5 * Y[:, [0]] * (rng.random((400, 11)) < 0.5)
    concepts[:, 3] = concepts[:, 3].round(1)
    Y[rng.random(Y.shape) < 0.4] = NAN
    return concepts, Y


def reference(concepts, Y, n_bins, repeats=None):
    """Compute it by scikit-learn pair by pair; integer weights are repetitions of the entry."""
    codes = bins(concepts, n_bins)
    table = np.zeros((concepts.shape[1], Y.shape[1]))
    for j in range(Y.shape[1]):
        known = ~np.isnan(Y[:, j])
        times = np.ones(known.sum(), int) if repeats is None else repeats[known, j]
        for i in range(concepts.shape[1]):
            b, y = np.repeat(codes[known, i], times), np.repeat(Y[known, j], times)
            table[i, j] = mutual_info_score(b, y) if len(b) else 0.0
    return table


@pytest.mark.parametrize("n_bins", [2, 5, 8])
def test_agrees_with_scikit_learn_on_the_known_entries(data, n_bins):
    concepts, Y = data
    np.testing.assert_allclose(
        mutual_information(concepts, Y, n_bins=n_bins), reference(concepts, Y, n_bins), atol=1e-9
    )


def test_weights_count_as_repetitions(data):
    concepts, Y = data
    repeats = np.random.default_rng(1).integers(1, 4, Y.shape)
    known = PartialLabels.from_array(Y, weights=repeats / 2)
    np.testing.assert_allclose(
        mutual_information(concepts, known), reference(concepts, Y, 8, repeats), atol=1e-9
    )


@pytest.mark.parametrize("limit", [1, 150])
def test_blocks_and_stores_make_no_difference(data, monkeypatch, limit):
    concepts, Y = data
    rows, columns = np.nonzero(~np.isnan(Y))
    sparse_rows = rows < 30
    few = np.full(Y.shape, NAN)
    few[:30] = Y[:30]
    stored = PartialLabels.from_entries(
        rows[sparse_rows],
        columns[sparse_rows],
        few[rows[sparse_rows], columns[sparse_rows]] == 1,
        shape=Y.shape,
    )
    assert stored.is_sparse
    expected = [reference(concepts, few, 8), reference(concepts, Y, 8)]
    monkeypatch.setattr(module, "_COUNTS_AT_ONCE", limit)
    monkeypatch.setattr(module, "_INDICATORS_AT_ONCE", limit)
    monkeypatch.setattr(module, "_VALUES_AT_ONCE", limit)
    np.testing.assert_allclose(mutual_information(concepts, stored), expected[0], atol=1e-9)
    np.testing.assert_allclose(mutual_information(concepts, Y), expected[1], atol=1e-9)


def test_absent_background_is_the_same_as_writing_it_out():
    rng = np.random.default_rng(2)
    concepts = rng.random((60, 4))
    tags = [[str(j) for j in range(5) if rng.random() < 0.2] for _ in range(60)]
    known = PartialLabels.from_tags(tags, unlisted=0.1, labels=list("01234"))
    known = known.with_hidden([0, 3, 9], [1, 2, 2])
    written = PartialLabels.from_array(known.to_array(), weights=known.weights())
    assert (known.is_sparse, written.is_sparse) == (True, False)
    np.testing.assert_allclose(
        mutual_information(concepts, known), mutual_information(concepts, written), atol=1e-12
    )


def test_unknown_is_not_absent():
    concepts = np.array([[0.1], [0.2], [0.8], [0.9]] * 10)
    Y = np.array([[NAN], [0.0], [1.0], [1.0]] * 10)
    unknown_as_absent = np.nan_to_num(Y)
    Y_misleading = np.array([[NAN], [1.0], [1.0], [1.0]] * 10)
    assert mutual_information(concepts, Y, n_bins=2) == pytest.approx(
        -(1 / 3) * np.log(1 / 3) - (2 / 3) * np.log(2 / 3)
    )
    assert mutual_information(concepts, unknown_as_absent, n_bins=2) == pytest.approx(np.log(2))
    assert mutual_information(concepts, Y_misleading, n_bins=2) == pytest.approx(0)


def test_it_is_zero_without_known_entries():
    assert mutual_information([[0.1], [0.2]], [[NAN, 1], [NAN, 0]], n_bins=2)[0, 0] == 0


def test_equal_values_share_a_bin():
    values = np.array([[0.0]] * 90 + [[0.5]] * 5 + [[0.9]] * 5)
    codes = bins(values, 10)
    assert len(np.unique(codes[:90])) == 1
    assert codes[0, 0] < codes[90, 0]
    constant = bins(np.ones((20, 1)), 4)
    assert len(np.unique(constant)) == 1


def test_distinct_values_fill_bins_evenly():
    codes = bins(np.random.default_rng(0).permutation(100.0 + np.arange(80))[:, None], 8)
    assert np.bincount(codes[:, 0]).tolist() == [10] * 8


def test_relevance_is_the_sum_over_the_labels(data):
    concepts, Y = data
    selector = ConceptSelector().fit(concepts, Y)
    np.testing.assert_allclose(
        selector.relevance_, mutual_information(concepts, Y).sum(axis=1), rtol=1e-12
    )


def test_invalid_input_is_refused(data):
    concepts, Y = data
    with pytest.raises(InvalidInputError, match="n_bins must be an integer of at least 2"):
        mutual_information(concepts, Y, n_bins=1)
    with pytest.raises(InvalidInputError, match="400 rows, Y has 3"):
        mutual_information(concepts, Y[:3])
    concepts[5, 1] = NAN
    with pytest.raises(InvalidInputError, match="nan in row 5, column 1"):
        mutual_information(concepts, Y)


def test_more_bins_than_a_byte_can_count():
    rng = np.random.default_rng(0)
    x = rng.random((2000, 1))
    y = (x > 0.5).astype(float)
    few, many = mutual_information(x, y, n_bins=200), mutual_information(x, y, n_bins=300)
    np.testing.assert_allclose(many, few, atol=0.01)


@pytest.fixture
def toy():
    rng = np.random.default_rng(0)
    Y = (rng.random((200, 4)) < 0.4).astype(float)
    noise = rng.random((200, 5))
    informative = Y[:, [2, 0]] + 0.1 * rng.random((200, 2))
    return pd.DataFrame(np.hstack([noise, informative]), columns=[*"vwxyz", "sandbar", "dog"]), Y


def test_informative_concepts_are_chosen_and_named(toy):
    X, Y = toy
    selector = ConceptSelector().fit(X, Y)
    assert selector.get_feature_names_out().tolist() == ["sandbar", "dog"]
    assert set(selector.chosen_) == {5, 6}
    assert (np.diff(selector.relevance_[selector.chosen_]) <= 0).all()
    np.testing.assert_array_equal(selector.transform(X), X[["sandbar", "dog"]])


@pytest.mark.parametrize(
    ("wanted", "kept"), [(0.5, 2), (0.75, 3), (1, 1), (3, 3), (99, 7), (0.01, 1)]
)
def test_number_kept(toy, wanted, kept):
    X, Y = toy
    assert clone(ConceptSelector(wanted)).fit(X, Y).get_support().sum() == kept


def test_concepts_of_equal_relevance_are_taken_in_order():
    column = np.arange(20.0)[:, None]
    selector = ConceptSelector(2).fit(np.hstack([column] * 4), (column > 9).astype(float))
    assert selector.chosen_.tolist() == [0, 1]


def test_pandas_output(toy):
    X, Y = toy
    selector = ConceptSelector().set_output(transform="pandas").fit(X, Y)
    assert selector.transform(X).columns.tolist() == ["sandbar", "dog"]


@pytest.mark.parametrize("wanted", [0, -1, 0.0, -0.5, float("nan"), "half", True])
def test_invalid_numbers_are_refused(toy, wanted):
    with pytest.raises(InvalidInputError, match="n_concepts must be"):
        ConceptSelector(wanted).fit(*toy)


def test_labels_are_required(toy):
    with pytest.raises(InvalidInputError, match="requires y"):
        ConceptSelector().fit(toy[0])
