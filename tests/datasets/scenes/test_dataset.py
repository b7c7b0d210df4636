import numpy as np
import pytest

from tagloom.datasets.scenes import LABELS, draw_scene, generated_scenes, open_scenes
from tagloom.errors import InvalidInputError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("scenes") / "pictures"


@pytest.fixture(scope="module")
def dataset(folder):
    return generated_scenes(30, folder=folder)


def test_truth_is_complete_and_what_was_drawn(dataset):
    Y = dataset.truth.to_array()
    assert Y.shape == (30, len(LABELS))
    assert not np.isnan(Y).any()
    assert dataset.truth.labels == LABELS
    for row in (0, 7, 29):
        present = {label for label, cell in zip(LABELS, Y[row], strict=True) if cell}
        assert present == set(draw_scene(row).labels)
        assert dataset.picture(row).is_file()
    assert dataset.features is None


def test_every_row_is_on_one_side_of_the_split(dataset):
    rows = np.concatenate([dataset.training, dataset.test])
    assert sorted(rows) == list(range(30))
    assert 3 <= len(dataset.test) <= 15


def test_fewer_scenes_are_the_first_of_more(dataset, folder):
    fewer = generated_scenes(20, folder=folder)
    assert fewer.truth == dataset.truth.take(np.arange(20))
    np.testing.assert_array_equal(fewer.test, dataset.test[dataset.test < 20])


def test_split_does_not_follow_the_kinds_of_scene():
    from tagloom.datasets.scenes.dataset import _lot
    from tagloom.datasets.scenes.drawing import KINDS, compose

    kinds, lots = [], []
    for number in range(150):
        kind, _ = compose(np.random.default_rng((0, number)), 320.0)
        kinds.append(list(KINDS).index(kind))
        lots.append(_lot(0, number))
    assert abs(np.corrcoef(kinds, lots)[0, 1]) < 0.3


def test_share_of_test_rows_follows_what_was_asked(folder):
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
