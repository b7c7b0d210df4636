import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from tagloom.errors import InvalidInputError
from tagloom.vision import CombinedEncoders, FeatureCache, decode, embed, pipeline
from tagloom.vision.encoders.base import JoinedViews
from tagloom.vision.pipeline import Pipeline


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def test_features_are_in_the_order_of_the_items(folder, cache, toy):
    done = embed(folder, toy, cache=cache, n_jobs=3)
    features = done.features()
    assert features.items == [item for item, _ in done.summary.ready]
    assert features.items[-1] == "more/9.png"
    assert features.concepts == ["red", "green", "blue"]
    for item, visual in zip(features.items, features.visual, strict=True):
        picture = decode((folder / item).read_bytes())
        np.testing.assert_array_equal(visual, toy.encode(toy.prepare(picture))[0])


def test_a_second_run_encodes_nothing(folder, cache, toy):
    embed(folder, toy, cache=cache)
    calls = toy.calls
    second = embed(folder, toy, cache=cache)
    assert toy.calls == calls == 10
    assert not second.summary.embedded
    assert len(second.summary.cached) == 10


def test_a_moved_picture_is_known_a_changed_one_is_not(folder, cache, toy, picture_bytes):
    embed(folder, toy, cache=cache)
    (folder / "0.png").rename(folder / "moved.png")
    (folder / "1.png").write_bytes(picture_bytes(99))
    summary = embed(folder, toy, cache=cache).summary
    assert summary.embedded == ["1.png"]
    assert "moved.png" in summary.cached


def test_equal_files_are_encoded_once_and_all_have_features(folder, cache, toy):
    for name in ("a.png", "z.png", "more/0.png"):
        (folder / name).write_bytes((folder / "0.png").read_bytes())
    done = embed(folder, toy, cache=cache, n_jobs=4)
    assert toy.calls == 10
    assert done.summary.duplicates == [
        ("a.png", "0.png"),
        ("more/0.png", "0.png"),
        ("z.png", "0.png"),
    ]
    features = done.features()
    assert len(features) == 13
    row = dict(zip(features.items, features.visual, strict=True))
    np.testing.assert_array_equal(row["z.png"], row["0.png"])


def test_equal_damaged_files_are_all_skipped_with_the_reason(tmp_path, cache, toy, picture_bytes):
    half = picture_bytes(kind="JPEG")[:400]
    for name in ("a.jpg", "b.jpg", "c.jpg"):
        (tmp_path / name).write_bytes(half)
    summary = embed(tmp_path, toy, cache=cache, n_jobs=3).summary
    assert [one.item for one in summary.skipped] == ["a.jpg", "b.jpg", "c.jpg"]
    assert len({one.reason for one in summary.skipped}) == 1
    assert not summary.ready


def test_a_misnamed_picture_is_read_and_noted(tmp_path, cache, toy, picture_bytes):
    (tmp_path / "a.jpg").write_bytes(picture_bytes(kind="PNG"))
    (tmp_path / "b.txt").write_bytes(picture_bytes(1, kind="GIF"))
    summary = embed(tmp_path, toy, cache=cache).summary
    assert summary.embedded == ["a.jpg", "b.txt"]
    assert [one.reason for one in summary.mislabelled] == [
        "it is named like JPEG, its content is PNG",
        "it is not named like a picture, its content is GIF",
    ]


def test_the_number_of_threads_changes_nothing(folder, tmp_path, toy):
    results = [
        embed(folder, toy, cache=tmp_path / f"cache{n_jobs}", n_jobs=n_jobs).features()
        for n_jobs in (1, 2, 7)
    ]
    for other in results[1:]:
        assert other.items == results[0].items
        assert other.visual.tobytes() == results[0].visual.tobytes()


def test_a_combined_run_reuses_the_entries_of_its_members(folder, cache, make_toy):
    one, other = make_toy("one", size=8), make_toy("other", size=4)
    embed(folder, one, cache=cache)
    both = embed(folder, CombinedEncoders([one, other]), cache=cache)
    assert one.calls == 10
    assert other.calls == 10
    features = both.features()
    assert features.concepts[:4] == ["red (one)", "green (one)", "blue (one)", "red (other)"]
    alone = embed(folder, one, cache=cache).features()
    np.testing.assert_array_equal(features.posteriors[:, :3], alone.posteriors)
    np.testing.assert_array_equal(features.visual, alone.visual)


def test_a_second_view_costs_one_more_look_and_no_more_decoding(
    folder, cache, make_toy, monkeypatch
):
    decoded = []
    monkeypatch.setattr(
        pipeline, "decode", lambda *args, **options: decoded.append(0) or decode(*args, **options)
    )
    whole, centre = make_toy("toy", size=8), make_toy("toy", size=4)
    both = embed(folder, JoinedViews([whole, centre]), cache=cache).features()
    assert (whole.calls, centre.calls, len(decoded)) == (10, 10, 10)
    alone = [embed(folder, one, cache=cache).features() for one in (whole, centre)]
    assert (whole.calls, centre.calls) == (10, 10)
    np.testing.assert_array_equal(both.visual, np.hstack([one.visual for one in alone]))
    np.testing.assert_allclose(both.posteriors, (alone[0].posteriors + alone[1].posteriors) / 2)
    assert both.concepts == alone[0].concepts


