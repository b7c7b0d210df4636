"""What a set looks like on disk and how large it is: said where something is missing."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from tagloom.datasets.base import Dataset
from tagloom.errors import InvalidInputError


@dataclass(frozen=True)
class Layout:
    """How a set lies on disk.

    Parameters
    ----------
    name
        What people call the set.
    tree
        The files that are read.
    home
        Where the set is usually found, in words.
    """

    name: str
    tree: str
    home: str

    def missing(self, what: str) -> InvalidInputError:
        """Return the error that says what is missing and what was expected."""
        return InvalidInputError(
            f"{what} is missing. {self.name} is expected as {self.tree}. It is usually found "
            f"{self.home}."
        )

    def file(self, path: Path) -> Path:
        """Return the file if it is there."""
        if not path.is_file():
            raise self.missing(f"The file {path}")
        return path

    def folder(self, path: Path) -> Path:
        """Return the folder if it is there."""
        if not path.is_dir():
            raise self.missing(f"The folder {path}")
        return path

    def first_folder(self, candidates: Iterable[Path]) -> Path:
        """Return the first of the folders that is there."""
        listed = list(candidates)
        for path in listed:
            if path.is_dir():
                return path
        raise self.missing("Each of the folders " + ", ".join(map(str, listed)))


@dataclass(frozen=True)
class Size:
    """How many training items, test items and labels the makers of a set count."""

    training: int
    test: int
    labels: int

    def __str__(self) -> str:
        return (
            f"{self.training:,} training items, {self.test:,} test items and {self.labels:,} labels"
        )


def of_expected_size(dataset: Dataset, expected: Size, check: bool) -> Dataset:
    """Refuse a set of another size than expected; without `check`, say so in its notes."""
    found = Size(len(dataset.training), len(dataset.test), dataset.truth.n_labels)
    if found == expected:
        return dataset
    difference = f"{dataset.name} is known to have {expected}; here it has {found}."
    if check:
        raise InvalidInputError(
            f"{difference} The set may be incomplete or another edition: pass "
            "check_counts=False to go on with what there is."
        )
    return replace(dataset, notes=(*dataset.notes, difference))
