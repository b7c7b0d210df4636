from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import average_precision_score

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, hide_uniformly, keep_presences
from tagloom.metrics import (
    average_precision,
    average_precision_per_item,
    mean_average_precision,
    mean_average_precision_per_item,
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
    # 3 of 10 found at precision 1, the others last: 3 / 10 >= 0.3 must not hang on the last bit.
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
def test_whole_numbers_rank_like_numbers(dtype):
    scores = np.array([[1], [0], [0]]).astype(dtype)
    assert average_precision([[1], [0], [0]], scores) == [1.0]


def test_scores_that_are_no_numbers_are_refused():
    with pytest.raises(InvalidInputError, match="Scores must be numbers"):
        average_precision([[1]], [["high"]])
