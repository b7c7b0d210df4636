"""Scenes whose concepts hint at their labels, and taggers fitted on some of them."""

import numpy as np
from toy_scenes import small_scenes

from tagloom.labels import hide_per_class
from tagloom.vision import Features

SCENES = small_scenes(300, random_state=1)
TRUTH = SCENES.truth.to_array()


def features_of(rows: slice) -> Features:
    """Features as an encoder gives them: the scene's own, and posteriors that hint at labels."""
    rng = np.random.default_rng(0)
    hints = TRUTH[:, :12] + 0.5 * rng.uniform(size=(300, 12))
    junk = rng.uniform(size=(300, 12))
    posteriors = np.hstack([hints, junk])
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    names = [f"like {label}" for label in SCENES.truth.labels[:12]] + [
        f"junk {j}" for j in range(12)
    ]
    items = list(SCENES.truth.items)[rows]
    return Features(items, SCENES.X[rows], posteriors[rows], names)


TRAIN, NEW = slice(0, 240), slice(240, 300)
KNOWN = hide_per_class(SCENES.truth.take(TRAIN), 0.3, 0)
