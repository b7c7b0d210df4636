import csv
import json
import os

import numpy as np
import pytest
from PIL import Image

from tagloom.datasets.scenes import (
    LABELS,
    draw_scene,
    generated_scenes,
    open_scenes,
    write_scenes,
)
from tagloom.datasets.scenes import dataset as module
from tagloom.errors import InvalidInputError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("scenes") / "pictures"


@pytest.fixture(scope="module")
def dataset(folder):
    return generated_scenes(30, folder=folder)


def test_labels_are_complete_and_agree_with_the_drawings(dataset):
    Y = dataset.truth.to_array()
    assert Y.shape == (30, len(LABELS))
    assert not np.isnan(Y).any()
    assert dataset.truth.labels == LABELS
    for row in (0, 7, 29):
        present = {label for label, cell in zip(LABELS, Y[row], strict=True) if cell}
        assert present == set(draw_scene(row).labels)
        assert dataset.picture(row).is_file()
    assert dataset.features is None


def test_salience_is_the_logarithm_of_the_drawn_area(dataset):
    for row in (0, 7, 29):
        areas = draw_scene(row).areas
        drawn = np.log([areas.get(label, np.nan) for label in LABELS])
        np.testing.assert_allclose(dataset.salience[row], drawn, atol=0.002)
    np.testing.assert_array_equal(np.isfinite(dataset.salience), dataset.truth.to_array() == 1)


def test_every_row_is_on_one_side_of_the_split(dataset):
    rows = np.concatenate([dataset.training, dataset.test])
    assert sorted(rows) == list(range(30))
    assert 3 <= len(dataset.test) <= 15


def test_fewer_scenes_are_the_first_of_more(dataset, folder):
    fewer = generated_scenes(20, folder=folder)
    assert fewer.truth == dataset.truth.take(np.arange(20))
    np.testing.assert_array_equal(fewer.test, dataset.test[dataset.test < 20])


def test_split_does_not_follow_the_kinds_of_scene():
    from tagloom.datasets.scenes.dataset import _split_draw
    from tagloom.datasets.scenes.drawing import KINDS, compose

    kinds, draws = [], []
    for number in range(150):
        kind, _ = compose(np.random.default_rng((0, number)), 320.0)
        kinds.append(list(KINDS).index(kind))
        draws.append(_split_draw(0, number))
    assert abs(np.corrcoef(kinds, draws)[0, 1]) < 0.3


def test_share_of_test_rows_is_as_requested(folder):
    assert len(generated_scenes(30, folder=folder, test_share=0.0).test) == 0
    assert len(generated_scenes(30, folder=folder, test_share=1.0).training) == 0


def test_without_a_folder_the_users_cache_is_used(tmp_path, monkeypatch):
    monkeypatch.setenv("TAGLOOM_CACHE", str(tmp_path))
    opened = open_scenes("3")
    assert opened.items == tuple(f"scene-{i:05}.jpg" for i in range(3))
    assert opened.folder is not None
    assert tmp_path in opened.folder.parents
    assert generated_scenes(3, 1).folder != opened.folder


@pytest.mark.parametrize("argument", ["x", "-3", "1", "0", "2.5", "1e3", "٣", "3 4"])
def test_arguments_that_are_no_number_of_scenes_are_refused(argument):
    with pytest.raises(InvalidInputError, match="scenes:1200"):
        open_scenes(argument)


@pytest.mark.parametrize(
    "options", [{"n": 1}, {"n": 2.5}, {"test_share": 1.5}, {"random_state": -1}]
)
def test_impossible_options_are_refused(options, tmp_path):
    with pytest.raises(InvalidInputError):
        generated_scenes(**{"n": 3, "folder": tmp_path / "new", **options})
    assert not (tmp_path / "new").exists()


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def times(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("*.jpg")}


def test_pictures_and_table_agree_with_the_drawn_scenes(tmp_path):
    folder = write_scenes(tmp_path / "new" / "scenes", 4, 3)
    with (folder / "labels.csv").open(newline="") as opened:
        header, *rows = csv.reader(opened)
    assert header == ["picture", *LABELS]
    assert [row[0] for row in rows] == [f"scene-{i:05}.jpg" for i in range(4)]
    for number, row in enumerate(rows):
        scene = draw_scene(number, 3)
        assert {label for label, cell in zip(LABELS, row[1:], strict=True) if cell == "1"} == set(
            scene.labels
        )
        assert set(row[1:]) <= {"0", "1"}
        with Image.open(folder / row[0]) as written:
            gap = np.asarray(written).astype(int) - np.asarray(scene.image)
        assert np.abs(gap).mean() < 6


def test_more_scenes_leave_the_first_ones_as_they_are(tmp_path):
    folder = write_scenes(tmp_path / "a", 3)
    before, moments = contents(folder), times(folder)
    write_scenes(folder, 5)
    after = contents(folder)
    assert {name: after[name] for name in moments} == {name: before[name] for name in moments}
    assert {name: times(folder)[name] for name in moments} == moments
    whole = contents(write_scenes(tmp_path / "b", 5))
    assert after == whole


def test_fewer_scenes_take_nothing_away(tmp_path):
    folder = write_scenes(tmp_path / "a", 4)
    before = contents(folder)
    write_scenes(folder, 2)
    assert contents(folder) == before


