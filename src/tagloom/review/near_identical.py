"""Near-identical pictures: the same scene taken again, scaled, or saved once more.

They are recognised by the cosine of the features that the run has computed anyway. A difference
hash of the thumbnails was tried as well and is worse: pictures with smooth skies share a hash, and
two shots of the same tiger do not. The cosine alone is not enough either, since two sunsets are as
similar as two shots of one horse: a pair has to stand out from its surroundings.
"""

import threading
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

LEAST_COSINE = 0.85
SURE_COSINE = 0.94
_RATIO = 0.5
_RANK = 10
_MOST = 24
_MOST_REMEMBERED = 4096


class NearIdentical:
    """Finds the near-identical pictures of one.

    With d(i, j) = 1 - cos(x_i, x_j) and s_i the distance of picture i to its 10th neighbour, i and
    j are near-identical if d <= 0.15 and d <= min(s_i, s_j) / 2: they are at most half as far from
    each other as either is from the pictures around it (a ratio test, Lowe 2004). From a cosine of
    0.94 on they are whatever is around them, such as the rest of a long series.

    Parameters
    ----------
    visual : array of shape (n_images, n_features)
        Visual features, in any scale.
    """

    def __init__(self, visual: npt.NDArray[Any]) -> None:
        self._visual = visual
        self._found: dict[int, list[int]] = {}
        self._lock = threading.Lock()

    def of(self, i: int) -> list[int]:
        """Return the pictures that are near-identical to picture i, most similar first."""
        with self._lock:
            if i not in self._found:
                if len(self._found) >= _MOST_REMEMBERED:
                    self._found.clear()
                self._found[i] = self._search(i)
            return self._found[i]

    def _search(self, i: int) -> list[int]:
        distance, scale = self._distances(i)
        near = np.flatnonzero(distance <= 1 - LEAST_COSINE)
        near = near[(distance[near] <= _RATIO * scale) | (distance[near] <= 1 - SURE_COSINE)]
        near = near[np.argsort(distance[near], kind="stable")][:_MOST]
        return [j for j in near.tolist() if self._stands_out(j, float(distance[j]))]

    def _stands_out(self, j: int, distance: float) -> bool:
        return distance <= 1 - SURE_COSINE or distance <= _RATIO * self._distances(j)[1]

    @cached_property
    def _norms(self) -> npt.NDArray[np.float64]:
        norms = np.sqrt(np.einsum("ij,ij->i", self._visual, self._visual, dtype=np.float64))
        return np.asarray(np.maximum(norms, np.finfo(np.float32).tiny))

    def _distances(self, i: int) -> tuple[npt.NDArray[np.float64], float]:
        """Return the distances of all pictures to picture i, and that of its 10th neighbour."""
        cosine = (self._visual @ self._visual[i]) / (self._norms * self._norms[i])
        cosine[i] = -1
        distance = 1 - np.asarray(cosine, dtype=np.float64)
        rank = min(_RANK, len(distance)) - 1
        return distance, float(np.partition(distance, rank)[rank])
