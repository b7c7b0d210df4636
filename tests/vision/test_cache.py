import hashlib
import sqlite3
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tagloom.vision import FeatureCache, FeatureCacheError
from tagloom.vision.cache import Entry


def digest(number):
    return hashlib.sha256(str(number).encode()).digest()


def entry(encoder, number):
    rng = np.random.default_rng(number)
    visual, posteriors = rng.random((2, 3), dtype=np.float32)
    return Entry(encoder, digest(number), visual, posteriors)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=hnp.arrays(np.float32, st.tuples(st.integers(1, 5), st.just(6))))
def test_what_comes_out_is_what_went_in_to_the_last_bit(tmp_path_factory, toy, rows):
    entries = [Entry(toy, digest(n), row[:3], row[3:]) for n, row in enumerate(rows)]
    with FeatureCache(tmp_path_factory.mktemp("cache")) as cache:
        cache.store(entries)
        backwards = [one.content for one in reversed(entries)]
        visual, posteriors = cache.load(toy, backwards)
    assert np.concatenate([visual, posteriors], axis=1)[::-1].tobytes() == rows.tobytes()


def test_encoders_do_not_share_entries(tmp_path, make_toy):
    one, other = make_toy("one"), make_toy("other")
    with FeatureCache(tmp_path) as cache:
        cache.store([entry(one, 1), entry(one, 2), entry(other, 2)])
        assert cache.known(one) == {digest(1), digest(2)}
        assert cache.known(other) == {digest(2)}
        assert cache.known(make_toy("third")) == set()


def test_an_entry_stays_as_it_was_first_written(tmp_path, toy):
    changed = Entry(toy, digest(1), np.zeros(3, np.float32), np.zeros(3, np.float32))
    with FeatureCache(tmp_path) as cache:
        cache.store([entry(toy, 1)])
        cache.store([changed])
        visual, _ = cache.load(toy, [digest(1)])
    np.testing.assert_array_equal(visual[0], entry(toy, 1).visual)


def test_a_damaged_entry_is_noticed_and_removed(tmp_path, toy):
    with FeatureCache(tmp_path) as cache:
        cache.store([entry(toy, 1), entry(toy, 2)])
        with closing(sqlite3.connect(cache.path)) as other, other:
            other.execute(
                "UPDATE features SET numbers = zeroblob(24) WHERE content = ?", [digest(1)]
            )
        other.close()
        with pytest.raises(FeatureCacheError, match="1 of 2 entries"):
            cache.load(toy, [digest(1), digest(2)])
        assert cache.known(toy) == {digest(2)}


def test_a_foreign_file_is_refused(tmp_path):
    (tmp_path / "features.sqlite").write_bytes(b"no database at all" * 100)
    with pytest.raises(FeatureCacheError, match=r"features\.sqlite cannot be opened"):
        FeatureCache(tmp_path)


def test_a_newer_protocol_is_refused(tmp_path):
    with closing(sqlite3.connect(tmp_path / "features.sqlite")) as database, database:
        database.execute("PRAGMA user_version = 9")
    database.close()
    with pytest.raises(FeatureCacheError, match="protocol 9, this version of tagloom knows 1"):
        FeatureCache(tmp_path)


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(FeatureCacheError, match="cannot be opened"):
        FeatureCache(tmp_path / "file")


WRITER = """
import sys
import numpy as np
from tagloom.vision import FeatureCache
from tagloom.vision.cache import Entry

class Toy:
    name, identity = "toy", sys.argv[2]

for number in range(int(sys.argv[3]), int(sys.argv[4])):
    values = np.full(3, number, dtype=np.float32)
    with FeatureCache(sys.argv[1]) as cache:
        cache.store([Entry(Toy, number.to_bytes(32, "big"), values, values)])
"""


def test_processes_may_write_at_once(tmp_path, toy):
    shares = [(0, 30), (15, 45), (10, 40)]
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, tmp_path, toy.identity, str(first), str(last)]
        )
        for first, last in shares
    ]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0, 0]
    contents = [number.to_bytes(32, "big") for number in range(45)]
    with FeatureCache(tmp_path) as cache:
        assert cache.known(toy) == set(contents)
        visual, _ = cache.load(toy, contents)
    np.testing.assert_array_equal(visual[:, 0], range(45))


@pytest.mark.parametrize("wrong", [7, "text", None, 2.5])
def test_wrong_cells_count_as_damaged(tmp_path, toy, wrong):
    with FeatureCache(tmp_path) as cache:
        cache.store([entry(toy, 1)])
        with closing(sqlite3.connect(cache.path)) as other, other:
            other.execute("PRAGMA ignore_check_constraints = ON")
            if wrong is not None:
                other.execute("UPDATE features SET numbers = ?", [wrong])
            other.execute("UPDATE features SET checksum = 'x'")
        other.close()
        with pytest.raises(FeatureCacheError, match="1 of 1 entries"):
            cache.load(toy, [digest(1)])
