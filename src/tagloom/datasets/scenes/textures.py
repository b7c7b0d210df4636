"""Grey tiles of noise, made once for all scenes: clouds, grain, ground and ripples."""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from PIL.Image import Image

Field = npt.NDArray[np.float64]

# The tiles are the same for every scene; scenes differ in what they cut from them.
_SEED = 20
_SIDE = 512


def smooth_noise(rng: np.random.Generator, shape: tuple[int, int], cells: int) -> Field:
    """Return noise in [0, 1] whose hills are as wide as the picture's width over `cells`."""
    from PIL import Image

    rows, columns = shape
    coarse = rng.uniform(size=(max(2, cells * rows // columns), max(2, cells)))
    picture = Image.fromarray(coarse.astype(np.float32))
    grown = picture.resize((columns, rows), Image.Resampling.BICUBIC)
    return np.asarray(grown, dtype=np.float64)


def layered_noise(rng: np.random.Generator, shape: tuple[int, int], cells: int, n: int) -> Field:
    """Add noises, each twice as fine and six tenths as strong; stretched to [0, 1]."""
    total = sum(0.6**i * smooth_noise(rng, shape, cells * 2**i) for i in range(n))
    field = np.asarray(total, dtype=np.float64)
    low, high = float(field.min()), float(field.max())
    stretched: Field = (field - low) / max(high - low, 1e-9)
    return stretched


def as_grey(field: Field) -> "Image":
    """Turn numbers in [0, 1] into a grey picture."""
    from PIL import Image

    return Image.fromarray(np.rint(np.clip(field, 0, 1) * 255).astype(np.uint8))


@dataclass(frozen=True)
class Tile:
    """A grey picture to cut from; `lying` if its upper edge is the horizon."""

    image: "Image"
    lying: bool = False


def _lying(field: Field, stretch: float) -> Field:
    """Lay a texture on the ground: rows crowd towards the horizon, which is the upper edge."""
    side = _SIDE
    rows = np.arange(side) / side
    depth = 1.0 / (rows + 0.09)
    v = (depth * 55).astype(np.int64) % side
    across = (np.arange(side) - side / 2)[None, :] * depth[:, None] * stretch
    u = (across + side / 2).astype(np.int64) % side
    return field[v[:, None], u]


@cache
def grain() -> Tile:
    """Fine grain, the same in all directions."""
    return Tile(as_grey(layered_noise(np.random.default_rng(_SEED), (_SIDE, _SIDE), 48, 3)))


@cache
def billows() -> Tile:
    """Large soft noise."""
    return Tile(as_grey(layered_noise(np.random.default_rng(_SEED + 1), (_SIDE, _SIDE), 5, 5)))


@cache
def ground() -> Tile:
    """Tufts and stones on level ground, seen in perspective."""
    rng = np.random.default_rng(_SEED + 2)
    flat = 0.55 * layered_noise(rng, (_SIDE, _SIDE), 40, 3) + 0.45 * rng.uniform(
        size=(_SIDE, _SIDE)
    )
    patches = layered_noise(rng, (_SIDE, _SIDE), 4, 3)
    return Tile(as_grey(_stretched(0.6 * _lying(flat, 0.12) + 0.4 * patches)), lying=True)


@cache
def ripples() -> Tile:
    """Waves on level water, seen in perspective."""
    rng = np.random.default_rng(_SEED + 3)
    flat = layered_noise(rng, (_SIDE, _SIDE), 24, 3)
    crests = np.abs(flat - 0.5) * 2
    return Tile(as_grey(_stretched(1 - _lying(crests, 0.05) ** 0.7)), lying=True)


def _stretched(field: Field) -> Field:
    low, high = (float(value) for value in np.quantile(field, [0.01, 0.99]))
    return np.clip((field - low) / (high - low), 0, 1)


def cut(tile: Tile, rng: np.random.Generator, size: tuple[int, int], share: float = 0.6) -> "Image":
    """Cut a random piece of that share of a tile's width, and stretch it to a size."""
    from PIL import Image

    image = tile.image
    wide = max(1, int(image.width * share))
    high = image.height if tile.lying else min(image.height, max(1, wide * size[1] // size[0]))
    left = int(rng.integers(0, image.width - wide + 1))
    top = int(rng.integers(0, image.height - high + 1))
    box = (left, top, left + wide, top + high)
    piece = image.resize(size, Image.Resampling.BILINEAR, box=box)
    return piece.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if rng.uniform() < 0.5 else piece
