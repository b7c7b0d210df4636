"""Hide known labels, split them into folds, and merge them with later annotations."""

from collections.abc import Hashable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from tagloom.errors import InvalidInputError
from tagloom.labels.partial import PartialLabels
from tagloom.labels.storage import Entries, Flags, Positions
from tagloom.labels.tags import unlisted_weight
from tagloom.validation import check_integer

Seed = int | np.random.Generator | None
Names = tuple[Hashable, ...]
Unlisted = Literal["unknown", "absent"] | float | None
Numbers = npt.NDArray[np.float64]

# How people forget tags, fitted to captions of photographs (benchmarks/listing.py, 13 objects in
# 6,000 pictures): the Beta distribution of the label frequencies, and by how much the log-odds of
# being listed rise with a standard deviation of salience.
FREQUENCY_PRIOR = (1.35, 1.39)
SALIENCE_SLOPE = 1.1
# The standard deviation of the log-odds over items is assumed: one caption a picture shows none.
TALKATIVENESS = 0.5


def hide_per_class(known: PartialLabels, rate: float, random_state: Seed = None) -> PartialLabels:
    """Keep a share of the presences and of the absences of each label; the rest becomes unknown.

    This is the paper's "sample w% of labels from each class". Counts are rounded up, so that a
    label with a known presence keeps one.

    >>> Y = PartialLabels.from_array([[1, 0], [1, 1], [0, 1], [0, 1]])
    >>> hide_per_class(Y, 0.5, random_state=0)
    PartialLabels(4 items x 2 labels: 3 present, 2 absent, 3 unknown)
    """
    entries = _listed(known, rate)
    rank, size = _random_rank_in_class(entries, known.n_labels, random_state)
    return _keep_entries(known, entries, rank < _rounded_up(rate, size))


def hide_uniformly(known: PartialLabels, rate: float, random_state: Seed = None) -> PartialLabels:
    """Keep a share of the known entries, regardless of label and state.

    >>> Y = PartialLabels.from_array([[1, 0], [1, 1], [0, 1], [0, 1]])
    >>> hide_uniformly(Y, 0.5, random_state=0).n_known
    4
    """
    entries = _listed(known, rate)
    rng = np.random.default_rng(random_state)
    n_kept = round(rate * len(entries.rows))
    kept = np.zeros(len(entries.rows), dtype=bool)
    kept[rng.permutation(len(kept))[:n_kept]] = True
    return _keep_entries(known, entries, kept)


def keep_presences(
    known: PartialLabels,
    rate: float,
    *,
    unlisted: Unlisted = None,
    random_state: Seed = None,
) -> PartialLabels:
    """Keep a share of the presences of each label, rounded up; everything else is unlisted.

    The result looks like a collection of tags. `unlisted` means what it does in
    `PartialLabels.from_tags`.

    >>> Y = PartialLabels.from_array([[1, 0], [1, 1], [0, 1], [0, 1]])
    >>> keep_presences(Y, 0.5, unlisted="unknown", random_state=0)
    PartialLabels(4 items x 2 labels: 3 present, 0 absent, 5 unknown)
    """
    entries = _listed(known, rate)
    rank, size = _random_rank_in_class(entries, known.n_labels, random_state)
    kept = entries.present & (rank < _rounded_up(rate, size))
    return _keep_entries(known, entries, kept, unlisted_weight(unlisted))


