import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagloom.completion.outputs import digest_of, digest_of_files, read_record, write_record
from tagloom.errors import InvalidInputError


def test_a_digest_tells_shapes_types_and_values_apart():
    a = np.arange(6)
    digests = {
        digest_of(part)
        for part in (a, a.reshape(2, 3), a.astype(np.int32), a.astype(float), a + 1, [0], "0", 0)
    }
    assert len(digests) == 8
    assert digest_of(a, {"b": 1, "a": 2}) == digest_of(a.copy(), {"a": 2, "b": 1})


@settings(max_examples=15)
@given(st.dictionaries(st.text(), st.integers() | st.text() | st.none(), max_size=4))
def test_a_record_is_read_as_it_was_written(tmp_path_factory, metadata):
    out = tmp_path_factory.mktemp("record")
    write_record(out, {"metadata": metadata})
    record = read_record(out)
    assert record["metadata"] == metadata
    assert "numpy" in record["packages"]


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "not the result of a finished run"), (b"{", "cannot be read"), (b"\xff", "cannot be"),
     (b"[]", "not a record"), (b"[" * 100_000, "nested too deeply"),
     (b'{"inputs": "x"}', "a dict for inputs"), (b'{"inputs": {"tags": ["x"]}}', "for tags of"),
     (b'{"files": "run.json"}', "a list for files"), (b'{"photos": 5}', "a str for photos")],
)  # fmt: skip
def test_what_is_no_record_is_refused(tmp_path, content, message):
    if content is not None:
        (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(InvalidInputError, match=message):
        read_record(tmp_path)


def test_a_record_holds_no_number_that_json_cannot_hold(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        write_record(tmp_path, {"error": float("nan")})
    assert list(tmp_path.iterdir()) == []


def test_files_have_digests_and_folders_none(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"abc")
    found = digest_of_files([tmp_path, tmp_path / "a.csv"])
    assert list(found) == [str(tmp_path / "a.csv")]
    assert found[str(tmp_path / "a.csv")].startswith("ba7816bf")
    assert json.dumps(found)
