"""What a learner is taught: Y in any form becomes `PartialLabels`, checked for what it teaches."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import assert_all_finite

from tagloom.checks import some_of
from tagloom.errors import InvalidInputError, UnlearnableLabelWarning
from tagloom.labels import PartialLabels, as_partial_labels, is_missing


@dataclass(frozen=True)
class Target:
    """What is known, and whether it came as one column of two classes."""

    known: PartialLabels
    classes: npt.NDArray[Any]
    """The names of the labels, or the two classes of a one-dimensional y."""
    one_dimensional: bool


def read_target(Y: Any) -> Target:
    """Read Y: 1, 0 and NaN by item and label, or one complete column with two classes."""
    if Y is None:
        raise InvalidInputError(
            "This estimator requires y to be passed, but the target y is None. "
            "Pass an array of 1, 0 and NaN (unknown), one column for each label."
        )
    if _is_column(Y):
        return _read_column(Y)
    known = as_partial_labels(Y)
    return Target(known, _as_names(known.labels), one_dimensional=False)


def _is_column(Y: Any) -> bool:
    """Say whether Y has one dimension; what numpy cannot make an array of is not a column."""
    if isinstance(Y, PartialLabels) or sparse.issparse(Y):
        return False
    try:
        return np.asarray(Y).ndim == 1
    except ValueError:
        return False


def _read_column(y: Any) -> Target:
    """Read a one-dimensional y: one label, present for the second of its two classes."""
    missing = missing_in(y)
    column = column_or_1d(np.ma.getdata(y) if isinstance(y, np.ma.MaskedArray) else np.asarray(y))
    present = _plain(column[~missing])
    try:
        assert_all_finite(present, input_name="y")
        check_classification_targets(present)
    except ValueError as error:
        raise InvalidInputError(str(error)) from None
    if type_of_target(present) == "multiclass":
        raise InvalidInputError(
            "Only binary classification is supported. The type of the target is multiclass. "
            "Give Y one column for each class, 1 where it applies and 0 where it does not."
        )
    classes, codes = np.unique(present, return_inverse=True)
    if len(classes) < 2:
        raise InvalidInputError(
            f"y holds only one class ({classes.tolist()}); two classes are needed to tell apart."
        )
    table = np.full((len(column), 1), np.nan)
    table[~missing, 0] = codes
    return Target(PartialLabels.from_array(table), classes, one_dimensional=True)


def missing_in(y: Any) -> npt.NDArray[np.bool_]:
    """Return where a column is unknown: masked, NaN, None or NA."""
    if isinstance(y, np.ma.MaskedArray):
        return np.ma.getmaskarray(y) | missing_in(np.ma.getdata(y))
    column = np.asarray(y)
    if column.dtype.kind == "f":
        return np.asarray(np.isnan(column))
    if column.dtype.kind != "O":
        return np.zeros(len(column), dtype=bool)
    return np.array([is_missing(value) for value in column], dtype=bool)


def _plain(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return strings, numbers or booleans that came boxed as objects in an array of their own."""
    if column.dtype.kind != "O" or not len(column):
        return column
    plain = np.array(column.tolist())
    return plain if plain.ndim == 1 and plain.dtype.kind in "iufbU" else column


def _as_names(labels: tuple[Any, ...]) -> npt.NDArray[Any]:
    """Return the names as an array of strings or integers where they are that, else of objects."""
    if labels and all(type(label) is type(labels[0]) for label in labels):
        names = np.asarray(labels)
        if names.ndim == 1 and names.dtype.kind in "iU":
            return names
    boxed = np.empty(len(labels), dtype=object)
    boxed[:] = labels
    return boxed


def check_learnable(known: PartialLabels, on_unlearnable: str) -> npt.NDArray[np.bool_]:
    """Return which labels can be learned; complain of the others as `on_unlearnable` says.

    Nothing tells the items that have a label from those that do not where no entry is known or all
    known entries agree. A label known only as present is a warning and not an error: lists of tags
    whose unlisted tags are unknown hold nothing else.
    """
    counts = known.counts()
    if counts.present.sum() + counts.absent.sum() == 0:
        raise InvalidInputError(
            f"Y is all unknown: none of its {known.n_items} x {known.n_labels} entries is 0 or 1. "
            "There is nothing to learn from."
        )
    nothing = (counts.present == 0) & (counts.absent == 0)
    only_absent = (counts.present == 0) & (counts.absent > 0)
    only_present = (counts.present > 0) & (counts.absent == 0)
    drop = 'Drop these columns, or pass on_unlearnable="warn" to learn the others beside them.'
    _complain(known, nothing, f"have no known entry. {drop}", on_unlearnable)
    _complain(known, only_absent, f"are known only to be absent. {drop}", on_unlearnable)
    _complain(
        known,
        only_present,
        "are known only to be present: every item will score as having them. If Y was made from "
        'lists of tags, say what an unlisted tag means: unlisted="absent", or a weight like 0.1.',
        "warn" if on_unlearnable == "raise" else on_unlearnable,
    )
    return np.asarray((counts.present > 0) & (counts.absent > 0))


def informed_rows(known: PartialLabels) -> npt.NDArray[np.int64]:
    """Return the items of which something is known, be it by presumption."""
    if not known.unlisted_weight:
        return np.unique(known.entries().rows)
    n_hidden = np.bincount(known.hidden_entries()[0], minlength=known.n_items)
    return np.flatnonzero(n_hidden < known.n_labels)


def informed_part(
    rows: npt.NDArray[Any], known: PartialLabels
) -> tuple[npt.NDArray[Any], PartialLabels]:
    """Return the items of which something is known; the very same where that is all of them."""
    informed = informed_rows(known)
    if len(informed) == len(rows):
        return rows, known
    return rows[informed], known.take(informed)


def _complain(
    known: PartialLabels, which: npt.NDArray[np.bool_], what: str, on_unlearnable: str
) -> None:
    if on_unlearnable == "ignore" or not which.any():
        return
    columns = np.flatnonzero(which)
    names = some_of(known.labels[j] for j in columns)
    message = f"{len(columns)} of {known.n_labels} labels {what} They are: {names}."
    if on_unlearnable == "raise":
        raise InvalidInputError(message)
    warnings.warn(message, UnlearnableLabelWarning, stacklevel=5)


def match_labels(known: PartialLabels, expected: npt.NDArray[Any], *, named: bool) -> PartialLabels:
    """Return `known` with the expected labels in the expected order.

    Where it carries names they must be the same names, in whatever order; an unnamed table must
    have as many columns.
    """
    if known.n_labels == len(expected) and (not named or list(known.labels) == list(expected)):
        return known
    if not named:
        raise InvalidInputError(
            f"Y has {known.n_labels} columns; the model was fitted with {len(expected)} labels."
        )
    given, wanted = set(known.labels), set(expected.tolist())
    if given != wanted:
        missing, strange = sorted(wanted - given, key=repr), sorted(given - wanted, key=repr)
        raise InvalidInputError(
            "The labels of Y are not those the model was fitted with. "
            f"Missing: {some_of(missing)}. Unexpected: {some_of(strange)}."
        )
    return known.select(expected.tolist())
