"""Data sets: loaders and generated ones."""

from tagloom.datasets.small_scenes import SmallScenes, small_scenes

__all__ = ["SmallScenes", "small_scenes"]
