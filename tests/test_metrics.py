from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import average_precision_score, roc_auc_score

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, hide_uniformly, keep_presences
from tagloom.metrics import (
    at_top_k,
    average_precision,
    average_precision_per_item,
    counted_by_bins,
    counted_by_sorting,
    expected_calibration_error,
    mean_average_precision,
    mean_average_precision_per_item,
    roc_auc,
    squared_error,
    top_labels,
)

shapes = st.tuples(st.integers(1, 12), st.integers(1, 5))


@st.composite
def judged(draw):
    """Truth in {0, 1, unknown} and scores with many ties."""
    shape = draw(shapes)
    truth = draw(arrays(np.float64, shape, elements=st.sampled_from([0.0, 1.0, np.nan])))
    scores = draw(arrays(np.float64, shape, elements=st.sampled_from([-1.0, 0.0, 0.25, 0.5, 2.0])))
    return truth, scores


@given(judged())
def test_average_precision_is_that_of_scikit_learn_on_the_known_entries(case):
    truth, scores = case
    for j, ours in enumerate(average_precision(truth, scores)):
        known = ~np.isnan(truth[:, j])
        if truth[known, j].sum() == 0:
            assert np.isnan(ours)
        else:
            expected = average_precision_score(truth[known, j], scores[known, j])
            assert ours == pytest.approx(expected, abs=1e-12)


@given(judged())
def test_per_item_is_that_of_scikit_learn_on_rows(case):
    truth, scores = case
    for row, ours in enumerate(average_precision_per_item(truth, scores)):
        known = ~np.isnan(truth[row])
        if truth[row, known].sum() == 0:
            assert np.isnan(ours)
        else:
            expected = average_precision_score(truth[row, known], scores[row, known])
            assert ours == pytest.approx(expected, abs=1e-12)


def eleven_points(truth, scores):
    """The measure of VOC 2007 from its definition, with exact recalls."""
    n = int(truth.sum())
    points = []
    for threshold in set(scores.tolist()):
        found = int(truth[scores >= threshold].sum())
        points.append((Fraction(found, n), found / int((scores >= threshold).sum())))
    best = [max(p for r, p in points if r >= Fraction(i, 10)) for i in range(11)]
    return sum(best) / 11


@given(judged())
def test_eleven_points_are_those_of_the_definition(case):
    truth, scores = case
    for j, ours in enumerate(average_precision(truth, scores, interpolation="voc11")):
        known = ~np.isnan(truth[:, j])
        if truth[known, j].sum() == 0:
            assert np.isnan(ours)
        else:
            expected = eleven_points(truth[known, j], scores[known, j])
            assert ours == pytest.approx(expected, abs=1e-12)


def test_eleven_points_reach_a_recall_of_three_tenths_exactly():
    # 3 of 10 found at precision 1, the others last: 3 / 10 >= 0.3 must not depend on the last bit.
    truth = np.array([1, 1, 1] + [0] * 7 + [1] * 7)[:, None]
    scores = np.arange(17.0)[::-1, None]
    expected = (4 * 1.0 + 7 * (10 / 17)) / 11
    assert average_precision(truth, scores, interpolation="voc11")[0] == pytest.approx(expected)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_many_items_are_judged_as_by_scikit_learn(dtype):
    rng = np.random.default_rng(3)
    truth = np.where(rng.random((5000, 6)) < 0.2, np.nan, rng.random((5000, 6)) < 0.05)
    scores = (rng.normal(size=truth.shape) + np.nan_to_num(truth)).astype(dtype)
    scores[:, 1] = np.round(scores[:, 1])
    scores[:, 2] = 0
    scores[7, 3] = np.finfo(dtype).max
    for j, ours in enumerate(average_precision(truth, scores)):
        known = ~np.isnan(truth[:, j])
        expected = average_precision_score(truth[known, j], scores[known, j])
        assert ours == pytest.approx(expected, abs=1e-12)


def test_sparse_truth_is_judged_on_its_known_entries():
    rng = np.random.default_rng(0)
    truth = PartialLabels.from_array((rng.uniform(size=(400, 60)) < 0.3).astype(float))
    few = hide_uniformly(truth, 0.05, random_state=1)
    scores = rng.normal(size=truth.shape)
    assert few.is_sparse
    table = few.to_array()
    for j, ours in enumerate(average_precision(few, scores)):
        known = ~np.isnan(table[:, j])
        expected = average_precision_score(table[known, j], scores[known, j])
        assert ours == pytest.approx(expected, abs=1e-12)


