"""Singular value thresholding against its definition, conjugate gradients against direct solves."""

import os
import subprocess
import sys
import time
from functools import partial
from itertools import islice
from threading import Event

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from threadpoolctl import threadpool_info, threadpool_limits

from tagloom.linalg import (
    blas_for,
    clip_singular_values,
    conjugate_gradients,
    inner,
    limited_blas,
    nuclear_norm,
    side_by_side,
    spectral_norm,
    threshold_by_svd,
    threshold_singular_values,
)

matrices = st.tuples(st.integers(1, 7), st.integers(1, 7)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.floats(-10, 10, width=32))
)


@given(A=matrices, tau=st.floats(1e-3, 20))
def test_gram_route_equals_the_definition(A, tau):
    fast, slow = threshold_singular_values(A, tau), threshold_by_svd(A, tau)
    np.testing.assert_allclose(fast.matrix, slow.matrix, atol=1e-7)
    assert fast.singular_values.sum() == pytest.approx(slow.singular_values.sum(), abs=1e-6)


@given(A=matrices, tau=st.floats(1e-3, 20))
def test_threshold_satisfies_the_optimality_condition(A, tau):
    # P minimises tau ||P||_* + 1/2 ||P - A||^2 iff (A - P) / tau is a subgradient of ||.||_* at P.
    P = threshold_singular_values(A, tau).matrix
    Z = (A - P) / tau
    assert spectral_norm(Z) <= 1 + 1e-6
    assert np.vdot(Z, P) == pytest.approx(nuclear_norm(P), abs=1e-5)


def test_tiny_threshold_keeps_small_singular_values():
    # Squared, 1e-9 would drown in the rounding of 1: the decomposition must be used.
    A = np.diag([1.0, 1e-9])
    found = threshold_singular_values(A, 1e-10)
    np.testing.assert_allclose(found.singular_values, [1 - 1e-10, 9e-10], rtol=1e-6)


def test_single_precision_stays_single_and_accurate():
    A = np.random.default_rng(0).normal(size=(40, 30))
    single, double = (
        threshold_singular_values(A.astype(np.float32), 3.0),
        threshold_singular_values(A, 3.0),
    )
    assert single.matrix.dtype == np.float32
    np.testing.assert_allclose(single.matrix, double.matrix, atol=1e-5)


def test_everything_below_the_threshold_vanishes():
    found = threshold_singular_values(np.diag([2.0, 1.0]), 2.5)
    assert not found.matrix.any()
    assert len(found.singular_values) == 0


def test_clipping_bounds_the_spectral_norm_and_keeps_smaller_singular_values():
    np.testing.assert_allclose(
        clip_singular_values(np.diag([3.0, 1.0]), 2.0), np.diag([2.0, 1.0]), atol=1e-12
    )


def positive_definite(rng, d):
    root = rng.normal(size=(d, d))
    return root @ root.T + np.eye(d)


def solved(A, B, n_steps, **options):
    """Return X after some steps from 0, and the residual that the steps leave."""
    X, residual = np.zeros_like(B), B.copy()
    steps = conjugate_gradients(lambda D: A @ D, residual, **options)
    for step in islice(steps, n_steps):
        X += step.length * step.direction
        np.testing.assert_allclose(step.product, A @ step.direction, atol=1e-12)
    return X, residual


def test_conjugate_gradients_solve_every_column_in_as_many_steps_as_dimensions():
    rng = np.random.default_rng(0)
    A, B = positive_definite(rng, 6), rng.normal(size=(6, 4))
    X, residual = solved(A, B, 6)
    np.testing.assert_allclose(X, np.linalg.solve(A, B), atol=1e-8)
    np.testing.assert_allclose(residual, 0, atol=1e-8)


def test_conjugate_gradients_solve_a_shifted_system():
    rng = np.random.default_rng(1)
    A, B = positive_definite(rng, 5), rng.normal(size=(5, 3))
    X, _ = solved(A, B, 5, shift=np.float64(2.5))
    np.testing.assert_allclose(X, np.linalg.solve(A + 2.5 * np.eye(5), B), atol=1e-8)


def test_an_exact_preconditioner_needs_one_step():
    rng = np.random.default_rng(2)
    A, B = positive_definite(rng, 5), rng.normal(size=(5, 3))
    X, _ = solved(A, B, 1, precondition=lambda R: np.linalg.solve(A, R))
    np.testing.assert_allclose(X, np.linalg.solve(A, B), atol=1e-10)


