"""Tiny networks in the layouts that people have: what they see is the mean colour of a picture.

The embedding of a picture is the share of red, green and blue in it, and that of a text is the
colour that its words name, in English or German (cats are blue): which picture fits which name is
known.
"""

import json

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

SIZE, PATCH, WIDTH, CONTEXT = 16, 4, 6, 12
COLOURS = {"red": 0, "green": 1, "blue": 2, "rot": 0, "grün": 1, "blau": 2, "cat": 2}
WORDS = ["<pad>", "<unk>", "a", "photo", "of", "thing", *COLOURS]
DIRECTIONS = np.random.default_rng(3).normal(size=(3, WIDTH)).astype(np.float32)
node = helper.make_node


def model(nodes, constants, inputs, outputs, *, opset=17):
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, number, shape) for name, number, shape in inputs],
        [helper.make_tensor_value_info(*output) for output in outputs],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def patches(number=np.float32):
    """Each patch to its mean colour, written in the directions of the colours."""
    kernel = np.repeat(np.repeat(DIRECTIONS.T[:, :, None, None], PATCH, 2), PATCH, 3)
    return (kernel / PATCH**2).astype(number)


def vision(
    outputs=("last_hidden_state", "pooler_output"),
    *,
    shape=("batch", 3, "height", "width"),
    half=False,
    class_token=True,
    name="pixel_values",
):
    """A vision transformer without its layers: patches, and a class token that is their mean."""
    number = TensorProto.FLOAT16 if half else TensorProto.FLOAT
    nodes = [
        node("Conv", [name, "kernel"], ["grid"], strides=[PATCH, PATCH], kernel_shape=[PATCH] * 2),
        node("Shape", ["grid"], ["sizes"]),
        node("Slice", ["sizes", "zero", "two"], ["head"]),
        node("Concat", ["head", "rest"], ["flat_shape"], axis=0),
        node("Reshape", ["grid", "flat_shape"], ["flat"]),
        node("Transpose", ["flat"], ["tokens"], perm=[0, 2, 1]),
        node("ReduceMean", ["tokens"], ["mean"], axes=[1], keepdims=1),
        node("Concat", ["mean", "tokens"] if class_token else ["tokens"], [outputs[0]], axis=1),
    ]
    if len(outputs) > 1:
        nodes.append(node("Squeeze", ["mean", "one"], [outputs[1]]))
    constants = {
        "kernel": patches(np.float16 if half else np.float32),
        "zero": np.array([0]),
        "one": np.array([1]),
        "two": np.array([2]),
        "rest": np.array([-1]),
    }
    shapes = [None, None]
    listed = [(o, number, s) for o, s in zip(outputs, shapes, strict=False)]
    return model(nodes, constants, [(name, number, list(shape))], listed)


def image_half(*, shape=("batch", 3, "height", "width"), half=False, name="pixel_values"):
    """The picture half of a pair: image_embeds and nothing else."""
    number = TensorProto.FLOAT16 if half else TensorProto.FLOAT
    nodes = [
        node("Conv", [name, "kernel"], ["grid"], strides=[PATCH] * 2, kernel_shape=[PATCH] * 2),
        node("GlobalAveragePool", ["grid"], ["pooled"]),
        node("Flatten", ["pooled"], ["image_embeds"]),
    ]
    constants = {"kernel": patches(np.float16 if half else np.float32)}
    return model(nodes, constants, [(name, number, list(shape))], [("image_embeds", number, None)])


def table():
    """The vector of each word: that of its colour, less the mean colour; nothing for others."""
    rows = np.zeros((len(WORDS), WIDTH), dtype=np.float32)
    for word, colour in COLOURS.items():
        rows[WORDS.index(word)] = DIRECTIONS[colour] - DIRECTIONS.mean(axis=0)
    rows[WORDS.index("a")] = 1e-3
    return rows


def text_half(*, masked=True, name="input_ids", number=TensorProto.INT64, length="tokens"):
    """The text half: the sum of the vectors of all words."""
    nodes = [node("Gather", ["table", name], ["vectors"])]
    inputs = [(name, number, ["batch", length])]
    if masked:
        inputs.append(("attention_mask", number, ["batch", length]))
        nodes += [
            node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
            node("Unsqueeze", ["mask", "last"], ["column"]),
            node("Mul", ["vectors", "column"], ["seen"]),
        ]
    source = "seen" if masked else "vectors"
    nodes.append(node("ReduceSum", [source, "one"], ["text_embeds"], keepdims=0))
    constants = {"table": table(), "one": np.array([1]), "last": np.array([2])}
    return model(nodes, constants, inputs, [("text_embeds", TensorProto.FLOAT, None)])