def test_interrupted_run_is_resumed_without_drawing_again(tmp_path, monkeypatch):
    drawn = []

    def interrupted(number, random_state):
        if len(drawn) == 3:
            raise KeyboardInterrupt
        drawn.append(number)
        return draw_scene(number, random_state)

    monkeypatch.setattr(module, "draw_scene", interrupted)
    folder = tmp_path / "scenes"
    with pytest.raises(KeyboardInterrupt):
        write_scenes(folder, 5)
    assert sorted(path.name for path in folder.glob("*.jpg")) == [
        f"scene-{number:05}.jpg" for number in range(3)
    ]
    assert not list(folder.glob("*.part"))
    again = []
    monkeypatch.setattr(
        module,
        "draw_scene",
        lambda number, state: again.append(number) or draw_scene(number, state),
    )
    write_scenes(folder, 5)
    assert again == [3, 4]
    assert contents(folder) == contents(write_scenes(tmp_path / "whole", 5))


def test_lost_picture_and_lost_table_are_made_again(tmp_path):
    folder = write_scenes(tmp_path / "scenes", 4)
    before = contents(folder)
    (folder / "scene-00002.jpg").unlink()
    write_scenes(folder, 4)
    assert contents(folder) == before
    for name in ("labels.csv", "areas.csv"):
        (folder / name).unlink()
        write_scenes(folder, 4)
        assert contents(folder) == before


def test_a_killed_run_loses_only_scenes_not_in_the_table(tmp_path, monkeypatch):
    class KilledError(BaseException):
        pass

    def killed(number, random_state):
        if number == 3:
            monkeypatch.setattr(module, "_write_tables", lambda folder, areas: None)
            raise KilledError
        return draw_scene(number, random_state)

    monkeypatch.setattr(module, "_SCENES_PER_TABLE", 2)
    monkeypatch.setattr(module, "draw_scene", killed)
    folder = tmp_path / "scenes"
    with pytest.raises(KilledError):
        write_scenes(folder, 5)
    assert sorted(module.read_tags(folder)) == ["scene-00000.jpg", "scene-00001.jpg"]
    monkeypatch.undo()
    assert contents(write_scenes(folder, 5)) == contents(write_scenes(tmp_path / "whole", 5))


def test_processes_draw_what_one_process_draws(tmp_path, monkeypatch):
    alone = contents(write_scenes(tmp_path / "alone", 6))
    monkeypatch.setattr(module, "_PARALLEL_FROM", 2)
    assert contents(write_scenes(tmp_path / "together", 6)) == alone


def test_folder_with_other_files_is_refused_and_left_alone(tmp_path):
    (tmp_path / "scene-00000.jpg").write_bytes(b"mine")
    with pytest.raises(InvalidInputError, match="not made by write_scenes"):
        write_scenes(tmp_path, 2)
    assert contents(tmp_path) == {"scene-00000.jpg": b"mine"}


def test_folder_of_another_series_is_refused(tmp_path):
    folder = write_scenes(tmp_path / "scenes", 2, 1)
    before = contents(folder)
    with pytest.raises(InvalidInputError, match=r"another series.*random_state"):
        write_scenes(folder, 2, 2)
    assert contents(folder) == before


def test_folder_of_another_drawing_is_refused(tmp_path):
    folder = write_scenes(tmp_path / "scenes", 2)
    note = folder / "scenes.json"
    found = json.loads(note.read_text())
    found["scenes"]["drawing"] -= 1
    note.write_text(json.dumps(found))
    with pytest.raises(InvalidInputError, match="another series"):
        write_scenes(folder, 2)


@pytest.mark.parametrize("text", ["", "[]", "{}", "no", "3"])
def test_damaged_manifest_is_refused(tmp_path, text):
    (tmp_path / "scenes.json").write_text(text)
    with pytest.raises(InvalidInputError, match=r"scenes\.json is damaged"):
        write_scenes(tmp_path, 2)


@pytest.mark.parametrize("row", ["scene-00000.jpg,1", "scene-00000.jpg" + ",2" * len(LABELS)])
def test_damaged_table_is_refused(tmp_path, row):
    folder = write_scenes(tmp_path / "scenes", 2)
    table = folder / "labels.csv"
    table.write_text(table.read_text().splitlines()[0] + "\n" + row + "\n")
    with pytest.raises(InvalidInputError, match="cells of 0 or 1"):
        write_scenes(folder, 2)


@pytest.mark.parametrize("cell", ["1.5", "nan", "x", ""])
def test_damaged_areas_are_refused(tmp_path, cell):
    folder = write_scenes(tmp_path / "scenes", 1)
    table = folder / "areas.csv"
    header = table.read_text().splitlines()[0]
    table.write_text(f"{header}\nscene-00000.jpg{f',{cell}' * len(LABELS)}\n")
    with pytest.raises(InvalidInputError, match="cells of numbers from 0 to 1"):
        write_scenes(folder, 1)


def test_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InvalidInputError, match="is a file"):
        write_scenes(tmp_path / "file", 2)


@pytest.mark.skipif(os.name == "nt", reason="no permissions of this sort")
def test_pictures_have_the_permissions_of_the_user(tmp_path):
    folder = write_scenes(tmp_path / "scenes", 1)
    modes = {path.stat().st_mode & 0o444 for path in folder.iterdir()}
    assert len(modes) == 1


def test_a_damaged_table_is_reported_and_an_empty_line_is_accepted(tmp_path):
    write_scenes(tmp_path, 1)
    table = tmp_path / "labels.csv"
    whole = table.read_bytes()
    table.write_bytes(whole + b"\n")
    write_scenes(tmp_path, 1)
    table.write_bytes(whole + b"\xff")
    with pytest.raises(InvalidInputError, match="damaged"):
        write_scenes(tmp_path, 1)
    with pytest.raises(InvalidInputError, match="at most"):
        write_scenes(tmp_path / "many", 10**20)
