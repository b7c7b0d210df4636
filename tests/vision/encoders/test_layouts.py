"""Folders in the layouts of Hugging Face and Immich, read as they are."""

import json
import os

import numpy as np
import onnx
import pytest
from PIL import Image

import tiny_networks as tiny
from tagloom.errors import InvalidInputError, ModelFileError
from tagloom.vision import load_encoder
from tagloom.vision.encoders.layouts import FolderEncoder
from tagloom.vision.encoders.registry import rebuild_encoder


def picture(colour, size=(40, 30)):
    return Image.new("RGB", size, colour)


def visual(encoder, image):
    return encoder.encode(encoder.prepare(image))[0]


def expected(colour):
    """The mean colour in the directions of the colours, after the preprocessing of the folder."""
    return embedding((np.array(colour) / 255 - 1 / 3) / 0.5)


def embedding(values):
    """Embeddings have one length, 16."""
    vector = values @ tiny.DIRECTIONS
    return 16 * vector / np.linalg.norm(vector)


def test_an_embedding_of_hugging_face_is_read_with_its_preprocessing(tmp_path):
    folder = tiny.hugging_face(tmp_path / "dino", {"model": tiny.vision()})
    encoder = FolderEncoder(folder)
    assert (encoder.name, encoder.width, encoder.concepts) == ("dino", tiny.WIDTH, [])
    assert encoder.text is None
    np.testing.assert_allclose(visual(encoder, picture((255, 0, 51))), expected((255, 0, 51)), 1e-4)


@pytest.mark.parametrize("pooling", ["class", "mean"])
def test_tokens_are_pooled(tmp_path, pooling):
    network = tiny.vision(("last_hidden_state",), class_token=pooling == "class")
    encoder = FolderEncoder(tiny.hugging_face(tmp_path / "vit", {"model": network}))
    halves = Image.new("RGB", (16, 16), "black")
    halves.paste((255, 255, 255), (0, 0, 8, 16))
    both = embedding(np.full(3, (0.5 - 1 / 3) / 0.5))
    np.testing.assert_allclose(visual(encoder, halves), both, rtol=1e-4)
    note = {"class": "its class token", "mean": "the mean of its tokens"}[pooling]
    assert any(note in one for one in encoder.notes)


def test_half_precision_takes_and_gives_half_precision(tmp_path):
    networks = {"model_fp16": tiny.vision(half=True), "model_quantized": tiny.vision()}
    encoder = FolderEncoder(tiny.hugging_face(tmp_path / "half", networks))
    assert "takes model_fp16.onnx; there are also model_quantized.onnx" in encoder.notes
    found = visual(encoder, picture((200, 10, 90)))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected((200, 10, 90)), atol=0.1)
    other = load_encoder([str(tmp_path / "half/onnx/model_quantized.onnx"), "none"])
    assert other.identity != encoder.identity
    np.testing.assert_allclose(visual(other, picture((200, 10, 90))), found, atol=0.1)


def test_a_fixed_batch_is_filled_with_the_same_picture(tmp_path):
    network = tiny.vision(shape=(4, 3, tiny.SIZE, tiny.SIZE))
    encoder = FolderEncoder(tiny.hugging_face(tmp_path / "four", {"model": network}))
    np.testing.assert_allclose(visual(encoder, picture((9, 200, 9))), expected((9, 200, 9)), 1e-4)
    assert any("4 pictures at a time" in note for note in encoder.notes)


