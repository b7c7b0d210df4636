"""The file format of models: arrays in safetensors, everything else in a JSON header.

Reading a file never executes anything in it. The header carries a protocol number and a digest of
itself and of the arrays, so that a damaged or altered file is detected. The digest is no signature:
whoever can write the file can write a matching digest.
"""

import hashlib
import json
import math
import os
import platform
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import scipy
import sklearn
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

import tagloom
from tagloom.errors import InvalidInputError, ModelFileError, UnwritableFileError
from tagloom.io import atomic_write

PROTOCOL = 1

Arrays = dict[str, npt.NDArray[Any]]
Metadata = dict[str, Any]

_Model = TypeVar("_Model")

# What wrong contents raise: a name, shape or type that does not exist, is not what it should be, or
# is too large.
_MALFORMED = (
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    ArithmeticError,
    MemoryError,
    RecursionError,
)
# Numbers that JSON cannot hold.
_SPECIAL = ("inf", "-inf", "nan")


class Serialized(NamedTuple):
    """A fitted part: arrays by name, and all else as values that JSON can hold."""

    arrays: Arrays
    metadata: Metadata

    def part(self, name: str) -> "Serialized":
        """Return the part that `joined` put under this name."""
        lead = f"{name}/"
        arrays = {key[len(lead) :]: a for key, a in self.arrays.items() if key.startswith(lead)}
        return Serialized(arrays, self.metadata[name])

    def optional_part(self, name: str) -> "Serialized | None":
        """Return the part under this name; None where `joined` was given None or no such part."""
        return None if self.metadata.get(name) is None else self.part(name)


def joined(parts: Mapping[str, Serialized | None], own: Serialized | None = None) -> Serialized:
    """Join parts, each under its name, with the arrays and metadata of the whole.

    >>> left, right = Serialized({"a": np.ones(1)}, {"size": 1}), Serialized({}, {"size": 2})
    >>> whole = joined({"left": left, "right": right, "none": None})
    >>> sorted(whole.arrays), whole.part("right").metadata, whole.optional_part("none")
    (['left/a'], {'size': 2}, None)
    """
    arrays, metadata = ({}, {}) if own is None else (dict(own.arrays), dict(own.metadata))
    for name, part in parts.items():
        metadata[name] = None if part is None else part.metadata
        if part is not None:
            arrays |= {f"{name}/{key}": array for key, array in part.arrays.items()}
    return Serialized(arrays, metadata)


