"""Scenes drawn by tagloom itself, with complete labels of everything visible in them."""

from tagloom.datasets.scenes.dataset import LABELS, generated_scenes, open_scenes, write_scenes
from tagloom.datasets.scenes.drawing import Scene, draw_scene

__all__ = ["LABELS", "Scene", "draw_scene", "generated_scenes", "open_scenes", "write_scenes"]
