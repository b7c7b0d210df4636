"""From probabilities to suggestions, suspected label errors and what to annotate next.

Each of the three is also a CSV file in the folder of a run, written and read here.
"""

import csv
import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagloom.completion.folder import is_edited
from tagloom.errors import InvalidInputError
from tagloom.formats.tables.csv import Table, defuse, undefuse
from tagloom.io import atomic_write
from tagloom.labels import PartialLabels, State
from tagloom.labels.storage import Codes, Flags, Positions

Array = npt.NDArray[Any]

COLUMNS = ("image", "tag", "probability", "rank", "state")
ERROR_COLUMNS = ("image", "tag", "probability", "error_probability", "state")
QUERY_COLUMNS = ("image", "tag", "probability", "acquisition_score", "state")

# The prior share of annotations that are wrong. It is rarely known for a given archive.
ERROR_RATE = 0.03
# An annotation that is more likely wrong than right deserves a second look.
_SUSPICIOUS = 0.5
# The share of a label's presences at the bottom of its ranking is shrunk as if there were ten more.
_PSEUDO_COUNT = 10.0
_QUERIES_PER_PICTURE = 2
_WRITE_ANEW = (
    "Correct it, or have it written anew: Run `tagloom complete` again, which keeps a copy of what "
    "people wrote into it."
)


class TagState(IntEnum):
    """The state of a tag in the table of suggestions."""

    KNOWN = 0
    SUGGESTED = 1
    DOUBTFUL_KNOWN = 2
    """Annotated as present, but suspected to be wrong."""
    DOUBTFUL_ABSENT = 3
    """Annotated as absent, but suspected to be present."""

    @property
    def text(self) -> str:
        """The state as it is written to files."""
        return self.name.lower().replace("_", "-")


class TagRow(NamedTuple):
    """One row of the table; the rank counts from 1 by falling probability within the picture."""

    image: str
    tag: str
    probability: float
    rank: int
    state: TagState


@dataclass(frozen=True, eq=False)
class TagTable:
    """Known, suggested and suspected tags, by picture and then by rank.

    The probability of a known tag is the held-out one, as if the tag were unknown; it is NaN where
    the label could not be learned.
    """

    items: Sequence[str]
    labels: Sequence[str]
    rows: Positions
    columns: Positions
    probability: npt.NDArray[np.float32]
    rank: Positions
    state: Codes

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
    known: PartialLabels,
    P: Array,
    is_open: Flags,
    thresholds: Array,
    suspected: Flags,
    rare: PartialLabels | None = None,
) -> TagTable:
    """Collect known presences, suggestions and suspected absences, ranked within each picture.

    `rare` holds the annotations of labels that were not learned. Their columns follow the others;
    they have no probability and the last ranks.
    """
    states = known.states()
    present, absent = states == int(State.PRESENT), states == int(State.ABSENT)
    code = np.full(P.shape, -1, dtype=np.int8)
    code[is_open & (thresholds <= P)] = int(TagState.SUGGESTED)
    code[present] = int(TagState.KNOWN)
    code[present & suspected] = int(TagState.DOUBTFUL_KNOWN)
    code[absent & suspected] = int(TagState.DOUBTFUL_ABSENT)
    rows, columns = np.nonzero(code >= 0)
    probability, kind = P[rows, columns].astype(np.float32), code[rows, columns]
    labels = [str(label) for label in known.labels]
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
    items = [str(item) for item in (known.items or range(known.n_items))]
    return TagTable(items, labels, rows, columns, probability[order], rank, kind[order])


class SuspectedError(NamedTuple):
    """An annotation that looks wrong, by its place."""

    row: int
    column: int
    present: bool
    """What the annotation says."""
    probability: float
    """The held-out probability that the tag is present."""
    error_probability: float
    """The probability that the annotation is wrong."""


def suspected_errors(states: Array, held_out: Array) -> list[SuspectedError]:
    """Return the annotations that are probably wrong, most probable first.

    A tag is often right although nothing in the picture speaks for it: what it names may be tiny.
    Therefore a presence is never taken to be less plausible than presences at the bottom of their
    ranking are in general (`_share_at_bottom`).

    Probabilities of an error are rounded to the four digits that files show, so that the report
    and the review page agree.
    """
    prior = held_out.mean(axis=0, dtype=np.float64)
    found = []
    for state in (State.PRESENT, State.ABSENT):
        rows, columns = np.nonzero(states == int(state))
        present = state == State.PRESENT
        p = held_out[rows, columns]
        least = _share_at_bottom(states, held_out)[columns] * prior[columns] if present else 0.0
        wrong = error_probability(np.maximum(p, least), prior[columns], present=present)
        # Where unlisted tags are absent, nearly every entry is annotated: few are worth an object.
        found += [
            SuspectedError(int(rows[k]), int(columns[k]), present, float(p[k]), float(wrong[k]))
            for k in np.flatnonzero(wrong > _SUSPICIOUS)
        ]
    found.sort(key=lambda one: (-one.error_probability, one.row, one.column))
    return [one._replace(error_probability=round(one.error_probability, 4)) for one in found]


