"""Read a network's weights from a ``.pth`` file without torch and without trusting it.

The file is a row of pickles followed by raw numbers. A pickle may call anything it can name, so
this reader lets it name four things only: an ordered dictionary, two kinds of storage and the
function that views a storage as a tensor. Whatever else it asks for is refused.
"""

import io
import os
import pickle
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tagloom.errors import ModelFileError

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


def read_torch_weights(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """Give the named tensors of a ``.pth`` file in torch's older layout as numpy arrays.

    Raises
    ------
    ModelFileError
        If the file is not of that layout, is cut short, or asks for anything but tensors.
    """
    content = Path(path).read_bytes()
    try:
        return _read(io.BytesIO(content), len(content))
    except _DAMAGE as problem:
        raise ModelFileError(
            f"{os.fspath(path)} cannot be read as a file of weights: {problem}. Expected a state "
            "dictionary of float32 and int64 tensors in torch's older (not zipped) layout; install "
            "the weights again or convert the network to ONNX."
        ) from problem


def _read(stream: BinaryIO, size: int) -> dict[str, NDArray[Any]]:
    reader = _TensorUnpickler(stream, size)
    if reader.load() != _MAGIC or _TensorUnpickler(stream, size).load() != _PROTOCOL:
        raise ValueError("it does not begin with torch's magic number")
    if not dict(_TensorUnpickler(stream, size).load()).get("little_endian"):
        raise ValueError("its numbers are not little-endian")
    body = _TensorUnpickler(stream, size)
    state = body.load()
    keys = _TensorUnpickler(stream, size).load()
    _fill(body.storages, keys, stream)
    return _only_tensors(state)


def _fill(storages: Mapping[str, NDArray[Any]], keys: Any, stream: BinaryIO) -> None:
    """Read the raw numbers behind the pickles into the storages that the tensors look at."""
    if sorted(keys) != sorted(storages):
        raise ValueError("its list of storages does not match its tensors")
    for key in keys:
        storage = storages[key]
        count = int.from_bytes(stream.read(8), "little")
        raw = stream.read(storage.nbytes)
        if count != storage.size or len(raw) != storage.nbytes:
            raise ValueError(f"storage {key} is cut short")
        storage[:] = np.frombuffer(raw, dtype=storage.dtype)


def _only_tensors(state: Any) -> dict[str, NDArray[Any]]:
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
        """Answer the four names a state dictionary needs and refuse the rest."""
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _view_as_tensor
        if module == "torch" and name in _STORAGE_TYPES:
            return _StorageType(name)
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is no tensor")

    def persistent_load(self, pid: Any) -> NDArray[Any]:
        """Reserve room for a storage; its numbers stand behind the pickle and come later."""
        kind, storage_type, key, _location, count = pid[:5]
        if kind != "storage" or not isinstance(storage_type, _StorageType):
            raise pickle.UnpicklingError(f"it refers to a {kind!r}, which is no storage")
        if not 0 <= count * storage_type.dtype.itemsize <= self._size:
            raise pickle.UnpicklingError(f"storage {key} claims {count} numbers, more than it has")
        if key not in self.storages:
            self.storages[key] = np.zeros(count, dtype=storage_type.dtype)
        return self.storages[key]


class _StorageType:
    """What stands for ``torch.FloatStorage`` and its like: a number format with a name."""

    def __init__(self, name: str) -> None:
        self.dtype = _STORAGE_TYPES[name]


def _view_as_tensor(
    storage: NDArray[Any], offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: Any
) -> NDArray[Any]:
    """View a storage as a tensor; a view that would leave the storage is refused."""
    if len(shape) != len(strides) or min((offset, *shape, *strides)) < 0:
        raise pickle.UnpicklingError(f"a tensor has shape {shape} and strides {strides}")
    reach = sum((length - 1) * step for length, step in zip(shape, strides, strict=True))
    if 0 not in shape and offset + reach >= storage.size:
        raise pickle.UnpicklingError(f"a tensor of shape {shape} reaches beyond its storage")
    in_bytes = [step * storage.itemsize for step in strides]
    return np.lib.stride_tricks.as_strided(storage[offset:], shape, in_bytes, writeable=False)
