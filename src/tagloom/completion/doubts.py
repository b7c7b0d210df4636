"""Known tags that look wrong."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

# Of a hundred tags that people give, some three are slips; nobody knows it of a given archive.
SLIPS = 0.03


def chance_of_slip(p: Array, prior: Array, *, present: bool, slips: float = SLIPS) -> Array:
    """Return the probability that what somebody said is wrong, seen what the picture looks like.

    With e the share of statements that are slips, which fall on any picture, p the probability of
    the label for the picture and r its share among all pictures,

        wrong : right  =  e (1 - p)/(1 - r)  :  (1 - e) p/r            for a tag that was given,
        wrong : right  =  e p/r              :  (1 - e) (1 - p)/(1 - r)  for one that was denied.
    """
    p, r = (np.clip(np.asarray(x, dtype=np.float64), 1e-9, 1 - 1e-9) for x in (p, prior))
    has, has_not = p / r, (1 - p) / (1 - r)
    right, wrong = (has, has_not) if present else (has_not, has)
    return np.asarray(slips * wrong / (slips * wrong + (1 - slips) * right))
