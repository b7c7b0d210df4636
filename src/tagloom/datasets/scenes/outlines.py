"""Lines of hills and peaks against what is behind them."""

import numpy as np

from tagloom.datasets.scenes.canvas import Canvas
from tagloom.datasets.scenes.textures import Field


def ridge(rng: np.random.Generator, n: int, rough: float, peaks: int) -> Field:
    """Return heights in [0, 1] of a jagged line: peaks joined by straight slopes, roughened."""
    knots = rng.uniform(0.12, 0.45, 2 * peaks + 1)
    knots[1::2] = rng.uniform(0.65, 1.0, peaks)
    places = np.linspace(0, 1, 2 * peaks + 1) + rng.uniform(-0.25, 0.25, 2 * peaks + 1) / (
        2 * peaks
    )
    across = np.linspace(0, 1, n)
    line = np.interp(across, np.sort(places), knots)
    for cells in (24, 48, 96):
        steps = rng.uniform(-1, 1, cells)
        line += rough * 4.0 / cells * np.interp(across, np.linspace(0, 1, cells), steps)
    return line


def rolling(rng: np.random.Generator, n: int) -> Field:
    """Return heights in [0, 1] of a softly rolling line."""
    across = np.linspace(0, 2 * np.pi, n)
    line = np.zeros(n)
    for frequency, weight in ((0.6, 0.5), (1.3, 0.3), (2.6, 0.12)):
        line += weight * np.sin(frequency * across + rng.uniform(0, 2 * np.pi))
    return (line + 0.92) / 1.84


def under(canvas: Canvas, heights: Field, base: float, high: float, floor: float) -> Field:
    """Return the polygon between a line of heights above `base` and a floor."""
    across = np.linspace(-2, canvas.width + 2, len(heights))
    top = np.column_stack([across, base - heights * high])
    return np.vstack([top, [[canvas.width + 2, floor], [-2, floor]]])
