import subprocess
import sys

import pytest
from typer.testing import CliRunner

from tagloom import __version__
from tagloom.cli import app as front_door
from tagloom.errors import InvalidInputError

runner = CliRunner()


def test_version():
    assert runner.invoke(front_door.app, ["--version"]).output == f"tagloom {__version__}\n"


def test_help_loads_no_numerical_library():
    code = (
        "import sys; from typer.testing import CliRunner; from tagloom.cli.app import app; "
        "CliRunner().invoke(app, ['--help']); "
        "print([m for m in ('numpy', 'scipy', 'sklearn', 'onnxruntime') if m in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout == "[]\n"


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (InvalidInputError("row 3 is wrong"), 1, "tagloom: row 3 is wrong"),
        (KeyboardInterrupt(), 130, "tagloom: interrupted"),
    ],
)
def test_errors_become_messages_and_exit_codes(error, code, words, monkeypatch, capsys):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr(front_door, "app", fail)
    with pytest.raises(SystemExit) as stop:
        front_door.main()
    assert stop.value.code == code
    assert capsys.readouterr().err.strip() == words


@pytest.mark.parametrize("closed", [2, 1, 0])
def test_closed_streams_do_not_lend_their_numbers_to_files(tmp_path, closed):
    code = (
        f"import os, sys; os.close({closed}); sys.{('stdin', 'stdout', 'stderr')[closed]} = None; "
        "from tagloom.cli.app import main; sys.argv = ['tagloom', 'inspect', 'nowhere']\n"
        "try: main()\n"
        "except SystemExit as end:\n"
        f"    opened = os.open({str(tmp_path / 'file')!r}, os.O_CREAT | os.O_WRONLY)\n"
        f"    open({str(tmp_path / 'found')!r}, 'w').write(f'{{end.code}} {{opened > 2}}')"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert (tmp_path / "found").read_text() == "1 True"