def encoded(value: Any, kinds: Collection[type[Any]] = ()) -> Any:
    """Return a parameter as JSON can hold it: infinity by its name, estimators by parameters.

    Estimators must be of one of the `kinds`: only those can be restored.

    >>> encoded([np.float32(0.5), float("inf")])
    [0.5, {'number': 'inf'}]
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": str(value)}
    if isinstance(value, list | tuple):
        return [encoded(one, kinds) for one in value]
    if not hasattr(value, "get_params"):
        return value
    if type(value) not in kinds:
        raise InvalidInputError(
            f"A {type(value).__name__} cannot be saved in a model file. What can be saved: "
            f"{', '.join(sorted(kind.__name__ for kind in kinds)) or 'no estimator here'}."
        )
    return {"estimator": type(value).__name__, "parameters": encoded_parameters(value, kinds)}


def decoded(value: Any, kinds: Collection[type[Any]] = ()) -> Any:
    """Return what `encoded` was given; a tuple comes back as a list."""
    if isinstance(value, list):
        return [decoded(one, kinds) for one in value]
    if not isinstance(value, dict):
        return value
    if "number" in value:
        if value["number"] not in _SPECIAL:
            raise ValueError(f"{value['number']!r} is not one of {_SPECIAL}")
        return float(value["number"])
    by_name = {kind.__name__: kind for kind in kinds}
    return by_name[value["estimator"]](**decoded_parameters(value["parameters"], kinds))


def encoded_parameters(estimator: Any, kinds: Collection[type[Any]] = ()) -> Metadata:
    """Return the constructor parameters of an estimator, encoded."""
    return encoded_mapping(estimator.get_params(deep=False), kinds)


def encoded_mapping(values: Mapping[str, Any], kinds: Collection[type[Any]] = ()) -> Metadata:
    """Return values by name, encoded."""
    return {name: encoded(value, kinds) for name, value in values.items()}


def decoded_parameters(metadata: Metadata, kinds: Collection[type[Any]] = ()) -> Metadata:
    """Return the values that `encoded_mapping` was given."""
    return {name: decoded(value, kinds) for name, value in metadata.items()}


def check_names(names: Collection[Any]) -> None:
    """Raise where JSON would change a name, as it turns a tuple into a list."""
    strange = [name for name in names if not isinstance(name, str | int | float | bool | None)]
    if strange:
        raise InvalidInputError(
            "Names of labels in a model file must be strings, numbers or booleans; "
            f"found {strange[0]!r} of type {type(strange[0]).__name__}."
        )


def write_model(
    path: str | os.PathLike[str], kind: str, arrays: Mapping[str, npt.NDArray[Any]], metadata: Any
) -> None:
    """Write arrays and metadata (whatever JSON can hold); never leaves a partial file."""
    transposed = sorted(name for name, array in arrays.items() if _is_column_major(array))
    tensors = {
        name: np.ascontiguousarray(array.T if name in transposed else array)
        for name, array in arrays.items()
    }
    header = {
        "protocol": PROTOCOL,
        "kind": kind,
        "versions": _versions(),
        "transposed": transposed,
        "metadata": metadata,
    }
    try:
        text = json.dumps(header, ensure_ascii=True, allow_nan=False, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"The model cannot be saved to {path}: names of labels and features and parameters "
            f"must be strings, finite numbers, booleans or None ({error})."
        ) from None
    digest = _digest(text, tensors)
    with atomic_write(path) as part:
        try:
            save_file(tensors, part, metadata={"tagloom": text, "sha256": digest})
        except SafetensorError as error:  # a full disk, for one
            raise UnwritableFileError(f"{path} cannot be written: {error}.") from None


def read_model(path: str | os.PathLike[str], kind: str) -> Serialized:
    """Read what `write_model` wrote; anything else is an error that says why."""
    text, digest = _header_text(Path(path))
    tensors = _tensors(Path(path))
    header = _parsed_header(path, text)
    if digest != _digest(text, tensors):
        raise ModelFileError(
            f"{path} was altered or damaged after it was written: its contents do not match its "
            "digest. Restore it from a copy or fit the model again."
        )
    if header["kind"] != kind:
        raise ModelFileError(f"{path} holds a {header['kind']}; expected a {kind}.")
    transposed = header.get("transposed", [])
    return Serialized(
        {name: array.T if name in transposed else array for name, array in tensors.items()},
        header["metadata"],
    )


def build_from(
    path: str | os.PathLike[str], kind: str, build: Callable[[Serialized], _Model]
) -> _Model:
    """Read a model file and build its model; a part that is missing or wrong is an error."""
    serialized = read_model(path, kind)
    try:
        return build(serialized)
    except _MALFORMED as error:
        raise ModelFileError(f"{path} lacks or misstates a part of the model: {error!r}.") from None


@dataclass(frozen=True)
class ModelHeader:
    """The header of a model file.

    Attributes
    ----------
    kind : str
        Name of the class that was saved.
    protocol : int
        Version of the layout of the file.
    versions : mapping of str to str
        Of tagloom, Python and the libraries that wrote the file.
    parameters : mapping
        Of the constructor, as `tagloom.persistence.container.encoded` writes them.
    n_items, n_labels, n_features : int or None
        Sizes of the training data; None where the file does not have them.
    n_bytes : int
        Size of the file.
    metadata : mapping
        All of the file but its arrays.
    """

    kind: str
    protocol: int
    versions: dict[str, str]
    parameters: dict[str, Any]
    n_items: int | None
    n_labels: int | None
    n_features: int | None
    n_bytes: int
    metadata: Metadata


def read_metadata(path: str | os.PathLike[str]) -> ModelHeader:
    """Return the header of a model file of any kind, without reading its arrays.

    A malformed header or a newer protocol is an error. The digest covers the arrays too and is
    checked only when the model is loaded.
    """
    text, _ = _header_text(Path(path))
    header = _parsed_header(path, text)
    metadata = header["metadata"]
    size = _mapping_in(metadata, "size")
    return ModelHeader(
        kind=header["kind"],
        protocol=header["protocol"],
        versions=_mapping_in(header, "versions"),
        parameters=_mapping_in(metadata, "parameters"),
        n_items=size.get("items"),
        n_labels=size.get("labels"),
        n_features=size.get("features"),
        n_bytes=Path(path).stat().st_size,
        metadata=metadata,
    )


def _header_text(path: Path) -> tuple[str, str]:
    """Return the text of the header and the digest, not yet checked."""
    with _opened(path) as file:
        metadata = file.metadata() or {}
    if "tagloom" not in metadata or "sha256" not in metadata:
        raise ModelFileError(f"{path} is a safetensors file, but not one written by tagloom.")
    return metadata["tagloom"], metadata["sha256"]


def _tensors(path: Path) -> Arrays:
    with _opened(path) as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    if not path.is_file():
        raise ModelFileError(f"There is no model file at {path}.")
    try:
        with safe_open(path, framework="numpy") as file:
            yield file
    except (SafetensorError, OSError, *_MALFORMED) as error:
        raise ModelFileError(
            f"{path} is not a readable model file: {error}. It may be truncated; restore it from a "
            "copy or fit the model again."
        ) from None


def _parsed_header(path: str | os.PathLike[str], text: str) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        # Besides syntax errors: numbers of thousands of digits, and values nested too deeply.
        raise ModelFileError(f"{path}: the header is not JSON ({error}).") from None
    wanted = {"protocol": int, "kind": str, "metadata": dict}
    complete = isinstance(header, dict) and all(
        isinstance(header.get(name), kind) for name, kind in wanted.items()
    )
    if not complete:
        raise ModelFileError(f"{path}: the header lacks one of {sorted(wanted)}.")
    _check_protocol(path, header)
    return dict(header)


def _check_protocol(path: str | os.PathLike[str], header: dict[str, Any]) -> None:
    if header["protocol"] <= PROTOCOL:
        return
    written_by = _mapping_in(header, "versions").get("tagloom", "a later version")
    raise ModelFileError(
        f"{path} has protocol {header['protocol']}, written by tagloom {written_by}; "
        f"this is tagloom {tagloom.__version__}, which reads protocols up to {PROTOCOL}. "
        "Upgrade tagloom."
    )


def _mapping_in(metadata: Metadata, name: str) -> dict[str, Any]:
    value = metadata.get(name)
    return value if isinstance(value, dict) else {}


def _is_column_major(array: npt.NDArray[Any]) -> bool:
    """Return whether the array is column-major: products round differently in another layout."""
    return bool(array.ndim == 2 and array.flags.f_contiguous and not array.flags.c_contiguous)


def _digest(text: str, tensors: Arrays) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        array = tensors[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _versions() -> dict[str, str]:
    return {
        "tagloom": tagloom.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }
