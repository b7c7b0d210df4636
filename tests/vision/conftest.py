"""Pictures, folders and an encoder whose features are known."""

import io
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tagloom.vision import Encoder, Framing
from tagloom.vision.encoders.base import fingerprint


class ToyEncoder(Encoder):
    """Mean colour as descriptor, its shares as posteriors: fast, and checked by hand."""

    def __init__(self, name="toy", size=8, side_needed=16):
        self.name = name
        self.framing = Framing(size)
        self.side_needed = side_needed
        self.width = 3
        self.concepts = ["red", "green", "blue"]
        self.identity = fingerprint({"toy": name, "size": size, "side": side_needed})
        self.calls = 0

    def prepare(self, picture):
        return self.framing.apply(picture)

    def encode(self, prepared):
        self.calls += 1
        mean = prepared.reshape(-1, 3).mean(axis=0).astype(np.float32)
        return mean, (mean / max(mean.sum(), 1)).astype(np.float32)


@pytest.fixture
def toy():
    return ToyEncoder()


@pytest.fixture
def make_toy():
    return ToyEncoder


@pytest.fixture(scope="session", autouse=True)
def _own_user_cache(tmp_path_factory):
    """Keep the tests out of the user's cache; the converted networks are shared between them."""
    patch = pytest.MonkeyPatch()
    patch.setenv("TAGLOOM_CACHE", str(tmp_path_factory.mktemp("user_cache")))
    yield
    patch.undo()


@pytest.fixture
def picture_bytes():
    """Give the bytes of a small picture in any format."""

    def build(seed=0, *, size=(40, 30), kind="PNG", mode="RGB", **options):
        rng = np.random.default_rng(seed)
        pixels = rng.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
        stream = io.BytesIO()
        Image.fromarray(pixels).convert(mode).save(stream, kind, **options)
        return stream.getvalue()

    return build


@pytest.fixture
def folder(tmp_path, picture_bytes):
    """A folder with ten different pictures, two of them one level down."""
    root = tmp_path / "pictures"
    (root / "more").mkdir(parents=True)
    for place in range(10):
        home = root / "more" if place >= 8 else root
        (home / f"{place}.png").write_bytes(picture_bytes(place))
    return root


@pytest.fixture(scope="session")
def corel():
    """The Corel5k folder, where it is at hand."""
    home = Path(os.environ.get("TAGLOOM_DATA", Path(__file__).parents[3] / "shared" / "data"))
    if not (home / "corel5k" / "efficientnet_lite0.npz").is_file():
        pytest.skip("the Corel5k photographs are not at hand (set TAGLOOM_DATA)")
    return home / "corel5k"
