import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image
from toy_encoder import MeanColour, second_version

from tagloom import vision
from tagloom.dask import ParquetItems, embed
from tagloom.dask import vision as dask_vision
from tagloom.dask.blocks import to_dask_array
from tagloom.errors import InvalidInputError


@pytest.fixture
def pictures(tmp_path, rng):
    folder = tmp_path / "pictures"
    folder.mkdir()
    for place in range(7):
        pixels = rng.integers(0, 256, (20, 30, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{place}.png")
    (folder / "8.png").write_bytes((folder / "6.png").read_bytes())
    (folder / "9.png").write_bytes(b"\x89PNG\r\n\x1a\n and nothing more")
    return folder


def _embed(client, pictures, make=MeanColour):
    return embed(pictures, pictures.parent / "out", make, pictures_per_partition=4, client=client)


def test_features_equal_those_in_memory_and_unreadable_pictures_are_listed(client, pictures):
    done = _embed(client, pictures)
    expected = vision.embed(pictures, MeanColour(), cache=pictures.parent / "cache").features()
    table = pq.read_table(done.folder)
    assert table["item"].to_pylist() == expected.items
    np.testing.assert_array_equal(
        to_dask_array(ParquetItems(done.folder)).compute(), expected.visual
    )
    posteriors = to_dask_array(ParquetItems(done.folder, features="posteriors")).compute()
    np.testing.assert_array_equal(posteriors, expected.posteriors)
    assert done.n_embedded == 8
    assert [one.item for one in done.skipped] == ["9.png"]


def test_the_network_is_loaded_once_for_all_tasks(client, pictures, monkeypatch):
    made = []

    def choose(names):
        made.append(names)
        return MeanColour(version=3)

    monkeypatch.setattr(dask_vision, "load_encoder", choose)
    _embed(client, pictures, ["some network"])
    assert made == [("some network",)]


def test_finished_partitions_are_skipped(client, pictures):
    first = _embed(client, pictures)
    (first.folder / "part-00001.parquet").unlink()
    calls = MeanColour.calls
    again = _embed(client, pictures)
    assert again.n_resumed == 2
    assert MeanColour.calls - calls == 3
    assert again.skipped == first.skipped
    assert again.n_embedded == first.n_embedded


def test_another_network_recomputes_everything(client, pictures):
    _embed(client, pictures)
    assert _embed(client, pictures, second_version).n_resumed == 0


def test_files_of_another_run_are_refused(client, pictures):
    _embed(client, pictures)
    with pytest.raises(InvalidInputError, match="no part of this run"):
        embed(pictures, pictures.parent / "out", MeanColour, items=["1.png"], client=client)
