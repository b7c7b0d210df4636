"""What a completion has learned, in one file: it tags new pictures and learns on."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.completion.calibration import (
    Calibration,
    Meaning,
    deserialize_meaning,
    serialize_meaning,
)
from tagloom.completion.inputs import look_at
from tagloom.completion.options import Options
from tagloom.completion.result import Left
from tagloom.completion.suggestions import TagTable, tag_table, write_csv, write_parquet
from tagloom.errors import InvalidInputError
from tagloom.formats import Annotation, Annotations, write_jsonl
from tagloom.labels import PartialLabels
from tagloom.persistence.codecs import (
    deserialize_labels,
    deserialize_tagger,
    serialize_labels,
    serialize_tagger,
)
from tagloom.persistence.container import (
    Serialized,
    build_from,
    decoded,
    encoded_mapping,
    joined,
    write_model,
)
from tagloom.tagger import SemanticTagger
from tagloom.vision import load_encoder
from tagloom.vision.encoders.registry import resolve_encoder

# §§ main model


KIND = "Completion"


@dataclass(frozen=True, eq=False)
class CompletionModel:
    """A tagger, what its scores mean, and what people have said so far.

    Attributes
    ----------
    tagger : SemanticTagger
    meaning : Meaning
        Of the tagger's scores.
    thresholds : array of shape (n_labels,)
        From which probability on a tag is suggested.
    said : PartialLabels
        All that people have said, of labels that are too rare to be learned as well.
    later : PartialLabels
        What of it was said about suggestions: it says nothing of what people list unasked.
    options : Options
    photos : Path
        Where the pictures lay.
    """

    tagger: SemanticTagger
    meaning: Meaning
    thresholds: npt.NDArray[np.float64]
    said: PartialLabels
    later: PartialLabels
    options: Options
    photos: Path

    @property
    def calibration(self) -> Calibration:
        """What scores of new pictures mean."""
        return self.meaning.calibration

    def standing(self) -> npt.NDArray[np.float32]:
        """Return the probability of every label for the pictures of the collection, if open."""
        return self.meaning.as_it_stands(np.asarray(self.tagger.scores(), dtype=np.float32))

    def probabilities(self, pictures: Any) -> npt.NDArray[np.float32]:
        """Return the probability of every label for new pictures."""
        return self.calibration.probabilities(self.tagger.scores(pictures))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all of it to a file, whole or not at all."""
        write_model(path, KIND, *self._serialized())

    @classmethod
    def load(cls, path: str | os.PathLike[str], **of_tagger: Any) -> "CompletionModel":
        """Read what `save` wrote; a damaged, altered or newer file is refused.

        `of_tagger` may be an encoder and a cache, as for `SemanticTagger.load`.
        """
        model = build_from(path, KIND, cls._deserialized)
        model.tagger.set_params(**of_tagger)
        return model

    def _serialized(self) -> Serialized:
        own = Serialized(
            {"thresholds": self.thresholds},
            {
                "completeness": self.calibration.completeness,
                "options": encoded_mapping(self.options.metadata()),
                "photos": str(self.photos),
            },
        )
        parts = {
            "tagger": serialize_tagger(self.tagger),
            "meaning": serialize_meaning(self.meaning),
            "said": serialize_labels(self.said),
            "later": serialize_labels(self.later),
        }
        return joined(parts, own)

    @classmethod
    def _deserialized(cls, serialized: Serialized) -> "CompletionModel":
        arrays, metadata = serialized.arrays, serialized.metadata
        return cls(
            deserialize_tagger(SemanticTagger, serialized.part("tagger")),
            deserialize_meaning(serialized.part("meaning")),
            arrays["thresholds"],
            deserialize_labels(serialized.part("said")),
            deserialize_labels(serialized.part("later")),
            Options.of({name: decoded(value) for name, value in metadata["options"].items()}),
            Path(metadata["photos"]),
        )


# §§ predicting
# Tags for new pictures.


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
    encoder: Sequence[str] | None = None,
    cache: Path | None = None,
    show_progress: bool = False,
) -> Predicted:
    """Tag the pictures of a folder; `at_least` stands for the thresholds of all labels."""
    model = CompletionModel.load(model_path)
    given = load_encoder(list(encoder)) if encoder else None
    chosen = resolve_encoder(given, model.tagger.encoder_metadata_)
    pictures = look_at(photos, chosen, cache, show_progress=show_progress)
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
