"""From pictures to features: decoding, encoders, the feature cache."""

from tagloom.errors import MissingExtraError
from tagloom.vision.cache import FeatureCache, FeatureCacheError
from tagloom.vision.encoders.base import Encoder, Framing, imagenet_classes, imagenet_synsets
from tagloom.vision.encoders.config import OnnxConfig
from tagloom.vision.encoders.efficientnet import EfficientNetLite
from tagloom.vision.encoders.layouts import FolderEncoder
from tagloom.vision.encoders.onnx import OnnxEncoder
from tagloom.vision.encoders.registry import CombinedEncoders, load_encoder
from tagloom.vision.features import Features, join_features, load_features
from tagloom.vision.pictures import Found, PictureError, Skipped, decode, find_pictures
from tagloom.vision.pipeline import Embedding, EmbeddingSummary, embed

__all__ = [
    "CombinedEncoders",
    "EfficientNetLite",
    "Embedding",
    "EmbeddingSummary",
    "Encoder",
    "FeatureCache",
    "FeatureCacheError",
    "Features",
    "FolderEncoder",
    "Found",
    "Framing",
    "MissingExtraError",
    "OnnxConfig",
    "OnnxEncoder",
    "PictureError",
    "Skipped",
    "decode",
    "embed",
    "find_pictures",
    "imagenet_classes",
    "imagenet_synsets",
    "join_features",
    "load_encoder",
    "load_features",
]
