"""Put together what a completion found out."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.completion.doubts import chance_of_slip
from tagloom.completion.learning import Learned, affinities_of
from tagloom.completion.lessons import Taught
from tagloom.completion.options import Options
from tagloom.completion.quality import LabelQuality, label_qualities, reliability
from tagloom.completion.result import Completed, Doubt, Left
from tagloom.completion.suggestions import TagState, tag_table
from tagloom.completion.teaching import worth_asking
from tagloom.completion.thresholds import choose_thresholds
from tagloom.labels import PartialLabels, State

Array = npt.NDArray[Any]

# One in three that looks so wrong is enough to ask a person to look again.
_WRONG = 0.3


def assemble(
    photos: Path,
    taught: Taught,
    learned: Learned,
    options: Options,
    *,
    skipped: list[Left],
    remarks: list[Left],
    account: dict[str, Any],
) -> Completed:
    """Turn scores into probabilities, and those into suggestions, doubts and questions."""
    meaning, said = learned.meaning, taught.said
    states = _settled(said)
    open_to = states == int(State.UNKNOWN)
    as_if_unsaid = meaning.as_if_unsaid(learned.held_out)
    P = meaning.as_it_stands(learned.scores)
    np.copyto(P, as_if_unsaid, where=~open_to)
    thresholds = choose_thresholds(P, open_to, options.precision)
    doubts = _doubts(states, as_if_unsaid)
    doubtful = np.zeros(P.shape, dtype=bool)
    for doubt in doubts:
        doubtful[doubt.row, doubt.column] = True
    table = tag_table(said, P, open_to, thresholds, doubtful, taught.rare)
    return Completed(
        photos=photos,
        said=said,
        P=P,
        open_to=open_to,
        thresholds=thresholds,
        table=table,
        doubts=doubts,
        questions=worth_asking(P, open_to, said.counts().present, options.questions),
        qualities=label_qualities(taught.known, said, learned.held_out, thresholds)
        + [_not_learned(label, n) for label, n in taught.too_rare.items()],
        bins=reliability(taught.unasked, as_if_unsaid, meaning.calibration),
        completeness=meaning.calibration.completeness,
        affinities=affinities_of(learned.tagger),
        skipped=skipped,
        remarks=remarks,
        too_rare=taught.too_rare,
        account=account
        | {
            "tags suggested": table.count(TagState.SUGGESTED),
            "known tags that look wrong": len(doubts),
        },
    )


def _not_learned(label: str, n_present: int) -> LabelQuality:
    return LabelQuality(label, n_present, 0, np.inf, np.nan, np.nan)


def _settled(said: PartialLabels) -> Array:
    """Return the states; what is unlisted and only probably absent is settled by nobody."""
    states = said.states()
    if 0 < said.unlisted_weight < 1:
        entries = said.entries()
        listed = np.zeros(states.shape, dtype=bool)
        listed[entries.rows, entries.columns] = True
        states[~listed] = int(State.UNKNOWN)
    return states


def _doubts(states: Array, p: Array) -> list[Doubt]:
    """Return the statements that may well be wrong, surest first."""
    prior = p.mean(axis=0, dtype=np.float64)
    doubts = []
    for state in (State.PRESENT, State.ABSENT):
        rows, columns = np.nonzero(states == int(state))
        present = state == State.PRESENT
        chance = chance_of_slip(p[rows, columns], prior[columns], present=present)
        # Where what is unlisted is absent, nearly all of the table is said.
        doubts += [
            Doubt(
                int(rows[k]),
                int(columns[k]),
                present,
                float(p[rows[k], columns[k]]),
                float(chance[k]),
            )
            for k in np.flatnonzero(chance > _WRONG)
        ]
    return sorted(doubts, key=lambda doubt: (-doubt.chance, doubt.row, doubt.column))