def test_sparse_truth_is_judged_per_item_on_its_known_entries():
    rng = np.random.default_rng(2)
    truth = PartialLabels.from_array((rng.uniform(size=(60, 400)) < 0.3).astype(float))
    few = hide_uniformly(truth, 0.05, random_state=1)
    scores = rng.normal(size=truth.shape)
    dense = average_precision_per_item(few.to_array(), scores)
    assert few.is_sparse
    np.testing.assert_allclose(average_precision_per_item(few, scores), dense, atol=1e-12)


def test_absent_background_counts_as_absent():
    truth = PartialLabels.from_array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    listed = keep_presences(truth, 1.0, unlisted="absent")
    scores = np.array([[0.1, 0.3], [0.2, 0.2], [0.3, 0.1]])
    np.testing.assert_allclose(average_precision(listed, scores), average_precision(truth, scores))


def test_mean_leaves_out_labels_without_presence():
    truth = [[1, 0], [0, 0]]
    assert mean_average_precision(truth, [[1.0, 0.0], [0.0, 1.0]]) == 1.0
    assert np.isnan(mean_average_precision([[0], [0]], [[1.0], [0.0]]))


def test_mean_per_item_leaves_out_items_without_presence():
    truth = [[1, 0], [0, 0], [0, 1]]
    assert mean_average_precision_per_item(truth, [[1, 0], [1, 0], [1, 0]]) == 0.75


def test_unknown_interpolation_is_refused():
    with pytest.raises(InvalidInputError, match="one of 'area', 'voc11'; got 'voc12'"):
        average_precision([[1]], [[1.0]], interpolation="voc12")


def test_scores_of_another_shape_or_not_finite_are_refused():
    with pytest.raises(InvalidInputError, match=r"\(2, 1\); got \(1, 2\)"):
        average_precision([[1], [0]], [[0.0, 1.0]])
    with pytest.raises(InvalidInputError, match=r"scores\[1, 0\] = nan"):
        average_precision([[1], [0]], [[0.0], [np.nan]])


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, bool, object])
def test_integers_rank_like_floats(dtype):
    scores = np.array([[1], [0], [0]]).astype(dtype)
    assert average_precision([[1], [0], [0]], scores) == [1.0]


def test_scores_that_are_no_numbers_are_refused():
    with pytest.raises(InvalidInputError, match="Scores must be numbers"):
        average_precision([[1]], [["high"]])


dtypes = st.sampled_from([np.float32, np.float64])


@st.composite
def rankings(draw):
    """Scores of every size, ties and unknown entries (-infinity) among them; some are presences."""
    dtype = np.dtype(draw(dtypes))
    finite = st.floats(allow_nan=False, allow_infinity=False, width=8 * dtype.itemsize)
    few = st.sampled_from([-np.inf, -1.0, 0.0, 1.0, 1.5, float(np.finfo(dtype).max)])
    scores = draw(arrays(dtype, st.integers(1, 40), elements=st.one_of(finite, few)))
    known = np.flatnonzero(np.isfinite(scores))
    if not len(known):
        scores[0], known = 0, np.array([0])
    chosen = draw(st.sets(st.sampled_from(known.tolist()), min_size=1))
    return scores, np.sort(scores[sorted(chosen)])


@pytest.mark.parametrize("counted", [counted_by_bins, counted_by_sorting])
@given(ranking=rankings())
def test_counts_are_those_of_plain_comparison(counted, ranking):
    scores, presences = ranking
    expected = [int(np.sum(scores >= presence)) for presence in presences]
    assert counted(scores, presences).tolist() == expected


@given(seed=st.integers(0, 1000), dtype=dtypes)
def test_bins_agree_with_sorting_where_many_scores_share_one(seed, dtype):
    rng = np.random.default_rng(seed)
    scores = rng.standard_cauchy(size=400).astype(dtype).round(seed % 5)
    presences = np.sort(rng.choice(scores, 30))
    np.testing.assert_array_equal(
        counted_by_bins(scores, presences), counted_by_sorting(scores, presences)
    )


@st.composite
def judged_top(draw):
    shape = (draw(st.integers(1, 10)), draw(st.integers(1, 7)))
    truth = draw(arrays(np.float64, shape, elements=st.sampled_from([0.0, 1.0, np.nan])))
    scores = draw(arrays(np.float64, shape, elements=st.sampled_from([-1.0, 0.0, 0.5, 2.0])))
    return truth, scores, draw(st.integers(1, 8))


