"""Whatever stands in the files of a folder: it is used, or refused in one sentence."""

import json

import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tiny_networks as tiny
from tagloom.errors import InvalidInputError, ModelFileError
from tagloom.vision.encoders.config import Asking, make_config
from tagloom.vision.encoders.layouts import recognise
from tagloom.vision.encoders.network import Network

REFUSED = (InvalidInputError, ModelFileError)
FEW = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
scalars = st.none() | st.booleans() | st.integers(-5, 600) | st.floats() | st.text(max_size=8)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["height", "width", "shortest_edge", "x"]), inner)
    ),
    max_leaves=6,
)


def names_the_place(problem, place):
    assert str(place) in str(problem)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny.clip(tmp_path_factory.mktemp("hostile") / "pair")


@FEW
@given(st.dictionaries(st.sampled_from([*tiny.PREPROCESSOR, "crop_pct", "do_pad"]), values))
def test_any_preprocessing_is_used_or_refused(folder, raw):
    path = folder / "preprocessor_config.json"
    path.write_text(json.dumps(tiny.PREPROCESSOR | raw))
    try:
        found = recognise(folder)
        asking = Asking(found.vision, found.source)
        config = make_config(found.settings, found.source, None, asking)
    except REFUSED as problem:
        names_the_place(problem, folder)
    else:
        assert config.size is None or 1 <= config.size <= 4096
        assert min(config.std) > 0
    finally:
        path.write_text(json.dumps(tiny.PREPROCESSOR))


@FEW
@given(st.dictionaries(st.sampled_from(["text_config", "id2label", "pretrained_cfg"]), values))
def test_any_description_is_used_or_refused(folder, raw):
    before = (folder / "config.json").read_text()
    (folder / "config.json").write_text(json.dumps(raw))
    try:
        assert recognise(folder).vision.name == "vision_model.onnx"
    except REFUSED as problem:
        names_the_place(problem, folder)
    finally:
        (folder / "config.json").write_text(before)


@FEW
@given(st.data())
def test_damaged_networks_are_read_or_refused(tmp_path, data):
    content = bytearray(tiny.both_halves().SerializeToString())
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "net.onnx"
    path.write_bytes(content[: data.draw(st.integers(1, len(content)))])
    try:
        network = Network(path)
        found = [one for one in network.outputs if one]
        network.inputs_of(found)
        reduced = network.reduced_to(found)
    except REFUSED as problem:
        names_the_place(problem, path)
    else:
        onnx.load_model_from_string(reduced)
