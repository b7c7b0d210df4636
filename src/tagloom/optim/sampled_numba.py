"""The compiled loops of `tagloom.optim.sampled`. Needs numba: imported on first use only.

The loops over labels are plain numba. Their inner step, on a few rows at once, is written in vector
instructions: left to itself, the compiler handles the end of each row one number at a time, which
for d = 700 takes as long as the rest of the row.
"""

import platform
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import binding, ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

_LONG, _INT, _DOUBLE = ir.IntType(64), ir.IntType(32), ir.DoubleType()
# Sums may be taken in any order and products fused into them; infinities and NaN stay themselves.
_SUMMING = ("reassoc", "contract", "nsz")


def _vector_bytes() -> int:
    """Return the size of a vector: eight sums and their operands must fit in the registers."""
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    return 64 if x86 and binding.get_host_cpu_features().get("avx512f") else 32


_VECTOR_BYTES = _vector_bytes()


class _Vectors:
    """Vectors of one type of number, loaded from and stored to rows of one length."""

    def __init__(self, builder: Any, number: Any, length: Any) -> None:
        self.builder = builder
        self.number_bytes = 8 if number == _DOUBLE else 4
        self.lanes = _VECTOR_BYTES // self.number_bytes
        self.type = ir.VectorType(number, self.lanes)
        self.zero = ir.Constant(self.type, [0.0] * self.lanes)
        self.full = builder.and_(length, _LONG(-self.lanes))
        self.rest = builder.sub(length, self.full)
        lane = ir.Constant(ir.VectorType(_LONG, self.lanes), list(range(self.lanes)))
        self.mask = builder.icmp_signed("<", lane, self.splat(self.rest))

    def over_row(self, step: Callable[[Any, bool], None]) -> None:
        """Do `step(k, partial)` at each vector of a row; the last may be partial."""
        builder = self.builder
        loop = cgutils.for_range_slice(builder, _LONG(0), self.full, _LONG(self.lanes), _LONG)
        with loop as (k, _):
            step(k, False)
        with builder.if_then(builder.icmp_signed(">", self.rest, _LONG(0))):
            step(self.full, True)

    def load(self, row: Any, k: Any, partial: bool) -> Any:
        """Load the numbers of the row from k on; those beyond its end are 0."""
        place = self._place(row, k)
        if not partial:
            return self.builder.load(place, align=self.number_bytes)
        takes = [place.type, _INT, self.mask.type, self.type]
        masked = self._masked("load", ir.FunctionType(self.type, takes))
        return self.builder.call(masked, [place, _INT(self.number_bytes), self.mask, self.zero])

    def store(self, vector: Any, row: Any, k: Any, partial: bool) -> None:
        """Store the numbers at k of the row; none beyond its end."""
        place = self._place(row, k)
        if not partial:
            self.builder.store(vector, place, align=self.number_bytes)
            return
        takes = [self.type, place.type, _INT, self.mask.type]
        masked = self._masked("store", ir.FunctionType(ir.VoidType(), takes))
        self.builder.call(masked, [vector, place, _INT(self.number_bytes), self.mask])

    def _place(self, row: Any, k: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(row, [k]), self.type.as_pointer())

    def _masked(self, verb: str, signature: Any) -> Any:
        name = f"llvm.masked.{verb}.v{self.lanes}f{8 * self.number_bytes}.p0"
        return cgutils.get_or_insert_function(self.builder.module, signature, name)

    def splat(self, number: Any) -> Any:
        """Return the vector that holds the number in each lane."""
        undefined = ir.Constant(ir.VectorType(number.type, self.lanes), ir.Undefined)
        first = self.builder.insert_element(undefined, number, _INT(0))
        return self._shuffle(first, first, [0] * self.lanes)

    def multiply_add(self, a: Any, b: Any, c: Any) -> Any:
        """Return a o b + c."""
        return self.builder.fadd(self.builder.fmul(a, b, flags=_SUMMING), c, flags=_SUMMING)

    def sums(self, vectors: Sequence[Any]) -> list[Any]:
        """Return the sum of each vector's lanes.

        Halves are added to halves, two vectors in one: the eight sums of eight vectors then take
        few more instructions than three of them would on their own.
        """
        if len(vectors) > self.lanes:
            return self.sums(vectors[: self.lanes]) + self.sums(vectors[self.lanes :])
        left, run = list(vectors), self.lanes
        while run > 1:
            run //= 2
            if len(left) > 1:
                left = [self._fold(a, b, run) for a, b in zip(left[::2], left[1::2], strict=True)]
            else:
                left = [self._fold(left[0], None, run)]
        return [self.builder.extract_element(left[0], _INT(i)) for i in range(len(vectors))]

    def _fold(self, a: Any, b: Any, half: int) -> Any:
        """Add the second half of every run of lanes to its first, for a and b in one vector."""
        lanes = a.type.count * (1 if b is None else 2)
        low = [start + k for start in range(0, lanes, 2 * half) for k in range(half)]
        high = [k + half for k in low]
        b = a if b is None else b
        return self.builder.fadd(
            self._shuffle(a, b, low), self._shuffle(a, b, high), flags=_SUMMING
        )

    def _shuffle(self, a: Any, b: Any, lanes: list[int]) -> Any:
        picked = ir.Constant(ir.VectorType(_INT, len(lanes)), lanes)
        return self.builder.shuffle_vector(a, b, picked)