def by_loops(truth, scores, k):
    """Precision, recall and N+ item by item, ties to the label listed first."""
    suggested = [sorted(range(len(row)), key=lambda j, row=row: (-row[j], j))[:k] for row in scores]
    precisions, recalls = [], []
    for j in range(truth.shape[1]):
        have = [i for i in range(len(truth)) if truth[i, j] == 1]
        given_to = [i for i in range(len(truth)) if j in suggested[i] and not np.isnan(truth[i, j])]
        if have:
            right = len(set(have) & set(given_to))
            precisions.append(right / len(given_to) if given_to else 0.0)
            recalls.append(right / len(have))
    return precisions, recalls


@given(judged_top())
def test_top_k_is_that_of_plain_loops(case):
    truth, scores, k = case
    precisions, recalls = by_loops(truth, scores, k)
    found = at_top_k(truth, scores, k)
    assert found.n_labels_scored == len(recalls)
    assert found.n_labels_left_out == truth.shape[1] - len(recalls)
    assert found.n_plus == sum(recall > 0 for recall in recalls)
    assert found.n_suggested == len(truth) * min(k, truth.shape[1])
    if recalls:
        precision, recall = np.mean(precisions), np.mean(recalls)
        assert found.precision == pytest.approx(precision, abs=1e-12)
        assert found.recall == pytest.approx(recall, abs=1e-12)
        both = precision + recall
        expected = 2 * precision * recall / both if both else 0.0
        assert found.f1 == pytest.approx(expected, abs=1e-12)
    else:
        assert np.isnan([found.precision, found.recall, found.f1]).all()


@given(judged_top())
def test_top_labels_are_in_descending_order_and_ties_follow_the_order_of_the_labels(case):
    _, scores, k = case
    for row, columns in zip(scores, top_labels(scores, k), strict=True):
        expected = sorted(range(len(row)), key=lambda j, row=row: (-row[j], j))[:k]
        assert columns.tolist() == expected


def test_a_label_never_suggested_has_precision_0():
    found = at_top_k([[1, 1], [1, 0]], [[0.9, 0.1], [0.9, 0.1]], k=1)
    assert (found.precision, found.recall) == (0.5, 0.5)
    assert (found.n_plus, found.n_labels_never_suggested) == (1, 1)


def test_a_suggestion_of_unknown_truth_is_neither_right_nor_wrong():
    truth = np.array([[1.0, 0.0], [np.nan, 1.0]])
    found = at_top_k(truth, [[0.9, 0.1], [0.9, 0.1]], k=1)
    assert found.n_suggested_unknown == 1
    # Label 0: right once, unknown once. Label 1: never suggested.
    assert (found.precision, found.recall) == (0.5, 0.5)


def test_sparse_truth_counts_like_dense():
    rng = np.random.default_rng(0)
    truth = PartialLabels.from_array((rng.uniform(size=(200, 40)) < 0.3).astype(float))
    few = hide_uniformly(truth, 0.05, random_state=1)
    scores = rng.normal(size=truth.shape)
    assert few.is_sparse
    assert at_top_k(few, scores) == at_top_k(few.to_array(), scores)


@pytest.mark.parametrize("k", [0, -1, 2.5, True])
def test_k_must_be_an_integer_of_at_least_1(k):
    with pytest.raises(InvalidInputError, match="k must be an integer of at least 1"):
        at_top_k([[1]], [[1.0]], k=k)


def test_squared_error_weighs_the_known_entries():
    truth = PartialLabels.from_array([[1.0, np.nan], [0.0, 0.0]], weights=[[3, 1], [1, 1]])
    assert squared_error(truth, [[0.0, 9.0], [0.0, 2.0]]) == pytest.approx((3 + 0 + 4) / 5)


def test_squared_error_of_nothing_known_is_undefined():
    assert np.isnan(squared_error([[np.nan]], [[1.0]]))


@given(judged())
def test_roc_auc_is_that_of_scikit_learn_on_the_known_entries(case):
    truth, scores = case
    for j, ours in enumerate(roc_auc(PartialLabels.from_array(truth), scores)):
        known = ~np.isnan(truth[:, j])
        if len(set(truth[known, j])) < 2:
            assert np.isnan(ours)
        else:
            assert ours == pytest.approx(roc_auc_score(truth[known, j], scores[known, j]))


def test_calibration_error_weighs_bins_by_their_counts():
    assert expected_calibration_error([3, 1], [0.5, 0.9], [0.5, 0.5]) == pytest.approx(0.1)
    assert np.isnan(expected_calibration_error([], [], []))
