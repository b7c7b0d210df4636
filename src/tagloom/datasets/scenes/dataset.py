"""Generated scenes as a data set."""

import os
from pathlib import Path

import numpy as np

from tagloom.checks import check_number, check_whole
from tagloom.datasets.base import Dataset
from tagloom.datasets.scenes.drawing import DRAWING_VERSION
from tagloom.datasets.scenes.labels import LABELS
from tagloom.datasets.scenes.writing import read_tags, scene_name, write_scenes
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels
from tagloom.vision.places import user_cache

_DEFAULT_SCENES = 1000
# Far above the numbers of parts, which name the other streams of a scene.
_SPLIT_STREAM = 1_000_003


def generated_scenes(
    n: int = _DEFAULT_SCENES,
    random_state: int = 0,
    folder: str | os.PathLike[str] | None = None,
    *,
    test_share: float = 0.3,
    show_progress: bool = False,
) -> Dataset:
    """Return scenes drawn by our own code: pictures, and the truth for every item and label.

    What is drawn once is kept. Whether a scene is for training or test depends on its number and
    `random_state` alone, so that more scenes do not move any from one side to the other.

    Parameters
    ----------
    n
        How many scenes.
    random_state
        Which series of scenes.
    folder
        Where the pictures are kept; None takes a folder in the user's cache directory.
    test_share
        The share of scenes that is for test, about.
    show_progress
        Draw a bar on a terminal's standard error.
    """
    check_whole("n", n, at_least=2)
    check_number("test_share", test_share, low=0.0, high=1.0)
    place = _cached(random_state) if folder is None else Path(folder)
    write_scenes(place, n, random_state, show_progress)
    names = [scene_name(number) for number in range(n)]
    tags = read_tags(place)
    truth = PartialLabels.from_tags(
        {name: sorted(tags[name]) for name in names}, unlisted="absent", labels=LABELS
    )
    rank = np.array([_lot(random_state, number) for number in range(n)])
    test = rank < test_share
    return Dataset(
        "scenes",
        truth,
        np.flatnonzero(~test),
        np.flatnonzero(test),
        folder=place,
        notes=(f"Pictures drawn by tagloom (drawing {DRAWING_VERSION}, series {random_state}).",),
    )


def open_scenes(argument: str = "") -> Dataset:
    """Open generated scenes by what follows the name: nothing, or how many ("1200")."""
    text = argument.strip()
    if not text:
        return generated_scenes()
    if not (text.isascii() and text.isdigit()) or int(text) < 2:
        raise InvalidInputError(
            f"After 'scenes:' there must be how many, at least 2, as in 'scenes:1200'; "
            f"got {argument!r}."
        )
    return generated_scenes(int(text))


def _cached(random_state: int) -> Path:
    check_whole("random_state", random_state, at_least=0)
    return user_cache() / "scenes" / f"drawing-{DRAWING_VERSION}-series-{random_state}"


def _lot(random_state: int, number: int) -> float:
    # Apart from the streams that draw the scene, or else the split would follow the kinds. A zero
    # at the end would not do: numpy takes (a, b, 0) for (a, b).
    return float(np.random.default_rng((random_state, number, _SPLIT_STREAM)).uniform())
