"""What a completion has learned, in one file: it tags new pictures and learns on."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.completion.calibration import Calibration
from tagloom.completion.meaning import Meaning, pack_meaning, unpack_meaning
from tagloom.completion.options import Options
from tagloom.labels import PartialLabels, pack_labels, unpack_labels
from tagloom.models.saving import build_from, write_model
from tagloom.packing import Packed, decoded, encoded_mapping, joined
from tagloom.tagger import SemanticTagger
from tagloom.tagger.saving import pack_tagger, unpack_tagger

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
        write_model(path, KIND, *self._packed())

    @classmethod
    def load(cls, path: str | os.PathLike[str], **of_tagger: Any) -> "CompletionModel":
        """Read what `save` wrote; a damaged, altered or newer file is refused.

        `of_tagger` may be a backbone and a cache, as for `SemanticTagger.load`.
        """
        model = build_from(path, KIND, cls._unpacked)
        model.tagger.set_params(**of_tagger)
        return model

    def _packed(self) -> Packed:
        own = Packed(
            {"thresholds": self.thresholds},
            {
                "completeness": self.calibration.completeness,
                "options": encoded_mapping(self.options.facts()),
                "photos": str(self.photos),
            },
        )
        parts = {
            "tagger": pack_tagger(self.tagger),
            "meaning": pack_meaning(self.meaning),
            "said": pack_labels(self.said),
            "later": pack_labels(self.later),
        }
        return joined(parts, own)

    @classmethod
    def _unpacked(cls, packed: Packed) -> "CompletionModel":
        arrays, facts = packed.arrays, packed.facts
        return cls(
            unpack_tagger(SemanticTagger, packed.part("tagger")),
            unpack_meaning(packed.part("meaning")),
            arrays["thresholds"],
            unpack_labels(packed.part("said")),
            unpack_labels(packed.part("later")),
            Options.of({name: decoded(value) for name, value in facts["options"].items()}),
            Path(facts["photos"]),
        )
