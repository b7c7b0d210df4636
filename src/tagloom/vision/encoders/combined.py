"""Several encoders as one, for more than one vocabulary at once."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tagloom.errors import InvalidInputError
from tagloom.vision.encoders.base import Encoder, EncoderMetadata, Vector, fingerprint
from tagloom.vision.features import Features, join_features, joined_concepts

if TYPE_CHECKING:
    from PIL.Image import Image


class CombinedEncoders(Encoder):
    """Several encoders applied to the same pictures.

    Their posteriors are concatenated, so that the vocabulary ``D`` is the union of theirs. Each has
    its own entries in the cache: adding an encoder costs only the time of the new one.

    Parameters
    ----------
    encoders
        At least one, with different names.
    visual
        ``"first"`` takes the visual descriptor of the first encoder; ``"all"`` concatenates those
        of all.
    """

    def __init__(
        self, encoders: Sequence[Encoder], *, visual: Literal["first", "all"] = "first"
    ) -> None:
        names = [encoder.name for encoder in encoders]
        if not names or len(set(names)) < len(names):
            raise InvalidInputError(
                "Combining needs at least one encoder, all with different names. "
                f"Got: {', '.join(names) or 'none'}."
            )
        if visual not in ("first", "all"):
            raise InvalidInputError(
                f"The 'visual' parameter must be 'first' or 'all'. Got {visual!r}."
            )
        self.encoders = tuple(encoders)
        self.visual = visual
        self.name = "+".join(names)
        self.concepts = joined_concepts([one.concepts for one in encoders], names)
        self._n_visual = len(encoders) if visual == "all" else 1
        self.width = sum(one.width for one in encoders[: self._n_visual])
        self.side_needed = max(one.side_needed for one in encoders)
        identities = [one.identity for one in encoders]
        self.identity = fingerprint({"members": identities, "visual": visual})

    @property
    def members(self) -> tuple[Encoder, ...]:
        """The plain encoders, also those inside combined ones."""
        return tuple(member for one in self.encoders for member in one.members)

    def prepare(self, picture: "Image") -> NDArray[Any]:
        """Prepare a picture for each encoder: an array of their arrays."""
        prepared = np.empty(len(self.encoders), dtype=object)
        for place, encoder in enumerate(self.encoders):
            prepared[place] = encoder.prepare(picture)
        return prepared

    def encode(self, prepared: NDArray[Any]) -> tuple[Vector, Vector]:
        """Return the concatenated visual descriptors and posteriors."""
        pairs = zip(self.encoders, prepared, strict=True)
        visuals, posteriors = zip(*(one.encode(pixels) for one, pixels in pairs), strict=True)
        return np.concatenate(visuals[: self._n_visual]), np.concatenate(posteriors)

    def join(self, parts: Sequence[Features]) -> Features:
        """Join the members' features."""
        remaining = list(parts)
        own = []
        for encoder in self.encoders:
            count = len(encoder.members)
            own.append(encoder.join(remaining[:count]))
            remaining = remaining[count:]
        return join_features(own, [one.name for one in self.encoders], visual=self.visual)

    def metadata(self) -> EncoderMetadata:
        """Return name and fingerprint as plain values, and the metadata of each encoder."""
        parts = {"members": [one.metadata() for one in self.encoders], "visual": self.visual}
        return super().metadata() | parts
