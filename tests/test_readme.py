"""What the README shows works as it stands."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tagloom.labels import PartialLabels, hide_per_class

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_features(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 12))
    truth = PartialLabels.from_array(X[:, :6] + 0.3 * rng.normal(size=(100, 6)) > 0.5)
    names = {"X": X, "Y": hide_per_class(truth, 0.5, 0).to_array(), "X_new": X[:3]}
    exec(BLOCKS[0], names)
    assert (tmp_path / "model.tagloom").is_file()
    assert names["best"].scores(X).shape == (100, 6)


def test_tags():
    names = {}
    exec(BLOCKS[1], names)
    np.testing.assert_array_equal(names["known"].weights(), [[1, 1], [0.1, 1]])


@pytest.mark.filterwarnings("ignore::tagloom.errors.UnlearnableLabelWarning")
def test_pictures(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "PHOTOS").mkdir()
    rng = np.random.default_rng(0)
    tags = {}
    for i, name in enumerate("abcdefghijkl"):
        pixels = rng.integers(0, 60, (48, 48, 3), dtype=np.uint8)
        pixels[..., i % 2] += 180
        Image.fromarray(pixels).save(tmp_path / "PHOTOS" / f"{name}.jpg")
        tags[f"{name}.jpg"] = ["sky"] if i % 2 else ["grass"]
    exec(BLOCKS[2], {"known": PartialLabels.from_tags(tags, unlisted=0.5)})
    assert "'sky' for a.jpg: score" in capsys.readouterr().out
