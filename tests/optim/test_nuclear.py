import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tagloom.optim.penalties import nuclear_norm, shrink, shrink_by_svd, spectral_norm

matrices = st.tuples(st.integers(1, 7), st.integers(1, 7)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.floats(-10, 10, width=32))
)


@given(A=matrices, tau=st.floats(1e-3, 20))
def test_gram_route_equals_the_definition(A, tau):
    fast, slow = shrink(A, tau), shrink_by_svd(A, tau)
    np.testing.assert_allclose(fast.matrix, slow.matrix, atol=1e-7)
    assert fast.singular_values.sum() == pytest.approx(slow.singular_values.sum(), abs=1e-6)


@given(A=matrices, tau=st.floats(1e-3, 20))
def test_shrink_satisfies_the_optimality_condition(A, tau):
    # P minimises tau ||P||_* + 1/2 ||P - A||^2 iff (A - P) / tau is a subgradient of ||.||_* at P.
    P = shrink(A, tau).matrix
    Z = (A - P) / tau
    assert spectral_norm(Z) <= 1 + 1e-6
    assert np.vdot(Z, P) == pytest.approx(nuclear_norm(P), abs=1e-5)


def test_tiny_threshold_keeps_small_singular_values():
    # Squared, 1e-9 would drown in the rounding of 1: the decomposition must be used.
    A = np.diag([1.0, 1e-9])
    shrunk = shrink(A, 1e-10)
    np.testing.assert_allclose(shrunk.singular_values, [1 - 1e-10, 9e-10], rtol=1e-6)


def test_single_precision_stays_single_and_accurate():
    A = np.random.default_rng(0).normal(size=(40, 30))
    single, double = shrink(A.astype(np.float32), 3.0), shrink(A, 3.0)
    assert single.matrix.dtype == np.float32
    np.testing.assert_allclose(single.matrix, double.matrix, atol=1e-5)


def test_everything_below_the_threshold_vanishes():
    shrunk = shrink(np.diag([2.0, 1.0]), 2.5)
    assert not shrunk.matrix.any()
    assert len(shrunk.singular_values) == 0
