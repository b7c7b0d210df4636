"""The whole way on pictures whose truth is known: draw, forget, complete, compare."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.completion.options import Options
from tagloom.completion.quality import Bin
from tagloom.completion.result import Completed
from tagloom.completion.run import complete
from tagloom.datasets.scenes import generated_scenes
from tagloom.experiments.against_truth import (
    Ranked,
    Suggested,
    baseline_scores,
    came_true,
    forgotten,
    hidden_from,
    ranked,
    suggested,
)
from tagloom.files import written_whole
from tagloom.formats import Annotation, Annotations, write_long_csv
from tagloom.labels import PartialLabels, State
from tagloom.vision import EfficientNetLite
from tagloom.vision.extras import import_extra

Array = npt.NDArray[Any]
Say = Callable[[str, dict[str, Any]], None]

OURS = "tagloom"
# A search that takes longer would not be over within the two minutes of a demonstration.
_MINUTES = 1.0


@dataclass(frozen=True, eq=False)
class Compared:
    """A learner beside others: its ranking, and as many suggestions as ours."""

    ranking: Ranked
    suggestions: Suggested


@dataclass(frozen=True, eq=False)
class Demonstration:
    """What was completed, and how it compares with the truth.

    Attributes
    ----------
    result : Completed
    folder : Path
        Of the result.
    hidden : PartialLabels
        The truth where nobody had said anything, of the labels that were learned.
    n_kept, n_hidden : int
        Tags that were kept, and those that were not, of labels too rare to be learned as well.
    learners : dict from name to Compared
    bins : list of Bin
        What was promised and what is true.
    """

    result: Completed
    folder: Path
    hidden: PartialLabels
    n_kept: int
    n_hidden: int
    learners: dict[str, Compared]
    bins: list[Bin]


def demonstrate(
    out: Path,
    *,
    n_pictures: int = 600,
    keep: float = 0.25,
    seed: int = 0,
    say: Say | None = None,
    show_progress: bool = False,
) -> Demonstration:
    """Draw scenes, keep a share of their tags, complete these and compare with the truth.

    All is written into `out`. Pictures that were drawn and looked at before are kept.
    """
    # Whoever lacks a library is told before hundreds of pictures are drawn.
    import_extra("PIL.Image", purpose="Drawing scenes")
    backbone = EfficientNetLite()
    pictures = out / f"pictures-{n_pictures}-of-series-{seed}"
    truth = generated_scenes(n_pictures, seed, pictures, show_progress=show_progress).truth
    said = forgotten(truth, keep, seed)
    write_tags(said, out / "tags.csv")
    finished = complete(
        pictures,
        [out / "tags.csv"],
        out / "result",
        Options(minutes=_MINUTES, seed=seed),
        backbone=backbone,
        cache=out / "features",
        again=True,
        say=say,
        show_progress=show_progress,
    )
    assert finished.result is not None
    assert finished.model is not None
    result, tagger = finished.result, finished.model.tagger
    hidden = hidden_from(result.said, truth)
    n_true = int((truth.states() == int(State.PRESENT)).sum())
    return Demonstration(
        result,
        finished.out,
        hidden,
        said.n_known,
        n_true - said.n_known,
        _compared(result, hidden, baseline_scores(tagger._training.X, tagger.known_, seed)),
        came_true(hidden, result.P, finished.model.calibration),
    )


def write_tags(said: PartialLabels, path: Path) -> None:
    """Write lists of tags as the owner of an archive would have them."""
    entries, items = said.entries(), said.items or ()
    listed = [
        Annotation(str(items[row]), str(said.labels[column]))
        for row, column in zip(entries.rows, entries.columns, strict=True)
    ]
    with written_whole(path) as part:
        write_long_csv(Annotations.of(listed), part)


def _compared(
    result: Completed, hidden: PartialLabels, baselines: dict[str, Array]
) -> dict[str, Compared]:
    """Judge all learners; a baseline suggests what it scores highest, as often as we do."""
    ours = suggested(hidden, result.P, result.thresholds)
    learners = {OURS: Compared(ranked(hidden, result.P), ours)}
    for name, scores in baselines.items():
        among = np.append(np.sort(scores[result.open_to]), np.inf)
        least = among[len(among) - 1 - ours.n]
        learners[name] = Compared(ranked(hidden, scores), suggested(hidden, scores, least))
    return learners
