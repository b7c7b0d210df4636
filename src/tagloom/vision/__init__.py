"""Pictures to numbers: decoding, the network, the feature cache."""

from tagloom.errors import MissingExtraError
from tagloom.vision.cache import FeatureCache, FeatureCacheError
from tagloom.vision.choice import CombinedBackbones, choose_backbone
from tagloom.vision.efficientnet import EfficientNetLite
from tagloom.vision.encoders import Backbone, Framing, imagenet_classes
from tagloom.vision.features import Features, join_features, load_features
from tagloom.vision.onnx import OnnxBackbone, OnnxConfig
from tagloom.vision.pictures import Found, PictureError, Skipped, decode, find_pictures
from tagloom.vision.pipeline import Embedding, EmbedReport, embed

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
