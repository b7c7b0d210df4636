"""The sums over rows that the loss asks for, where the rows are partitions of a cluster."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.cluster.blocks import Lazy, opened
from tagloom.cluster.lessons import Lessons
from tagloom.cluster.running import TREE_WIDTH, added, computed, constant, kept, task, tree_sum
from tagloom.cluster.sizing import teach_sizes
from tagloom.optim import LossSums, Part, ProductSums

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Dtype = np.dtype[Any]


class ClusterRows:
    """Rows in partitions, a `Part` of the loss for each: every sum is one pass over all of them.

    M goes to all workers, sums of the size of M come back, added in a tree: a worker holds its
    partitions, M and a few sums, and nobody holds more than one partition of others.

    Parameters
    ----------
    lessons : Lessons
    centre : array of shape (n_features,), optional
        What is subtracted from every row.
    client : distributed.Client
    keep : bool
        Whether to keep the parts in the memory of the workers; else they are made anew from the
        lessons at every pass, and forgotten one by one.
    on_pass : callable
        Called after every pass.
    """

    def __init__(
        self,
        lessons: Lessons,
        centre: Floats | None,
        client: Any,
        *,
        keep: bool,
        on_pass: Callable[[], None],
    ) -> None:
        self.centre = centre
        self.dtype: Dtype = lessons.rows.dtype
        self._client = client
        self._on_pass = on_pass
        pairs = zip(lessons.rows.blocks, lessons.known, strict=True)
        self._parts = [[block, known, centre] for block, known in pairs]
        if keep:
            self._parts = kept(client, [task(_part, *part, self.dtype) for part in self._parts])

    def in_single_precision(self) -> "ClusterRows":
        """Return the same rows, summed in float32; they are converted as they are used."""
        single = copy(self)
        single.dtype = np.dtype(np.float32)
        return single

    def sums(self) -> LossSums:
        """Return the sums that do not depend on M."""
        result: LossSums = self._summed(_sums)
        return result

    def products(self, M: Array) -> ProductSums:
        """Return X'(W o XM) and 1'(W o XM)."""
        result: ProductSums = self._summed(_products, M)
        # What comes over the network may be read-only, and the loss goes on working in it.
        return replace(result, features=np.require(result.features, requirements="W"))

    def _summed(self, function: Callable[..., Any], *arguments: Array) -> Any:
        shared = [constant(argument) for argument in arguments]
        terms = [task(function, group, self.dtype, *shared) for group in self._groups()]
        result = computed(self._client, tree_sum(terms))
        self._on_pass()
        return result

    def _groups(self) -> list[list[Any]]:
        """Return the parts that one task goes through, one after the other.

        Where parts are read from files and there are many, a task takes as many as the tree adds at
        a time: fewer sums travel, and they are added in the same order.
        """
        from_files = all(
            isinstance(part, list) and isinstance(part[0], Lazy) for part in self._parts
        )
        threads = sum(self._client.nthreads().values())
        many = len(self._parts) >= 2 * TREE_WIDTH * max(1, threads)
        size = TREE_WIDTH if from_files and many else 1
        return [self._parts[start : start + size] for start in range(0, len(self._parts), size)]


def _sums(parts: Sequence[Any], dtype: Dtype) -> LossSums:
    result: LossSums = added(_ready(part, dtype).sums() for part in parts)
    return result


def _products(parts: Sequence[Any], dtype: Dtype, M: Array) -> ProductSums:
    result: ProductSums = added(_ready(part, dtype).products(M) for part in parts)
    return result


def _ready(part: Any, dtype: Dtype) -> Part:
    """Return the part that was kept, or make it, in the precision that is asked for."""
    if not isinstance(part, Part):
        block, known, centre = part
        return _part(block, known, centre, dtype)
    return part if part.dtype == dtype else part.in_single_precision()


def _part(block: Any, known: Any, centre: Floats | None, dtype: Dtype) -> Part:
    """Return rows around their centre, with what is known of them."""
    teach_sizes()
    X, labels = opened(block), opened(known)
    if centre is not None or X.dtype != dtype:
        moved = np.empty(X.shape, dtype=dtype)
        np.subtract(X, 0.0 if centre is None else centre, out=moved, casting="same_kind")
        X = moved
    return Part(X, labels)
