import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tagloom.vision import Framing

sides = st.integers(1, 5000)


@given(width=sides, height=sides, crop=st.floats(0.1, 1))
def test_the_cropped_square_is_centred_in_the_picture(width, height, crop):
    left, top, right, bottom = Framing(224, crop=crop).box(width, height)
    assert left >= 0
    assert top >= 0
    assert right <= width + 1e-6
    assert bottom <= height + 1e-6
    assert right - left == pytest.approx(bottom - top)
    assert right - left == pytest.approx(crop * min(width, height))
    assert left + right == pytest.approx(width)
    assert top + bottom == pytest.approx(height)


def test_a_square_of_the_right_size_is_left_alone():
    pixels = np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8)
    np.testing.assert_array_equal(Framing(16).apply(Image.fromarray(pixels)), pixels)


@pytest.mark.parametrize("size", [(1, 1), (1, 900), (900, 1)])
@pytest.mark.parametrize("view", ["centre", "whole"])
def test_extreme_shapes_give_a_square_too(size, view):
    picture = Image.new("RGB", size, (9, 8, 7))
    found = Framing(32, crop=0.875, view=view).apply(picture)
    assert found.shape == (32, 32, 3)
    assert (found == (9, 8, 7)).all()


def test_the_whole_view_includes_the_margin_and_the_centre_view_does_not():
    picture = Image.new("RGB", (300, 100), "black")
    picture.paste("white", (0, 0, 60, 100))
    assert Framing(30, view="whole").apply(picture)[15, 2].min() == 255
    assert Framing(30, view="centre").apply(picture).max() == 0
