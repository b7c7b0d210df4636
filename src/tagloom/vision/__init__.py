"""Pictures to numbers: decoding, the network, the feature cache."""

from tagloom.vision.backbone import Backbone
from tagloom.vision.cache import FeatureCache, FeatureCacheError
from tagloom.vision.choose import choose_backbone
from tagloom.vision.combined import CombinedBackbones
from tagloom.vision.discover import Found, Skipped, find_pictures
from tagloom.vision.efficientnet import EfficientNetLite
from tagloom.vision.embedding import Embedding, embed
from tagloom.vision.extras import MissingExtraError
from tagloom.vision.features import Features, join_features
from tagloom.vision.framing import Framing
from tagloom.vision.imagenet import imagenet_classes
from tagloom.vision.loading import load_features
from tagloom.vision.onnx_backbone import OnnxBackbone
from tagloom.vision.onnx_config import OnnxConfig
from tagloom.vision.pictures import PictureError, decode
from tagloom.vision.report import EmbedReport

__all__ = [
    "Backbone",
    "CombinedBackbones",
    "EfficientNetLite",
    "EmbedReport",
    "Embedding",
    "FeatureCache",
    "FeatureCacheError",
    "Features",
    "Found",
    "Framing",
    "MissingExtraError",
    "OnnxBackbone",
    "OnnxConfig",
    "PictureError",
    "Skipped",
    "choose_backbone",
    "decode",
    "embed",
    "find_pictures",
    "imagenet_classes",
    "join_features",
    "load_features",
]
