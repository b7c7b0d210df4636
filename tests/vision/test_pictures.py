import io
import os
import struct
import tracemalloc
import zlib
from contextlib import contextmanager, suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageOps

from tagloom.vision import PictureError, decode
from tagloom.vision import pictures as module

quick = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def saved(picture, kind="PNG", **options):
    stream = io.BytesIO()
    picture.save(stream, kind, **options)
    return stream.getvalue()


def pixels(content, **options):
    return np.asarray(decode(content, **options))


@pytest.mark.parametrize("orientation", range(1, 9))
def test_the_orientation_in_exif_is_applied(picture_bytes, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    content = picture_bytes(size=(5, 3), exif=exif)
    with Image.open(io.BytesIO(content)) as opened:
        expected = np.asarray(ImageOps.exif_transpose(opened))
    np.testing.assert_array_equal(pixels(content), expected)


def test_damaged_exif_leaves_the_picture_as_it_is(picture_bytes):
    content = picture_bytes(exif=b"Exif\x00\x00garbage")
    assert decode(content).size == (40, 30)


@pytest.mark.parametrize("kind", ["PNG", "GIF", "TIFF", "BMP", "WEBP", "JPEG"])
def test_every_format_gives_the_colours_it_holds(kind):
    picture = Image.new("RGB", (16, 16), (200, 30, 60))
    options = {"lossless": True} if kind == "WEBP" else {}
    found = pixels(saved(picture, kind, **options)).astype(int)
    assert np.abs(found - (200, 30, 60)).max() <= (3 if kind == "JPEG" else 0)


def test_heic_where_the_extra_is_installed():
    heif = pytest.importorskip("pillow_heif")
    stream = io.BytesIO()
    heif.from_pillow(Image.new("RGB", (64, 64), (200, 30, 60))).save(stream, quality=95)
    found = pixels(stream.getvalue()).astype(int)
    assert np.abs(found - (200, 30, 60)).max() <= 6


def test_heic_without_the_extra_names_it(monkeypatch):
    monkeypatch.setattr(module, "_heic_ready", lambda: False)
    with pytest.raises(PictureError, match=r"tagloom\[heic\]"):
        decode(b"\x00\x00\x00\x18ftypheic" + bytes(50))


def test_sixteen_bits_are_scaled_not_cut_off():
    shades = np.array([[0, 257, 32768, 65278, 65535]], dtype=np.uint16)
    for kind in ("PNG", "TIFF"):
        found = pixels(saved(Image.fromarray(shades), kind))
        np.testing.assert_array_equal(found[0, :, 0], [0, 1, 128, 254, 255])


def test_wide_numbers_are_stretched():
    values = np.array([[-1.0, 0.0, 3.0]], dtype=np.float32)
    np.testing.assert_array_equal(
        pixels(saved(Image.fromarray(values), "TIFF"))[0, :, 1], [0, 64, 255]
    )
    flat = np.full((2, 2), 7, dtype=np.int32)
    assert pixels(saved(Image.fromarray(flat), "TIFF")).max() == 0


@pytest.mark.parametrize("mode", ["F", "I", "I;16", "RGBA", "LA", "P", "CMYK", "L"])
def test_strips_of_a_picture_join_without_a_seam(mode, monkeypatch):
    rng = np.random.default_rng(0)
    grey = Image.fromarray(rng.integers(0, 256, (23, 9), dtype=np.uint8))
    picture = Image.fromarray(rng.normal(size=(23, 9)).astype(np.float32))
    if mode == "I;16":
        picture = Image.fromarray(rng.integers(0, 65536, (23, 9), dtype=np.uint16))
    elif mode != "F":
        picture = grey.convert(mode)
    if mode in ("RGBA", "LA"):
        picture.putalpha(grey.transpose(Image.Transpose.ROTATE_180))
    whole = np.asarray(module.as_rgb(picture))
    monkeypatch.setattr(module, "_PIXELS_AT_ONCE", 40)
    np.testing.assert_array_equal(np.asarray(module.as_rgb(picture)), whole)


def test_wide_numbers_need_little_more_memory_than_the_picture():
    content = saved(Image.new("F", (3000, 2000)), "TIFF", compression="tiff_deflate")
    assert len(content) < 100_000
    with memory_within(60_000_000):
        decode(content)


def test_reading_a_small_file_needs_little_memory(tmp_path, picture_bytes):
    (tmp_path / "small.png").write_bytes(picture_bytes())
    with memory_within(1_000_000):
        assert module.read_picture(tmp_path / "small.png") == picture_bytes()


def test_what_is_no_regular_file_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(PictureError, match="not a regular file"):
        module.read_picture(tmp_path / "pipe.png")


@pytest.mark.skipif(not os.path.exists("/proc/version"), reason="there is no /proc")
def test_files_of_the_kernel_are_not_read():
    with pytest.raises(PictureError, match="is empty"):
        module.read_picture("/proc/version")


@contextmanager
def memory_within(limit):
    """Check the peak of what Python and numpy allocate meanwhile."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < limit
    finally:
        tracemalloc.stop()


def test_transparent_pixels_are_blended_with_white():
    clear = Image.new("RGBA", (4, 4), (10, 20, 30, 0))
    assert pixels(saved(clear)).min() == 255
    half = Image.new("LA", (4, 4), (0, 128))
    assert set(pixels(saved(half)).ravel()) == {127}


def test_a_transparent_colour_of_a_palette_is_white():
    palette = Image.new("P", (2, 1))
    palette.putpalette([0, 0, 0, 255, 0, 0])
    palette.putdata([0, 1])
    found = pixels(saved(palette, transparency=0))
    np.testing.assert_array_equal(found[0], [(255, 255, 255), (255, 0, 0)])


def test_grey_black_and_white_and_cmyk_become_rgb():
    assert pixels(saved(Image.new("L", (2, 2), 77)))[0, 0].tolist() == [77, 77, 77]
    assert pixels(saved(Image.new("1", (2, 2), 1)))[0, 0].tolist() == [255, 255, 255]
    cyan = pixels(saved(Image.new("CMYK", (8, 8), (255, 0, 0, 0)), "JPEG"))[0, 0].astype(int)
    assert np.abs(cyan - (0, 255, 255)).max() <= 3


def test_of_an_animation_the_first_picture_is_used():
    frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
    content = saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert pixels(content)[0, 0].tolist() == [255, 0, 0]


def huge_png(side):
    """A PNG of a few bytes that claims to be enormous."""

    def chunk(kind, body):
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0")) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.parametrize("side", [10_000, 60_000])
def test_decompression_bombs_are_refused_unopened(side):
    with module.decoders_quiet(), pytest.raises(PictureError, match="limit of 89,478,485"):
        decode(huge_png(side))


def test_the_limit_can_be_lowered(picture_bytes):
    with pytest.raises(PictureError, match="40 x 30 pixels, more than the limit of 1,000"):
        decode(picture_bytes(), max_pixels=1000)
    assert decode(picture_bytes(), max_pixels=1200).size == (40, 30)


def smooth(width, height):
    rows, columns = np.mgrid[0:height, 0:width]
    waves = [np.sin(columns / width * 9), np.cos(rows / height * 7), np.sin((rows + columns) / 90)]
    return Image.fromarray((127 + 120 * np.stack(waves, axis=-1)).astype(np.uint8))


def test_large_jpegs_are_decoded_small_but_never_too_small():
    content = saved(smooth(900, 700), "JPEG", quality=95)
    assert decode(content).size == (900, 700)
    assert decode(content, needed=200).size == (900, 700)
    reduced = decode(content, needed=64)
    assert min(reduced.size) >= 2 * 64
    assert reduced.size == (225, 175)
    full = np.asarray(decode(content).resize(reduced.size, Image.Resampling.BOX)).astype(int)
    assert np.abs(full - np.asarray(reduced)).max() < 12


def test_empty_and_foreign_files_have_their_reasons():
    with pytest.raises(PictureError, match="is empty"):
        decode(b"")
    with pytest.raises(PictureError, match="not a picture of a known format"):
        decode(b"%PDF-1.7 is no picture")


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_a_picture_cut_short_is_refused(picture_bytes, kind):
    content = picture_bytes(size=(200, 150), kind=kind)
    with pytest.raises(PictureError, match=kind):
        decode(content[: len(content) // 2])


@quick
@given(
    kind=st.sampled_from(["JPEG", "PNG", "GIF", "TIFF", "WEBP", "BMP"]),
    damage=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=8),
    kept=st.floats(0.05, 1),
)
def test_damage_of_any_kind_ends_in_a_picture_or_a_reason(picture_bytes, kind, damage, kept):
    content = bytearray(picture_bytes(kind=kind))
    for where, value in damage:
        content[int(where * (len(content) - 1))] = value
    with module.decoders_quiet(), suppress(PictureError):
        assert decode(bytes(content[: int(len(content) * kept)])).mode == "RGB"
