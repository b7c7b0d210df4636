"""From what a user types to a backbone."""

from collections.abc import Sequence

from tagloom.errors import InvalidInputError
from tagloom.vision.backbone import Backbone
from tagloom.vision.combined import CombinedBackbones
from tagloom.vision.efficientnet import EFFICIENTNET_VARIANTS, EfficientNetLite
from tagloom.vision.framing import View
from tagloom.vision.onnx_backbone import OnnxBackbone


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
