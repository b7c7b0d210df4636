"""From what a user types to an encoder."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tagloom.errors import InvalidInputError
from tagloom.vision.efficientnet import EFFICIENTNET_VARIANTS, EfficientNetLite
from tagloom.vision.encoders import Encoder, Vector, View, fingerprint
from tagloom.vision.features import Features, join_features, joined_concepts
from tagloom.vision.onnx import OnnxEncoder

if TYPE_CHECKING:
    from PIL.Image import Image

# §§ combined
# More than one vocabulary at once.


class CombinedEncoders(Encoder):
    """Several encoders that look at the same pictures.

    Their posteriors stand side by side, so that the vocabulary ``D`` is the union of theirs. Each
    keeps its own entries in the cache: adding an encoder costs the new one's work only.

    Parameters
    ----------
    encoders
        At least one, with different names.
    visual
        ``"first"`` takes the visual descriptor of the first encoder; ``"all"`` puts those of all
        side by side.
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
        self.width = sum(one.width for one in self._seers())
        self.side_needed = max(one.side_needed for one in encoders)
        identities = [one.identity for one in encoders]
        self.identity = fingerprint({"members": identities, "visual": visual})

    @property
    def members(self) -> tuple[Encoder, ...]:
        """The encoders of which this one is made, down to the plain ones."""
        return tuple(member for one in self.encoders for member in one.members)

    def prepare(self, picture: "Image") -> NDArray[Any]:
        """Prepare a picture for each encoder: an array of their arrays."""
        prepared = np.empty(len(self.encoders), dtype=object)
        for place, encoder in enumerate(self.encoders):
            prepared[place] = encoder.prepare(picture)
        return prepared

    def describe(self, prepared: NDArray[Any]) -> tuple[Vector, Vector]:
        """Give the joined visual descriptor and posteriors."""
        pairs = zip(self.encoders, prepared, strict=True)
        visuals, posteriors = zip(*(one.describe(pixels) for one, pixels in pairs), strict=True)
        return np.concatenate(visuals[: len(self._seers())]), np.concatenate(posteriors)

    def join(self, parts: Sequence[Features]) -> Features:
        """Join the members' features."""
        left = list(parts)
        own = []
        for encoder in self.encoders:
            count = len(encoder.members)
            own.append(encoder.join(left[:count]))
            left = left[count:]
        return join_features(own, [one.name for one in self.encoders], visual=self.visual)

    def _seers(self) -> tuple[Encoder, ...]:
        return self.encoders if self.visual == "all" else self.encoders[:1]


# §§ main choose


def load_encoder(names: Sequence[str], *, view: View = "centre") -> Encoder:
    """Give the encoder of that name or file; several are combined.

    Parameters
    ----------
    names
        ``lite0``, ``lite1``, ``lite2`` or the path of an ``.onnx`` file each.
    view
        How the EfficientNets look at a picture; an ONNX file's configuration says it for itself.
    """
    chosen = [_one(name, view) for name in names]
    return chosen[0] if len(chosen) == 1 else CombinedEncoders(chosen)


def _one(name: str, view: View) -> Encoder:
    if name in EFFICIENTNET_VARIANTS:
        return EfficientNetLite(name, view=view)
    if name.lower().endswith(".onnx"):
        return OnnxEncoder(name)
    available = ", ".join(EFFICIENTNET_VARIANTS)
    raise InvalidInputError(
        f"There is no encoder {name!r}. Available: {available}, or the path of an .onnx file."
    )


# §§ recalling
# Which encoder saw the pictures: said in plain values, and made again where it can be.


Facts = dict[str, Any]

_PREFIX = "efficientnet-"


def encoder_facts(encoder: Encoder) -> Facts:
    """Return name, view and fingerprint of an encoder, and those of its members.

    The weights are not among them: they belong to an installed package or to the user.
    """
    framing = getattr(encoder, "framing", None)
    metadata: Facts = {
        "kind": type(encoder).__name__,
        "name": encoder.name,
        "view": None if framing is None else framing.view,
        "identity": encoder.identity,
    }
    if isinstance(encoder, CombinedEncoders):
        metadata["members"] = [encoder_facts(one) for one in encoder.encoders]
        metadata["visual"] = encoder.visual
    return metadata


def recall_encoder(metadata: Facts) -> Encoder:
    """Make an encoder again of which `encoder_facts` told.

    The EfficientNets can be made again, and what is combined of them. Of others, as a user's ONNX
    file, only the fingerprint is known.
    """
    _refuse_lost(metadata)
    encoder = _made(metadata)
    check_same_encoder(encoder, metadata)
    return encoder


def check_same_encoder(encoder: Encoder, metadata: Facts) -> None:
    """Refuse an encoder that gives other numbers than the one of which the metadata tell."""
    if encoder.identity != metadata["identity"]:
        raise InvalidInputError(
            f"The pictures were seen by the encoder {_called(metadata)}; this is {encoder.name} "
            f"with fingerprint {encoder.identity[:12]}, which gives other numbers. Pass the same "
            "file with the same configuration, or fit anew."
        )


def _refuse_lost(metadata: Facts) -> None:
    if metadata["kind"] == CombinedEncoders.__name__:
        for member in metadata["members"]:
            _refuse_lost(member)
    elif metadata["kind"] != EfficientNetLite.__name__:
        raise InvalidInputError(
            f"The pictures were encoded by {_called(metadata)}, a {metadata['kind']}, whose "
            "weights are not in the model file. Pass it as encoder=, or pass Features."
        )


def _made(metadata: Facts) -> Encoder:
    if metadata["kind"] == CombinedEncoders.__name__:
        members = [_made(member) for member in metadata["members"]]
        return CombinedEncoders(members, visual=metadata["visual"])
    return EfficientNetLite(metadata["name"].removeprefix(_PREFIX), view=metadata["view"])


def _called(metadata: Facts) -> str:
    return f"{metadata['name']} with fingerprint {metadata['identity'][:12]}"
