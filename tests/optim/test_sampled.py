"""The compiled sampled products against the dense formula that they stand for."""

import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tagloom.optim.sampled import LabelEntries, add_products, aligned_zeros, available

pytest.importorskip("numba", reason="the extra `fast` is not installed")


def entries_of(V, weight=None):
    """Return the entries of V; with a common weight, V is what else they would weigh."""
    stored = sparse.csc_array(V)
    weights = None if weight is not None else stored.data
    rows, indptr = stored.indices.astype(np.int32), stored.indptr.astype(np.int64)
    return LabelEntries(indptr, rows, weights, 0.0 if weight is None else weight)


def random_block(seed, n, d, c, density, dtype):
    rng = np.random.default_rng(seed)
    X, Mt = rng.normal(size=(n, d)).astype(dtype), rng.normal(size=(c, d)).astype(dtype)
    V = (rng.uniform(0.5, 2, size=(n, c)) * (rng.random((n, c)) < density)).astype(dtype)
    return X, Mt, V


def products(X, Mt, entries, n_threads=1):
    Gt, totals = np.zeros_like(Mt), np.zeros(len(Mt))
    add_products(X, Mt, entries, Gt, totals, n_threads)
    return Gt, totals


def assert_equal_to_dense(X, Mt, V, Gt, totals):
    """Compare within the rounding of a sum: of the sum of the magnitudes, not of what is left."""
    X, Mt, V = (np.asarray(A, dtype=np.float64) for A in (X, Mt, V))
    R = V * (X @ Mt.T)
    magnitude = V * (abs(X) @ abs(Mt).T)
    eps = 4 * np.finfo(Gt.dtype).eps * np.sqrt(X.size + 1)
    assert np.all(abs(Gt - R.T @ X) <= eps * (magnitude.T @ abs(X)))
    assert np.all(abs(totals - R.sum(axis=0)) <= eps * magnitude.sum(axis=0))


@settings(deadline=None, max_examples=150)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(0, 70),
    d=st.integers(1, 50),
    c=st.integers(0, 9),
    density=st.sampled_from([0.0, 0.05, 0.3, 0.7, 1.0]),
    dtype=st.sampled_from([np.float32, np.float64]),
    weight=st.sampled_from([None, 1.0, 0.3]),
    n_threads=st.integers(1, 3),
)
def test_products_equal_the_dense_formula(seed, n, d, c, density, dtype, weight, n_threads):
    X, Mt, V = random_block(seed, n, d, c, density, dtype)
    Gt, totals = products(X, Mt, entries_of(V, weight), n_threads)
    if weight is not None:
        V = np.where(V, dtype(weight), dtype(0))
    assert_equal_to_dense(X, Mt, V, Gt, totals)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("density", [0.002, 0.1])
def test_many_tiles_equal_the_dense_formula(dtype, density):
    X, Mt, V = random_block(0, 9000, 301, 5, density, dtype)
    assert_equal_to_dense(X, Mt, V, *products(X, Mt, entries_of(V)))