@pytest.mark.parametrize(
    ("settings", "framing"),
    [
        ({"size": {"shortest_edge": 20}}, {"size": 16, "crop": 0.8, "view": "centre"}),
        ({"size": {"height": 16, "width": 16}, "do_center_crop": False}, {"view": "whole"}),
        ({"size": 16, "do_center_crop": False}, {"size": 16, "view": "whole"}),
        ({"size": {"height": 20, "width": 20}}, {"size": 16, "crop": 0.8, "view": "centre"}),
        ({"size": 16, "crop_size": 16}, {"size": 16, "view": "centre", "crop": 1.0}),
        (
            {"size": {"shortest_edge": 16}, "crop_pct": 0.875, "do_center_crop": False},
            {"size": 16, "crop": 0.875},
        ),
        ({"resample": 2}, {"interpolation": "bilinear"}),
        ({"resample": 1}, {"interpolation": "lanczos"}),
        ({"do_resize": False}, {"size": 16, "crop": 1.0}),
    ],
)
def test_how_pictures_are_cut_is_taken_from_the_processor(tmp_path, settings, framing):
    processor = tiny.PREPROCESSOR | settings
    folder = tiny.hugging_face(tmp_path / "net", {"model": tiny.vision()}, preprocessor=processor)
    found = FolderEncoder(folder).framing
    assert {name: getattr(found, name) for name in framing} == framing


@pytest.mark.parametrize(
    ("settings", "per_level"),
    [
        ({"do_normalize": False}, (1 / 255, 0)),
        ({"do_normalize": False, "do_rescale": False}, (1, 0)),
        (
            {"rescale_factor": 1 / 127.5, "rescale_offset": True, "do_normalize": False},
            (1 / 127.5, 1),
        ),
        (
            {"rescale_factor": 1 / 127.5, "image_mean": [1.0] * 3, "image_std": [1.0] * 3},
            (1 / 127.5, 1),
        ),
    ],
)
def test_how_pixels_are_normalised_is_taken_from_the_processor(tmp_path, settings, per_level):
    folder = tiny.hugging_face(
        tmp_path / "net", {"model": tiny.vision()}, preprocessor=tiny.PREPROCESSOR | settings
    )
    values = np.array((10, 200, 90)) * per_level[0] - per_level[1]
    found = visual(FolderEncoder(folder), picture((10, 200, 90)))
    np.testing.assert_allclose(found, embedding(values), rtol=1e-4, atol=1e-4)


def test_a_classifier_of_hugging_face_has_names(tmp_path):
    network = tiny.image_half()
    network.graph.node[-1].output[0] = "pooled_rows"
    network.graph.node.append(tiny.node("MatMul", ["pooled_rows", "last"], ["logits"]))
    last = np.eye(tiny.WIDTH, 3, dtype=np.float32)
    network.graph.initializer.append(onnx.numpy_helper.from_array(last, "last"))
    network.graph.output[0].name = "logits"
    names = {"0": "crane, bird", "1": "crane, machine", "2": "tench"}
    folder = tiny.hugging_face(tmp_path / "net", {"model": network}, config={"id2label": names})
    encoder = FolderEncoder(folder)
    assert encoder.concepts == ["crane, bird", "crane, machine", "tench"]
    found, posteriors = encoder.encode(encoder.prepare(picture((255, 0, 0))))
    values = (np.array((255, 0, 0)) / 255 - 1 / 3) / 0.5
    np.testing.assert_allclose(found, values @ tiny.DIRECTIONS, rtol=1e-4)
    weights = np.exp(found[:3])
    np.testing.assert_allclose(posteriors, weights / weights.sum(), rtol=1e-4)


@pytest.mark.parametrize("build", [tiny.clip, tiny.immich])
def test_a_pair_compares_pictures_with_texts(tmp_path, build):
    encoder = FolderEncoder(build(tmp_path / "pair"))
    names = ["red", "green", "blue", "blau"]
    directions = encoder.text.embed(names, n_jobs=2)
    np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1, rtol=1e-5)
    for colour, best in (((230, 20, 30), "red"), ((10, 220, 20), "green"), ((5, 9, 250), "blue")):
        one = visual(encoder, picture(colour))
        assert np.linalg.norm(one) == pytest.approx(16, abs=1e-4)
        assert names[int(np.argmax(directions[:3] @ one))] == best
    assert directions[2] @ directions[3] > 0.99  # another language


