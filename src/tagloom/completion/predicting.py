"""Tags for new pictures."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tagloom.completion.inputs import look_at
from tagloom.completion.model import CompletionModel
from tagloom.completion.result import Left
from tagloom.completion.suggestions import TagTable, tag_table, write_csv, write_parquet
from tagloom.errors import InvalidInputError
from tagloom.formats import Annotation, Annotations, write_jsonl
from tagloom.labels import PartialLabels
from tagloom.tagger.seeing import Eyes
from tagloom.vision import choose_backbone

_WRITERS = {".csv": write_csv, ".parquet": write_parquet}


@dataclass(frozen=True, eq=False)
class Predicted:
    """Suggestions for new pictures, and those that could not be read."""

    table: TagTable
    skipped: list[Left]


def predict_folder(
    model_path: Path,
    photos: Path,
    *,
    at_least: float | None = None,
    backbone: Sequence[str] | None = None,
    cache: Path | None = None,
    show_progress: bool = False,
) -> Predicted:
    """Tag the pictures of a folder; `at_least` stands for the thresholds of all labels."""
    model = CompletionModel.load(model_path)
    given = choose_backbone(list(backbone)) if backbone else None
    eyes = Eyes(given, cache, show_progress, model.tagger._seen_by)
    pictures = look_at(photos, eyes.chosen(), cache, show_progress=show_progress)
    P = model.probabilities(pictures.features)
    labels = model.tagger.classes_
    items = pictures.features.items
    nothing = PartialLabels.from_entries([], [], [], shape=P.shape, labels=labels, items=items)
    thresholds = model.thresholds if at_least is None else np.full(len(labels), at_least)
    every = np.ones(P.shape, dtype=bool)
    return Predicted(tag_table(nothing, P, every, thresholds, ~every), pictures.skipped)


def check_ending(path: Path) -> None:
    """Refuse a file whose form cannot be told, before there is work to lose."""
    if path.suffix.lower() not in (".jsonl", *_WRITERS):
        raise InvalidInputError(f"{path} must end in .csv, .jsonl or .parquet.")
    if not path.absolute().parent.is_dir():
        raise InvalidInputError(f"The folder of {path} does not exist. Make it first.")


def write_predictions(table: TagTable, path: Path) -> None:
    """Write the table in the form that the ending of the file's name says."""
    check_ending(path)
    ending = path.suffix.lower()
    if ending == ".jsonl":
        said = [Annotation(row.image, row.tag, True, row.probability) for row in table]
        write_jsonl(Annotations.of(said, images=table.items), path)
        return
    _WRITERS[ending](table, path)
