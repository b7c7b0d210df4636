"""Sixty files of the kinds that real folders hold and programs fail on."""

import io
import json
import os
import struct
import subprocess
import sys
import zlib

import numpy as np
import PIL
import pytest
from PIL import Image

COUNT = 60


def photo(seed=0, size=(64, 48)):
    pixels = np.random.default_rng(seed).integers(0, 256, (*size[::-1], 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def saved(picture, kind, **options):
    stream = io.BytesIO()
    picture.save(stream, kind, **options)
    return stream.getvalue()


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def claiming(width, height):
    """A PNG of seventy bytes that claims a size."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def good_files():
    """Names and contents that must end up with features: 30 of them."""
    exif = Image.Exif()
    exif[0x0112] = 6
    palette = photo(3).quantize(16)
    frames = [photo(seed).quantize() for seed in (4, 5)]
    grey16 = Image.fromarray(np.arange(48 * 64, dtype=np.uint16).reshape(48, 64) * 21)
    floats = Image.fromarray(np.random.default_rng(0).random((48, 64)).astype(np.float32))
    clear = photo(6).convert("RGBA")
    clear.putalpha(100)
    burst = {"save_all": True, "append_images": frames[1:]}
    # Before 13.0, Pillow takes a TIFF in YCbCr that is not compressed to be cut short.
    old = int(PIL.__version__.split(".")[0]) < 13
    packed = {"compression": "tiff_adobe_deflate"} if old else {}
    yield "plain.jpg", saved(photo(1), "JPEG")
    yield "progressive.jpeg", saved(photo(1), "JPEG", progressive=True)
    yield "turned.jpg", saved(photo(1), "JPEG", exif=exif)
    yield "bad exif.jpg", saved(photo(1), "JPEG", exif=b"Exif\0\0MM\0*nonsense")
    yield "grey.jpg", saved(photo(2).convert("L"), "JPEG")
    yield "cmyk.jpg", saved(photo(2).convert("CMYK"), "JPEG")
    yield "cmyk.tif", saved(photo(2).convert("CMYK"), "TIFF")
    yield "lab.tif", saved(photo(2).convert("YCbCr"), "TIFF", **packed)
    yield "bits.png", saved(photo(2).convert("1"), "PNG")
    yield "bits.tif", saved(photo(2).convert("1"), "TIFF", compression="group4")
    yield "palette.png", saved(palette, "PNG")
    yield "palette alpha.png", saved(palette, "PNG", transparency=bytes(range(16)))
    yield "key.png", saved(photo(7), "PNG", transparency=(1, 2, 3))
    yield "grey alpha.png", saved(photo(7).convert("LA"), "PNG")
    yield "clear.png", saved(clear, "PNG")
    yield "clear.webp", saved(clear, "WEBP")
    yield "grey16.png", saved(grey16, "PNG")
    yield "grey16.tif", saved(grey16, "TIFF")
    yield "float.tif", saved(floats, "TIFF")
    yield "still.gif", saved(frames[0], "GIF")
    yield "moving.gif", saved(frames[0], "GIF", **burst)
    yield "moving.webp", saved(photo(8), "WEBP", save_all=True, append_images=[photo(9)])
    yield "pages.tif", saved(photo(8), "TIFF", save_all=True, append_images=[photo(9)])
    yield "bitmap.bmp", saved(photo(10), "BMP")
    yield "one pixel.png", saved(photo(11, (1, 1)), "PNG")
    yield "thread.png", saved(photo(12, (2000, 1)), "PNG")
    yield "UPPER.JPG", saved(photo(13), "JPEG")
    yield "trailing.jpg", saved(photo(14), "JPEG") + b"appended by some program"
    yield "Größe 写真 🎉.jpg", saved(photo(15), "JPEG")
    yield "new\nline\t.jpg", saved(photo(16), "JPEG")


def misnamed_files():
    """Good pictures under a wrong name: 5."""
    yield "is png.jpg", saved(photo(20), "PNG")
    yield "is jpeg.png", saved(photo(21), "JPEG")
    yield "is gif.tiff", saved(photo(22), "GIF")
    yield "no ending", saved(photo(23), "JPEG")
    yield "photo.jpg.bak", saved(photo(24), "JPEG")


def bad_files():
    """Names of pictures with contents that are not pictures: 15."""
    jpeg, png = saved(photo(30, (300, 200)), "JPEG"), saved(photo(31, (300, 200)), "PNG")
    yield "empty.jpg", b""
    yield "half.jpg", jpeg[: len(jpeg) // 2]
    yield "head only.jpg", jpeg[:20]
    yield "three bytes.jpg", b"\xff\xd8\xff"
    yield "half.png", png[: len(png) // 2]
    yield "broken crc.png", png[:60] + bytes(40) + png[100:]
    yield "half.webp", saved(photo(32, (300, 200)), "WEBP")[:500]
    yield "half.gif", saved(photo(33, (300, 200)), "GIF")[:900]
    yield "half.tif", saved(photo(34, (300, 200)), "TIFF")[:1000]
    yield "bomb.png", claiming(60_000, 60_000)
    yield "wide bomb.png", claiming(2_000_000_000, 1)
    yield "large.png", claiming(10_000, 10_000)
    yield "zero.png", claiming(0, 0)
    yield "text.jpg", b"I am a letter, not a picture."
    yield "fake.heic", b"\x00\x00\x00\x18ftypheic" + bytes(100)


def other_files():
    """Files that do not claim to be pictures: 3."""
    yield "notes.txt", b"notes"
    yield ".DS_Store", b"\0\0\0\1Bud1"
    yield "clip.mp4", b"\0\0\0\x18ftypmp42" + bytes(100)


@pytest.fixture
def hostile(tmp_path):
    root = tmp_path / "hostile"
    root.mkdir()
    for name, content in (*good_files(), *misnamed_files(), *bad_files(), *other_files()):
        (root / name).write_bytes(content)
    (root / "twin.jpg").write_bytes((root / "plain.jpg").read_bytes())
    with open(os.fsencode(root) + b"/not unicode \xff.jpg", "wb") as stream:
        stream.write(saved(photo(40), "JPEG"))
    (root / "link.jpg").symlink_to("grey.jpg")
    (root / "loop").symlink_to(root)
    (root / "nowhere.jpg").symlink_to("gone.jpg")
    os.mkfifo(root / "pipe.jpg")
    (root / "locked.jpg").write_bytes(saved(photo(41), "JPEG"))
    (root / "locked.jpg").chmod(0)
    assert len(list(root.iterdir())) == COUNT
    return root


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-c", "from tagloom.cli import main; main()", "embed", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_none_crashes_it_and_every_file_is_in_the_summary(hostile, tmp_path):
    done = run(hostile, "--cache", tmp_path / "cache", "--json")
    assert done.stderr == ""
    assert done.returncode == 0
    summary = json.loads(done.stdout)
    reasons = {one["item"]: one["reason"] for one in summary["skipped"]}
    # An administrator can read the locked file as well.
    locked = int(os.access(hostile / "locked.jpg", os.R_OK))
    assert summary["embedded"] == 30 + 5 + 1 + locked
    assert summary["duplicates"] == [
        {"item": "link.jpg", "of": "grey.jpg"},
        {"item": "twin.jpg", "of": "plain.jpg"},
    ]
    assert len(summary["others"]) == 3
    assert len(summary["mislabelled"]) == 5
    unreadable = {"loop", "nowhere.jpg", "pipe.jpg"} | (set() if locked else {"locked.jpg"})
    assert set(reasons) == {name for name, _ in bad_files()} | unreadable
    assert summary["found"] + len(summary["others"]) == COUNT
    assert "cut short" in reasons["half.jpg"]
    assert "empty" in reasons["empty.jpg"]
    for name in ("bomb.png", "wide bomb.png", "large.png"):
        assert "more" in reasons[name]
        assert "limit" in reasons[name]


def test_the_summary_for_people_keeps_each_file_on_its_line(hostile, tmp_path):
    run(hostile, "--cache", tmp_path / "cache")
    again = run(hostile, "--cache", tmp_path / "cache")
    assert again.returncode == 0
    assert "  0 embedded now" in again.stdout
    assert "Nothing to do" in again.stdout
    lines = again.stdout.splitlines()
    assert any(line.startswith("    loop: it is a link to a folder") for line in lines)
