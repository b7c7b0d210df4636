import json

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
        ({"meen": 1}, "unknown setting 'meen'. Available: mean, std"),
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
        (resnet_like(outputs=("scores", "relu")), {}, "has 2 outputs"),
        (resnet_like(shape=(4, 3, SIZE, SIZE)), {}, "takes 4 pictures at a time"),
        (resnet_like(shape=("n", 3, "h", "w")), {}, "takes any size"),
        (
            resnet_like(shape=("n", "c", SIZE, SIZE)),
            {},
            "which axis holds the channels",
        ),
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
    with pytest.raises(ModelFileError, match="There is no network"):
        OnnxEncoder(tmp_path / "net.onnx")
    for content in (b"", b"hello, I am text", b"\x89PNG\r\n\x1a\n" + bytes(100)):
        (tmp_path / "net.onnx").write_bytes(content)
        with pytest.raises(ModelFileError, match=r"net\.onnx"):
            OnnxEncoder(tmp_path / "net.onnx")


def test_a_missing_configuration_shows_one(save, tmp_path):
    path = save(resnet_like())
    (tmp_path / "net.toml").write_text("")
    with pytest.raises(InvalidInputError, match="two configurations"):
        OnnxEncoder(path)
    (tmp_path / "net.toml").unlink()
    (tmp_path / "net.json").unlink()
    with pytest.raises(InvalidInputError, match=r"expected net\.toml or net\.json(.|\n)*mean = "):
        OnnxEncoder(path)


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
    with pytest.raises(ModelFileError, match="takes any size"):
        OnnxEncoder(save(vgg_like(shape=(1, 3, -1, -1)), layout="NCHW"))


def test_huge_squares_are_refused(save):
    with pytest.raises(ModelFileError, match="at most 4,096"):
        OnnxEncoder(save(vgg_like(shape=(1, 3, 10**6, 10**6))))