def test_features_of_an_encoder_do_not_depend_on_those_combined_with_it(
    tmp_path, make_toy, picture_bytes
):
    pictures = tmp_path / "large"
    pictures.mkdir()
    (pictures / "a.jpg").write_bytes(picture_bytes(size=(640, 480), kind="JPEG"))
    small, large = make_toy("small", side_needed=16), make_toy("large", side_needed=300)
    alone = embed(pictures, small, cache=tmp_path / "one").features()
    both = embed(pictures, CombinedEncoders([small, large]), cache=tmp_path / "two").features()
    assert alone.visual.tobytes() == both.visual.tobytes()


def test_an_interrupt_keeps_what_was_done(folder, cache, make_toy):
    class Interrupted(make_toy):
        def encode(self, prepared):
            if self.calls == 5:
                raise KeyboardInterrupt
            return super().encode(prepared)

    encoder = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        embed(folder, encoder, cache=cache, n_jobs=1)
    with FeatureCache(cache) as opened:
        assert len(opened.known(encoder)) == 5
    assert len(embed(folder, make_toy(), cache=cache).summary.embedded) == 5


def test_only_a_bounded_number_of_pictures_is_in_memory(folder, make_toy):
    gate = threading.Event()

    class Slow(make_toy):
        def encode(self, prepared):
            gate.wait(10)
            return super().encode(prepared)

    asked = []

    def items():
        for number in range(1000):
            asked.append(number)
            yield "0.png"

    pipeline = Pipeline(folder, (Slow(),), [set()], n_jobs=2, max_pixels=10**6)
    outcomes = pipeline.run(items())
    opener = threading.Timer(0.2, gate.set)
    opener.start()
    next(outcomes)
    assert len(asked) <= 64
    outcomes.close()
    opener.join()


def test_invalid_limits_are_refused(folder, toy):
    with pytest.raises(InvalidInputError, match="'max_pixels' parameter must be in the range"):
        embed(folder, toy, max_pixels=10**12)
    with pytest.raises(InvalidInputError, match="'n_jobs' parameter must be at least 1"):
        embed(folder, toy, n_jobs=0)


RUN = """
import sys, time
sys.path.insert(0, sys.argv[3])
from conftest import ToyEncoder
from tagloom.vision import embed, pipeline
pipeline._ENTRIES_PER_TRANSACTION = 4

class Slow(ToyEncoder):
    def encode(self, prepared):
        time.sleep(0.01)
        return super().encode(prepared)

print("ready", flush=True)
embed(sys.argv[1], Slow(), cache=sys.argv[2], n_jobs=2)
"""


def start(folder, cache, home):
    return subprocess.Popen(
        [sys.executable, "-c", RUN, folder, cache, home], stdout=subprocess.PIPE, text=True
    )


@pytest.fixture
def hundred(tmp_path, picture_bytes):
    home = tmp_path / "hundred"
    home.mkdir()
    for number in range(100):
        (home / f"{number:03}.png").write_bytes(picture_bytes(number, size=(12, 12)))
    return home


def test_killed_at_any_moment_it_ends_with_the_same_bytes(hundred, tmp_path, toy, request):
    unbroken = embed(hundred, toy, cache=tmp_path / "unbroken").features()
    cache = tmp_path / "killed"
    kept = 0
    for wanted in (0, 1, 20, 50):
        process = start(hundred, cache, request.path.parent)
        process.stdout.readline()
        with FeatureCache(cache) as opened:
            while len(opened.known(toy)) < wanted:
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            assert len(opened.known(toy)) >= max(wanted, kept)
            kept = len(opened.known(toy))
    assert kept < 100
    last = embed(hundred, toy, cache=cache)
    assert len(last.summary.cached) == kept
    features = last.features()
    assert features.items == unbroken.items
    assert features.visual.tobytes() == unbroken.visual.tobytes()
    assert features.posteriors.tobytes() == unbroken.posteriors.tobytes()


def test_two_runs_at_once_agree(hundred, tmp_path, toy, request):
    cache = tmp_path / "shared"
    runs = [start(hundred, cache, request.path.parent) for _ in range(2)]
    for run in runs:
        run.communicate(timeout=120)
    assert [run.returncode for run in runs] == [0, 0]
    both = embed(hundred, toy, cache=cache)
    assert len(both.summary.cached) == 100
    alone = embed(hundred, toy, cache=tmp_path / "alone").features()
    assert both.features().visual.tobytes() == alone.visual.tobytes()
