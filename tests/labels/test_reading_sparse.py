import numpy as np
import pytest
from scipy import sparse

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels

Y = sparse.csr_array([[1, 0, 0], [0, 0, 3]])
MASK = np.array([[True, True, False], [False, False, True]])


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix, sparse.dok_array, np.array])
def test_only_the_mask_says_what_is_absent(make):
    known = PartialLabels.from_sparse(Y, make(MASK), labels=["a", "b", "c"])
    assert known.states().tolist() == [[1, 0, -1], [-1, -1, 1]]


def test_stored_zeros_are_zeros():
    stored = sparse.csr_array((np.array([0.0, 1.0]), ([0, 1], [1, 2])), shape=(2, 3))
    mask = sparse.csr_array((np.array([True, False, True]), ([0, 1, 1], [1, 1, 2])), shape=(2, 3))
    known = PartialLabels.from_sparse(stored, mask)
    assert known.states().tolist() == [[-1, 0, -1], [-1, -1, 1]]


def test_a_nonzero_outside_the_mask_is_named():
    mask = MASK.copy()
    mask[1, 2] = False
    with pytest.raises(InvalidInputError, match=r"row 1 \(item 'q'\), column 2 \(label 'c'\)"):
        PartialLabels.from_sparse(Y, mask, labels=["a", "b", "c"], items=["p", "q"])


@pytest.mark.parametrize(
    ("Y", "mask", "said"),
    [
        ([[1, 0]], [[True, True]], "expects a scipy sparse matrix, found list"),
        (sparse.csr_array([[1, -1]]), [[True, True]], "found -1 at row 0, column 1"),
        (sparse.csr_array([[1, np.nan]]), [[True, True]], "found nan at row 0, column 1"),
        (sparse.csr_array([[1, 0]]), [[True, np.nan]], "The mask must hold True or False"),
        (sparse.csr_array([[1, 0]]), [[True]], r"shape of the labels, \(1, 2\)"),
        (sparse.csr_array([[1, 0]]), None, "The mask must be numbers or booleans"),
        (sparse.coo_array([1, 0]), [True, True], "two dimensions"),
    ],
)
def test_what_makes_no_sense_is_refused(Y, mask, said):
    with pytest.raises(InvalidInputError, match=said):
        PartialLabels.from_sparse(Y, mask)


def test_weights_are_needed_where_something_is_known():
    weights = sparse.coo_array(([0.5, 0.25, 0.25, 9], ([0, 0, 0, 1], [0, 1, 1, 0])), shape=(2, 3))
    with pytest.raises(InvalidInputError, match=r"found 0\.0 at row 1, column 2"):
        PartialLabels.from_sparse(Y, MASK, weights=weights)
    full = weights + sparse.csr_array([[0, 0, 0], [0, 0, 2.0]])
    known = PartialLabels.from_sparse(Y, MASK, weights=full)
    assert known.weights().tolist() == [[0.5, 0.5, 0], [0, 0, 2]]


def test_presences_can_be_multiplied_without_overflow():
    present, mask = PartialLabels.from_array(np.ones((300, 1))).to_sparse()
    assert (present.T @ present).toarray() == 300
    assert mask.dtype == bool
