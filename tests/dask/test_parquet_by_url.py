import functools
import http.server
import re
import threading
from pathlib import Path
from uuid import uuid4

import fsspec
import numpy as np
import pyarrow.parquet as pq
import pytest
from dask_problems import Problem
from fsspec.implementations.local import LocalFileSystem

from tagloom import dask as tagloom_dask
from tagloom.dask import ParquetItems, write_parquet
from tagloom.dask.blocks import load_block, to_dask_array
from tagloom.dask.parquet import features_column, write_table
from tagloom.errors import InvalidInputError, UnwritableFileError
from tagloom.models import APGGraph

LISTS = {"present": "present", "absent": "absent", "unlisted": "unknown"}


class PlainStore(LocalFileSystem):
    """A store that is no object store: files grow while they are written."""

    protocol = "plain"
    fail_at = ""

    def pipe_file(self, path, value, **options):
        assert path.endswith(".part")
        if self.fail_at == "write":
            super().pipe_file(path, value[:10])
            raise OSError("connection lost")
        super().pipe_file(path, value, **options)

    def mv(self, path1, path2, **options):
        if self.fail_at == "rename":
            raise OSError("connection lost")
        super().mv(path1, path2, **options)


@pytest.fixture(scope="module", autouse=True)
def plain_store():
    fsspec.register_implementation("plain", PlainStore, clobber=True)


@pytest.fixture
def problem():
    return Problem(120)


@pytest.fixture(params=["memory", "file", "plain"])
def url(request, tmp_path):
    if request.param == "memory":
        return f"memory://{uuid4().hex}/items"
    return f"{request.param}://{tmp_path}/items"


def test_what_is_written_to_a_url_is_read_from_it(client, problem, url):
    paths = write_parquet(url, problem.X, problem.Y, rows_per_file=25)
    assert len(paths) == 5
    items = ParquetItems(f"{url}/", **LISTS)
    np.testing.assert_array_equal(to_dask_array(items).compute(), problem.X)
    parts = [load_block(block) for block in items.label_blocks(tuple(map(str, range(9))))]
    np.testing.assert_array_equal(np.vstack([part.to_array() for part in parts]), problem.Y)
    with pytest.raises(InvalidInputError, match="holds parquet files already"):
        write_parquet(url, problem.X, problem.Y)


def test_fit_from_a_url_equals_that_in_memory(client, problem):
    url = f"memory://{uuid4().hex}"
    write_parquet(url, problem.X, problem.Y, rows_per_file=25)
    parameters = {"lam": 2.0, "ridge": 0.5, "tol": 1e-6}
    expected = APGGraph(**parameters).fit(problem.X, problem.Y)
    found = tagloom_dask.APGGraph(**parameters)
    found.fit(ParquetItems(url, **LISTS), client=client, keep=False)
    assert found.objective_ == pytest.approx(expected.objective_, rel=2e-6)


def test_a_folder_is_read_over_http(client, problem, tmp_path):
    pytest.importorskip("aiohttp", reason="fsspec reads http:// with aiohttp")
    write_parquet(tmp_path, problem.X, problem.Y, rows_per_file=25)
    handler = functools.partial(_RangeHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}"
            items = ParquetItems(url, **LISTS)
            np.testing.assert_array_equal(to_dask_array(items).compute(), problem.X)
            with pytest.raises(InvalidInputError, match=r"nowhere (does not exist|cannot be)"):
                to_dask_array(ParquetItems(f"{url}/nowhere"))
        finally:
            server.shutdown()
            thread.join()


class _RangeHandler(http.server.SimpleHTTPRequestHandler):
    """Serves parts of files, as real servers of static files do."""

    def do_GET(self):
        wanted = re.fullmatch(r"bytes=([0-9]+)-([0-9]+)", self.headers.get("Range", ""))
        path = Path(self.translate_path(self.path))
        if wanted is None or not path.is_file():
            super().do_GET()
            return
        first, last = map(int, wanted.groups())
        data = path.read_bytes()
        part = data[first : last + 1]
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{first + len(part) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        self.wfile.write(part)

    def end_headers(self):
        self.send_header("Accept-Ranges", "bytes")
        super().end_headers()

    def log_message(self, *arguments):
        pass


@pytest.mark.parametrize("fail_at", ["write", "rename"])
def test_a_write_that_fails_leaves_nothing(problem, tmp_path, monkeypatch, fail_at):
    monkeypatch.setattr(PlainStore, "fail_at", fail_at)
    with pytest.raises(UnwritableFileError, match=r"part-00000\.parquet.*connection lost"):
        write_parquet(f"plain://{tmp_path}/items", problem.X, problem.Y)
    assert list((tmp_path / "items").iterdir()) == []


def test_a_write_that_fails_keeps_the_file_that_was_there(tmp_path, monkeypatch):
    path = f"plain://{tmp_path}/a.parquet"
    write_table(path, {"features": features_column(np.ones((2, 3)))})
    monkeypatch.setattr(PlainStore, "fail_at", "write")
    with pytest.raises(UnwritableFileError):
        write_table(path, {"features": features_column(np.zeros((9, 3)))})
    assert pq.read_metadata(tmp_path / "a.parquet").num_rows == 2
    assert [one.name for one in tmp_path.iterdir()] == ["a.parquet"]


def test_an_object_replaced_while_in_use_is_refused(problem):
    url = f"memory://{uuid4().hex}"
    write_parquet(url, problem.X, problem.Y)
    items = ParquetItems(url)
    first = items.feature_blocks().blocks[0]
    load_block(first)
    write_table(f"{url}/part-00000.parquet", {"features": features_column(2 * problem.X)})
    with pytest.raises(InvalidInputError, match="was changed while it was in use"):
        load_block(first)


def test_urls_that_cannot_be_used_are_refused(problem, tmp_path):
    with pytest.raises(InvalidInputError, match="Expected a URL that fsspec knows"):
        write_parquet("nonsense://x", problem.X, problem.Y)
    with pytest.raises(InvalidInputError, match="memory://nowhere does not exist"):
        to_dask_array(ParquetItems("memory://nowhere"))
    with pytest.raises(UnwritableFileError, match="files are only read"):
        write_table("https://host.invalid/a.parquet", {"features": features_column(problem.X)})
    with pytest.raises(InvalidInputError, match="storage_options are for URLs"):
        ParquetItems(tmp_path, storage_options={"anon": True})


def test_credentials_are_not_shown(problem):
    url = f"memory://{uuid4().hex}"
    write_parquet(url, problem.X, problem.Y, storage_options={"secret": "xyzzy"})
    items = ParquetItems(url, storage_options={"secret": "xyzzy"})
    assert "xyzzy" not in f"{items!r} {items.groups!r} {items.feature_blocks()!r}"


def test_a_damaged_object_is_named():
    url = f"memory://{uuid4().hex}"
    fsspec.filesystem("memory").pipe_file(f"{url}/x.parquet", b"PAR1 and no more")
    with pytest.raises(InvalidInputError, match=r"x\.parquet cannot be read as parquet"):
        to_dask_array(ParquetItems(url))
