"""Linear algebra that several parts share: threads, conjugate gradients and the nuclear norm.

The nuclear norm ||A||_* is the sum of the singular values of A, its dual norm the largest of them.
Its proximal map is singular value thresholding (Cai, Candès and Shen 2010).
"""

import math
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from threading import RLock
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.linalg  # noqa: F401  (loads SciPy's BLAS, whose threads are limited here as well)
from joblib import cpu_count
from threadpoolctl import OpenBLASController, ThreadpoolController

Matrix = npt.NDArray[np.floating[Any]]
"""A real matrix or vector in float32 or float64."""
Result = TypeVar("Result")

# The squares of singular values come out of the Gram matrix with an absolute error of about
# eps * sigma_1^2: a value at 1e-5 sigma_1 is still right to 1e-6 of itself in double precision.
_GRAM_IS_ACCURATE_ABOVE = 1e-5

# Products with fewer multiplications take about a tenth of a second in one thread.
_SMALL_PRODUCTS = 1 << 29

# Rows that are converted at a time.
_ROWS_AT_ONCE = 8192

# Singular values below this share of the largest are rounding.
_NO_SINGULAR_VALUE = 1e-6

# A singular value that exceeds the threshold by less is at the threshold.
_MORE_THAN_ROUNDING = 1 + 1e-12


class _BlasLimit:
    """The least of the limits that threads of this process have asked for.

    BLAS has one number of threads for all of the process. Were every caller to restore the number
    that it found, one that began during another would restore that other's limit for good.
    """

    def __init__(self) -> None:
        # Reentrant: a generator that is cleaned up meanwhile may leave its own limit.
        self._lock = RLock()
        self._active: list[int] = []
        self._found = 0
        self._unlimited: Any = None

    @property
    def is_active(self) -> bool:
        """Whether any thread has asked for a limit."""
        return bool(self._active)

    def enter(self, limit: int) -> None:
        with self._lock:
            applies_already = bool(self._active) and min(self._active) <= limit
            if not self._active:
                self._found = blas_threads()
            self._active.append(limit)
            if applies_already:
                return
            _take_control()
            applied = _blas_libraries().limit(limits=min(self._found, *self._active))
            if self._unlimited is None:
                self._unlimited = applied

    def leave(self, limit: int) -> None:
        with self._lock:
            self._active.remove(limit)
            if self._active and min(self._active) <= limit:
                return
            _take_control()
            if self._active:
                _blas_libraries().limit(limits=min(self._found, *self._active))
            elif self._unlimited is not None:
                self._unlimited.restore_original_limits()
                self._unlimited = None


@cache
def _blas_libraries() -> ThreadpoolController:
    """Return the BLAS of NumPy and that of SciPy, which this file has loaded.

    They are looked for once, as in scikit-learn: a look through all that is loaded takes some
    milliseconds, and one before and one after each fit would be a third of the time of a small fit.
    """
    return ThreadpoolController().select(user_api="blas")


def blas_threads() -> int:
    """Return how many threads BLAS may use."""
    return max(1, min((pool["num_threads"] for pool in _blas_libraries().info()), default=1))


