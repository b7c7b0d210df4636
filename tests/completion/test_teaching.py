import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from tagloom.completion.teaching import worth_asking


def by_going_through_all(P, open_to, S, count, per_label=5):
    U = np.where(open_to, P * (1 - P), 0).astype(np.float32)
    value = U * (U + S @ U)
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
    A = rng.random((len(P), len(P))) * (rng.random((len(P), len(P))) < 0.3)
    S = sparse.csr_array((A + A.T).astype(np.float32))
    asked = worth_asking(P, open_to, S, count, per_label=2)
    found = [(one.row, one.column) for one in asked]
    assert found == by_going_through_all(P, open_to, S, count, per_label=2)


def test_an_uncertain_entry_amid_uncertain_ones_is_asked_first():
    P = np.array([[0.5], [0.5], [0.5], [1.0], [0.0]], dtype=np.float32)
    S = sparse.csr_array((5, 5), dtype=np.float32).tolil()
    for one, other in ((0, 3), (1, 2)):
        S[one, other] = S[other, one] = 0.9
    asked = worth_asking(P, np.ones(P.shape, dtype=bool), S.tocsr(), 5)
    assert [one.row for one in asked] == [1, 2, 0]
    assert asked[2].value == 0.25**2
    assert np.isclose(asked[0].value, 0.25 * (0.25 + 0.9 * 0.25))


def test_one_label_that_is_uncertain_everywhere_does_not_shut_out_the_others():
    P = np.full((400, 3), 0.1, dtype=np.float32)
    P[:, 0] = 0.5
    asked = worth_asking(P, np.ones(P.shape, dtype=bool), None, 5, per_label=2)
    assert sorted(one.column for one in asked) == [0, 0, 1, 1, 2]


def test_what_is_said_is_not_asked():
    P = np.full((3, 2), 0.5, dtype=np.float32)
    assert worth_asking(P, np.zeros(P.shape, dtype=bool), None, 4) == []
