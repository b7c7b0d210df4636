"""From a picture of any size to the square of pixels a network looks at."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL.Image import Image

View = Literal["centre", "whole"]
Interpolation = Literal["bicubic", "bilinear"]


@dataclass(frozen=True)
class Framing:
    """How a picture becomes a square.

    Parameters
    ----------
    size
        Side of the square, in pixels.
    crop
        Side of the centred square that is kept, as a share of the picture's shorter side. Only
        ``view="centre"`` uses it.
    view
        ``"centre"`` keeps the proportions and loses the margin; ``"whole"`` squeezes the whole
        picture into the square.
    interpolation
        How pixels are resampled.
    """

    size: int
    crop: float = 1.0
    view: View = "centre"
    interpolation: Interpolation = "bicubic"

    def box(self, width: int, height: int) -> tuple[float, float, float, float]:
        """Give left, top, right and bottom of what is kept of a picture of that size.

        >>> Framing(size=224, crop=0.875).box(256, 320)
        (16.0, 48.0, 240.0, 272.0)
        """
        if self.view == "whole":
            return (0.0, 0.0, float(width), float(height))
        side = self.crop * min(width, height)
        left, top = (width - side) / 2, (height - side) / 2
        return (left, top, left + side, top + side)

    def apply(self, picture: "Image") -> NDArray[np.uint8]:
        """Cut and resample an RGB picture to uint8 of shape (size, size, 3) in one step."""
        from PIL import Image

        resampling = {
            "bicubic": Image.Resampling.BICUBIC,
            "bilinear": Image.Resampling.BILINEAR,
        }[self.interpolation]
        square = picture.resize((self.size, self.size), resampling, box=self.box(*picture.size))
        pixels: NDArray[Any] = np.asarray(square)
        return pixels
