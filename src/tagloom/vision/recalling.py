"""Which backbone saw the pictures: said in plain values, and made again where it can be."""

from typing import Any

from tagloom.errors import InvalidInputError
from tagloom.vision.backbone import Backbone
from tagloom.vision.combined import CombinedBackbones
from tagloom.vision.efficientnet import EfficientNetLite

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
