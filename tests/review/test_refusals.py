"""What `tagloom review` says where it cannot begin."""

import socket
import subprocess
import sys

import pytest

from tagloom.errors import InvalidInputError, TagloomError
from tagloom.review.journal import Store
from tagloom.review.server import serve


def has_begun(address):
    raise AssertionError("it has begun")


def begin(home, **options):
    given = {"photos": home / "photos", "open_browser": False, "say": has_begun} | options
    serve(home / "out", **given)


def test_a_folder_that_is_no_run(tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(InvalidInputError, match="Run `tagloom complete` first"):
        begin(tmp_path, photos=tmp_path)
    assert [path.name for path in (tmp_path / "out").iterdir()] == []


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(InvalidInputError, match="Run `tagloom complete` first"):
        begin(tmp_path)


def test_pictures_that_have_moved(home):
    with pytest.raises(InvalidInputError, match="--photos"):
        begin(home, photos=home / "nowhere")


def test_a_port_that_is_taken(home):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InvalidInputError, match="Choose another with --port"):
            begin(home, port=taken.getsockname()[1])


def test_a_run_that_is_open_already(home):
    store = Store(home / "out")
    with pytest.raises(InvalidInputError, match="open in another"):
        begin(home)
    store.close()


@pytest.mark.parametrize("name", ["suggestions.csv", "annotate_next.csv"])
@pytest.mark.parametrize(
    "content",
    [None, b"image,tag,probability,state\nx,y,1,known\n", b"a\n1\n", b"", b"\xff\x00"],
    ids=["missing", "foreign", "no table", "empty", "binary"],
)
def test_tables_that_do_not_belong_to_the_model(home, name, content):
    path = home / "out" / name
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TagloomError, match="Run `tagloom complete` again"):
        begin(home)


def test_help_loads_neither_the_server_nor_numpy():
    code = (
        "import sys; from typer.testing import CliRunner; from tagloom.cli.app import app; "
        "print(CliRunner().invoke(app, ['review', '--help']).exit_code, "
        "[m for m in ('numpy', 'starlette', 'uvicorn') if m in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout == "0 []\n"
