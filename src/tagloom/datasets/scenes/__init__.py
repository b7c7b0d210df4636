"""Scenes drawn by our own code, with the complete truth about what is visible in them."""

from tagloom.datasets.scenes.dataset import generated_scenes, open_scenes
from tagloom.datasets.scenes.drawing import Scene, draw_scene
from tagloom.datasets.scenes.labels import LABELS
from tagloom.datasets.scenes.writing import write_scenes

__all__ = ["LABELS", "Scene", "draw_scene", "generated_scenes", "open_scenes", "write_scenes"]
