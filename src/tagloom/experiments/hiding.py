"""Hide labels of the training items, and keep what stayed known in a file others can use."""

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.files import written_whole
from tagloom.labels import PartialLabels, State, hide_per_class, hide_uniformly, keep_presences


def hidden(
    truth: PartialLabels, protocol: str, rate: float, seed: int, unlisted: Any = "absent"
) -> PartialLabels:
    """Return what stays known under a protocol.

    What the makers of a set left open stays unknown. For one seed the patterns of different rates
    are nested where labels are hidden per class: what is known at 10% is known at 20%.
    """
    truth = _with_absences_listed(truth)
    if protocol == "per-class":
        return hide_per_class(truth, rate, seed)
    if protocol == "presences":
        known = keep_presences(truth, rate, unlisted=unlisted, random_state=seed)
        open_entries = np.nonzero(truth.states() == int(State.UNKNOWN))
        return known.with_hidden(*open_entries) if known.unlisted_weight else known
    return hide_uniformly(truth, rate, seed)


def save_pattern(
    path: str | os.PathLike[str], known: PartialLabels, training: npt.NDArray[np.int64]
) -> None:
    """Write what is known of the training rows of a set as a compressed `.npz` without objects.

    `training` holds the rows of the set that are trained on. The known entry k is at row `rows[k]`
    of the set and column `columns[k]` and says `present[k]`, with weight `weights[k]`. All other
    entries of training rows are unknown where `unlisted_weight` is 0, else absent with that weight,
    but for those at `open_rows` and `open_columns`, which are unknown.
    """
    entries = known.entries()
    open_rows, open_columns = known.hidden_entries()
    with written_whole(path) as part, part.open("wb") as stream:
        np.savez_compressed(
            stream,
            training=training.astype(np.int32),
            rows=training[entries.rows].astype(np.int32),
            columns=entries.columns.astype(np.int32),
            present=entries.present,
            weights=entries.weights if np.any(entries.weights != 1) else np.ones(1),
            unlisted_weight=np.float64(known.unlisted_weight),
            open_rows=training[open_rows].astype(np.int32),
            open_columns=open_columns.astype(np.int32),
            labels=np.array([str(label) for label in known.labels], dtype=np.str_),
        )


def read_pattern(path: str | os.PathLike[str]) -> PartialLabels:
    """Return what is known of the training rows, in their order."""
    with np.load(path, allow_pickle=False) as stored:
        training, rows = stored["training"], stored["rows"]
        place = np.zeros(int(training.max(initial=-1)) + 1, dtype=np.int64)
        place[training] = np.arange(len(training))
        known = PartialLabels.from_entries(
            place[rows],
            stored["columns"],
            stored["present"],
            shape=(len(training), len(stored["labels"])),
            weights=np.broadcast_to(stored["weights"], rows.shape),
            labels=stored["labels"].tolist(),
            unlisted_weight=float(stored["unlisted_weight"]),
        )
        if not known.unlisted_weight:
            return known
        return known.with_hidden(place[stored["open_rows"]], stored["open_columns"])


def with_unlabelled(known: PartialLabels, n_items: int) -> PartialLabels:
    """Return what is known with further items at the end, of which nothing is known."""
    entries = known.entries()
    joined = PartialLabels.from_entries(
        entries.rows,
        entries.columns,
        entries.present,
        shape=(known.n_items + n_items, known.n_labels),
        weights=entries.weights,
        labels=known.labels,
        unlisted_weight=known.unlisted_weight,
    )
    if not known.unlisted_weight:
        return joined
    rows, columns = known.hidden_entries()
    new = np.arange(known.n_items, joined.n_items)
    return joined.with_hidden(
        np.concatenate([rows, np.repeat(new, known.n_labels)]),
        np.concatenate([columns, np.tile(np.arange(known.n_labels), n_items)]),
    )


def _with_absences_listed(truth: PartialLabels) -> PartialLabels:
    """List each absence of a set whose makers say that what is not listed is absent.

    Where it is absent only with some weight below 1, nobody knows the truth: hiding refuses it.
    """
    if truth.unlisted_weight != 1:
        return truth
    return PartialLabels.from_array(truth.to_array(), labels=truth.labels, items=truth.items)
