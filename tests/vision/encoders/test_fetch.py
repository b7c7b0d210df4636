"""Fetching an encoder, from a stand-in for the hub that runs on this machine."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import tiny_networks as tiny
from tagloom.errors import InvalidInputError, ModelFileError
from tagloom.vision import load_encoder
from tagloom.vision.encoders.fetch import MANIFEST, Manifest, fetch

REVISION = "0123456789abcdef0123456789abcdef01234567"


class Hub(BaseHTTPRequestHandler):
    """Answers as the hub does: a listing with the commit, and files of that commit."""

    def do_GET(self):
        self.server.asked.append((self.command, self.path, dict(self.headers)))
        start, files = "/api/models/maker/tiny", self.server.files
        path = self.path.partition("?")[0]
        if path in (start, f"{start}/revision/main", f"{start}/revision/{REVISION}"):
            siblings = [{"rfilename": name, "size": len(data)} for name, data in files.items()]
            listing = {
                "id": "maker/tiny",
                "sha": REVISION,
                "siblings": siblings,
                "cardData": {"license": "mit"},
            }
            return self._send(200, json.dumps(listing).encode())
        lead = f"/maker/tiny/resolve/{REVISION}/"
        name = path.removeprefix(lead)
        if path.startswith(lead) and name in files:
            return self._send(200, self.server.sent.get(name, files[name]))
        return self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"})

    def do_HEAD(self):
        self.do_GET()

    def _send(self, status, content, more=None):
        self.send_response(status)
        headers = {
            "Content-Length": str(len(content)),
            "ETag": f'"{hashlib.sha256(content).hexdigest()}"',
            "X-Repo-Commit": REVISION,
        }
        for name, value in (headers | (more or {})).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def offered(tmp_path_factory):
    """The files of a pair, in two precisions, with others that no encoder needs."""
    folder = tiny.clip(tmp_path_factory.mktemp("offered") / "pair")
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    files["onnx/vision_model_quantized.onnx"] = files["onnx/vision_model.onnx"]
    files["onnx/text_model_quantized.onnx"] = files["onnx/text_model.onnx"]
    return files | {"model.safetensors": b"x" * 99, "README.md": b"hello"}


@pytest.fixture
def hub(offered, monkeypatch, tmp_path):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.files, server.sent, server.asked = dict(offered), {}, []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("TAGLOOM_CACHE", str(tmp_path / "cache"))
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_what_is_fetched_is_recorded_and_used_by_name(hub):
    told = []
    folder = fetch("maker/tiny@main", on_listed=told.append)
    manifest = Manifest.read(folder)
    assert (manifest.repository, manifest.revision) == ("maker/tiny", REVISION)
    assert manifest.licence == told[0].licence == "mit"
    assert sorted(manifest.files) == [
        "config.json",
        "onnx/text_model.onnx",
        "onnx/vision_model.onnx",
        "preprocessor_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert there == {*manifest.files, MANIFEST}
    for name, expected in manifest.files.items():
        assert hashlib.sha256(hub.files[name]).hexdigest() == expected
    n_asked = len(hub.asked)
    encoder = load_encoder(["maker/tiny", "none"])
    assert encoder.text.embed(["red"]).shape == (1, tiny.WIDTH)
    assert len(hub.asked) == n_asked  # nothing else downloads
    assert not any("authorization" in map(str.lower, headers) for _, _, headers in hub.asked)


def test_a_variant_can_be_chosen(hub, tmp_path):
    folder = fetch("maker/tiny", variant="quantized", to=tmp_path / "small")
    assert sorted(path.name for path in (folder / "onnx").iterdir()) == [
        "text_model_quantized.onnx",
        "vision_model_quantized.onnx",
    ]
    assert load_encoder([str(folder), "none"]).width == tiny.WIDTH


def test_files_that_have_changed_are_noticed(hub):
    folder = fetch("maker/tiny")
    path = folder / "onnx" / "text_model.onnx"
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(ModelFileError, match=r"text_model\.onnx is not the file that was fetched"):
        load_encoder([str(folder)])
    path.unlink()
    with pytest.raises(ModelFileError, match=r"text_model\.onnx is missing"):
        load_encoder([str(folder)])
    (folder / MANIFEST).write_text("{}")
    with pytest.raises(ModelFileError, match=r"manifest\.json is damaged"):
        load_encoder([str(folder)])


def test_a_download_that_breaks_off_leaves_nothing(hub, tmp_path):
    hub.sent["tokenizer.json"] = b"{"
    with pytest.raises((ModelFileError, InvalidInputError), match="Nothing was written"):
        fetch("maker/tiny", to=tmp_path / "new" / "folder")
    assert list((tmp_path / "new").iterdir()) == []


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("nobody/nothing", "nobody/nothing cannot be fetched: "),
        ("maker/tiny@gone", "maker/tiny@gone cannot be fetched: "),
        ("tiny", r"by OWNER/NAME\[@REVISION\]"),
        ("../tiny", r"by OWNER/NAME\[@REVISION\]"),
        ("a/b/c", r"by OWNER/NAME\[@REVISION\]"),
    ],
)
def test_what_is_not_there_is_said_in_one_sentence(hub, wanted, message):
    with pytest.raises(InvalidInputError, match=message) as caught:
        fetch(wanted)
    assert "\n" not in str(caught.value)


def test_a_folder_that_is_there_is_not_replaced(hub, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").touch()
    with pytest.raises(InvalidInputError, match="is there already"):
        fetch("maker/tiny", to=tmp_path / "full")
    assert hub.asked == []


def test_a_repository_without_networks_is_refused(hub):
    for name in [name for name in hub.files if name.endswith(".onnx")]:
        del hub.files[name]
    with pytest.raises(InvalidInputError, match=r"holds no ONNX network .* Found: README\.md"):
        fetch("maker/tiny")


def test_without_a_connection_one_message_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("TAGLOOM_CACHE", str(tmp_path))
    with pytest.raises(InvalidInputError, match="Check the name and the connection") as caught:
        fetch("maker/tiny")
    assert "\n" not in str(caught.value)
