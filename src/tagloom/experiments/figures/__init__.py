"""Figures of an experiment: curves, example pictures, visual neighbours; PNG and SVG of each."""

from tagloom.experiments.figures._write import write_figures

__all__ = ["write_figures"]
