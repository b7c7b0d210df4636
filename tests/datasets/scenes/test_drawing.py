import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tagloom.datasets.scenes import LABELS, draw_scene
from tagloom.datasets.scenes.canvas import HEIGHT, Canvas
from tagloom.datasets.scenes.drawing import (
    KINDS,
    SHOWN,
    compose,
    contact_sheet,
    draw_visible,
    main,
    visible_areas,
)
from tagloom.datasets.scenes.plan import Part, light_of
from tagloom.errors import InvalidInputError
from tagloom.vision import MissingExtraError

SMALL = (160, 120)


@pytest.fixture(scope="module")
def many():
    return [draw_scene(number, size=(96, 72)) for number in range(200)]


def pixels(image):
    return np.asarray(image).astype(int)


def planned(number, random_state=0, size=SMALL):
    seed = (random_state, number)
    _, plan = compose(np.random.default_rng(seed), HEIGHT * size[0] / size[1])
    return plan, seed


def square(left, top, right, bottom):
    def paint(canvas, rng):
        canvas.rectangle((left, top, right, bottom), (200, 40, 40))

    return paint


def shown(*parts):
    light = light_of("day", np.random.default_rng(0))
    numbered = [Part(label, paint, number) for number, (label, paint) in enumerate(parts, 1)]
    kept, canvas = draw_visible(numbered, light, (0, 0), SMALL)
    return {part.label for part in kept}, pixels(canvas.finished())


@given(number=st.integers(0, 10**6), random_state=st.integers(0, 2**32))
@settings(max_examples=8, deadline=None)
def test_same_numbers_give_same_picture_and_labels(number, random_state):
    one, two = (draw_scene(number, random_state, SMALL) for _ in range(2))
    assert one.image.tobytes() == two.image.tobytes()
    assert (one.labels, one.kind) == (two.labels, two.kind)


def test_other_numbers_and_series_give_other_pictures(many):
    assert len({scene.image.tobytes() for scene in many}) == len(many)
    assert draw_scene(0, 1, (96, 72)).image.tobytes() != many[0].image.tobytes()


@given(width=st.integers(64, 400), height=st.integers(64, 400), number=st.integers(0, 500))
@settings(max_examples=10, deadline=None)
def test_any_size_gives_a_picture_of_that_size(width, height, number):
    if max(width, height) > 2.5 * min(width, height):
        with pytest.raises(InvalidInputError, match="times the other"):
            draw_scene(number, size=(width, height))
        return
    scene = draw_scene(number, size=(width, height))
    assert scene.image.size == (width, height)
    assert scene.image.mode == "RGB"
    assert scene.labels <= set(LABELS)


@pytest.mark.parametrize("size", [(10, 120), (160, 5000), (160.0, 120)])
def test_impossible_sizes_are_refused(size):
    with pytest.raises(InvalidInputError, match="of a scene must be"):
        draw_scene(0, size=size)


@pytest.mark.parametrize(("number", "random_state"), [(-1, 0), (0, -1), (1.5, 0), (True, 0)])
def test_impossible_numbers_are_refused(number, random_state):
    with pytest.raises(InvalidInputError, match="integer"):
        draw_scene(number, random_state)


def test_the_area_of_a_label_is_what_can_be_seen_of_its_parts():
    light = light_of("day", np.random.default_rng(0))
    squares = [
        ("sky", square(0, 0, 320, 240)),
        ("house", square(0, 120, 160, 240)),
        ("house", square(240, 0, 320, 240)),
        (None, square(0, 0, 160, 60)),
    ]
    parts = [Part(label, paint, number) for number, (label, paint) in enumerate(squares, 1)]
    areas = visible_areas(*draw_visible(parts, light, (0, 0), (320, 240)))
    assert areas == pytest.approx({"sky": 3 / 8, "house": 1 / 2}, abs=0.01)


def test_areas_are_shares_of_the_picture(many):
    for scene in many:
        assert min(scene.areas.values()) > 0
        assert sum(scene.areas.values()) <= 1 + 1e-12


def test_every_label_and_every_kind_occurs(many):
    assert set().union(*(scene.labels for scene in many)) == set(LABELS)
    assert {scene.kind for scene in many} == set(KINDS)


def test_labels_are_sorted_and_unique():
    assert list(LABELS) == sorted(set(LABELS))


