"""A small data set that needs no file: scenes, the things in them, and features of both."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tagloom.labels import PartialLabels, hide_per_class
from tagloom.vision import Features

# What each kind of scene holds, and how often.
_SCENES: dict[str, dict[str, float]] = {
    "beach": {
        "sky": 0.9,
        "sea": 0.95,
        "sand": 0.9,
        "boat": 0.4,
        "palm": 0.3,
        "person": 0.5,
        "cloud": 0.5,
    },
    "harbour": {"sky": 0.8, "sea": 0.95, "boat": 0.95, "house": 0.5, "bird": 0.4, "cloud": 0.5},
    "forest": {"tree": 0.98, "path": 0.5, "deer": 0.2, "bird": 0.3, "flower": 0.3, "grass": 0.6},
    "meadow": {"sky": 0.9, "grass": 0.95, "flower": 0.6, "tree": 0.4, "deer": 0.2, "cloud": 0.6},
    "mountain": {"sky": 0.9, "snow": 0.6, "rock": 0.9, "tree": 0.4, "cloud": 0.6, "lake": 0.3},
    "street": {"house": 0.9, "car": 0.9, "person": 0.6, "lamp": 0.5, "tree": 0.3, "sky": 0.5},
    "kitchen": {"table": 0.8, "chair": 0.7, "lamp": 0.5, "window": 0.5, "cat": 0.2, "person": 0.3},
    "study": {"table": 0.9, "chair": 0.9, "book": 0.8, "lamp": 0.6, "window": 0.4, "cat": 0.2},
}


@dataclass(frozen=True)
class SmallScenes:
    """Features and all labels."""

    X: npt.NDArray[np.float64]
    truth: PartialLabels


def small_scenes(n_items: int = 600, *, random_state: int = 0) -> SmallScenes:
    """Make scenes out of things: eight kinds of scene, two dozen things, features of 48 numbers.

    Each thing and each kind of scene has a direction in feature space. The features of an item are
    the sum of the directions of what is in it, with noise: a thing can be recognised in part by
    itself and in part by what else is there.
    """
    rng = np.random.default_rng(random_state)
    things = sorted({thing for parts in _SCENES.values() for thing in parts})
    odds = np.array([[parts.get(thing, 0.01) for thing in things] for parts in _SCENES.values()])
    kind = rng.integers(len(_SCENES), size=n_items)
    present = rng.uniform(size=(n_items, len(things))) < odds[kind]
    d = 48
    of_scene = rng.normal(size=(len(_SCENES), d))
    of_thing = rng.normal(size=(len(things), d))
    X = of_scene[kind] + present @ of_thing + 2.5 * rng.normal(size=(n_items, d))
    names = [f"{name}-{i:04}" for i, name in enumerate(np.array(list(_SCENES))[kind])]
    truth = PartialLabels.from_array(present, labels=things, items=names)
    return SmallScenes(X / np.sqrt(d), truth)


SCENES = small_scenes(160, random_state=2)
TRUTH = SCENES.truth.to_array()
TRAIN, NEW = slice(0, 110), slice(110, 160)


def features_of(rows: slice) -> Features:
    """Return features of scenes as an encoder would."""
    rng = np.random.default_rng(0)
    posteriors = np.hstack([TRUTH[:, :8], np.zeros((160, 8))]) + rng.uniform(size=(160, 16))
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    names = [f"concept {j}" for j in range(16)]
    return Features(list(SCENES.truth.items)[rows], SCENES.X[rows], posteriors[rows], names)


KNOWN = hide_per_class(SCENES.truth.take(TRAIN), 0.3, 0)
MORE = hide_per_class(SCENES.truth.take(TRAIN), 0.6, 1)
