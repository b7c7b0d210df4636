"""Features of generated scenes, as an encoder would give them."""

import numpy as np
from small_scenes import small_scenes

from tagloom.labels import hide_per_class
from tagloom.vision import Features

SCENES = small_scenes(160, random_state=2)
TRUTH = SCENES.truth.to_array()
TRAIN, NEW = slice(0, 110), slice(110, 160)


def features_of(rows: slice) -> Features:
    rng = np.random.default_rng(0)
    posteriors = np.hstack([TRUTH[:, :8], np.zeros((160, 8))]) + rng.uniform(size=(160, 16))
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    names = [f"concept {j}" for j in range(16)]
    return Features(list(SCENES.truth.items)[rows], SCENES.X[rows], posteriors[rows], names)


KNOWN = hide_per_class(SCENES.truth.take(TRAIN), 0.3, 0)
MORE = hide_per_class(SCENES.truth.take(TRAIN), 0.6, 1)