def test_the_settings_of_timm_are_read_where_there_are_no_others(tmp_path):
    own = {"input_size": [3, 16, 16], "crop_pct": 0.8, "interpolation": "bilinear"}
    own |= {"mean": [1 / 3] * 3, "std": [0.5] * 3, "crop_mode": "center"}
    folder = tiny.hugging_face(
        tmp_path / "vit", {"model": tiny.vision()}, config={"pretrained_cfg": own}
    )
    (folder / "preprocessor_config.json").unlink()
    encoder = FolderEncoder(folder)
    assert (encoder.framing.size, encoder.framing.crop) == (16, 0.8)
    assert encoder.framing.interpolation == "bilinear"
    np.testing.assert_allclose(visual(encoder, picture((9, 200, 9))), expected((9, 200, 9)), 1e-4)


def test_how_long_texts_are_is_told_by_the_tokenizer_if_by_nothing_else(tmp_path):
    folder = tiny.clip(tmp_path / "pair")
    onnx.save(tiny.text_half(masked=False), folder / "onnx" / "text_model.onnx")
    (folder / "config.json").write_text(json.dumps({"text_config": {"model_type": "tiny"}}))
    with pytest.raises(InvalidInputError, match=r"context_length = 77.* >> .*pair/tagloom\.toml"):
        FolderEncoder(folder).text.embed(["red"])
    settings = {"pad_token": {"content": "<pad>"}, "model_max_length": 9}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    encoder = FolderEncoder(folder)
    assert encoder.text.config.context_length == 9
    assert encoder.text.embed(["red"]).shape == (1, tiny.WIDTH)


