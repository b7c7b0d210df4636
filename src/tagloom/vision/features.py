"""The features of a collection: a table of numbers with named rows and columns."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tagloom.errors import InvalidInputError, MissingExtraError, first_line, import_extra
from tagloom.io import atomic_write, read_arrays

if TYPE_CHECKING:
    import pandas as pd

_VISUAL, _POSTERIOR = "visual:", "posterior:"
_ROUNDING = 1e-3


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
        with atomic_write(path) as part, part.open("wb") as stream:
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
    """Concatenate the posteriors of several encoders for the same items.

    A concept in more than one vocabulary is followed by its source in brackets. The visual
    descriptor is that of the first, or the concatenation of all.
    """
    if not parts or len(parts) != len(sources):
        raise InvalidInputError(
            f"Joining needs one source name per part: got {len(parts)} parts and "
            f"{len(sources)} names."
        )
    for part, source in zip(parts, sources, strict=True):
        if part.items != parts[0].items:
            raise InvalidInputError(
                f"The features of {source} and {sources[0]} are of different items and cannot be "
                f"joined. Expected the same {len(parts[0])} items in the same order."
            )
    chosen = parts if visual == "all" else parts[:1]
    return Features(
        items=parts[0].items,
        visual=np.concatenate([part.visual for part in chosen], axis=1),
        posteriors=np.concatenate([part.posteriors for part in parts], axis=1),
        concepts=joined_concepts([part.concepts for part in parts], sources),
    )


def joined_concepts(vocabularies: Sequence[Sequence[str]], sources: Sequence[str]) -> list[str]:
    """List the concepts of all vocabularies; a name in several is followed by its source.

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


def load_features(
    source: "str | os.PathLike[str] | pd.DataFrame", *, concepts: Sequence[str] | None = None
) -> Features:
    """Load features that were computed elsewhere from a ``.npz``, a parquet file or a DataFrame.

    A ``.npz`` file holds ``items``, ``visual`` and, if there are any, ``posteriors`` and
    ``concepts``. A table has a row per item: the column ``item`` (or else the index) names it, and
    the numbers are either in columns ``visual:...`` and ``posterior:<concept>``, or one list per
    row in the columns ``visual`` and ``posteriors``.

    Parameters
    ----------
    source
        The file or table.
    concepts
        Class names, if the source does not name them.
    """
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if not path.is_file():
            raise InvalidInputError(f"There is no file of features {path}.")
        parts = read_arrays(path) if path.suffix == ".npz" else _from_frame(_read_table(path))
        return _assembled(parts, concepts, str(path))
    return _assembled(_from_frame(source), concepts, "the table")


def _assembled(parts: Mapping[str, Any], concepts: Sequence[str] | None, where: str) -> Features:
    items, visual = parts.get("items"), parts.get("visual")
    if items is None or visual is None:
        missing = "items" if items is None else "visual"
        raise InvalidInputError(f"{where} has no {missing!r}. It holds: {', '.join(parts) or '-'}.")
    posteriors = parts.get("posteriors")
    if posteriors is None:
        posteriors = np.empty((len(items), 0), dtype=np.float32)
    names = concepts if concepts is not None else parts.get("concepts")
    if names is None and np.shape(posteriors)[1:] != (0,):
        raise InvalidInputError(f"{where} does not name its concepts: pass them as 'concepts'.")
    try:
        features = Features(
            list(items), visual, posteriors, list(names) if names is not None else []
        )
    except InvalidInputError as problem:
        raise InvalidInputError(f"{where} cannot be used. {problem}") from problem
    _check_probabilities(features, where)
    return features


def _check_probabilities(features: Features, where: str) -> None:
    wrong = (features.posteriors < -_ROUNDING) | (features.posteriors > 1 + _ROUNDING)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise InvalidInputError(
            f"{where}: posteriors must lie between 0 and 1; item {features.items[row]!r} has "
            f"{features.posteriors[row, column]:g} for {features.concepts[column]!r}. Apply a "
            "softmax if these are logits."
        )


def _read_table(path: Path) -> "pd.DataFrame":
    pandas = import_extra("pandas", purpose="Reading a table of features", extra="pandas")
    try:
        table: pd.DataFrame = pandas.read_parquet(path)
    except ImportError as problem:
        raise MissingExtraError("Reading parquet", "pyarrow", "pandas") from problem
    except Exception as problem:  # the parquet engines raise errors of their own
        detail = first_line(problem)
        raise InvalidInputError(
            f"{path} cannot be read as a .npz or parquet file: {detail}."
        ) from problem
    return table


def _from_frame(table: "pd.DataFrame") -> dict[str, Any]:
    columns = [str(column) for column in table.columns]
    parts: dict[str, Any] = {
        "items": table["item"].tolist() if "item" in columns else table.index.tolist()
    }
    wide = [column for column in columns if column.startswith(_VISUAL)]
    named = [column for column in columns if column.startswith(_POSTERIOR)]
    if wide:
        parts["visual"] = table[wide].to_numpy()
    elif "visual" in columns:
        parts["visual"] = _stacked(table["visual"], "visual")
    if named:
        parts["posteriors"] = table[named].to_numpy()
        parts["concepts"] = [column.removeprefix(_POSTERIOR) for column in named]
    elif "posteriors" in columns:
        parts["posteriors"] = _stacked(table["posteriors"], "posteriors")
    return parts


def _stacked(rows: "pd.Series[Any]", name: str) -> Any:
    lengths = {len(row) if hasattr(row, "__len__") else None for row in rows}
    if len(lengths) != 1 or None in lengths:
        raise InvalidInputError(
            f"The column {name!r} must hold a list of the same length in every row."
        )
    return np.stack([np.asarray(row) for row in rows])
