"""The model file of a completion: it tags new pictures, and can be updated."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.calibration import CollectionCalibration, overall_label_frequency
from tagloom.completion.inputs import Options, encode_pictures
from tagloom.completion.result import Issue
from tagloom.completion.suggestions import (
    TagTable,
    tag_table,
    write_suggestions,
    write_suggestions_parquet,
)
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
from tagloom.vision import Encoder, load_encoder
from tagloom.vision.encoders.registry import pretrained_view, resolve_encoder

KIND = "Completion"
_WRITERS = {".csv": write_suggestions, ".parquet": write_suggestions_parquet}


@dataclass(frozen=True, eq=False)
class CompletionModel:
    """A tagger, the calibration of its scores, and the annotations so far.

    Attributes
    ----------
    tagger : SemanticTagger
    calibrations : CollectionCalibration
        Of the tagger's scores.
    thresholds : array of shape (n_labels,)
        The probabilities from which tags are suggested.
    known : PartialLabels
        All annotations, including those of labels that are too rare to be learned.
    feedback : PartialLabels
        The part of them that came later than the lists.
    answers : PartialLabels
        The part of the feedback that somebody was asked for: what was accepted or rejected.
    options : Options
    photos : Path
        The folder of the pictures.
    implied : array of bool
        Entries that a listed tag implies.
    """

    tagger: SemanticTagger
    calibrations: CollectionCalibration
    thresholds: npt.NDArray[np.float64]
    known: PartialLabels
    feedback: PartialLabels
    answers: PartialLabels
    implied: npt.NDArray[np.bool_]
    options: Options
    photos: Path

    @property
    def label_frequency(self) -> float:
        """The estimated share of the presences of all learned labels that is listed."""
        n_listed = self.known.select(self.tagger.classes_).counts().present
        return overall_label_frequency(n_listed, self.calibrations.label_frequencies)

    def open_probabilities(self) -> npt.NDArray[np.float32]:
        """Return the probabilities of all entries of the collection, taken as open."""
        scores = np.asarray(self.tagger.scores(), dtype=np.float32)
        listed = self.tagger.known_.is_listed()
        return self.calibrations.open_probabilities(scores, listed=listed, implied=self.implied)

    def probabilities(self, pictures: Any) -> npt.NDArray[np.float32]:
        """Return the probability of every label for new pictures."""
        return self.calibrations.unseen.probabilities(self.tagger.scores(pictures))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, atomically."""
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
        options = self.options.metadata()
        vocabulary = options.pop("vocabulary")
        own = Serialized(
            {"thresholds": self.thresholds, "implied": self.implied},
            {
                "label_frequency": self.label_frequency,
                "options": encoded_mapping(options),
                "vocabulary": vocabulary,
                "photos": str(self.photos),
            },
        )
        parts = {
            "tagger": serialize_tagger(self.tagger),
            "calibrations": self.calibrations.to_state(),
            "known": serialize_labels(self.known),
            "feedback": serialize_labels(self.feedback),
            "answers": serialize_labels(self.answers),
        }
        return joined(parts, own)

    @classmethod
    def _deserialized(cls, serialized: Serialized) -> "CompletionModel":
        arrays, metadata = serialized.arrays, serialized.metadata
        options = {name: decoded(value) for name, value in metadata["options"].items()}
        return cls(
            deserialize_tagger(SemanticTagger, serialized.part("tagger")),
            CollectionCalibration.from_state(serialized.part("calibrations")),
            arrays["thresholds"],
            deserialize_labels(serialized.part("known")),
            deserialize_labels(serialized.part("feedback")),
            deserialize_labels(serialized.part("answers")),
            arrays["implied"].astype(bool),
            Options.of(options | {"vocabulary": metadata.get("vocabulary", {})}),
            Path(metadata["photos"]),
        )


@dataclass(frozen=True, eq=False)
class Predicted:
    """Suggestions for new pictures, and those that could not be read."""

    table: TagTable
    skipped: list[Issue]


def predict_folder(
    model_path: Path,
    photos: Path,
    *,
    at_least: float | None = None,
    encoder: Sequence[str] | None = None,
    cache: Path | None = None,
    verbose: bool = False,
) -> Predicted:
    """Tag the pictures of a folder; `at_least` replaces the thresholds of all labels."""
    model = CompletionModel.load(model_path)
    chosen = encoder_of(model.tagger, encoder)
    pictures = encode_pictures(photos, chosen, cache, verbose=verbose)
    P = model.probabilities(pictures.features)
    labels = model.tagger.classes_
    items = pictures.features.items
    nothing = PartialLabels.from_entries([], [], [], shape=P.shape, labels=labels, items=items)
    thresholds = model.thresholds if at_least is None else np.full(len(labels), at_least)
    every = np.ones(P.shape, dtype=bool)
    return Predicted(tag_table(nothing, P, every, thresholds, ~every), pictures.skipped)


def encoder_of(tagger: SemanticTagger, names: Sequence[str] | None) -> Encoder | None:
    """Return the encoder of the training pictures, by its names if they are given."""
    fitted_with = tagger.encoder_metadata_
    view = pretrained_view(fitted_with)
    given = load_encoder(list(names), view=view) if names else None
    return resolve_encoder(given, fitted_with)


def check_ending(path: Path) -> None:
    """Refuse a file whose format is unknown, before any work is lost."""
    if path.suffix.lower() not in (".jsonl", *_WRITERS):
        raise InvalidInputError(f"{path} must end in .csv, .jsonl or .parquet.")
    if not path.absolute().parent.is_dir():
        raise InvalidInputError(f"The folder of {path} does not exist. Make it first.")


def write_predictions(table: TagTable, path: Path) -> None:
    """Write the table in the format of the file name's ending."""
    check_ending(path)
    ending = path.suffix.lower()
    if ending == ".jsonl":
        tags = [Annotation(row.image, row.tag, True, row.probability) for row in table]
        write_jsonl(Annotations.of(tags, images=table.items), path)
        return
    _WRITERS[ending](table, path)
