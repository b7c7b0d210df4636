import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import average_precision_score

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, hide_uniformly, keep_presences
from tagloom.metrics import average_precision, mean_average_precision, squared_error

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


def test_absent_background_counts_as_absent():
    truth = PartialLabels.from_array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    listed = keep_presences(truth, 1.0, unlisted="absent")
    scores = np.array([[0.1, 0.3], [0.2, 0.2], [0.3, 0.1]])
    np.testing.assert_allclose(average_precision(listed, scores), average_precision(truth, scores))


def test_mean_leaves_out_labels_without_presence():
    truth = [[1, 0], [0, 0]]
    assert mean_average_precision(truth, [[1.0, 0.0], [0.0, 1.0]]) == 1.0
    assert np.isnan(mean_average_precision([[0], [0]], [[1.0], [0.0]]))


def test_squared_error_weighs_the_known_entries():
    truth = PartialLabels.from_array([[1.0, np.nan], [0.0, 0.0]], weights=[[3, 1], [1, 1]])
    assert squared_error(truth, [[0.0, 9.0], [0.0, 2.0]]) == pytest.approx((3 + 0 + 4) / 5)


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
