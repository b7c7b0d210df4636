import json
import os
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from tagloom.errors import InvalidInputError, ModelFileError
from tagloom.vision import OnnxEncoder

SIZE, CLASSES, HIDDEN = 8, 5, 6
CONFIG = {
    "mean": [100.0, 110.0, 120.0],
    "std": [50.0, 60.0, 70.0],
    "classes": ["a", "b", "c", "d", "e"],
}
rng = np.random.default_rng(0)
KERNEL = rng.normal(size=(4, 3, 3, 3)).astype(np.float32) / 5
FLAT = rng.normal(size=(HIDDEN, 4 * SIZE * SIZE)).astype(np.float32) / 10
LAST = rng.normal(size=(CLASSES, HIDDEN)).astype(np.float32)
POOLED = rng.normal(size=(CLASSES, 4)).astype(np.float32)
BIAS = rng.normal(size=CLASSES).astype(np.float32)
node = helper.make_node


def model(nodes, constants, *, shape=("n", 3, SIZE, SIZE), outputs=("scores",), number=None):
    graph = helper.make_graph(
        nodes,
        "toy",
        [helper.make_tensor_value_info("x", number or TensorProto.FLOAT, list(shape))],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8)


def conv(source="x"):
    return [
        node("Conv", [source, "kernel"], ["conv"], pads=[1, 1, 1, 1]),
        node("Relu", ["conv"], ["relu"]),
    ]


def vgg_like(*, softmax=False, dropout=True, **options):
    """Convolution, two dense layers with dropout between them, as VGG's head."""
    before = "dropped" if dropout else "fc7"
    nodes = [
        *conv(),
        node("Flatten", ["relu"], ["flat"]),
        node("Gemm", ["flat", "w6"], ["fc6"], transB=1),
        node("Relu", ["fc6"], ["fc7"]),
        node("Dropout", ["fc7"], ["dropped"]),
        node("Gemm", [before, "w8", "b8"], ["logits" if softmax else "scores"], transB=1),
    ]
    if softmax:
        nodes.append(node("Softmax", ["logits"], ["scores"], axis=1))
    return model(nodes, {"kernel": KERNEL, "w6": FLAT, "w8": LAST, "b8": BIAS}, **options)


def resnet_like(**options):
    """A skip connection, global pooling, and MatMul + Add for the last layer."""
    nodes = [
        *conv(),
        node("Add", ["relu", "conv"], ["skip"]),
        node("GlobalAveragePool", ["skip"], ["pooled"]),
        node("Reshape", ["pooled", "flat_shape"], ["features"]),
        node("MatMul", ["features", "w"], ["product"]),
        node("Add", ["product", "b"], ["scores"]),
    ]
    constants = {"kernel": KERNEL, "w": np.ascontiguousarray(POOLED.T), "b": BIAS}
    return model(nodes, constants | {"flat_shape": np.array([1, 4])}, **options)