def keep_salient(
    known: PartialLabels,
    rate: float,
    salience: npt.ArrayLike,
    *,
    unlisted: Unlisted = None,
    random_state: Seed = None,
) -> PartialLabels:
    """Keep presences as people list them: by label, by salience and by item.

    Label j of item i, if present, is listed with probability

        P(listed) = expit(a_j + b z_ij + u_i),

    where z_ij is the salience, standardised among the presences of the label, and u_i ~ N(0, 0.5^2)
    is how talkative the annotator of the item was. a_j is such that a share c_j of the presences of
    the label is listed; at least one is. These label frequencies differ as widely as those of
    captions: logit c_j = m + logit q_j with q_j ~ Beta(1.35, 1.39), and m such that a share `rate`
    of all presences is listed. Which are listed thus depends on the item ("selected at random",
    SAR, in the survey of Bekker and Davis 2020), while `keep_presences` lists any presence of a
    label alike (SCAR). Size and kind of an object decide whether people mention it (Berg et al.
    2012).

    Parameters
    ----------
    known
        The labels; every other entry than the kept ones becomes unlisted.
    rate
        The share of all presences that stays listed.
    salience
        How much each label stands out, of the shape of `known`: the logarithm of its area in a
        picture, or the score of a classifier. Only values at presences are used.
    unlisted
        What it is in `PartialLabels.from_tags`.
    random_state
        At the same seed, what is listed at a rate is also listed at higher rates.

    Examples
    --------
    >>> Y = PartialLabels.from_array([[1, 0], [1, 1], [0, 1], [0, 1]])
    >>> area = [[0.5, 0], [0.1, 0.2], [0, 0.2], [0, 0.2]]
    >>> keep_salient(Y, 0.5, area, unlisted="unknown", random_state=0)
    PartialLabels(4 items x 2 labels: 2 present, 0 absent, 6 unknown)
    """
    entries = _listed(known, rate)
    rng = np.random.default_rng(random_state)
    n_present = np.bincount(entries.columns[entries.present], minlength=known.n_labels)
    n_kept = np.maximum(1, np.round(_frequencies(n_present, rate, rng) * n_present))
    # Logistic noise makes a threshold the logistic model above; that of a label is its -a_j.
    utility = SALIENCE_SLOPE * _standardized(entries, _salience_of(entries, known, salience))
    utility += rng.normal(0, TALKATIVENESS, known.n_items)[entries.rows]
    utility += rng.logistic(size=len(utility))
    rank, _ = _rank_in_class(entries, known.n_labels, np.argsort(-utility, kind="stable"))
    kept = entries.present & (rank < n_kept[entries.columns])
    return _keep_entries(known, entries, kept, unlisted_weight(unlisted))


def _frequencies(
    n_present: npt.NDArray[np.int64], rate: float, rng: np.random.Generator
) -> Numbers:
    """Draw label frequencies whose mean over the presences is the rate."""
    spread = logit(np.clip(rng.beta(*FREQUENCY_PRIOR, size=len(n_present)), 1e-9, 1 - 1e-9))
    if rate == 1 or not n_present.any():
        return np.full(len(n_present), rate)

    def excess(shift: float) -> float:
        return float(n_present @ (expit(shift + spread) - rate))

    # Importing it takes a quarter of a second.
    from scipy.optimize import brentq

    return np.asarray(expit(brentq(excess, -60, 60) + spread))


def _salience_of(entries: Entries, known: PartialLabels, salience: npt.ArrayLike) -> Numbers:
    """Return the salience of each entry; it must be known of every presence."""
    table = np.asarray(salience, dtype=np.float64)
    if table.shape != known.shape:
        raise InvalidInputError(
            f"salience must have a value for each of {known.n_items:,} items and "
            f"{known.n_labels:,} labels; its shape is {table.shape}."
        )
    found = table[entries.rows, entries.columns]
    wrong = np.flatnonzero(entries.present & ~np.isfinite(found))
    if len(wrong):
        row, column = entries.rows[wrong[0]], entries.columns[wrong[0]]
        raise InvalidInputError(
            f"salience must be a number at every presence; at item {row}, label "
            f"{known.labels[column]!r} it is {found[wrong[0]]}."
        )
    return np.where(entries.present, found, 0.0)


def _standardized(entries: Entries, values: Numbers) -> Numbers:
    """Return z scores among the presences of each label; 0 where all are equal."""
    columns, present = entries.columns, entries.present.astype(np.float64)
    size = np.maximum(1, np.bincount(columns, present))
    centred = values - (np.bincount(columns, present * values) / size)[columns]
    variance = np.bincount(columns, present * centred**2) / size
    differ = variance > 1e-12 * np.bincount(columns, present * values**2) / size
    scale = np.sqrt(np.where(differ, variance, np.inf))
    return np.asarray(centred / scale[columns])