def test_coupled_columns_take_one_step_length():
    rng = np.random.default_rng(3)
    A, B = positive_definite(rng, 3), rng.normal(size=(3, 2))
    X, _ = solved(A, B, 6, dots=lambda C, D: np.asarray(inner(C, D)))
    np.testing.assert_allclose(X, np.linalg.solve(A, B), atol=1e-8)


def test_a_column_of_zeros_stays_zero():
    rng = np.random.default_rng(4)
    A, B = positive_definite(rng, 4), rng.normal(size=(4, 3))
    B[:, 1] = 0
    assert not solved(A, B, 4)[0][:, 1].any()


def test_conjugate_gradients_in_single_precision_stay_single():
    A, B = np.eye(3, dtype=np.float32), np.ones((3, 2), dtype=np.float32)
    X, residual = solved(A, B, 1, shift=np.float32(1.0))
    assert X.dtype == residual.dtype == np.float32
    np.testing.assert_allclose(X, 0.5)


def test_limits_of_several_threads_leave_blas_as_it_was():
    with threadpool_limits(4, user_api="blas"):
        before = blas_threads()
        first, second = limited_blas(2), limited_blas(1)
        first.__enter__()
        second.__enter__()
        assert blas_threads() == 1
        first.__exit__(None, None, None)
        assert blas_threads() == 1
        second.__exit__(None, None, None)
        assert blas_threads() == before


def test_small_products_use_one_thread():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with blas_for(1000, 100, 6):
            assert blas_threads() == 1
        with blas_for(1_000_000, 256, 500):
            assert blas_threads() == before
        assert blas_threads() == before


OVERLAPPING_FITS = """
from concurrent.futures import ThreadPoolExecutor
from threading import Event
import joblib, numpy as np
from threadpoolctl import threadpool_info
from tagloom.models import LeastSquares, least_squares

first_begun, second_begun, first_ended = Event(), Event(), Event()

class Overlapping(joblib.Parallel):
    def __call__(self, calls):
        if first_begun.is_set():
            second_begun.set()
            assert first_ended.wait(60)
        else:
            first_begun.set()
            assert second_begun.wait(60)
        return super().__call__(calls)

def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = np.where(rng.random(X.shape) < 0.5, X > 0, np.nan)  # known of different items: in threads
least_squares.Parallel = Overlapping
before = blas_threads()
with ThreadPoolExecutor(2) as pool:
    first = pool.submit(LeastSquares().fit, X, Y)
    assert first_begun.wait(60)
    second = pool.submit(LeastSquares().fit, X, Y)
    first.result()
    first_ended.set()
    second.result()
assert blas_threads() == before, (before, blas_threads())
"""


def test_fits_that_overlap_leave_blas_as_it_was():
    """The second fit begins during the first one and ends after it.

    In a process of its own: where the tests run, BLAS may be limited to one thread already.
    """
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "2")
    ended = subprocess.run(
        [sys.executable, "-c", OVERLAPPING_FITS],
        env=os.environ | threads,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr


def blas_threads():
    pools = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    return min(pools)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_tasks_side_by_side_come_in_their_order(n_threads):
    """The first task waits for the last where both run at once."""
    last_done = Event()

    def task(number):
        if number == 0 and n_threads == 3:
            assert last_done.wait(30)
        if number == 2:
            last_done.set()
        return number

    tasks = [partial(task, number) for number in range(3)]
    assert list(side_by_side(tasks, n_threads)) == [0, 1, 2]


def test_an_error_in_a_task_is_raised():
    def fails():
        raise ValueError("no such task")

    with pytest.raises(ValueError, match="no such task"):
        list(side_by_side([fails, fails], 2))


def test_a_limit_of_blas_raises_no_lower_one():
    with threadpool_limits(1, user_api="blas"), limited_blas(2):
        pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
        assert {pool["num_threads"] for pool in pools} == {1}


def test_tasks_that_nobody_waits_for_are_not_begun():
    begun = []

    def task(number):
        begun.append(number)
        time.sleep(0.05 if number else 0)

    results = side_by_side([partial(task, number) for number in range(100)], 2)
    next(results)
    results.close()
    assert len(begun) < 100
