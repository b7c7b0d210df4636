"""The table of tags: known, suggested and doubtful, with probabilities and ranks."""

import csv
import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagloom.io import atomic_write
from tagloom.labels import PartialLabels, State

# §§ main suggestions


Array = npt.NDArray[Any]
COLUMNS = ("image", "tag", "probability", "rank", "state")


class TagState(IntEnum):
    """What a row of the table says of its tag."""

    KNOWN = 0
    SUGGESTED = 1
    DOUBTFUL_KNOWN = 2
    """Somebody gave it, and it looks wrong."""
    DOUBTFUL_ABSENT = 3
    """Somebody denied it, and it looks right."""

    @property
    def text(self) -> str:
        """As it stands in files."""
        return self.name.lower().replace("_", "-")


class TagRow(NamedTuple):
    """One row: the rank is by falling probability within the picture, from 1."""

    image: str
    tag: str
    probability: float
    rank: int
    state: TagState


@dataclass(frozen=True, eq=False)
class TagTable:
    """Rows by picture and then by rank.

    A known tag has the probability it would have had if nobody had given it, NaN where its label
    could not be learned.
    """

    items: Sequence[str]
    labels: Sequence[str]
    rows: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int64]
    probability: npt.NDArray[np.float32]
    rank: npt.NDArray[np.int64]
    state: npt.NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[TagRow]:
        for row, column, probability, rank, state in zip(
            self.rows.tolist(),
            self.columns.tolist(),
            self.probability.tolist(),
            self.rank.tolist(),
            self.state.tolist(),
            strict=True,
        ):
            yield TagRow(self.items[row], self.labels[column], probability, rank, TagState(state))

    def count(self, state: TagState) -> int:
        """Return how many rows are in a state."""
        return int((self.state == int(state)).sum())


def tag_table(
    said: PartialLabels,
    P: Array,
    open_to: npt.NDArray[np.bool_],
    thresholds: Array,
    doubtful: npt.NDArray[np.bool_],
    rare: PartialLabels | None = None,
) -> TagTable:
    """Collect known presences, suggestions and doubtful absences, ranked within each picture.

    `rare` is what was said of labels that were not learned. Their columns come after the others;
    they have no probability and the last ranks.
    """
    states = said.states()
    present, absent = states == int(State.PRESENT), states == int(State.ABSENT)
    code = np.full(P.shape, -1, dtype=np.int8)
    code[open_to & (thresholds <= P)] = int(TagState.SUGGESTED)
    code[present] = int(TagState.KNOWN)
    code[present & doubtful] = int(TagState.DOUBTFUL_KNOWN)
    code[absent & doubtful] = int(TagState.DOUBTFUL_ABSENT)
    rows, columns = np.nonzero(code >= 0)
    probability, kind = P[rows, columns].astype(np.float32), code[rows, columns]
    labels = [str(label) for label in said.labels]
    if rare is not None:
        given = rare.entries()
        more = given.rows[given.present]
        rows = np.concatenate([rows, more])
        columns = np.concatenate([columns, given.columns[given.present] + len(labels)])
        probability = np.append(probability, np.full(len(more), np.nan, dtype=np.float32))
        kind = np.append(kind, np.full(len(more), int(TagState.KNOWN), dtype=np.int8))
        labels += [str(label) for label in rare.labels]
    order = np.lexsort((columns, -np.nan_to_num(probability, nan=-1.0), rows))
    rows, columns = rows[order], columns[order]
    first = np.searchsorted(rows, np.arange(P.shape[0]))
    rank = np.arange(len(rows)) - first[rows] + 1
    items = [str(item) for item in (said.items or range(said.n_items))]
    return TagTable(items, labels, rows, columns, probability[order], rank, kind[order])


def write_csv(table: TagTable, path: str | os.PathLike[str]) -> None:
    """Write the table as CSV in UTF-8."""
    rows = (
        (
            row.image,
            row.tag,
            "" if math.isnan(row.probability) else f"{row.probability:.4f}",
            str(row.rank),
            row.state.text,
        )
        for row in table
    )
    write_rows(path, COLUMNS, rows)


def write_rows(
    path: str | os.PathLike[str], header: Sequence[str], rows: Iterable[Sequence[str]]
) -> None:
    """Write rows of texts as CSV in UTF-8, whole or not at all."""
    with (
        atomic_write(path) as part,
        part.open("w", encoding="utf-8", newline="") as stream,
    ):
        plain = csv.writer(stream, lineterminator="\n")
        quoting = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL)
        plain.writerow(header)
        for row in rows:
            # A carriage return ends a line for who reads it, but not for the writer.
            (quoting if any("\r" in cell for cell in row) else plain).writerow(row)


def write_parquet(table: TagTable, path: str | os.PathLike[str]) -> None:
    """Write the table as parquet; needs pyarrow."""
    import pyarrow as pa
    from pyarrow import parquet

    names = [TagState(code).text for code in range(len(TagState))]
    columns = {
        "image": pa.array(table.items, pa.string()).take(pa.array(table.rows)),
        "tag": pa.array(table.labels, pa.string()).take(pa.array(table.columns)),
        "probability": pa.array(table.probability),
        "rank": pa.array(table.rank.astype(np.int32)),
        "state": pa.array(names).take(pa.array(table.state)),
    }
    with atomic_write(path) as part:
        parquet.write_table(pa.table(columns), part)


# §§ doubts
# Known tags that look wrong.


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


# §§ teaching
# Which entries to ask a person about next.


_PER_PICTURE = 2


class Question(NamedTuple):
    """An entry by its place, and how much its answer is expected to teach."""

    row: int
    column: int
    value: float


def worth_asking(
    P: Array,
    open_to: npt.NDArray[np.bool_],
    n_present: Array,
    count: int,
    *,
    per_label: int = 5,
) -> list[Question]:
    """Return the open entries whose answer would teach most, most first.

    The answer removes the variance P (1 - P) of the entry, and says the more of its label the fewer
    presences n of it are known: it teaches P (1 - P) / n. At most `per_label` questions are of one
    label and two of one picture, for the next ones teach less.
    """
    value = np.where(open_to, P * (1 - P) / np.maximum(1, n_present), 0).astype(np.float32)
    chosen: list[Question] = []
    of_label: Counter[int] = Counter()
    of_item: Counter[int] = Counter()
    # Before an entry of a label is asked, others of it are passed over only if their picture has
    # had its two questions, and these are at most half as many pictures as questions.
    for question in _most_valuable(value, per_label + count // 2):
        if len(chosen) == count:
            break
        if of_label[question.column] < per_label and of_item[question.row] < _PER_PICTURE:
            of_label[question.column] += 1
            of_item[question.row] += 1
            chosen.append(question)
    return chosen


def _most_valuable(value: Array, of_each_label: int) -> list[Question]:
    """Return the highest positive values of each label, all in falling order."""
    questions = []
    for column in range(value.shape[1]):
        rows = np.argsort(-value[:, column], kind="stable")[:of_each_label]
        questions += [
            Question(row, column, float(value[row, column]))
            for row in rows.tolist()
            if value[row, column] > 0
        ]
    return sorted(questions, key=lambda one: (-one.value, one.row, one.column))
