import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tagloom.completion.suggestions import annotate_next


def by_going_through_all(P, open_to, n_present, count, per_label):
    value = np.where(open_to, P * (1 - P) / np.maximum(1, n_present), 0).astype(np.float32)
    places = sorted(np.ndindex(*value.shape), key=lambda at: (-value[at], at))
    chosen = []
    for row, column in places:
        of_label = sum(one[1] == column for one in chosen)
        of_item = sum(one[0] == row for one in chosen)
        allowed = value[row, column] > 0 and of_label < per_label and of_item < 2
        if allowed and len(chosen) < count:
            chosen.append((row, column))
    return chosen


@given(
    arrays(np.float32, st.tuples(st.integers(1, 14), st.integers(1, 5)),
           elements=st.sampled_from([0.0, 0.1, 0.5, 0.8, 1.0])),
    st.integers(0, 12),
    st.integers(0, 5),
)  # fmt: skip
def test_the_most_valuable_are_asked_within_the_limits(P, count, seed):
    rng = np.random.default_rng(seed)
    open_to = rng.random(P.shape) < 0.8
    n_present = rng.integers(0, 9, P.shape[1])
    asked = annotate_next(P, open_to, n_present, count, per_label=2)
    found = [(one.row, one.column) for one in asked]
    assert found == by_going_through_all(P, open_to, n_present, count, per_label=2)


def test_uncertain_entries_of_labels_of_which_little_is_known_come_first():
    P = np.array([[0.5, 0.5], [0.9, 0.9], [1.0, 1.0]], dtype=np.float32)
    asked = annotate_next(P, np.ones(P.shape, dtype=bool), np.array([10, 2]), 4)
    assert [(one.row, one.column) for one in asked] == [(0, 1), (1, 1), (0, 0), (1, 0)]
    np.testing.assert_allclose([one.score for one in asked], [0.125, 0.045, 0.025, 0.009], 1e-5)


def test_one_label_that_is_uncertain_everywhere_does_not_shut_out_the_others():
    P = np.full((400, 3), 0.1, dtype=np.float32)
    P[:, 0] = 0.5
    asked = annotate_next(P, np.ones(P.shape, dtype=bool), np.ones(3), 5, per_label=2)
    assert sorted(one.column for one in asked) == [0, 0, 1, 1, 2]


def test_what_is_said_is_not_asked():
    P = np.full((3, 2), 0.5, dtype=np.float32)
    assert annotate_next(P, np.zeros(P.shape, dtype=bool), np.ones(2), 4) == []