def convolved(pixels):
    padded = np.pad(pixels.transpose(2, 0, 1), ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    return np.einsum("ocij,chwij->ohw", KERNEL, windows)


def softmax(values):
    return np.exp(values) / np.exp(values).sum()


def normalised(pixels):
    return (pixels - np.array(CONFIG["mean"])) / np.array(CONFIG["std"])


@pytest.fixture
def picture():
    pixels = np.random.default_rng(1).integers(0, 256, (SIZE, SIZE, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


@pytest.fixture
def save(tmp_path):
    def write(network, **settings):
        path = tmp_path / "net.onnx"
        onnx.save(network, path)
        (tmp_path / "net.json").write_text(json.dumps(CONFIG | settings))
        return path

    return write


def encode(path, picture):
    encoder = OnnxEncoder(path)
    return encoder, *encoder.encode(encoder.prepare(picture))


@pytest.mark.parametrize("ends_in_softmax", [False, True])
@pytest.mark.parametrize("dropout", [False, True])
def test_vgg_gives_fc7_and_posteriors(save, picture, ends_in_softmax, dropout):
    path = save(vgg_like(softmax=ends_in_softmax, dropout=dropout))
    encoder, visual, posteriors = encode(path, picture)
    flat = np.maximum(convolved(normalised(np.asarray(picture))), 0).reshape(-1)
    fc7 = np.maximum(FLAT @ flat, 0)
    assert encoder.width == HIDDEN
    np.testing.assert_allclose(visual, fc7, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(posteriors, softmax(LAST @ fc7 + BIAS), rtol=1e-4, atol=1e-6)


def test_resnet_gives_pooled_features_and_posteriors(save, picture):
    encoder, visual, posteriors = encode(save(resnet_like()), picture)
    activations = convolved(normalised(np.asarray(picture)))
    pooled = (np.maximum(activations, 0) + activations).mean(axis=(1, 2))
    assert encoder.concepts == CONFIG["classes"]
    np.testing.assert_allclose(visual, pooled, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(posteriors, softmax(POOLED @ pooled + BIAS), rtol=1e-4)


def test_bgr_and_pixels_up_to_one(save, picture):
    swapped = np.ascontiguousarray(KERNEL[:, ::-1])
    network = resnet_like()
    _, expected, _ = encode(save(network), picture)
    for tensor in network.graph.initializer:
        if tensor.name == "kernel":
            tensor.CopyFrom(numpy_helper.from_array(swapped, "kernel"))
    path = save(
        network,
        channels="BGR",
        pixel_range=1,
        mean=[value / 255 for value in CONFIG["mean"]],
        std=[value / 255 for value in CONFIG["std"]],
    )
    np.testing.assert_allclose(encode(path, picture)[1], expected, rtol=1e-4, atol=1e-5)


def test_channels_last_is_read_off_the_input(save, picture):
    _, expected, _ = encode(save(resnet_like()), picture)
    network = resnet_like(shape=(1, SIZE, SIZE, 3))
    network.graph.node.insert(0, node("Transpose", ["x"], ["turned"], perm=[0, 3, 1, 2]))
    network.graph.node[1].input[0] = "turned"
    np.testing.assert_allclose(encode(save(network), picture)[1], expected, rtol=1e-6)


def test_a_named_tensor_with_places_is_averaged(save, picture):
    _, visual, _ = encode(save(resnet_like(), visual="relu"), picture)
    activations = np.maximum(convolved(normalised(np.asarray(picture))), 0)
    np.testing.assert_allclose(visual, activations.mean(axis=(1, 2)), rtol=1e-4, atol=1e-5)


def test_a_toml_configuration_with_names_in_a_file(save, tmp_path, picture):
    path = save(resnet_like())
    expected = encode(path, picture)[2]
    (tmp_path / "net.json").unlink()
    (tmp_path / "names.txt").write_text("v\nw\nx\ny\nz\n")
    (tmp_path / "net.toml").write_text(
        'mean = [100, 110, 120]\nstd = [50, 60, 70]\nclasses = "names.txt"\n'
    )
    encoder, _, posteriors = encode(path, picture)
    assert encoder.concepts == ["v", "w", "x", "y", "z"]
    np.testing.assert_array_equal(posteriors, expected)


def test_whatever_decides_the_numbers_changes_the_identity(save):
    identities = {
        OnnxEncoder(save(resnet_like(), **settings)).identity
        for settings in ({}, {"std": [1.0, 1.0, 1.0]}, {"crop": 0.5}, {"view": "whole"})
    }
    identities.add(OnnxEncoder(save(vgg_like())).identity)
    identities.add(OnnxEncoder(save(resnet_like(), visual="relu")).identity)
    assert len(identities) == 6
    renamed = OnnxEncoder(save(resnet_like(), classes=list("vwxyz")))
    assert renamed.identity in identities


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}, "pixel_range = 1"),
        ({"meen": 1}, "unknown setting 'meen'. Available: preprocessing, mean, std"),
        ({"std": [1.0, 0.0, 1.0]}, "'std' must be positive"),
        ({"mean": [1.0]}, "'mean' must be three numbers"),
        ({"layout": "CHWN"}, "'layout' must be 'NCHW' or 'NHWC'"),
        ({"classes": 7}, "'classes' must be a list"),
        ({"classes": "gone.txt"}, "class names cannot be read"),
        ({"size": 0}, "'size' must be an int"),
        ({"crop": 1.5}, "'crop' must be in the range"),
        ({"visual": 3}, "'visual' must be a tensor's name"),
    ],
)
def test_a_wrong_configuration_is_explained(save, settings, message):
    with pytest.raises(InvalidInputError, match=message.replace("(", r"\(")):
        OnnxEncoder(save(resnet_like(), **settings))


@pytest.mark.parametrize(
    ("network", "settings", "message"),
    [
        (resnet_like(), {"classes": ["a", "b"]}, "gives 5 class scores, its configuration names 2"),
        (resnet_like(), {"output": "out"}, "no output 'out'. Available: scores"),
        (resnet_like(), {"visual": "gone"}, "no tensor 'gone'"),
        (resnet_like(), {"scores": "probabilities"}, 'Set scores = "logits"'),
        (resnet_like(shape=(400, 3, SIZE, SIZE)), {}, "takes 400 pictures at a time"),
        (resnet_like(shape=(1, 4, SIZE, SIZE)), {"layout": "NCHW"}, "takes 4 channels"),
        (resnet_like(shape=("n", 3, SIZE, 9)), {}, "must take squares"),
        (resnet_like(), {"size": 9}, "configuration has size 9"),
        (resnet_like(number=TensorProto.INT64), {}, "takes INT64"),
    ],
)
def test_a_network_that_does_not_fit_is_explained(save, network, settings, message):
    with pytest.raises(ModelFileError) as caught:
        OnnxEncoder(save(network, **settings))
    assert message in str(caught.value)


def test_a_network_without_a_dense_layer_asks_for_a_name(save, picture):
    nodes = [*conv(), node("GlobalAveragePool", ["relu"], ["scores"])]
    network = model(nodes, {"kernel": np.concatenate([KERNEL, KERNEL[:1]])})
    with pytest.raises(ModelFileError, match="from a GlobalAveragePool: set 'visual'"):
        OnnxEncoder(save(network))
    _, visual, posteriors = encode(save(network, visual="relu"), picture)
    assert (len(visual), len(posteriors)) == (5, 5)
    assert posteriors.sum() == pytest.approx(1)


def test_what_is_no_network_is_explained(tmp_path):
    (tmp_path / "net.json").write_text(json.dumps(CONFIG))
    (tmp_path / "circle.onnx").symlink_to("circle.onnx")
    for name in ("net.onnx", "circle.onnx", "a" * 300):
        with pytest.raises(ModelFileError, match="There is no network"):
            OnnxEncoder(tmp_path / name)
    for content in (b"", b"hello, I am text", b"\x89PNG\r\n\x1a\n" + bytes(100)):
        (tmp_path / "net.onnx").write_bytes(content)
        with pytest.raises(ModelFileError, match=r"net\.onnx"):
            OnnxEncoder(tmp_path / "net.onnx")


def test_two_configurations_are_one_too_many(save, tmp_path):
    path = save(resnet_like())
    (tmp_path / "net.toml").write_text("")
    with pytest.raises(InvalidInputError, match="two configurations"):
        OnnxEncoder(path)


def flattened():
    """The output has the name of a number, as in exports of torch."""
    return model(
        [*conv(), node("GlobalAveragePool", ["relu"], ["p"]), node("Flatten", ["p"], ["495"])],
        {"kernel": KERNEL},
        shape=("n", 3, "h", "w"),
        outputs=("495",),
    )


def test_what_is_missing_is_asked_for_in_a_line_to_paste(tmp_path, picture):
    path = tmp_path / "my net.onnx"
    onnx.save(flattened(), path)
    with pytest.raises(InvalidInputError, match="how pictures are normalised, and their size"):
        OnnxEncoder(path)
    for _ in range(3):
        try:
            encoder = OnnxEncoder(path)
            break
        except InvalidInputError as problem:
            (line,) = [one for one in str(problem).splitlines() if one.startswith("printf ")]
            subprocess.run(["sh", "-c", line], check=True)
    assert encoder.framing.size == 224
    assert (encoder.width, encoder.concepts) == (4, [])
    visual, posteriors = encoder.encode(encoder.prepare(picture))
    assert visual.shape == (4,)
    assert posteriors.shape == (0,)


def spread(network, tensor, width):
    """Let the network give more numbers."""
    weights = np.ones((4, width), dtype=np.float32)
    network.graph.initializer.append(numpy_helper.from_array(weights, "wide"))
    network.graph.node[-1].output[0] = "narrow"
    network.graph.node.append(node("MatMul", ["narrow", "wide"], [tensor]))
    return network


@pytest.mark.parametrize(
    ("network", "settings", "asked"),
    [
        (flattened(), {}, '"size": 224'),
        (resnet_like(shape=("n", "c", SIZE, SIZE)), {"classes": CONFIG["classes"]}, None),
        (resnet_like(outputs=("relu", "conv")), {}, '"visual": "relu"'),
        (resnet_like(outputs=("relu", "skip")), {"classes": ["a"]}, '"output": "relu"'),
        (spread(flattened(), "495", 1000), {"size": SIZE}, '"classes": "imagenet"'),
    ],
)
def test_what_cannot_be_guessed_is_asked_for(save, tmp_path, network, settings, asked):
    path = save(network)
    known = {name: CONFIG[name] for name in ("mean", "std")} | settings
    (tmp_path / "net.json").write_text(json.dumps(known))
    if asked is None:  # the convolution tells where the channels are
        assert OnnxEncoder(path).concepts == CONFIG["classes"]
        return
    with pytest.raises(InvalidInputError) as caught:
        OnnxEncoder(path)
    assert f"Add to {tmp_path / 'net.json'}: {asked}" in str(caught.value)


def test_a_classifier_without_names_gives_what_goes_into_its_last_layer(save, tmp_path, picture):
    network = resnet_like(outputs=("scores",))
    path = save(network)
    _, expected, _ = encode(path, picture)
    (tmp_path / "net.json").write_text(json.dumps(CONFIG | {"classes": None}))
    encoder, visual, posteriors = encode(path, picture)
    np.testing.assert_allclose(visual, 16 * expected / np.linalg.norm(expected), rtol=1e-6)
    assert len(posteriors) == len(encoder.concepts) == 0


def test_a_network_that_takes_bytes_normalises_them_itself(tmp_path, picture):
    network = resnet_like(shape=(1, SIZE, SIZE, 3), number=TensorProto.UINT8, outputs=("features",))
    network.graph.node.insert(0, node("Cast", ["x"], ["floats"], to=TensorProto.FLOAT))
    network.graph.node.insert(1, node("Transpose", ["floats"], ["turned"], perm=[0, 3, 1, 2]))
    network.graph.node[2].input[0] = "turned"
    onnx.save(network, tmp_path / "net.onnx")
    _, visual, _ = encode(tmp_path / "net.onnx", picture)
    activations = convolved(np.asarray(picture).astype(float))
    pooled = (np.maximum(activations, 0) + activations).mean(axis=(1, 2))
    np.testing.assert_allclose(visual, 16 * pooled / np.linalg.norm(pooled), rtol=1e-4)


def test_weights_in_a_file_of_their_own_are_read_and_count(save, tmp_path, picture):
    network = resnet_like()
    path = save(network)
    _, expected, _ = encode(path, picture)
    path.unlink()
    onnx.save(network, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    outside, visual, _ = encode(path, picture)
    np.testing.assert_array_equal(visual, expected)
    raw = bytearray((tmp_path / "weights.bin").read_bytes())
    raw[3] ^= 1
    (tmp_path / "weights.bin").write_bytes(raw)
    assert OnnxEncoder(path).identity != outside.identity


def test_a_graph_that_leads_in_a_circle_is_refused(save):
    network = model([node("Identity", ["scores"], ["a"]), node("Identity", ["a"], ["scores"])], {})
    with pytest.raises(ModelFileError, match="leads in a circle"):
        OnnxEncoder(save(network))


def test_a_negative_size_is_no_size(save):
    with pytest.raises(InvalidInputError, match="the size of the pictures it takes"):
        OnnxEncoder(save(vgg_like(shape=(1, 3, -1, -1)), layout="NCHW"))


def test_huge_squares_are_refused(save):
    with pytest.raises(ModelFileError, match="at most 4,096"):
        OnnxEncoder(save(vgg_like(shape=(1, 3, 10**6, 10**6))))


def with_weights_at(place, dims, **more):
    network = flattened()
    (kernel,) = network.graph.initializer
    kernel.CopyFrom(TensorProto(name="kernel", data_type=1, dims=dims, data_location=1))
    for key, value in ({"location": str(place)} | more).items():
        kernel.external_data.add(key=key, value=value)
    return network


def runs_forever():
    network = flattened()
    network.graph.node.append(node("Loop", ["m", "c"], ["y"], body=flattened().graph))
    return network


def gives_a_terabyte():
    network = flattened()
    network.graph.node[-1].output[0] = "small"
    shape = np.array([2**38], dtype=np.int64)
    network.graph.initializer.append(numpy_helper.from_array(shape, "shape"))
    network.graph.node.append(node("ConstantOfShape", ["shape"], ["huge"]))
    network.graph.node.append(node("ReduceMax", ["huge"], ["most"], keepdims=0))
    network.graph.node.append(node("Add", ["small", "most"], ["495"]))
    return network


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (with_weights_at("../secret.bin", [4, 3, 3, 3]), "nothing outside is read"),
        (with_weights_at("/etc/hostname", [4, 3, 3, 3]), "nothing outside is read"),
        (with_weights_at("link.bin", [4, 3, 3, 3]), "nothing outside is read"),
        (with_weights_at("gone.bin", [4, 3, 3, 3]), "is missing"),
        (with_weights_at("a\0b", [4, 3, 3, 3]), "is missing"),
        (with_weights_at("a" * 300, [4, 3, 3, 3]), "is missing"),
        (with_weights_at("circle.bin", [4, 3, 3, 3]), "is missing"),
        (with_weights_at("pipe.bin", [4, 3, 3, 3]), "is missing"),
        (with_weights_at("short.bin", [4, 3, 3, 3], length="99999999999"), "has 8 bytes, too few"),
        (with_weights_at("short.bin", [4, 3, 3, 3], offset="-4"), "too few"),
        (with_weights_at("short.bin", [4, 3, 3, 3], offset="x"), "too few"),
        (with_weights_at("short.bin", [2**40, 3, 3, 3]), "cannot load"),
        (runs_forever(), "contains a Loop"),
        (gives_a_terabyte(), "failed on a picture"),
    ],
)
def test_hostile_networks_are_refused_in_one_sentence(tmp_path, network, message):
    folder = tmp_path / "net"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(bytes(432))
    (folder / "short.bin").write_bytes(bytes(8))
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    (folder / "circle.bin").symlink_to("circle.bin")
    os.mkfifo(folder / "pipe.bin")
    onnx.save(network, folder / "net.onnx")
    (folder / "net.toml").write_text('preprocessing = "clip"\nsize = 8\n')
    with pytest.raises(ModelFileError) as caught:
        OnnxEncoder(folder / "net.onnx")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_class_names_outside_of_the_folder_are_not_read(save, tmp_path):
    folder = tmp_path / "net"
    folder.mkdir()
    (tmp_path / "names.txt").write_text("a\nb\nc\nd\ne\n")
    path = save(resnet_like()).rename(folder / "net.onnx")
    (folder / "net.json").write_text(json.dumps(CONFIG | {"classes": "../names.txt"}))
    with pytest.raises(InvalidInputError, match="must lie in"):
        OnnxEncoder(path)