def test_labels_are_positively_and_negatively_correlated(many):
    Y = np.array([[label in scene.labels for label in LABELS] for scene in many], dtype=float)
    together = np.corrcoef(Y.T)
    place = {label: column for column, label in enumerate(LABELS)}
    assert together[place["table"], place["chair"]] > 0.5
    assert together[place["street"], place["car"]] > 0.5
    assert together[place["sky"], place["table"]] < -0.3
    assert not np.any((Y[:, place["sun"]] == 1) & (Y[:, place["stars"]] == 1))


@pytest.mark.parametrize("number", range(6))
def test_picture_changes_if_the_parts_of_a_label_are_left_out(number):
    plan, seed = planned(number)
    parts, canvas = draw_visible(plan.parts(), plan.light, seed, SMALL)
    whole = pixels(canvas.finished())
    labels = draw_scene(number, size=SMALL).labels
    assert labels == {part.label for part in parts} - {None}
    for label in labels:
        bare = Canvas(SMALL, plan.light)
        for part in parts:
            if part.label != label:
                part.paint(bare, np.random.default_rng((*seed, part.number)))
        assert np.abs(pixels(bare.finished()) - whole).max() > 0, label


def test_part_behind_another_is_neither_labelled_nor_drawn():
    hidden = ("cat", square(50, 50, 80, 80))
    before = ("house", square(40, 40, 100, 100))
    assert shown(hidden, before)[0] == {"house"}
    np.testing.assert_array_equal(shown(hidden, before)[1], shown(before)[1])
    assert shown(before, hidden)[0] == {"house", "cat"}


def test_part_of_which_a_sliver_shows_leaves_no_trace():
    sliver = ("cat", square(50, 50, 101, 80))
    before = ("house", square(40, 40, 100, 100))
    names, picture = shown(sliver, before)
    assert names == {"house"}
    np.testing.assert_array_equal(picture, shown(before)[1])


def test_part_outside_the_picture_is_not_labelled():
    assert shown(("cat", square(-90, 50, -10, 80)))[0] == set()
    assert shown(("cat", square(-90, 50, 2, 56)))[0] == set()
    assert shown(("cat", square(-90, 50, 60, 80)))[0] == {"cat"}


def test_leaving_out_a_part_does_not_change_the_others():
    def noisy(canvas, rng):
        x, y = rng.uniform(20, 90, 2)
        canvas.rectangle((x, y, x + 20, y + 20), (40, 200, 40))

    light = light_of("day", np.random.default_rng(0))
    dog = Part("dog", noisy, 2)
    outside = Part("cat", square(-90, 0, -10, 80), 1)
    kept, with_hidden = draw_visible([outside, dog], light, (0, 0), SMALL)
    _, alone = draw_visible([dog], light, (0, 0), SMALL)
    assert kept == [dog]
    np.testing.assert_array_equal(pixels(with_hidden.finished()), pixels(alone.finished()))


def test_without_pillow_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(MissingExtraError, match=r"tagloom\[vision\]"):
        draw_scene(0)


def test_pillow_is_not_imported_before_something_is_drawn():
    code = "import sys, tagloom.datasets.scenes; print('PIL' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_scenes_of_a_sheet_are_in_rows():
    sheet = np.asarray(contact_sheet([4, 1, 2], columns=2, size=(64, 48), gap=3))
    for place, number in (((3, 3), 4), ((3, 70), 1), ((54, 3), 2)):
        scene = draw_scene(number).image.resize((64, 48), Image.Resampling.LANCZOS)
        top, left = place
        np.testing.assert_array_equal(sheet[top : top + 48, left : left + 64], np.asarray(scene))
    assert (sheet[54:, 70:] == 255).all()


def test_scenes_of_the_sheet_show_nearly_every_label():
    seen = set().union(*(draw_scene(number).labels for number in SHOWN))
    assert len(set(SHOWN)) == 24
    assert len(set(LABELS) - seen) <= 4


def test_sheet_is_written_as_a_small_png(tmp_path):
    main(str(tmp_path / "sheet.png"))
    with Image.open(tmp_path / "sheet.png") as written:
        assert written.format == "PNG"
    assert (tmp_path / "sheet.png").stat().st_size < 400_000
