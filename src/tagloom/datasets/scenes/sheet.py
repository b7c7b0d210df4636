"""Many scenes on one sheet; ``python -m tagloom.datasets.scenes.sheet scenes.png`` makes one."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tagloom.datasets.scenes.drawing import draw_scene
from tagloom.files import written_whole
from tagloom.vision.extras import import_extra

if TYPE_CHECKING:
    from PIL.Image import Image

# Scenes of series 0 of every kind and hour.
SHOWN: tuple[int, ...] = (2, 6, 9, 13, 20, 33, 38, 43, 57, 59, 77, 86)
SHOWN += (89, 90, 92, 94, 8, 10, 31, 98, 107, 21, 95, 72)


def contact_sheet(
    numbers: Sequence[int] = SHOWN,
    random_state: int = 0,
    *,
    columns: int = 6,
    size: tuple[int, int] = (192, 144),
    gap: int = 4,
) -> "Image":
    """Lay scenes out in rows on white.

    >>> contact_sheet([0, 1, 2], columns=2, size=(64, 48), gap=4).size
    (140, 108)
    """
    import_extra("PIL.Image", purpose="Drawing scenes")
    from PIL import Image

    wide, high = size[0] + gap, size[1] + gap
    rows = -(-len(numbers) // columns)
    sheet = Image.new("RGB", (columns * wide + gap, rows * high + gap), "white")
    for place, number in enumerate(numbers):
        # Drawn at the usual size: what is visible must not depend on how it is shown.
        scene = draw_scene(number, random_state).image.resize(size, Image.Resampling.LANCZOS)
        sheet.paste(scene, (gap + place % columns * wide, gap + place // columns * high))
    return sheet


def main(path: str) -> None:
    """Write a sheet as a PNG file with a palette of 256 colours, which keeps it small."""
    from PIL import Image

    sheet = contact_sheet()
    few = sheet.quantize(palette=sheet.quantize(256, kmeans=2), dither=Image.Dither.FLOYDSTEINBERG)
    with written_whole(Path(path)) as part:
        few.save(part, format="PNG", optimize=True)


if __name__ == "__main__":
    main(sys.argv[1])
