"""When pictures were taken: by the camera, else by the file; read once."""

import os
import time

import numpy as np
import pytest
from PIL import Image

from tagloom.review import dates as module
from tagloom.review.dates import PictureDates, month_taken

_MAY_2021 = time.mktime((2021, 5, 20, 12, 0, 0, 0, 0, -1))


def saved(folder, name, *, original=None, changed=None):
    exif = Image.Exif()
    if original is not None:
        exif.get_ifd(0x8769)[0x9003] = original
    if changed is not None:
        exif[0x0132] = changed
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    Image.new("RGB", (8, 8)).save(path, exif=exif)
    os.utime(path, (_MAY_2021, _MAY_2021))
    return name


@pytest.mark.parametrize(
    ("original", "changed", "month"),
    [
        ("2019:07:31 10:20:30", "2020:01:01 00:00:00", 201907),
        (None, "2020:01:02 00:00:00", 202001),
        ("0000:00:00 00:00:00", None, 202105),
        ("    :  :     :  :  ", "2018-12-24T08:00", 201812),
        ("2019:13:01 00:00:00", None, 202105),
        (None, None, 202105),
    ],
)
def test_the_camera_is_believed_before_the_file(tmp_path, original, changed, month):
    name = saved(tmp_path, "a.jpg", original=original, changed=changed)
    assert month_taken(tmp_path, name) == month


def test_what_is_damaged_has_the_date_of_its_file_and_what_is_missing_none(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"\xff\xd8\xff\xe1 no picture")
    os.utime(tmp_path / "a.jpg", (_MAY_2021, _MAY_2021))
    assert month_taken(tmp_path, "a.jpg") == 202105
    assert month_taken(tmp_path, "gone.jpg") == 0
    assert month_taken(tmp_path, "../a.jpg") == 0


class TestPictureDates:
    @pytest.fixture
    def images(self, tmp_path):
        photos = tmp_path / "photos"
        photos.mkdir()
        days = ["2019:05:01 0", "2019:05:02 0", "2019:11:01 0", "2020:01:01 0"]
        return [saved(photos, f"{k}.jpg", original=day) for k, day in enumerate(days)]

    def read(self, tmp_path, images, marks="abcd"):
        dates = PictureDates(tmp_path / "photos", images, tmp_path / "cache")
        dates.start(list(marks))
        dates.wait()
        return dates

    def test_years_and_months_are_counted_and_found(self, tmp_path, images):
        dates = self.read(tmp_path, images)
        assert dates.share_read == 1
        assert [(one["date"], one["n"]) for one in dates.counts()] == [
            ("2020", 1), ("2020-01", 1), ("2019", 3), ("2019-11", 1), ("2019-05", 2),
        ]  # fmt: skip
        assert np.flatnonzero(dates.taken("2019")).tolist() == [0, 1, 2]
        assert np.flatnonzero(dates.taken("2019-05")).tolist() == [0, 1]

    def test_only_changed_files_are_read_again(self, tmp_path, images, monkeypatch):
        self.read(tmp_path, images)
        asked = []
        monkeypatch.setattr(module, "month_taken", lambda _, name: asked.append(name) or 199901)
        dates = self.read(tmp_path, images, "abXd")
        assert asked == ["2.jpg"]
        assert np.flatnonzero(dates.taken("1999-01")).tolist() == [2]
        assert np.flatnonzero(dates.taken("2019")).tolist() == [0, 1]

    @pytest.mark.parametrize(
        "content", ["", "[1, 2]", '{"0.jpg": 3}', '{"0.jpg": ["a", "x"]}', '{"0.jpg": ["a", -1]}']
    )
    def test_a_damaged_cache_is_not_believed(self, tmp_path, images, content):
        (tmp_path / "cache").mkdir()
        (tmp_path / "cache" / "dates.json").write_text(content)
        assert self.read(tmp_path, images).counts()[0] == {"date": "2020", "n": 1}