def _take_control() -> None:
    """Let this thread set the number of threads of OpenBLAS.

    Newer versions of threadpoolctl ignore all threads but the first that has set it. Here a lock
    orders them, and the thread that ends last has to restore the number.
    """
    clear = getattr(OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


_blas_limit = _BlasLimit()


@contextmanager
def limited_blas(n_threads: int) -> Iterator[None]:
    """Let BLAS use at most so many threads meanwhile; it may be used by several threads at once."""
    _blas_limit.enter(n_threads)
    try:
        yield
    finally:
        _blas_limit.leave(n_threads)


def blas_for(n_items: int, n_features: int, n_labels: int) -> AbstractContextManager[None]:
    """Let BLAS use one thread where products of such tables are small.

    Its threads wait for each other in a busy loop. A search over small tables took seven times as
    long with two of them as with one, beside other work.
    """
    n_products = n_items * n_features * max(n_features, n_labels)
    return limited_blas(1) if n_products < _SMALL_PRODUCTS else nullcontext()


def side_by_side(
    tasks: Sequence[Callable[[], Result]], n_threads: int
) -> Generator[Result, None, None]:
    """Yield the results of all tasks in their order, computed by so many threads.

    The cores are divided among the threads: BLAS, whose own threads would wait for each other in a
    busy loop, has no more of them than there are cores. After an error in a task, or once the
    generator is closed, no further task is begun.
    """
    if n_threads == 1:
        yield from (task() for task in tasks)
        return
    pool = ThreadPoolExecutor(n_threads, "tagloom-task")
    with limited_blas(max(1, cpu_count() // n_threads)):
        try:
            pending = deque(pool.submit(task) for task in tasks)
            while pending:
                yield pending.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def inner(A: Matrix, B: Matrix) -> float:
    """Return <A, B> = tr(A'B), accumulated in double precision whatever the matrices hold."""
    if A.dtype == B.dtype == np.float64:
        return float(np.vdot(A, B))
    return float(np.einsum("i,i->", A.ravel(), B.ravel(), dtype=np.float64))


def column_variances(rows: Matrix) -> npt.NDArray[np.float64]:
    """Return the variance of each column in double precision, in blocks of rows."""
    mean = rows.mean(axis=0, dtype=np.float64)
    squares = np.zeros_like(mean)
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        around = rows[start : start + _ROWS_AT_ONCE] - mean
        squares += np.einsum("ij,ij->j", around, around)
    return np.asarray(squares / len(rows))


def column_dots(A: Matrix, B: Matrix) -> Matrix:
    """Return <a_j, b_j> for each column."""
    return np.asarray(np.einsum("ij,ij->j", A, B))


class CGStep(NamedTuple):
    """One step of conjugate gradients: the solution moves by `length` * `direction`."""

    length: Matrix
    """One number for each column, or one for all of them."""
    direction: Matrix
    product: Matrix
    """A `direction`."""


def conjugate_gradients(
    product: Callable[[Matrix], Matrix],
    residual: Matrix,
    *,
    shift: Any = None,
    precondition: Callable[[Matrix], Matrix] | None = None,
    dots: Callable[[Matrix, Matrix], Matrix] = column_dots,
) -> Iterator[CGStep]:
    """Yield the steps that solve (A + shift I) X = B for all columns of B side by side.

    A is symmetric and positive semidefinite. Every column takes step lengths of its own, as if it
    were solved alone (Hestenes and Stiefel 1952). The caller adds the steps to its X and decides
    when to stop.

    Parameters
    ----------
    product : callable
        D -> A D.
    residual : matrix
        B - (A + shift I) X for the X at the start. It is updated in place; a caller that computes
        the true residual may overwrite it, so that rounding does not add up.
    shift : scalar of the type of the residual, optional
    precondition : callable, optional
        R -> a new matrix, about (A + shift I)^-1 R.
    dots : callable, default=column_dots
        Inner products, one for each system. Where A couples the columns, X is one long vector with
        a single inner product.
    """
    direction = squares = None
    while True:
        Z = residual if precondition is None else precondition(residual)
        squares, previous = dots(residual, Z), squares
        if direction is None or previous is None:
            direction = Z.copy(order="K") if precondition is None else Z
        else:
            direction *= _ratio(squares, previous)
            direction += Z
        image = product(direction)
        curvature = dots(direction, image)
        if shift is not None:
            curvature = curvature + shift * dots(direction, direction)
        length = _ratio(squares, curvature)
        residual -= length * (image if shift is None else image + shift * direction)
        yield CGStep(length, direction, image)


def _ratio(numerator: Matrix, denominator: Matrix) -> Matrix:
    """Divide; a column that is solved exactly (0 / 0) takes steps of length 0."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)


def singular_values(A: Matrix) -> Matrix:
    """Return the singular values of A in double precision, largest first; none for A = 0."""
    if not A.any():
        return np.zeros(0)
    return np.linalg.svd(A.astype(np.float64, copy=False), compute_uv=False)


def numerical_rank(sigma: Matrix) -> int:
    """Count the singular values that exceed the rounding errors of single precision."""
    return int((sigma > _NO_SINGULAR_VALUE * sigma.max(initial=0.0)).sum())


def nuclear_norm(A: Matrix) -> float:
    """Return ||A||_*, the sum of the singular values."""
    return float(singular_values(A).sum())


def spectral_norm(A: Matrix) -> float:
    """Return ||A||_2, the largest singular value: the dual norm of ||.||_*.

    The largest eigenvalue of the smaller Gram matrix is as accurate as a decomposition of A, for
    only small singular values suffer from squaring. Scaled, so that no square overflows; infinite
    where A is not finite.
    """
    largest = float(np.abs(A).max(initial=0.0))
    if largest == 0 or not math.isfinite(largest):
        return 0.0 if largest == 0 else math.inf
    A64 = A / np.float64(largest)
    gram = A64 @ A64.T if A.shape[0] < A.shape[1] else A64.T @ A64
    return largest * math.sqrt(max(0.0, float(np.linalg.eigvalsh(gram)[-1])))


class Thresholded(NamedTuple):
    """A matrix after singular value thresholding, and the singular values left in it."""

    matrix: Matrix
    singular_values: Matrix


def threshold_singular_values(A: Matrix, tau: float) -> Thresholded:
    """Return prox_{tau ||.||_*}(A) = argmin_P tau ||P||_* + 1/2 ||P - A||_F^2.

    It is U (S - tau)_+ V' where A = U S V'. Computed from the eigenvectors of the smaller Gram
    matrix, which costs a quarter of a singular value decomposition: with A'A = V S^2 V' it is
    A V (1 - tau/S)_+ V'. Where tau is so small that the squares would lose it, A is decomposed. A
    large fit thresholds a small matrix in every step, and BLAS has one thread for that, unless a
    search has divided the cores already.
    """
    smaller, larger = sorted(A.shape)
    with nullcontext() if _blas_limit.is_active else blas_for(smaller, smaller, larger):
        if A.shape[0] < A.shape[1]:
            tall = _threshold_tall(A.T, tau)
            found = Thresholded(np.ascontiguousarray(tall.matrix.T), tall.singular_values)
        else:
            found = _threshold_tall(A, tau)
    # A label without known entries has a column of 0, which must stay 0 to the last bit.
    found.matrix[:, ~A.any(axis=0)] = 0
    return found


def _threshold_tall(A: Matrix, tau: float) -> Thresholded:
    A64 = A.astype(np.float64, copy=False)
    squares, V = np.linalg.eigh(A64.T @ A64)
    sigma = np.sqrt(np.maximum(squares, 0.0))
    if tau < _GRAM_IS_ACCURATE_ABOVE * sigma[-1]:
        return threshold_by_svd(A, tau)
    kept = sigma > tau * _MORE_THAN_ROUNDING
    sigma, V = sigma[kept], V[:, kept].astype(A.dtype, copy=False)
    matrix = ((A @ V) * (1 - tau / sigma).astype(A.dtype)) @ V.T
    return Thresholded(matrix, (sigma - tau)[::-1])


def threshold_by_svd(A: Matrix, tau: float) -> Thresholded:
    """Return U (S - tau)_+ V' as it is written, by a singular value decomposition."""
    U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    kept = sigma > tau
    left = sigma[kept] - sigma.dtype.type(tau)
    return Thresholded((U[:, kept] * left) @ Vt[kept], left.astype(np.float64))


def clip_singular_values(A: Matrix, limit: float) -> Matrix:
    """Return U min(S, limit) V', the projection of A onto ||.||_2 <= limit.

    By Moreau's identity it is A - prox_{limit ||.||_*}(A).
    """
    if limit == 0:
        return np.zeros_like(A)
    clipped: Matrix = A - threshold_singular_values(A, limit).matrix
    return clipped
