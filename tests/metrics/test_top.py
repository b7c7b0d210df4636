import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, hide_uniformly
from tagloom.metrics import at_top_k, top_labels


@st.composite
def judged(draw):
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


@given(judged())
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


@given(judged())
def test_top_labels_fall_and_ties_follow_the_order_of_the_labels(case):
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
def test_k_must_be_a_whole_number_of_at_least_1(k):
    with pytest.raises(InvalidInputError, match="k must be an integer of at least 1"):
        at_top_k([[1]], [[1.0]], k=k)
