"""The drawing of the architecture shows the layers that import-linter holds."""

import importlib
import re
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def draw(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("draw_architecture")


def test_layers_are_those_of_the_imports(draw):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    (contract,) = project["tool"]["importlinter"]["contracts"]
    held = [name for layer in contract["layers"] for name in re.findall(r"\w+", layer)]
    drawn = [name for _, names, _ in draw.LAYERS for name in names.split(" · ")]
    assert drawn == held


def test_files_of_the_walks_exist(draw):
    for names, _ in (*draw.FIT, *draw.COMPLETE):
        folder, _, files = names.rpartition("/")
        for file in files.split(" · "):
            assert (
                list((ROOT / "src" / "tagloom" / folder).glob(f"{file.removesuffix('.py')}.py"))
                or (ROOT / "src" / "tagloom" / file).exists()
            )


def test_the_drawing_is_in_step(draw):
    drawn = (ROOT / "docs" / "img" / "architecture.svg").read_text("utf-8")
    assert drawn == "\n".join(draw.drawing()) + "\n"
    ElementTree.fromstring(drawn)
