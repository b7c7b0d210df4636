import numpy as np
from PIL import Image

from tagloom.datasets.scenes import LABELS, draw_scene
from tagloom.datasets.scenes.drawing import SHOWN, contact_sheet, main


def test_scenes_stand_in_rows():
    sheet = np.asarray(contact_sheet([4, 1, 2], columns=2, size=(64, 48), gap=3))
    for place, number in (((3, 3), 4), ((3, 70), 1), ((54, 3), 2)):
        scene = draw_scene(number).image.resize((64, 48), Image.Resampling.LANCZOS)
        top, left = place
        np.testing.assert_array_equal(sheet[top : top + 48, left : left + 64], np.asarray(scene))
    assert (sheet[54:, 70:] == 255).all()


def test_shown_scenes_hold_nearly_every_label():
    seen = set().union(*(draw_scene(number).labels for number in SHOWN))
    assert len(set(SHOWN)) == 24
    assert len(set(LABELS) - seen) <= 4


def test_sheet_is_written_as_a_small_png(tmp_path):
    main(str(tmp_path / "sheet.png"))
    with Image.open(tmp_path / "sheet.png") as written:
        assert written.format == "PNG"
    assert (tmp_path / "sheet.png").stat().st_size < 400_000
