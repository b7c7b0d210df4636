"""What the scores of a collection mean, picture by picture."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.completion.calibration import Calibration
from tagloom.packing import Packed, joined

Array = npt.NDArray[Any]

_ARRAYS = ("log_odds", "weights", "mean", "scale")


@dataclass(frozen=True, eq=False)
class Meaning:
    """Probabilities of the entries of a collection, and of new pictures.

    Attributes
    ----------
    calibration : Calibration
        For pictures that somebody has looked at, as if a tag had not been said, and for new ones.
    of_unseen : Calibration
        For pictures of the collection at which nobody has looked. The learner was not taught that
        their tags are absent, and scores them higher.
    unseen : array of bool of shape (n_items,)
    from_lists : bool
        Whether tags were listed: a tag that is not on a list is less likely for that.
    """

    calibration: Calibration
    of_unseen: Calibration
    unseen: npt.NDArray[np.bool_]
    from_lists: bool

    def as_if_unsaid(self, scores: Array) -> npt.NDArray[np.float32]:
        """Return probabilities from scores of learners that did not know the entry."""
        return self.calibration.probabilities(scores)

    def as_it_stands(self, scores: Array) -> npt.NDArray[np.float32]:
        """Return the probabilities of open entries, given the scores of the collection."""
        P = self.calibration.probabilities(scores)
        if self.from_lists:
            P = np.asarray(self.calibration.if_unlisted(P))
        P[self.unseen] = self.of_unseen.probabilities(scores[self.unseen])
        return P


def pack_meaning(meaning: Meaning) -> Packed:
    """Return what has to be kept of it."""
    parts = {
        "calibration": _packed(meaning.calibration),
        "of_unseen": _packed(meaning.of_unseen),
    }
    own = Packed({"unseen": meaning.unseen}, {"from_lists": bool(meaning.from_lists)})
    return joined(parts, own)


def unpack_meaning(packed: Packed) -> Meaning:
    """Return that of which `pack_meaning` told."""
    return Meaning(
        _unpacked(packed.part("calibration")),
        _unpacked(packed.part("of_unseen")),
        packed.arrays["unseen"].astype(bool),
        packed.facts["from_lists"],
    )


def _packed(calibration: Calibration) -> Packed:
    arrays = {name: getattr(calibration, name) for name in _ARRAYS}
    return Packed(arrays, {"completeness": calibration.completeness})


def _unpacked(packed: Packed) -> Calibration:
    arrays = (packed.arrays[name] for name in _ARRAYS)
    return Calibration(packed.facts["completeness"], *arrays)
