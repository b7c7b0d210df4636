"""What the fits of one search have in common, computed once."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from hashlib import blake2b
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Result = TypeVar("Result")

_N_FINGERPRINTS = 8


class SearchCache:
    """Results by key, up to a size in bytes; those not used for longest are dropped first.

    A search fits the same rows again and again: what depends on them and not on the candidate is
    computed by the first fit that needs it. Threads may share it. It must not outlive the search,
    for it recognises arrays and labels by identity.

    Parameters
    ----------
    max_bytes : int
        0 keeps nothing.
    """

    def __init__(self, max_bytes: int = 0) -> None:
        self.max_bytes = max_bytes
        self._results: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._in_progress: dict[Hashable, Lock] = {}
        self._lock = Lock()
        self._fingerprints: list[tuple[Array, tuple[Any, ...]]] = []

    def get(self, parts: tuple[Any, ...], make: Callable[[], Result], n_bytes: int) -> Result:
        """Return the result of `make`, which has about so many bytes, computed once per key.

        Parts of the key that are arrays count by their values.
        """
        if n_bytes > self.max_bytes:
            return make()
        key = tuple(self.fingerprint(x) if isinstance(x, np.ndarray) else x for x in parts)
        with self._lock:
            making = self._in_progress.setdefault(key, Lock())
        with making:
            with self._lock:
                if key in self._results:
                    self._results.move_to_end(key)
                    found: Result = self._results[key][0]
                    return found
            result = make()
            self._keep(key, result, n_bytes)
            return result

    def _keep(self, key: Hashable, result: Any, n_bytes: int) -> None:
        with self._lock:
            self._results[key] = result, n_bytes
            while sum(size for _, size in self._results.values()) > self.max_bytes:
                dropped, _ = self._results.popitem(last=False)
                self._in_progress.pop(dropped, None)

    def fingerprint(self, rows: Array) -> tuple[Any, ...]:
        """Return the fingerprint of an array; of one seen lately it is not computed again."""
        if not self.max_bytes:
            return fingerprint(rows)
        for seen, found in self._fingerprints:
            if seen is rows:
                return found
        found = fingerprint(rows)
        self._fingerprints = [(rows, found), *self._fingerprints][:_N_FINGERPRINTS]
        return found


def fingerprint(rows: Array) -> tuple[Any, ...]:
    """Return a digest of the rows, which tells whether their values have changed."""
    return blake2b(np.ascontiguousarray(rows).data).hexdigest(), rows.shape, rows.dtype