def _fused_step(n_rows: int) -> Any:
    """Return a function that adds `n_rows` entries of label j, from the p-th on, to both sums.

    r_i = v_ij (x_i . m_j) for each entry, then g_j += sum_i r_i x_i while the x_i are in the
    first-level cache; sum_i r_i is returned. Entry p weighs weights[p * stride].
    """

    @intrinsic
    def step(
        _: Any, X: Any, Mt: Any, Gt: Any, rows: Any, weights: Any, stride: Any, j: Any, p: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            arrays = [
                context.make_array(kind)(context, builder, value)
                for kind, value in zip(signature.args[:5], arguments[:5], strict=True)
            ]
            number = context.get_value_type(X.dtype)
            return _write_step(builder, number, arrays, arguments[5:], n_rows)

        return types.float64(X, Mt, Gt, rows, weights, stride, j, p), generate

    return step


def _write_step(
    b: Any, number: Any, arrays: Sequence[Any], places: Sequence[Any], n_rows: int
) -> Any:
    X, Mt, Gt, rows, weights = arrays
    stride, j, p = places
    d = b.extract_value(X.shape, 1)
    vectors = _Vectors(b, number, d)
    entries = [b.add(p, _LONG(t)) for t in range(n_rows)]
    row_of = [b.sext(b.load(b.gep(rows.data, [entry])), _LONG) for entry in entries]
    x = [b.gep(X.data, [b.mul(row, d)]) for row in row_of]
    m, g = (b.gep(array.data, [b.mul(j, d)]) for array in (Mt, Gt))
    scores = _write_dots(vectors, x, m)
    total, r = _DOUBLE(0.0), []
    for score, entry in zip(scores, entries, strict=True):
        residual = b.fmul(score, b.load(b.gep(weights.data, [b.mul(entry, stride)])))
        wide = residual if residual.type == _DOUBLE else b.fpext(residual, _DOUBLE)
        total = b.fadd(total, wide, flags=_SUMMING)
        r.append(vectors.splat(residual))
    _write_sum_of_rows(vectors, x, r, g)
    return total


def _write_dots(vectors: _Vectors, x: Sequence[Any], m: Any) -> list[Any]:
    """Write x_i . m for all rows at once: each number of m is loaded once."""
    b = vectors.builder
    partial_sums = [cgutils.alloca_once_value(b, vectors.zero) for _ in x]

    def add(k: Any, partial: bool) -> None:
        m_k = vectors.load(m, k, partial)
        for row, so_far in zip(x, partial_sums, strict=True):
            x_k = vectors.load(row, k, partial)
            b.store(vectors.multiply_add(x_k, m_k, b.load(so_far)), so_far)

    vectors.over_row(add)
    return vectors.sums([b.load(each) for each in partial_sums])


def _write_sum_of_rows(vectors: _Vectors, x: Sequence[Any], r: Sequence[Any], g: Any) -> None:
    """Write g += sum_i r_i x_i: each number of g is loaded and stored once."""

    def add(k: Any, partial: bool) -> None:
        # Two chains of sums, since each link waits for the one before.
        chains = [vectors.load(g, k, partial), vectors.zero]
        for i, (row, r_i) in enumerate(zip(x, r, strict=True)):
            chains[i % 2] = vectors.multiply_add(vectors.load(row, k, partial), r_i, chains[i % 2])
        total = vectors.builder.fadd(*chains, flags=_SUMMING)
        vectors.store(total, g, k, partial)

    vectors.over_row(add)


_eight, _four, _two, _one = (_fused_step(n_rows) for n_rows in (8, 4, 2, 1))


def _sum_labels(
    X: Any, Mt: Any, indptr: Any, rows: Any, weights: Any, stride: Any, Gt: Any, totals: Any,
    tile: Any, labels: Any,
) -> None:  # fmt: skip
    """Sum the entries of the labels in labels[0] <= j < labels[1], tile by tile of rows.

    Entries are taken eight at a time, across the ends of tiles, so that only the last few of a
    label are left over, and each label is summed in the same order whatever the tiles and threads.
    """
    first, last = labels
    following = indptr[first:last].copy()
    for tile_end in range(tile, X.shape[0] + tile, tile):
        for j in range(first, last):
            p, stop, total = following[j - first], indptr[j + 1], 0.0
            while p + 8 <= stop and rows[p] < tile_end:
                total += _eight(X, Mt, Gt, rows, weights, stride, j, p)
                p += 8
            if p < stop < p + 8 and rows[p] < tile_end:
                if p + 4 <= stop:
                    total += _four(X, Mt, Gt, rows, weights, stride, j, p)
                    p += 4
                if p + 2 <= stop:
                    total += _two(X, Mt, Gt, rows, weights, stride, j, p)
                    p += 2
                if p < stop:
                    total += _one(X, Mt, Gt, rows, weights, stride, j, p)
                    p += 1
            following[j - first] = p
            totals[j] += total


def compiled(dtype: npt.DTypeLike) -> Any:
    """Compile the sums of labels for matrices of one type, in about a second.

    Nothing is cached on disk: numba would write a pickle.
    """
    number = types.float32 if np.dtype(dtype) == np.float32 else types.float64

    def given(kind: Any, ndim: int = 1) -> Any:
        return types.Array(kind, ndim, "C", readonly=True)

    signature = types.void(
        given(number, 2),
        given(number, 2),
        given(types.int64),
        given(types.int32),
        given(number),
        types.int64,
        types.Array(number, 2, "C"),
        types.Array(types.float64, 1, "C"),
        types.int64,
        types.UniTuple(types.int64, 2),
    )
    return njit(signature, nogil=True, boundscheck=False, error_model="numpy")(_sum_labels)
