"""What the rest of tagloom sees of pictures: a table of numbers with names on both sides."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tagloom.errors import InvalidInputError
from tagloom.files import written_whole


@dataclass(frozen=True)
class Features:
    """Visual descriptors and class posteriors of a collection.

    Parameters
    ----------
    items
        The ``n`` items: paths relative to the folder, with forward slashes.
    visual
        Visual descriptors, float32 of shape (n, d).
    posteriors
        Class posteriors, float32 of shape (n, s); row ``i`` is the paper's ``g_i`` before the
        selection of concepts.
    concepts
        Names of the ``s`` classes.
    """

    items: list[str]
    visual: NDArray[np.float32]
    posteriors: NDArray[np.float32]
    concepts: list[str]

    def __post_init__(self) -> None:
        for name in ("visual", "posteriors"):
            object.__setattr__(self, name, _matrix(name, getattr(self, name)))
        for name in ("items", "concepts"):
            object.__setattr__(self, name, [str(entry) for entry in getattr(self, name)])
        _check_sizes(self)
        _check_unique("items", self.items)
        _check_unique("concepts", self.concepts)

    def __len__(self) -> int:
        return len(self.items)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a ``.npz`` file that `load_features` reads; equal features give equal bytes."""
        with written_whole(path) as part, part.open("wb") as stream:
            np.savez(
                stream,
                items=np.array(self.items, dtype=np.str_),
                visual=self.visual,
                posteriors=self.posteriors,
                concepts=np.array(self.concepts, dtype=np.str_),
            )


def join_features(
    parts: Sequence[Features],
    sources: Sequence[str],
    *,
    visual: Literal["first", "all"] = "first",
) -> Features:
    """Put the posteriors of several backbones on the same items side by side.

    A concept that more than one of them knows is followed by its source in brackets. The visual
    descriptor is that of the first, or all of them side by side.
    """
    if not parts or len(parts) != len(sources):
        raise InvalidInputError(
            f"Joining needs one source name per part: got {len(parts)} parts and "
            f"{len(sources)} names."
        )
    for part, source in zip(parts, sources, strict=True):
        if part.items != parts[0].items:
            raise InvalidInputError(
                f"The features of {source} are of other items than those of {sources[0]}: they "
                f"cannot be joined. Expected the same {len(parts[0])} items in the same order."
            )
    chosen = parts if visual == "all" else parts[:1]
    return Features(
        items=parts[0].items,
        visual=np.concatenate([part.visual for part in chosen], axis=1),
        posteriors=np.concatenate([part.posteriors for part in parts], axis=1),
        concepts=joined_concepts([part.concepts for part in parts], sources),
    )


def joined_concepts(vocabularies: Sequence[Sequence[str]], sources: Sequence[str]) -> list[str]:
    """List the concepts of all vocabularies; a name that several know carries its source.

    >>> joined_concepts([["cat", "lake"], ["lake", "road"]], ["imagenet", "places"])
    ['cat', 'lake (imagenet)', 'lake (places)', 'road']
    """
    times = Counter(concept for vocabulary in vocabularies for concept in vocabulary)
    return [
        f"{concept} ({source})" if times[concept] > 1 else concept
        for vocabulary, source in zip(vocabularies, sources, strict=True)
        for concept in vocabulary
    ]


def _matrix(name: str, values: Any) -> NDArray[np.float32]:
    try:
        matrix = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError) as problem:
        raise InvalidInputError(f"{name!r} must hold numbers: {problem}.") from problem
    if matrix.ndim != 2:
        raise InvalidInputError(
            f"{name!r} must be a matrix with one row per item, got shape {matrix.shape}."
        )
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        raise InvalidInputError(
            f"{name!r} must be finite: row {row}, column {column} is {matrix[row, column]}."
        )
    return np.ascontiguousarray(matrix)


def _check_sizes(features: Features) -> None:
    sizes = {
        "items": len(features.items),
        "visual": len(features.visual),
        "posteriors": len(features.posteriors),
    }
    if len(set(sizes.values())) > 1:
        found = ", ".join(f"{count} {name}" for name, count in sizes.items())
        raise InvalidInputError(f"Features need one row per item; found {found}.")
    columns = features.posteriors.shape[1]
    if columns != len(features.concepts):
        raise InvalidInputError(
            f"Features need one concept per column of 'posteriors'; found {columns} columns and "
            f"{len(features.concepts)} concepts."
        )


def _check_unique(name: str, entries: Sequence[str]) -> None:
    twice = [entry for entry, count in Counter(entries).items() if count > 1]
    if twice:
        shown = ", ".join(map(repr, twice[:3]))
        raise InvalidInputError(f"{name!r} must differ from each other; repeated: {shown}.")
