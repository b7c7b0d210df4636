"""Scenes drawn by our own code, with the complete truth about what is visible in them."""

from tagloom.datasets.scenes.drawing import Scene, draw_scene
from tagloom.datasets.scenes.labels import LABELS

__all__ = ["LABELS", "Scene", "draw_scene"]
