"""More than one vocabulary at once."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tagloom.errors import InvalidInputError
from tagloom.vision.backbone import Backbone, Vector, fingerprint
from tagloom.vision.features import Features, join_features, joined_concepts

if TYPE_CHECKING:
    from PIL.Image import Image


class CombinedBackbones(Backbone):
    """Several backbones that look at the same pictures.

    Their posteriors stand side by side, so that the vocabulary ``D`` is the union of theirs. Each
    keeps its own entries in the cache: adding a backbone costs the new one's work only.

    Parameters
    ----------
    backbones
        At least one, with different names.
    visual
        ``"first"`` takes the visual descriptor of the first backbone; ``"all"`` puts those of all
        side by side.
    """

    def __init__(
        self, backbones: Sequence[Backbone], *, visual: Literal["first", "all"] = "first"
    ) -> None:
        names = [backbone.name for backbone in backbones]
        if not names or len(set(names)) < len(names):
            raise InvalidInputError(
                "Combining needs at least one backbone, all with different names. "
                f"Got: {', '.join(names) or 'none'}."
            )
        if visual not in ("first", "all"):
            raise InvalidInputError(
                f"The 'visual' parameter must be 'first' or 'all'. Got {visual!r}."
            )
        self.backbones = tuple(backbones)
        self.visual = visual
        self.name = "+".join(names)
        self.concepts = joined_concepts([one.concepts for one in backbones], names)
        self.width = sum(one.width for one in self._seers())
        self.side_needed = max(one.side_needed for one in backbones)
        identities = [one.identity for one in backbones]
        self.identity = fingerprint({"members": identities, "visual": visual})

    @property
    def members(self) -> tuple[Backbone, ...]:
        """The backbones of which this one is made, down to the plain ones."""
        return tuple(member for one in self.backbones for member in one.members)

    def prepare(self, picture: "Image") -> NDArray[Any]:
        """Prepare a picture for each backbone: an array of their arrays."""
        prepared = np.empty(len(self.backbones), dtype=object)
        for place, backbone in enumerate(self.backbones):
            prepared[place] = backbone.prepare(picture)
        return prepared

    def describe(self, prepared: NDArray[Any]) -> tuple[Vector, Vector]:
        """Give the joined visual descriptor and posteriors."""
        pairs = zip(self.backbones, prepared, strict=True)
        visuals, posteriors = zip(*(one.describe(pixels) for one, pixels in pairs), strict=True)
        return np.concatenate(visuals[: len(self._seers())]), np.concatenate(posteriors)

    def join(self, parts: Sequence[Features]) -> Features:
        """Join the members' features."""
        left = list(parts)
        own = []
        for backbone in self.backbones:
            count = len(backbone.members)
            own.append(backbone.join(left[:count]))
            left = left[count:]
        return join_features(own, [one.name for one in self.backbones], visual=self.visual)

    def _seers(self) -> tuple[Backbone, ...]:
        return self.backbones if self.visual == "all" else self.backbones[:1]