def _share_at_bottom(states: Array, held_out: Array) -> Array:
    """Return how many presences are in the lower half of each label's ranking, relative to chance.

    With k of n presences there, 2 (k + 10 q) / (n + 10), where q is the share for all labels.
    """
    present = states == int(State.PRESENT)
    bottom = held_out < np.median(held_out, axis=0)
    k, n = (present & bottom).sum(axis=0), present.sum(axis=0)
    pooled = k.sum() / max(int(n.sum()), 1)
    return np.asarray(2 * (k + _PSEUDO_COUNT * pooled) / (n + _PSEUDO_COUNT))


def error_probability(
    p: Array, prior: Array, *, present: bool, error_rate: float = ERROR_RATE
) -> Array:
    """Return the probability that an annotation is wrong, given what the picture looks like.

    Let e be the share of annotations that are wrong, wrong ones falling on any picture, p the
    held-out probability of the label for the picture and r its mean over all pictures. Then

        wrong : right  =  e (1 - p)/(1 - r)  :  (1 - e) p/r              if annotated as present,
        wrong : right  =  e p/r              :  (1 - e) (1 - p)/(1 - r)  if annotated as absent.
    """
    p, r = (np.clip(np.asarray(x, dtype=np.float64), 1e-9, 1 - 1e-9) for x in (p, prior))
    has, has_not = p / r, (1 - p) / (1 - r)
    right, wrong = (has, has_not) if present else (has_not, has)
    return np.asarray(error_rate * wrong / (error_rate * wrong + (1 - error_rate) * right))


class Query(NamedTuple):
    """An entry to annotate, by its place, with its acquisition score."""

    row: int
    column: int
    score: float


def annotate_next(
    P: Array, is_open: Flags, n_present: Array, count: int, *, per_label: int = 5
) -> list[Query]:
    """Choose the open entries to annotate next by active learning, most informative first.

    The acquisition score is P (1 - P) / n: an annotation removes the variance P (1 - P) of its
    entry, and tells more about its label the fewer presences n are known. At most `per_label`
    queries concern one label and two concern one picture, since further ones are redundant.
    """
    scores = np.where(is_open, P * (1 - P) / np.maximum(1, n_present), 0).astype(np.float32)
    chosen: list[Query] = []
    of_label: Counter[int] = Counter()
    of_item: Counter[int] = Counter()
    # Entries of a label are passed over only where their picture already has its two queries, which
    # holds for at most half as many pictures as there are queries.
    for query in _highest_scores(scores, per_label + count // 2):
        if len(chosen) == count:
            break
        if of_label[query.column] < per_label and of_item[query.row] < _QUERIES_PER_PICTURE:
            of_label[query.column] += 1
            of_item[query.row] += 1
            chosen.append(query)
    return chosen


def _highest_scores(scores: Array, per_label: int) -> list[Query]:
    """Return the highest positive scores of each label, all in falling order."""
    queries = []
    for column in range(scores.shape[1]):
        rows = np.argsort(-scores[:, column], kind="stable")[:per_label]
        queries += [
            Query(row, column, float(scores[row, column]))
            for row in rows.tolist()
            if scores[row, column] > 0
        ]
    return sorted(queries, key=lambda one: (-one.score, one.row, one.column))


def write_suggestions(table: TagTable, path: str | os.PathLike[str]) -> None:
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
    _write_csv(path, COLUMNS, rows)


def write_suggestions_parquet(table: TagTable, path: str | os.PathLike[str]) -> None:
    """Write the table as Parquet; needs pyarrow."""
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


def write_suspected_errors(
    table: TagTable, errors: Iterable[SuspectedError], path: str | os.PathLike[str]
) -> None:
    """Write the suspected label errors as CSV, most probable first."""
    states = {True: TagState.DOUBTFUL_KNOWN, False: TagState.DOUBTFUL_ABSENT}
    rows = (
        (
            table.items[one.row],
            table.labels[one.column],
            f"{one.probability:.4f}",
            f"{one.error_probability:.4f}",
            states[one.present].text,
        )
        for one in errors
    )
    _write_csv(path, ERROR_COLUMNS, rows)


def write_queries(
    table: TagTable, queries: Iterable[Query], P: Array, path: str | os.PathLike[str]
) -> None:
    """Write what to annotate next as CSV; the state is left blank for the answer."""
    rows = (
        (
            table.items[one.row],
            table.labels[one.column],
            f"{P[one.row, one.column]:.4f}",
            f"{one.score:.4f}",
            "",
        )
        for one in queries
    )
    _write_csv(path, QUERY_COLUMNS, rows)


def _write_csv(
    path: str | os.PathLike[str], header: Sequence[str], rows: Iterable[Sequence[str]]
) -> None:
    with (
        atomic_write(path) as part,
        part.open("w", encoding="utf-8", newline="") as stream,
    ):
        plain = csv.writer(stream, lineterminator="\n")
        quoting = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL)
        plain.writerow(header)
        for image, tag, *rest in rows:
            row = (defuse(image), defuse(tag), *rest)
            (quoting if any(map(_needs_quotes, row)) else plain).writerow(row)