def test_products_are_added_to_the_output():
    X, Mt, V = random_block(0, 40, 7, 5, 0.4, np.float64)
    entries = entries_of(V)
    Gt, totals = np.ones_like(Mt), np.full(len(Mt), 2.0)
    add_products(X, Mt, entries, Gt, totals, 1)
    once = products(X, Mt, entries)
    np.testing.assert_allclose(Gt, 1 + once[0], rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(totals, 2 + once[1], rtol=1e-13, atol=1e-13)


def test_labels_without_entries_leave_the_output_unchanged():
    X, Mt, V = random_block(0, 40, 7, 5, 0.4, np.float32)
    V[:, [0, 3]] = 0
    Gt, totals = np.full_like(Mt, 0.1), np.full(len(Mt), 0.1)
    add_products(X, Mt, entries_of(V), Gt, totals, 2)
    assert np.all(Gt[[0, 3]] == np.float32(0.1))
    assert np.all(totals[[0, 3]] == 0.1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_bits_for_any_number_of_threads(dtype):
    X, Mt, V = random_block(0, 2000, 130, 40, 0.3, dtype)
    V[:, 0] = 1
    entries = entries_of(V)
    Gt, totals = products(X, Mt, entries, 1)
    for n_threads in (2, 3, 7, 64):
        others = products(X, Mt, entries, n_threads)
        assert np.array_equal(Gt, others[0])
        assert np.array_equal(totals, others[1])


def test_callers_in_several_threads_do_not_disturb_each_other():
    blocks = [random_block(seed, 1500, 130, 40, 0.3, np.float64) for seed in range(6)]
    alone = [products(X, Mt, entries_of(V)) for X, Mt, V in blocks]
    with ThreadPoolExecutor(2) as callers:
        calls = [callers.submit(products, X, Mt, entries_of(V), 2) for X, Mt, V in blocks]
        together = [call.result(timeout=60) for call in calls]
    for one, other in zip(alone, together, strict=True):
        assert np.array_equal(one[0], other[0])
        assert np.array_equal(one[1], other[1])


def test_read_only_arrays_are_accepted():
    X, Mt, V = random_block(0, 30, 7, 5, 0.4, np.float32)
    entries = entries_of(V)
    for array in (X, Mt, entries.indptr, entries.rows, entries.weights):
        array.flags.writeable = False
    assert_equal_to_dense(X, Mt, V, *products(X, Mt, entries))


def test_nan_affects_only_its_own_labels():
    X, Mt, V = random_block(0, 30, 7, 5, 1.0, np.float32)
    X[4, 2] = np.nan
    V[4, 1:] = 0
    Gt, totals = products(X, Mt, entries_of(V))
    assert np.isnan(Gt[0]).all()
    assert np.isnan(totals[0])
    assert np.isfinite(Gt[1:]).all()
    assert np.isfinite(totals[1:]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("rows", "d"), [(1, 3), (5, 1), (5, 16), (7, 450)])
def test_aligned_zeros_are_aligned_to_cache_lines(rows, d, dtype):
    zeros = aligned_zeros(rows, d, dtype)
    assert zeros.dtype == dtype
    assert zeros.flags.c_contiguous
    assert zeros.shape[0] == rows
    assert d <= zeros.shape[1] < d + 64 // zeros.itemsize
    assert zeros.ctypes.data % 64 == 0
    assert zeros.strides[0] % 64 == 0
    assert not zeros.any()


def test_aligned_matrices_give_the_same_products():
    X, Mt, V = random_block(0, 30, 9, 5, 0.4, np.float64)
    X_aligned, Mt_aligned = aligned_zeros(30, 9, np.float64), aligned_zeros(5, 9, np.float64)
    X_aligned[:, :9], Mt_aligned[:, :9] = X, Mt
    Gt, totals = products(X_aligned, Mt_aligned, entries_of(V))
    assert_equal_to_dense(X, Mt, V, Gt[:, :9], totals)
    assert not Gt[:, 9:].any()


def test_arrays_that_do_not_fit_are_refused():
    X, Mt, V = random_block(0, 30, 7, 5, 0.4, np.float64)
    entries, Gt, totals = entries_of(V), np.zeros_like(Mt), np.zeros(5)
    with pytest.raises(ValueError, match="do not fit"):
        add_products(X[:, :6].copy(), Mt, entries, Gt, totals, 1)
    with pytest.raises(ValueError, match="do not fit"):
        add_products(X, Mt, entries._replace(rows=entries.rows[:-1]), Gt, totals, 1)
    with pytest.raises(ValueError, match="do not fit"):
        add_products(X, Mt, entries, Gt, totals[:4], 1)
    with pytest.raises(TypeError):
        add_products(X, Mt, entries, Gt.astype(np.float32), totals, 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_does_not_wait_for_the_threads_of_its_parent():
    block = random_block(0, 2000, 130, 40, 0.3, np.float64)
    entries = entries_of(block[2])
    Gt, _ = products(*block[:2], entries, 2)

    def compare():
        os._exit(0 if np.array_equal(products(*block[:2], entries, 2)[0], Gt) else 1)

    child = multiprocessing.get_context("fork").Process(target=compare)
    child.start()
    child.join(timeout=60)
    child.kill()
    assert child.exitcode == 0


def test_available_with_numba():
    assert available()


def test_not_available_without_numba(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    assert not available()


def test_numba_is_imported_on_first_use_only():
    program = "import sys, tagloom.optim; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


def test_not_available_where_compilation_is_disabled(monkeypatch):
    import numba

    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert not available()
