"""What the tutorials show works as it stands; commands that the documentation names exist."""

import re
from pathlib import Path

import pytest
import typer

from tagloom.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("[a-z]*.md"))]


def test_the_tutorial_for_engineers_runs_from_top_to_bottom(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "tutorials" / "engineer.md").read_text("utf-8")
    names = {}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(block, names)
    assert names["P"].shape == (200, 12)
    printed = capsys.readouterr().out
    pairs = re.findall(r"promised ([\d.]+), were right ([\d.]+)", printed)
    assert len(pairs) == 4
    assert all(abs(float(promised) - float(right)) < 0.15 for promised, right in pairs)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_and_flags_exist(page):
    commands = typer.main.get_command(app).commands
    known = {
        name: {flag for one in command.params for flag in one.opts + one.secondary_opts}
        for name, command in commands.items()
    }
    for name, rest in re.findall(
        r"(?:^|`|\$ )tagloom ([a-z]+)([^`#\n]*)", page.read_text("utf-8"), re.M
    ):
        assert name in known
        assert set(re.findall(r"(?<!\S)--[a-z-]+", rest)) - known[name] <= {"--help"}
