"""What a tagger learns from: pictures, what is known of them, and how they are described."""

from typing import Any, NamedTuple, Self

from tagloom.labels import PartialLabels, as_partial_labels
from tagloom.semantics import SemanticDescriptor
from tagloom.tagger.alignment import Aligned, align
from tagloom.tagger.describing import Described, Describer
from tagloom.vision import Features


class Lesson(NamedTuple):
    """Training pictures, what is known in their order, and their descriptions."""

    features: Features
    alignment: Aligned
    describer: Describer
    training: Described

    @classmethod
    def of(
        cls, features: Features, Y: Any, descriptor: SemanticDescriptor | None, energy: float
    ) -> Self:
        """Match labels to pictures and describe these, none by its own labels."""
        alignment = align(as_partial_labels(Y), features.items)
        describer = Describer(descriptor, energy)
        training = describer.describe_training(features, alignment.known)
        return cls(features, alignment, describer, training)

    @property
    def known(self) -> PartialLabels:
        """What is known, one row for each picture."""
        return self.alignment.known
