import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tagloom.datasets.base import seeded_split, split_from_words
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels

TABLES = st.tuples(st.integers(2, 30), st.integers(0, 6)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.sampled_from([0.0, 1.0, np.nan]))
)


@settings(deadline=None)
@given(table=TABLES, share=st.floats(0.05, 0.95), seed=st.integers(0, 5))
def test_every_row_is_on_one_side_and_the_share_is_kept(table, share, seed):
    truth = PartialLabels.from_array(table)
    training, test = seeded_split(truth, share, seed)
    assert sorted([*training, *test]) == list(range(len(table)))
    assert len(test) == min(max(round(share * len(table)), 1), len(table) - 1)
    again = seeded_split(truth, share, seed)
    np.testing.assert_array_equal(test, again[1])


@settings(deadline=None)
@given(sizes=st.lists(st.integers(2, 5), min_size=1, max_size=8), seed=st.integers(0, 20))
def test_rare_labels_are_on_both_sides(sizes, seed):
    columns = np.repeat(np.arange(len(sizes)), sizes)
    table = np.zeros((len(columns) + 40, len(sizes)))
    table[np.arange(len(columns)), columns] = 1
    training, test = seeded_split(PartialLabels.from_array(table), 0.4, seed)
    assert table[training].any(axis=0).all()
    assert table[test].any(axis=0).all()


def test_another_seed_draws_other_rows():
    truth = PartialLabels.from_array(np.zeros((50, 1)))
    assert seeded_split(truth, 0.5, 0)[1].tolist() != seeded_split(truth, 0.5, 1)[1].tolist()


@pytest.mark.parametrize("share", [0.0, -1, 2, "half", float("nan")])
def test_share_that_cannot_be_meant(share):
    with pytest.raises(InvalidInputError, match="test_share"):
        seeded_split(PartialLabels.from_array(np.zeros((5, 1))), share, 0)


@pytest.mark.parametrize("seed", [-1, 0.5, None, "x"])
def test_seed_that_cannot_be_meant(seed):
    with pytest.raises(InvalidInputError, match="random_state"):
        seeded_split(PartialLabels.from_array(np.zeros((5, 1))), 0.5, seed)


def test_words():
    training, test = split_from_words(["train", " TEST", "training"], "f.csv")
    assert (training.tolist(), test.tolist()) == ([0, 2], [1])
    with pytest.raises(InvalidInputError, match=r"f\.csv, entry 2: .* found 'val'"):
        split_from_words(["train", "val"], "f.csv")
