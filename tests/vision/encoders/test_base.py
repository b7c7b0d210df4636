import os
import subprocess
import sys

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


ENCODE = """
import os, sys
from PIL import Image
from tagloom.vision import load_encoder
encoder = load_encoder(["lite0"])
encoder.encode(encoder.prepare(Image.new("RGB", (64, 64), "red")))
opened = []
for descriptor in os.listdir("/proc/self/fd"):
    try:
        opened.append(os.readlink(f"/proc/self/fd/{descriptor}"))
    except OSError:
        pass  # the listing itself
print([name for name in opened if name.startswith("socket:")])
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files are listed in /proc")
def test_encoding_opens_no_socket_and_writes_only_to_our_own_cache(tmp_path):
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    dropped = ("ORT_DISABLE_TELEMETRY", "TAGLOOM_CACHE")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    done = subprocess.run(
        [sys.executable, "-c", ENCODE], env=kept | home, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
    files = [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.parts[:2] for path in files} == {("cache", "tagloom")}