def _needs_quotes(cell: str) -> bool:
    """Return whether readers take a part of a cell for layout that the writer does not quote."""
    return "\r" in cell or cell != cell.strip()


class StoredRow(NamedTuple):
    """A row of one of the CSV files of a run."""

    line: int
    image: str
    tag: str
    probability: float
    """NaN where the label could not be learned."""
    state: str
    score: float
    """The error probability or the acquisition score; NaN for suggestions."""


def read_suggestions(path: Path) -> list[StoredRow]:
    """Read suggestions.csv, which may have been edited by hand."""
    return list(_read_csv(path, COLUMNS))


def read_suspected_errors(path: Path) -> list[StoredRow]:
    """Read suspected_errors.csv."""
    return list(_read_csv(path, ERROR_COLUMNS, "error_probability"))


def read_queries(path: Path) -> list[StoredRow]:
    """Read annotate_next.csv."""
    return list(_read_csv(path, QUERY_COLUMNS, "acquisition_score"))


def _read_csv(path: Path, columns: Sequence[str], score: str = "") -> Iterator[StoredRow]:
    try:
        if is_edited(path) or not _is_as_written(path, columns):
            yield from _read_edited(path, columns, score)
            return
        with path.open(encoding="utf-8", errors="surrogateescape", newline="") as stream:
            table = csv.DictReader(stream)
            for row in table:
                names = {name: undefuse(row[name] or "") for name in ("image", "tag")}
                yield _stored_row(path, table.line_num, row | names, score)
    except (OSError, UnicodeError, csv.Error) as problem:
        raise InvalidInputError(f"{path} cannot be read: {problem}. {_WRITE_ANEW}") from None
    except InvalidInputError as problem:
        raise InvalidInputError(f"{problem} {_WRITE_ANEW}") from None


def _is_as_written(path: Path, columns: Sequence[str]) -> bool:
    with path.open("rb") as stream:
        return stream.readline(1000).rstrip(b"\r\n") == ",".join(columns).encode()


def _read_edited(path: Path, columns: Sequence[str], score: str) -> Iterator[StoredRow]:
    """Read a table as a spreadsheet saves it: any encoding, separator and decimal sign."""
    table = Table.read(path)
    place = {name: column for column, name in enumerate(table.header)}
    if not set(columns) <= set(place):
        raise InvalidInputError(
            f"{path} is not the table that a run writes: expected the columns "
            f"{', '.join(columns)}; found {', '.join(table.header) or 'none'}."
        )
    for cells, line in zip(table.rows, table.lines, strict=True):
        row = {name: cells[column] for name, column in place.items()}
        yield _stored_row(path, line, row, score)


def _stored_row(path: Path, line: int, row: Mapping[str, str | None], score: str) -> StoredRow:
    return StoredRow(
        line,
        row["image"] or "",
        row["tag"] or "",
        _number(path, line, row["probability"]),
        row["state"] or "",
        _number(path, line, row[score] if score else ""),
    )


def _number(path: Path, line: int, text: str | None) -> float:
    try:
        return float((text or "").strip().replace(",", ".") or "nan")
    except ValueError:
        raise InvalidInputError(
            f"{path}, line {line}: expected a number, found {text!r}."
        ) from None