def test_a_folder_with_one_network_is_read_with_the_settings_beside_it(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    onnx.save(tiny.vision(), folder / "net.onnx")
    (folder / "net.toml").write_text('preprocessing = "clip"\nsize = 16\n')
    assert FolderEncoder(folder).framing.size == 16


def test_a_pair_in_one_file_is_cut_in_two(tmp_path):
    described = {"text_config": {"max_position_embeddings": 12}, "vision_config": {}}
    folder = tiny.hugging_face(
        tmp_path / "one", {"model": tiny.both_halves()}, config=described, text=True
    )
    one, two = FolderEncoder(folder), FolderEncoder(tiny.clip(tmp_path / "two"))
    colour = picture((30, 200, 90))
    np.testing.assert_array_equal(visual(one, colour), visual(two, colour))
    np.testing.assert_allclose(one.text.embed(["green"]), two.text.embed(["green"]), rtol=1e-5)


def test_concepts_come_from_the_shipped_network_unless_told_otherwise(tmp_path):
    folder = str(tiny.clip(tmp_path / "pair"))
    both = load_encoder([folder])
    assert both.name == "pair+efficientnet-lite0"
    assert (both.width, len(both.concepts)) == (tiny.WIDTH, 1000)
    assert both.text is both.encoders[0].text
    assert load_encoder([folder, "none"]).concepts == []
    second = load_encoder(["lite0", folder])
    assert (second.width, second.text_start) == (2 * 1280 + tiny.WIDTH, 2 * 1280)
    assert second.text is not None
    again = rebuild_encoder(both.metadata())
    assert again.identity == both.identity
    os.rename(folder, tmp_path / "moved")
    with pytest.raises(InvalidInputError, match=r"not at .*pair any more\. Pass it as"):
        rebuild_encoder(both.metadata())


def test_the_cache_of_hugging_face_is_read_through_its_links(tmp_path):
    repository = tmp_path / "models--maker--tiny"
    folder = tiny.hugging_face(repository / "snapshots" / "abc", {"model": tiny.vision()})
    (repository / "blobs").mkdir()
    for number, file in enumerate([*folder.glob("*.json"), *folder.glob("onnx/*.onnx")]):
        blob = repository / "blobs" / str(number)
        file.rename(blob)
        file.symlink_to(os.path.relpath(blob, file.parent))
    assert FolderEncoder(folder).name == "maker/tiny"


def test_a_file_of_the_owner_overrules_and_completes(tmp_path):
    folder = tiny.clip(tmp_path / "pair")
    (folder / "tagloom.toml").write_text('view = "whole"\nprompts = ["das ist {}"]\n')
    encoder = FolderEncoder(folder)
    assert encoder.framing.view == "whole"
    assert encoder.text.config.prompts == ("das ist {}",)
    (folder / "tagloom.toml").write_text("vieuw = 1\n")
    with pytest.raises(InvalidInputError, match=r"tagloom\.toml: unknown setting 'vieuw'"):
        FolderEncoder(folder)


HOSTILE = {
    "no tokenizer": lambda f: (f / "tokenizer.json").unlink(),
    "tokenizer is no tokenizer": lambda f: (f / "tokenizer.json").write_text("{}"),
    "deep settings": lambda f: (f / "preprocessor_config.json").write_text("[" * 100_000),
    "settings are a list": lambda f: (f / "preprocessor_config.json").write_text("[1]"),
    "odd size": lambda f: _change(f, size={"longest_edge": 3}),
    "size of the graph contradicted": lambda f: _change(f, size=10**9, crop_size=10**9),
    "negative mean list": lambda f: _change(f, image_mean=[1, 2]),
    "nan std": lambda f: _change(f, image_std=[float("nan")] * 3),
    "tokenizer leads in a circle": lambda f: _circle(f / "tokenizer.json"),
    "settings lead out": lambda f: _lead_out(f / "preprocessor_config.json"),
    "tokenizer leads out": lambda f: _lead_out(f / "tokenizer.json"),
    "network leads out": lambda f: _lead_out(f / "onnx" / "vision_model.onnx"),
    "network cut short": lambda f: _cut(f / "onnx" / "vision_model.onnx"),
    "text network cut short": lambda f: _cut(f / "onnx" / "text_model.onnx"),
    "context too long": lambda f: (f / "config.json").write_text(
        json.dumps({"text_config": {"max_position_embeddings": 10**12}})
    ),
    "context is no number": lambda f: (f / "config.json").write_text(
        json.dumps({"text_config": {"max_position_embeddings": "77"}})
    ),
    "halves of different pairs": lambda f: onnx.save(
        _other_width(), f / "onnx" / "text_model.onnx"
    ),
}


def _change(folder, **settings):
    text = json.dumps(tiny.PREPROCESSOR | settings)
    (folder / "preprocessor_config.json").write_text(text)


def _lead_out(path):
    outside = path.parents[2] / f"outside-{path.name}"
    path.rename(outside)
    path.symlink_to(outside)


def _circle(path):
    path.unlink()
    path.symlink_to(path.name)


def _cut(path):
    path.write_bytes(path.read_bytes()[:-40])


def _other_width():
    network = tiny.text_half()
    for tensor in network.graph.initializer:
        if tensor.name == "table":
            tensor.CopyFrom(onnx.numpy_helper.from_array(tiny.table()[:, :4].copy(), "table"))
    return network


@pytest.mark.parametrize("what", HOSTILE)
def test_what_cannot_be_used_is_said_in_one_sentence(tmp_path, what):
    folder = tiny.clip(tmp_path / "deep" / "pair")
    HOSTILE[what](folder)
    with pytest.raises((InvalidInputError, ModelFileError)) as caught:
        FolderEncoder(folder).text.embed(["red"])
    assert "pair" in str(caught.value)
    assert str(caught.value).count("\n") == 0


def test_a_folder_without_networks_says_what_was_expected(tmp_path):
    (tmp_path / "notes.txt").touch()
    with pytest.raises(InvalidInputError, match=r"expected onnx/model\.onnx .* found notes\.txt"):
        load_encoder([str(tmp_path)])