def _random_rank_in_class(
    entries: Entries, n_labels: int, random_state: Seed
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the rank of each entry in a random order of its class, and the size of the class."""
    shuffled = np.random.default_rng(random_state).permutation(len(entries.rows))
    return _rank_in_class(entries, n_labels, shuffled)


def _rank_in_class(
    entries: Entries, n_labels: int, order: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the rank of each entry among those of its class, and the size of the class.

    The class of an entry is its label and whether it is present.
    """
    classes = entries.columns + n_labels * entries.present
    grouped = order[np.argsort(classes[order], kind="stable")]
    size = np.bincount(classes, minlength=2 * n_labels)
    first = np.cumsum(size) - size
    rank = np.empty(len(classes), dtype=np.int64)
    rank[grouped] = np.arange(len(classes)) - first[classes[grouped]]
    return rank, size[classes]


def _rounded_up(rate: float, size: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the share of each size, rounded up; 0.07 of 100 is 7 despite rounding errors."""
    return np.asarray(np.ceil(rate * size - 1e-9))


def _listed(known: PartialLabels, rate: float) -> Entries:
    if not 0 < rate <= 1:
        raise InvalidInputError(
            f"rate must be a share in (0, 1] of the labels to keep; got {rate}."
        )
    if known.unlisted_weight:
        raise InvalidInputError(
            "Labels can be hidden only where each known entry is listed; here unlisted entries are "
            f"assumed absent with weight {known.unlisted_weight:g}."
        )
    return known.entries()


def _keep_entries(
    known: PartialLabels, entries: Entries, kept: npt.NDArray[np.bool_], unlisted: float = 0.0
) -> PartialLabels:
    """Return the chosen entries of `known`, with its names; the rest is unlisted."""
    return known.with_entries(
        entries.rows[kept],
        entries.columns[kept],
        entries.present[kept],
        weights=entries.weights[kept],
        unlisted_weight=unlisted,
    )


class Fold(NamedTuple):
    """Labels to train on and labels to evaluate on; both have all rows."""

    training: PartialLabels
    held_out: PartialLabels


def split_known(known: PartialLabels, n_splits: int, random_state: Seed = None) -> Iterator[Fold]:
    """Hold out each listed entry once, in folds stratified by label and state.

    If unlisted entries are unknown, a held-out entry becomes unknown. If they are assumed absent,
    only presences are listed, and a held-out presence becomes unlisted, like a forgotten tag. It is
    then evaluated against the other unlisted entries, which count as absent.
    """
    check_integer("n_splits", n_splits, at_least=2)
    rng = np.random.default_rng(random_state)
    entries = known.entries()
    rank, _ = _random_rank_in_class(entries, known.n_labels, rng)
    # Each label starts at a random fold: otherwise the first would hold out all rare labels.
    offset = rng.integers(n_splits, size=known.n_labels)
    fold_of_entry = (rank + offset[entries.columns]) % n_splits
    for fold in range(n_splits):
        held = fold_of_entry == fold
        yield Fold(_training(known, entries, ~held), _held_out(known, entries, held))


def _training(known: PartialLabels, entries: Entries, kept: npt.NDArray[np.bool_]) -> PartialLabels:
    training = _keep_entries(known, entries, kept, known.unlisted_weight)
    return training.with_hidden(*known.hidden_entries()) if known.unlisted_weight else training


def _held_out(known: PartialLabels, entries: Entries, held: npt.NDArray[np.bool_]) -> PartialLabels:
    assumed_absent = known.unlisted_weight > 0
    truth = PartialLabels.from_entries(
        entries.rows[held],
        entries.columns[held],
        entries.present[held],
        shape=known.shape,
        weights=None if assumed_absent else entries.weights[held],
        labels=known.labels,
        unlisted_weight=1.0 if assumed_absent else 0.0,
    )
    if not assumed_absent:
        return truth
    shown = truth.with_hidden(entries.rows[~held], entries.columns[~held])
    return shown.with_hidden(*known.hidden_entries())


def split_items(known: PartialLabels, n_splits: int, random_state: Seed = None) -> Iterator[Fold]:
    """Hold out each item that has a known label once, with all of its labels.

    No label of a held-out item is known in training, as for new items. Unlisted entries that are
    assumed absent are evaluated as absent.
    """
    truth = with_certain_absences(known)
    for held in held_out_items(known, n_splits, random_state):
        yield Fold(known.with_hidden_items(held), truth.with_hidden_items(~held))


def held_out_items(
    known: PartialLabels, n_splits: int, random_state: Seed = None
) -> Iterator[Flags]:
    """Yield which items each fold of `split_items` holds out."""
    check_integer("n_splits", n_splits, at_least=2)
    annotated = np.flatnonzero(known.known_items())
    fold_of_item = np.full(known.n_items, -1)
    order = np.random.default_rng(random_state).permutation(len(annotated))
    fold_of_item[annotated] = order % n_splits
    for fold in range(n_splits):
        yield fold_of_item == fold


def with_certain_absences(known: PartialLabels) -> PartialLabels:
    """Return the labels with weight 1 for absences that are assumed: the truth of an evaluation."""
    if not known.unlisted_weight:
        return known
    entries = known.entries()
    truth = known.with_entries(entries.rows, entries.columns, entries.present, unlisted_weight=1.0)
    return truth.with_hidden(*known.hidden_entries())


def add_known(earlier: PartialLabels, later: PartialLabels) -> PartialLabels:
    """Merge two sets of labels; where both list an entry, that of `later` counts.

    Items and labels are matched by name, and those that only `later` has come last. What an
    unlisted entry means holds for the items and labels of each table alone: a label that only
    `later` has is unknown at the items that only `earlier` has.

    Examples
    --------
    >>> earlier = PartialLabels.from_tags({"a.jpg": ["sea"], "b.jpg": []}, unlisted="absent")
    >>> later = PartialLabels.from_tags({"b.jpg": ["sea", "dog"]}, unlisted="unknown")
    >>> add_known(earlier, later).to_array()
    array([[ 1., nan],
           [ 1.,  1.]])
    """
    background = _background(earlier, later)
    labels, items = _union(earlier.labels, later.labels), _all_items(earlier, later)
    shape = (earlier.n_items if items is None else len(items), len(labels))
    # Of repeated entries the first is kept: the later labels come first.
    first, second = _moved(later, labels, items), _moved(earlier, labels, items)
    rows = np.concatenate([first.rows, second.rows])
    columns = np.concatenate([first.columns, second.columns])
    present = np.concatenate([first.present, second.present])
    weights = np.concatenate([first.weights, second.weights])
    kept = np.unique(rows * shape[1] + columns, return_index=True)[1]
    known = PartialLabels.from_entries(
        rows[kept],
        columns[kept],
        present[kept],
        shape=shape,
        weights=weights[kept],
        labels=labels,
        items=items,
        unlisted_weight=background,
    )
    if not background:
        return known
    covered = _in_background(earlier, labels, items, shape)
    covered |= _in_background(later, labels, items, shape)
    covered[rows, columns] = True
    return known.with_hidden(*np.nonzero(~covered))


def _moved(known: PartialLabels, labels: Names, items: Names | None) -> Entries:
    """Return the listed entries at their positions in the union."""
    entries = known.entries()
    rows, columns = _positions(known, labels, items)
    return Entries(rows[entries.rows], columns[entries.columns], entries.present, entries.weights)


def _in_background(
    known: PartialLabels, labels: Names, items: Names | None, shape: tuple[int, int]
) -> Flags:
    """Return the cells of the union at which unlisted means absent in one of the tables."""
    absent = np.zeros(shape, dtype=bool)
    if known.unlisted_weight:
        rows, columns = _positions(known, labels, items)
        absent[np.ix_(rows, columns)] = True
        hidden_rows, hidden_columns = known.hidden_entries()
        absent[rows[hidden_rows], columns[hidden_columns]] = False
    return absent


def _positions(
    known: PartialLabels, labels: Names, items: Names | None
) -> tuple[Positions, Positions]:
    """Return the positions of rows and columns in the union."""
    columns = _named_positions(known.labels, labels)
    if items is None or known.items is None:
        return np.arange(known.n_items), columns
    return _named_positions(known.items, items), columns


def _named_positions(names: Sequence[Hashable], among: Names) -> Positions:
    position = {name: place for place, name in enumerate(among)}
    return np.array([position[name] for name in names], dtype=np.int64)


def _union(one: Names, other: Names) -> Names:
    return tuple(dict.fromkeys((*one, *other)))


def _all_items(earlier: PartialLabels, later: PartialLabels) -> Names | None:
    if earlier.items is not None and later.items is not None:
        return _union(earlier.items, later.items)
    if earlier.n_items != later.n_items:
        raise InvalidInputError(
            "Items are matched by name, or by position if there are equally many: one of the "
            f"tables has unnamed items, and they have {earlier.n_items} and {later.n_items}."
        )
    return earlier.items if later.items is None else later.items


def _background(earlier: PartialLabels, later: PartialLabels) -> float:
    weights = {one.unlisted_weight for one in (earlier, later)} - {0.0}
    if len(weights) > 1:
        raise InvalidInputError(
            "An unlisted tag must mean the same in both: it is absent with weight "
            f"{earlier.unlisted_weight:g} in the earlier labels and {later.unlisted_weight:g} in "
            "the later ones."
        )
    return weights.pop() if weights else 0.0