def both_halves():
    """A pair in one network, as `model.onnx` of CLIP."""
    image, text = image_half(), text_half()
    image.graph.node.extend(text.graph.node)
    image.graph.input.extend(text.graph.input)
    image.graph.initializer.extend(text.graph.initializer)
    image.graph.output.extend(text.graph.output)
    return image


def write_tokenizer(folder):
    words = {word: place for place, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"pad_token": "<pad>"}))


PREPROCESSOR = {
    "do_resize": True,
    "size": {"shortest_edge": SIZE},
    "resample": 3,
    "do_center_crop": True,
    "crop_size": {"height": SIZE, "width": SIZE},
    "do_rescale": True,
    "rescale_factor": 1 / 255,
    "do_normalize": True,
    "image_mean": [1 / 3, 1 / 3, 1 / 3],
    "image_std": [0.5, 0.5, 0.5],
}


def hugging_face(folder, networks, *, preprocessor=PREPROCESSOR, config=None, text=False):
    """Write a folder in Hugging Face's layout; `networks` by the names of their files."""
    (folder / "onnx").mkdir(parents=True)
    for name, network in networks.items():
        onnx.save(network, folder / "onnx" / f"{name}.onnx")
    (folder / "config.json").write_text(json.dumps(config or {"model_type": "tiny"}))
    (folder / "preprocessor_config.json").write_text(json.dumps(preprocessor))
    if text:
        write_tokenizer(folder)
    return folder


def clip(folder):
    """A pair in Hugging Face's layout, with its halves in two files."""
    described = {
        "model_type": "clip",
        "text_config": {"max_position_embeddings": CONTEXT},
        "vision_config": {},
    }
    networks = {"vision_model": image_half(), "text_model": text_half()}
    return hugging_face(folder, networks, config=described, text=True)


def immich(folder):
    """A pair in Immich's layout: texts are padded to the context length."""
    for part in ("visual", "textual"):
        (folder / part).mkdir(parents=True)
    onnx.save(image_half(shape=(1, 3, SIZE, SIZE), name="image"), folder / "visual/model.onnx")
    padded = text_half(masked=False, name="text", number=TensorProto.INT32, length=CONTEXT)
    onnx.save(padded, folder / "textual" / "model.onnx")
    settings = {
        "size": [SIZE, SIZE],
        "mode": "RGB",
        "mean": [1 / 3, 1 / 3, 1 / 3],
        "std": [0.5, 0.5, 0.5],
        "interpolation": "bicubic",
        "resize_mode": "shortest",
        "fill_color": 0,
    }
    (folder / "visual" / "preprocess_cfg.json").write_text(json.dumps(settings))
    described = {"embed_dim": WIDTH, "text_cfg": {"context_length": CONTEXT}}
    (folder / "config.json").write_text(json.dumps(described))
    write_tokenizer(folder / "textual")
    return folder


def paint(folder, n, *, seed=0):
    """Write small pictures, most of them grey; return the colour of each."""
    from PIL import Image

    folder.mkdir(parents=True)
    rng, truth = np.random.default_rng(seed), {}
    for number in range(n):
        shown = rng.choice(4, p=[0.15, 0.15, 0.15, 0.55])
        colour = rng.normal((130, 120, 110), 14)
        if shown < 3:
            colour[shown] += 100
        pixels = np.clip(colour + rng.normal(0, 10, (20, 24, 3)), 0, 255).astype(np.uint8)
        name = f"{number:03d}.png"
        Image.fromarray(pixels).save(folder / name)
        truth[name] = [*list(COLOURS)[:3], "grey"][shown]
    return truth


def write_tags(path, truth, names):
    """Write two thirds of the tags that are named, each under its name."""
    rows = [
        f"{picture},{names[colour]}"
        for number, (picture, colour) in enumerate(truth.items())
        if colour in names and number % 3
    ]
    path.write_text("\n".join(["image,tag", *rows, ""]), "utf-8")
    return path
