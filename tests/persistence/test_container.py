import json
import os
import struct

import numpy as np
import pandas as pd
import pytest
from safetensors import SafetensorError
from toys import low_rank_toy

import tagloom
from tagloom.errors import InvalidInputError, ModelFileError, UnwritableFileError
from tagloom.models import APGGraph
from tagloom.persistence import container as saving
from tagloom.persistence.codecs import serialize_learner

TOY = low_rank_toy()


@pytest.fixture
def model():
    names = ["sea", "sky", "sand", "a\nb", "ü", "", "7", "dog"]
    X = pd.DataFrame(TOY.X).add_prefix("f")
    return APGGraph(lam=0.3).fit(X, pd.DataFrame(TOY.known.to_array(), columns=names))


@pytest.fixture
def path(model, tmp_path):
    path = tmp_path / "model.tagloom"
    model.save(path)
    return path


def test_round_trip_is_exact(model, path):
    loaded = APGGraph.load(path)
    X = pd.DataFrame(TOY.X).add_prefix("f")
    pd.testing.assert_frame_equal(loaded.scores(X), model.scores(X), check_exact=True)
    assert loaded.get_params() == model.get_params()
    assert list(loaded.classes_) == list(model.classes_)
    assert list(loaded.feature_names_in_) == list(model.feature_names_in_)
    assert (loaded.rank_, loaded.n_iter_, loaded.gap_) == (model.rank_, model.n_iter_, model.gap_)
    np.testing.assert_equal(loaded.history_, model.history_)


@pytest.mark.parametrize("y", [np.array(["no", "yes"] * 60), np.array([1, 5] * 60)])
def test_one_dimensional_models_keep_their_classes(y, tmp_path):
    model = APGGraph().fit(TOY.X, y)
    model.save(tmp_path / "m")
    loaded = APGGraph.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict(TOY.X), model.predict(TOY.X))


def test_paper_solver_without_certificate_is_saved(tmp_path):
    model = APGGraph(solver="paper").fit(TOY.X, TOY.known)
    model.save(tmp_path / "m")
    assert np.isnan(APGGraph.load(tmp_path / "m").gap_)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.99])
def test_truncated_file_is_refused(path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ModelFileError, match="not a readable model file"):
        APGGraph.load(path)


def test_flipped_bit_in_the_arrays_is_detected(path):
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="altered or damaged"):
        APGGraph.load(path)


def edit_header(path, edit):
    """Change the tagloom header inside the safetensors header, leaving all else valid."""
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    outer = json.loads(content[8 : 8 + size])
    inner = json.loads(outer["__metadata__"]["tagloom"])
    edit(inner)
    outer["__metadata__"]["tagloom"] = json.dumps(inner)
    text = json.dumps(outer).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + size :])


def test_altered_label_name_is_detected(path):
    edit_header(path, lambda h: h["metadata"]["classes"]["values"].__setitem__(0, "lake"))
    with pytest.raises(ModelFileError, match="altered or damaged"):
        APGGraph.load(path)


def test_newer_protocol_asks_for_an_upgrade(path):
    edit_header(path, lambda h: h.update(protocol=saving.PROTOCOL + 1))
    with pytest.raises(ModelFileError, match="Upgrade tagloom"):
        APGGraph.load(path)


def test_header_without_its_parts_is_refused(path):
    edit_header(path, lambda h: h.pop("metadata"))
    with pytest.raises(ModelFileError, match="lacks one of"):
        APGGraph.load(path)


def test_model_of_another_kind_is_refused(tmp_path):
    saving.write_model(tmp_path / "m", "Other", {"coef": np.zeros(2)}, {})
    with pytest.raises(ModelFileError, match="holds a Other; expected a APGGraph"):
        APGGraph.load(tmp_path / "m")


def test_model_with_missing_parts_is_refused(tmp_path):
    saving.write_model(tmp_path / "m", "APGGraph", {"coef": np.zeros(2)}, {"parameters": {}})
    with pytest.raises(ModelFileError, match="lacks or misstates a part"):
        APGGraph.load(tmp_path / "m")


def test_files_without_sizes_are_read(model, path):
    arrays, metadata = saving.read_model(path, "APGGraph")
    del metadata["size"]
    saving.write_model(path, "APGGraph", arrays, metadata)
    X = pd.DataFrame(TOY.X).add_prefix("f")
    pd.testing.assert_frame_equal(APGGraph.load(path).scores(X), model.scores(X))
    assert saving.read_metadata(path).n_labels is None


def test_foreign_safetensors_and_missing_files_are_refused(tmp_path):
    from safetensors.numpy import save_file

    save_file({"a": np.zeros(2)}, tmp_path / "foreign")
    with pytest.raises(ModelFileError, match="not one written by tagloom"):
        APGGraph.load(tmp_path / "foreign")
    with pytest.raises(ModelFileError, match="There is no model file at"):
        APGGraph.load(tmp_path / "nowhere")
    with pytest.raises(ModelFileError, match="There is no model file at"):
        APGGraph.load(tmp_path)


def test_failed_save_leaves_the_old_file_and_no_temporary_one(model, path, monkeypatch):
    before = path.read_bytes()

    def fail(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(saving, "save_file", fail)
    with pytest.raises(OSError, match="disk full"):
        model.save(path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_names_that_json_would_change_are_refused(tmp_path):
    columns = pd.MultiIndex.from_product([["a", "b"], [0, 1, 2, 3]])
    model = APGGraph().fit(TOY.X, pd.DataFrame(TOY.known.to_array(), columns=columns))
    with pytest.raises(InvalidInputError, match=r"found .* of type tuple"):
        model.save(tmp_path / "m")
    assert not os.listdir(tmp_path)


def test_header_has_protocol_and_versions(path):
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["tagloom"])
    assert header["protocol"] == 1
    assert header["versions"]["tagloom"] == tagloom.__version__
    assert header["metadata"]["parameters"]["lam"] == 0.3


@pytest.mark.parametrize(
    "altered",
    [
        lambda text: text.replace('"F64"', '"BF16"'),
        lambda text: text.replace('"F64"', '"F8_E4M3"'),
        lambda text: text.replace(r"\"protocol\": 1", r"\"protocol\": " + "9" * 6000),
        lambda text: text.replace(r"\"metadata\": {", r"\"metadata\": {\"a\": " + "[" * 9000),
    ],
)
def test_headers_of_any_content_are_refused_without_a_traceback(path, altered):
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    text = altered(content[8 : 8 + size].decode()).encode()
    assert text != content[8 : 8 + size]
    path.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + size :])
    with pytest.raises(ModelFileError):
        APGGraph.load(path)


def test_a_type_of_many_gigabytes_is_refused_before_it_is_allocated(model, tmp_path):
    serialized = serialize_learner(model)
    serialized.metadata["classes"]["dtype"] = "<U500000000"
    path = tmp_path / "large.tagloom"
    saving.write_model(path, "APGGraph", serialized.arrays, serialized.metadata)
    with pytest.raises(ModelFileError, match="a name of"):
        APGGraph.load(path)


def test_a_full_disk_is_named_and_leaves_the_old_file(model, path, monkeypatch):
    before = path.read_bytes()

    def fail(*args, **kwargs):
        raise SafetensorError("No space left on device (os error 28)")

    monkeypatch.setattr(saving, "save_file", fail)
    with pytest.raises(UnwritableFileError, match="cannot be written: No space left"):
        model.save(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
