import os

import numpy as np
import pytest
from PIL import Image

from tagloom.completion.report import SIDE, thumbnail_path, write_thumbnails


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    return folder


def picture(path, size=(800, 400), **options):
    """Issue half red, right half blue."""
    pixels = np.zeros((size[1], size[0], 3), dtype=np.uint8)
    pixels[:, : size[0] // 2, 0] = 255
    pixels[:, size[0] // 2 :, 2] = 255
    Image.fromarray(pixels).save(path, **options)


def made(folder, digest):
    with Image.open(thumbnail_path(folder, digest)) as opened:
        return opened.convert("RGB"), opened.getexif()


def test_a_thumbnail_is_small_and_of_the_same_shape(photos, tmp_path):
    picture(photos / "a.jpg")
    (digest,) = write_thumbnails(photos, ["a.jpg"], tmp_path / "thumbnails")
    assert made(tmp_path / "thumbnails", digest)[0].size == (SIDE, SIDE // 2)


def test_a_small_picture_is_not_blown_up(photos, tmp_path):
    picture(photos / "a.png", size=(20, 10))
    (digest,) = write_thumbnails(photos, ["a.png"], tmp_path / "thumbnails")
    assert made(tmp_path / "thumbnails", digest)[0].size == (20, 10)


def test_the_orientation_is_applied_and_no_exif_is_passed_on(photos, tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held so that the left edge is the top
    exif[0x010E] = "private"
    picture(photos / "a.jpg", exif=exif)
    (digest,) = write_thumbnails(photos, ["a.jpg"], tmp_path / "thumbnails")
    small, passed_on = made(tmp_path / "thumbnails", digest)
    assert small.size == (SIDE // 2, SIDE)
    top, bottom = small.getpixel((60, 20)), small.getpixel((60, 220))
    assert top[0] > 200 > 60 > top[2]
    assert bottom[2] > 200 > 60 > bottom[0]
    assert not dict(passed_on)


def test_unchanged_pictures_keep_their_thumbnails(photos, tmp_path):
    folder = tmp_path / "thumbnails"
    picture(photos / "a.png")
    picture(photos / "b.png")
    first = write_thumbnails(photos, ["a.png", "b.png"], folder)
    for digest in first:
        thumbnail_path(folder, digest).write_bytes(b"as it was")
    metadata = (photos / "b.png").stat()
    os.utime(photos / "b.png", ns=(metadata.st_atime_ns, metadata.st_mtime_ns + 10**9))
    second = write_thumbnails(photos, ["a.png", "b.png"], folder)
    assert second[0] == first[0]
    assert second[1] != first[1]
    assert thumbnail_path(folder, second[0]).read_bytes() == b"as it was"
    assert made(folder, second[1])[0].size == (SIDE, SIDE // 2)


def test_what_gives_no_picture_has_no_thumbnail(photos, tmp_path):
    picture(photos / "whole.jpg")
    (photos / "cut.jpg").write_bytes((photos / "whole.jpg").read_bytes()[:300])
    (photos / "text.jpg").write_text("no picture")
    (photos / "empty.jpg").touch()
    (photos / "folder.jpg").mkdir()
    names = ["cut.jpg", "whole.jpg", "text.jpg", "empty.jpg", "folder.jpg", "gone.jpg", "a\0b.jpg"]
    digests = write_thumbnails(photos, names, tmp_path / "thumbnails")
    assert [name for name, digest in zip(names, digests, strict=True) if digest] == ["whole.jpg"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes on this system")
def test_a_pipe_is_not_waited_for(photos, tmp_path):
    os.mkfifo(photos / "pipe.jpg")
    assert write_thumbnails(photos, ["pipe.jpg"], tmp_path / "thumbnails") == [""]


def test_no_name_leads_out_of_the_folder(photos, tmp_path):
    picture(tmp_path / "secret.png")
    (tmp_path / "other").mkdir()
    picture(tmp_path / "other" / "secret.png")
    (photos / "link").symlink_to(tmp_path / "other", target_is_directory=True)
    names = ["../secret.png", str(tmp_path / "secret.png"), "link/secret.png", "..", "", "."]
    assert write_thumbnails(photos, names, tmp_path / "thumbnails") == [""] * len(names)
    assert not (tmp_path / "thumbnails").exists()


def test_a_link_to_a_file_is_followed_as_in_the_search_for_pictures(photos, tmp_path):
    picture(tmp_path / "elsewhere.png")
    (photos / "link.png").symlink_to(tmp_path / "elsewhere.png")
    assert write_thumbnails(photos, ["link.png"], tmp_path / "thumbnails") != [""]


def test_an_empty_thumbnail_is_made_again(photos, tmp_path):
    """A power cut may leave one."""
    Image.new("RGB", (40, 20), "red").save(photos / "a.jpg")
    folder = tmp_path / "thumbnails"
    (digest,) = write_thumbnails(photos, ["a.jpg"], folder)
    thumbnail_path(folder, digest).write_bytes(b"")
    assert write_thumbnails(photos, ["a.jpg"], folder) == [digest]
    assert made(folder, digest)[0].size == (40, 20)
