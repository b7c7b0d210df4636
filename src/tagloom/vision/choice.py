"""From what a user types to a backbone."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tagloom.errors import InvalidInputError
from tagloom.vision.efficientnet import EFFICIENTNET_VARIANTS, EfficientNetLite
from tagloom.vision.encoders import Backbone, Vector, View, fingerprint
from tagloom.vision.features import Features, join_features, joined_concepts
from tagloom.vision.onnx import OnnxBackbone

if TYPE_CHECKING:
    from PIL.Image import Image

# §§ combined
# More than one vocabulary at once.


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


# §§ main choose


def choose_backbone(names: Sequence[str], *, view: View = "centre") -> Backbone:
    """Give the backbone of that name or file; several are combined.

    Parameters
    ----------
    names
        ``lite0``, ``lite1``, ``lite2`` or the path of an ``.onnx`` file each.
    view
        How the EfficientNets look at a picture; an ONNX file's configuration says it for itself.
    """
    chosen = [_one(name, view) for name in names]
    return chosen[0] if len(chosen) == 1 else CombinedBackbones(chosen)


def _one(name: str, view: View) -> Backbone:
    if name in EFFICIENTNET_VARIANTS:
        return EfficientNetLite(name, view=view)
    if name.lower().endswith(".onnx"):
        return OnnxBackbone(name)
    available = ", ".join(EFFICIENTNET_VARIANTS)
    raise InvalidInputError(
        f"There is no backbone {name!r}. Available: {available}, or the path of an .onnx file."
    )


# §§ recalling
# Which backbone saw the pictures: said in plain values, and made again where it can be.


Facts = dict[str, Any]

_PREFIX = "efficientnet-"


def backbone_facts(backbone: Backbone) -> Facts:
    """Return name, view and fingerprint of a backbone, and those of its members.

    The weights are not among them: they belong to an installed package or to the user.
    """
    framing = getattr(backbone, "framing", None)
    facts: Facts = {
        "kind": type(backbone).__name__,
        "name": backbone.name,
        "view": None if framing is None else framing.view,
        "identity": backbone.identity,
    }
    if isinstance(backbone, CombinedBackbones):
        facts["members"] = [backbone_facts(one) for one in backbone.backbones]
        facts["visual"] = backbone.visual
    return facts


def recall_backbone(facts: Facts) -> Backbone:
    """Make a backbone again of which `backbone_facts` told.

    The EfficientNets can be made again, and what is combined of them. Of others, as a user's ONNX
    file, only the fingerprint is known.
    """
    _refuse_lost(facts)
    backbone = _made(facts)
    check_same_backbone(backbone, facts)
    return backbone


def check_same_backbone(backbone: Backbone, facts: Facts) -> None:
    """Refuse a backbone that gives other numbers than the one of which the facts tell."""
    if backbone.identity != facts["identity"]:
        raise InvalidInputError(
            f"The pictures were seen by the backbone {_called(facts)}; this is {backbone.name} "
            f"with fingerprint {backbone.identity[:12]}, which gives other numbers. Pass the same "
            "file with the same configuration, or fit anew."
        )


def _refuse_lost(facts: Facts) -> None:
    if facts["kind"] == CombinedBackbones.__name__:
        for member in facts["members"]:
            _refuse_lost(member)
    elif facts["kind"] != EfficientNetLite.__name__:
        raise InvalidInputError(
            f"The pictures were seen by the backbone {_called(facts)}, a {facts['kind']}, whose "
            "weights are not in the model file. Pass it as backbone=, or pass Features."
        )


def _made(facts: Facts) -> Backbone:
    if facts["kind"] == CombinedBackbones.__name__:
        members = [_made(member) for member in facts["members"]]
        return CombinedBackbones(members, visual=facts["visual"])
    return EfficientNetLite(facts["name"].removeprefix(_PREFIX), view=facts["view"])


def _called(facts: Facts) -> str:
    return f"{facts['name']} with fingerprint {facts['identity'][:12]}"
