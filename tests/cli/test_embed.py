import json
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from tagloom.cli.app import app
from tagloom.cli.embed import shown
from tagloom.errors import InvalidInputError
from tagloom.vision import load_features


@pytest.fixture(autouse=True)
def _own_user_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TAGLOOM_CACHE", str(tmp_path / "user_cache"))


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "pictures"
    root.mkdir()
    for seed in range(3):
        pixels = np.random.default_rng(seed).integers(0, 256, (20, 30, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(root / f"{seed}.png")
    return root


def run(*arguments):
    return CliRunner().invoke(app, ["embed", *map(str, arguments)], catch_exceptions=False)


def test_a_second_run_reports_that_there_is_nothing_to_do(folder, tmp_path):
    first = run(folder, "--out", tmp_path / "one.npz")
    assert first.exit_code == 0
    assert "3 found" in first.output
    assert "3 embedded now" in first.output
    assert "Nothing to do" not in first.output
    second = run(folder, "--out", tmp_path / "two.npz")
    assert "0 embedded now" in second.output
    assert "3 already in the cache" in second.output
    assert "Nothing to do" in second.output
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    features = load_features(tmp_path / "one.npz")
    assert features.items == ["0.png", "1.png", "2.png"]
    assert features.visual.shape == (3, 2 * 1280)
    assert features.posteriors.shape == (3, 1000)
    np.testing.assert_allclose(features.posteriors.sum(axis=1), 1, rtol=1e-5)


def test_encoders_and_views_have_entries_of_their_own(folder):
    assert json.loads(run(folder, "--fast", "--json").output)["embedded"] == 3
    assert json.loads(run(folder, "--whole", "--json").output)["embedded"] == 3
    # What was seen once is not encoded again for the two looks of the default.
    assert json.loads(run(folder, "--json").output)["cached"] == 3
    both = json.loads(run(folder, "--encoder", "lite0", "--encoder", "lite1", "--json").output)
    assert both["encoder"] == "efficientnet-lite0+efficientnet-lite1"
    assert both["embedded"] == 3


def test_json_goes_to_the_cache_that_was_named(folder, tmp_path):
    summary = json.loads(run(folder, "--cache", tmp_path / "here", "--json").output)
    assert summary["cache"] == str(tmp_path / "here")
    assert (tmp_path / "here" / "features.sqlite").is_file()
    assert summary["skipped"] == []


def test_exit_codes(folder, tmp_path):
    (folder / "bad.jpg").write_bytes(b"")
    assert run(folder).exit_code == 0
    assert run(folder, "--strict").exit_code == 1
    for seed in range(3):
        (folder / f"{seed}.png").unlink()
    nothing = run(folder)
    assert nothing.exit_code == 1
    assert "bad.jpg: the file is empty" in nothing.output
    (folder / "bad.jpg").unlink()
    with pytest.raises(InvalidInputError, match="no pictures in"):
        run(folder)


def test_mistakes_are_noticed_before_the_work(folder, tmp_path):
    with pytest.raises(InvalidInputError, match="does not exist"):
        run(tmp_path / "gone")
    with pytest.raises(InvalidInputError, match="must be a file in a folder that exists"):
        run(folder, "--out", tmp_path / "gone" / "out.npz")
    with pytest.raises(InvalidInputError, match="no encoder 'vgg'"):
        run(folder, "--encoder", "vgg")
    assert run(folder, "--jobs", "0").exit_code == 2


def test_a_long_list_of_skipped_files_does_not_bury_the_summary(folder):
    for number in range(30):
        (folder / f"bad{number:02}.jpg").write_bytes(b"")
    output = run(folder).output
    assert "30 skipped" in output
    assert "bad19.jpg" in output
    assert "bad20.jpg" not in output
    assert "... and 10 more" in output


def test_names_fit_a_line_and_any_terminal():
    assert shown("a\nb\x1b[31m\udcff写真.png") == "a\\nb\\x1b[31m\\udcff写真.png"


def test_help_loads_none_of_the_heavy_libraries():
    script = (
        "import sys; import tagloom.cli.app; "
        "print(sorted({'numpy', 'onnxruntime', 'onnx', 'PIL', 'sqlite3'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
