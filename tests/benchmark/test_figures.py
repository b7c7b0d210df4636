import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from result_tables import results_table

from tagloom.benchmark.figures import _captions, line_of, spread_out, write_figures
from tagloom.datasets.base import Dataset
from tagloom.errors import TagloomError
from tagloom.labels import PartialLabels
from tagloom.vision import Features

ITEMS = ["a.png", "b.png", "c.png", "d.png"]
LABELS = ["sky", "sea", "樹", "boat & co"]
TRUTH = [[1, 0, 1, np.nan], [1, 1, 0, 0], [0, 1, 0, 1], [1, 1, 0, 0]]
EXAMPLES = {
    method: [{"item": "a.png", "top": [["sky", 0.9], ["sea", 0.5], ["boat & co", 0.1]]}]
    for method in ("maxide", "semantic-diffusion")
}


@pytest.fixture
def dataset(tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    for shade, item in enumerate(ITEMS[:3]):
        size = (40, 30) if shade % 2 else (20, 40)
        Image.new("RGB", size, (60 * shade, 90, 120)).save(folder / item)
    (folder / "d.png").write_bytes(b"no picture")
    truth = PartialLabels.from_array(TRUTH, labels=LABELS, items=ITEMS)
    visual = np.eye(4, 3, dtype=np.float32) + 0.1
    features = Features(ITEMS, visual, np.zeros((4, 0), dtype=np.float32), [])
    return Dataset("toy", truth, training=[1, 2, 3], test=[0], folder=folder, features=features)


def names(paths):
    return [path.name for path in paths]


def test_every_figure_is_written_as_png_and_svg(dataset, tmp_path):
    written = write_figures(tmp_path / "out" / "figures", results_table(), dataset, EXAMPLES)
    stems = ["map", "descriptors", "examples-semantic-diffusion", "examples-maxide", "neighbours"]
    assert names(written) == [f"{stem}.{kind}" for stem in stems for kind in ("png", "svg")]
    for path in written[::2]:
        with Image.open(path) as picture:
            assert min(picture.size) > 100


def test_the_same_tables_give_the_same_bytes(dataset, tmp_path):
    results = results_table(rates=[0.1])
    first = write_figures(tmp_path / "1", results, dataset, EXAMPLES)
    second = write_figures(tmp_path / "2", results, dataset, EXAMPLES)
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert b"<dc:date>" not in first[1].read_bytes()


def test_a_set_of_numbers_gets_curves_only(tmp_path):
    truth = PartialLabels.from_array([[1], [0]], items=["x", "y"])
    numbers = Dataset("numbers", truth, training=[0], test=[1])
    results = results_table(methods=["maxide", "semantic-diffusion"], n_seeds=1)
    examples = {"maxide": [{"item": "x", "top": [["0", 1.0]]}]}
    assert names(write_figures(tmp_path, results, numbers, examples)) == ["map.png", "map.svg"]
    assert names(write_figures(tmp_path, results)) == ["map.png", "map.svg"]


def test_pictures_without_features_have_no_neighbors(dataset, tmp_path):
    bare = Dataset("toy", dataset.truth, [1, 2, 3], [0], folder=dataset.folder)
    written = write_figures(tmp_path, results_table(rates=[0.1]), bare, EXAMPLES)
    assert "neighbours.png" not in names(written)
    assert "examples-maxide.png" in names(written)


def test_labels_are_marked_right_wrong_unknown_and_missed(dataset):
    lines = _captions(dataset, 0, EXAMPLES["maxide"][0]["top"])
    assert [(sign, label) for sign, label, _ in lines] == [
        ("✓", "sky"),
        ("✗", "sea"),
        ("?", "boat & co"),
        ("+", "樹"),
    ]
    assert len({colour for _, _, colour in lines}) == 4


def test_a_user_setting_does_not_change_the_figures(tmp_path):
    import matplotlib as mpl

    results = results_table(rates=[0.1])
    before = write_figures(tmp_path / "1", results)[1].read_bytes()
    with mpl.rc_context({"font.size": 30, "svg.hashsalt": "other"}):
        after = write_figures(tmp_path / "2", results)[1].read_bytes()
        assert mpl.rcParams["font.size"] == 30
    assert before == after


def test_without_matplotlib_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(TagloomError, match=r"tagloom\[figures\]"):
        write_figures(tmp_path, results_table())


def test_a_folder_that_cannot_be_created_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(TagloomError, match="cannot be made"):
        write_figures(tmp_path / "file" / "figures", results_table())


@given(st.lists(st.floats(0, 100), max_size=12), st.floats(0.1, 20))
def test_labels_keep_their_order_mean_and_a_gap(wanted, gap):
    places = spread_out(wanted, gap)
    order = sorted(range(len(wanted)), key=lambda number: (wanted[number], number))
    between = np.diff([places[number] for number in order])
    assert (between >= gap - 1e-9).all()
    assert sum(places) == pytest.approx(sum(wanted), abs=1e-6)
    if (np.diff(np.sort(wanted)) >= gap).all():
        assert places == pytest.approx(wanted)


@pytest.mark.parametrize("method", ["semantic-diffusion", "theirs", "mine.module:Method"])
def test_markers_of_all_methods_can_be_seen(method):
    """Edges are white: a marker without an area would be invisible."""
    from matplotlib.lines import Line2D

    assert line_of(method).marker in Line2D.filled_markers
