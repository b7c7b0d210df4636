"""All that a completion found out, as the report and the files need it."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagloom.completion.quality import Bin, LabelQuality
from tagloom.completion.suggestions import TagTable
from tagloom.completion.teaching import Question
from tagloom.labels import PartialLabels, State

Array = npt.NDArray[Any]


class Doubt(NamedTuple):
    """A statement that looks wrong."""

    row: int
    column: int
    present: bool
    """What was said."""
    probability: float
    """Of the tag, if nobody had said anything."""
    chance: float
    """That it is wrong."""


class Left(NamedTuple):
    """Something that was left out, and why."""

    name: str
    reason: str


@dataclass(frozen=True, eq=False)
class Completed:
    """The result of completing a collection.

    Attributes
    ----------
    photos : Path
        The folder of the pictures; items are paths in it.
    said : PartialLabels
        What people have said of the items and the labels that could be learned.
    P : array of shape (n_items, n_labels)
        Probabilities: of open entries as they stand; of what was said, as if nobody had said it.
    open_to : array of bool
        Where a suggestion could be made.
    thresholds : array of shape (n_labels,)
    table : TagTable
    doubts : list of Doubt
        Surest first.
    questions : list of Question
        What to ask a person next.
    qualities : list of LabelQuality
        One for each label, also for those that were not learned.
    bins : list of Bin
        The reliability of the probabilities, measured on hidden entries.
    completeness : float
        Estimated share of the presences that are listed; 1 where absences are listed as well.
    affinities : sparse array
        Which pictures are like which: row i holds the neighbours of item i.
    skipped : list of Left
        Pictures that could not be read.
    remarks : list of Left
        What was odd about the tags and what was done about it, with the place.
    too_rare : dict from label to number of presences
        Labels of which too little is known.
    account : dict
        Numbers for people, in the order in which they are told: {"pictures": 5000, ...}.
    """

    photos: Path
    said: PartialLabels
    P: Array
    open_to: npt.NDArray[np.bool_]
    thresholds: npt.NDArray[np.float64]
    table: TagTable
    doubts: list[Doubt]
    questions: list[Question]
    qualities: list[LabelQuality]
    bins: list[Bin]
    completeness: float
    affinities: Any
    skipped: list[Left]
    remarks: list[Left]
    too_rare: dict[str, int]
    account: dict[str, Any]

    @property
    def items(self) -> list[str]:
        """The pictures."""
        return list(self.table.items)

    @property
    def labels(self) -> list[str]:
        """The labels."""
        return list(self.table.labels)

    def carriers(self, row: int, column: int, count: int = 3) -> list[int]:
        """Return the likest pictures that are known to carry a label, likest first."""
        S = self.affinities
        near = slice(S.indptr[row], S.indptr[row + 1])
        neighbours, affinity = S.indices[near], S.data[near]
        order = np.lexsort((neighbours, -affinity))
        return [int(neighbours[k]) for k in order if self._present[neighbours[k], column]][:count]

    @cached_property
    def _present(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.said.states() == int(State.PRESENT))
