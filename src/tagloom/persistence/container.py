"""Model files: numbers in safetensors, everything else in a JSON header. Nothing is ever executed.

The header carries a digest of itself and of the numbers, so that a damaged or altered file is
noticed. It is no signature: who can write the file can write a fitting digest.
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
from scipy import sparse

import tagloom
from tagloom.errors import InvalidInputError, ModelFileError
from tagloom.io import atomic_write

# §§ packing
# Fitted parts as arrays and plain metadata, joined under names: what model files are made of.


Arrays = dict[str, npt.NDArray[Any]]
Facts = dict[str, Any]

_SPECIAL = ("inf", "-inf", "nan")


class Serialized(NamedTuple):
    """One fitted part: numbers by name, and all else in what JSON can hold."""

    arrays: Arrays
    metadata: Facts

    def part(self, name: str) -> "Serialized":
        """Return the part that `joined` put under this name."""
        lead = f"{name}/"
        arrays = {key[len(lead) :]: a for key, a in self.arrays.items() if key.startswith(lead)}
        return Serialized(arrays, self.metadata[name])

    def optional_part(self, name: str) -> "Serialized | None":
        """Return the part under this name, None where there was none."""
        return None if self.metadata[name] is None else self.part(name)


def joined(parts: Mapping[str, Serialized | None], own: Serialized | None = None) -> Serialized:
    """Put parts side by side, each under its name, beside what is the whole's own.

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

    Estimators must be of one of the `kinds`, for only those can be made again.

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


def encoded_parameters(estimator: Any, kinds: Collection[type[Any]] = ()) -> Facts:
    """Return the constructor parameters of an estimator, encoded."""
    return encoded_mapping(estimator.get_params(deep=False), kinds)


def encoded_mapping(values: Mapping[str, Any], kinds: Collection[type[Any]] = ()) -> Facts:
    """Return values by name, encoded."""
    return {name: encoded(value, kinds) for name, value in values.items()}


def decoded_parameters(metadata: Facts, kinds: Collection[type[Any]] = ()) -> Facts:
    """Return values by name as they were before they were encoded."""
    return {name: decoded(value, kinds) for name, value in metadata.items()}


def refuse_strange_names(names: Collection[Any]) -> None:
    """Refuse names that JSON would change unasked, as it makes a tuple a list."""
    strange = [name for name in names if not isinstance(name, str | int | float | bool | None)]
    if strange:
        raise InvalidInputError(
            "Names of labels in a model file must be strings, numbers or booleans; "
            f"found {strange[0]!r} of type {type(strange[0]).__name__}."
        )


def serialize_names(names: npt.NDArray[Any]) -> Facts:
    """Return names and the type of their array."""
    values = names.tolist()
    refuse_strange_names(values)
    return {"dtype": names.dtype.str, "values": values}


def deserialize_names(serialized: Facts) -> npt.NDArray[Any]:
    """Return what `serialize_names` was given."""
    return np.array(serialized["values"], dtype=np.dtype(serialized["dtype"]))


def serialize_rows(table: sparse.csr_array) -> Serialized:
    """Return compressed rows, with positions in four bytes where these suffice."""
    kind = np.int32 if max(table.nnz, *table.shape) <= np.iinfo(np.int32).max else np.int64
    arrays = {
        "data": table.data,
        "indices": table.indices.astype(kind, copy=False),
        "indptr": table.indptr.astype(kind, copy=False),
    }
    return Serialized(arrays, {"shape": list(table.shape)})


def deserialize_rows(serialized: Serialized) -> sparse.csr_array:
    """Return what `serialize_rows` was given; positions outside the table are refused."""
    parts = tuple(serialized.arrays[name] for name in ("data", "indices", "indptr"))
    table = sparse.csr_array(parts, shape=tuple(serialized.metadata["shape"]))
    table.check_format(full_check=True)
    return table


# §§ main saving


PROTOCOL = 1

_Model = TypeVar("_Model")


def write_model(
    path: str | os.PathLike[str], kind: str, arrays: Mapping[str, npt.NDArray[Any]], metadata: Any
) -> None:
    """Write arrays and metadata (whatever JSON can hold) whole or not at all."""
    turned = sorted(name for name, array in arrays.items() if _is_turned(array))
    tensors = {
        name: np.ascontiguousarray(array.T if name in turned else array)
        for name, array in arrays.items()
    }
    header = {
        "protocol": PROTOCOL,
        "kind": kind,
        "versions": _versions(),
        "turned": turned,
        "metadata": metadata,
    }
    try:
        text = json.dumps(header, ensure_ascii=True, allow_nan=False, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"The model cannot be saved to {path}: names of labels and features and parameters "
            f"must be strings, finite numbers, booleans or None ({error})."
        ) from None
    metadata = {"tagloom": text, "sha256": _digest(text, tensors)}
    with atomic_write(path) as part:
        save_file(tensors, part, metadata=metadata)


def read_model(path: str | os.PathLike[str], kind: str) -> Serialized:
    """Read what `write_model` wrote; anything else is refused with the reason."""
    text, digest = _metadata(Path(path))
    tensors = _tensors(Path(path))
    header = _parsed_header(path, text)
    _refuse_newer(path, header)
    if digest != _digest(text, tensors):
        raise ModelFileError(
            f"{path} was altered or damaged after it was written: its contents do not match its "
            "digest. Restore it from a copy or fit the model again."
        )
    if header["kind"] != kind:
        raise ModelFileError(f"{path} holds a {header['kind']}; expected a {kind}.")
    turned = header.get("turned", [])
    return Serialized(
        {name: array.T if name in turned else array for name, array in tensors.items()},
        header["metadata"],
    )


def build_from(
    path: str | os.PathLike[str], kind: str, build: Callable[[Serialized], _Model]
) -> _Model:
    """Read a model file and build what it holds; a part that is missing or wrong is refused."""
    serialized = read_model(path, kind)
    try:
        return build(serialized)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"{path} lacks or misstates a part of the model: {error!r}.") from None


@dataclass(frozen=True)
class ModelHeader:
    """What a model file says of itself.

    Attributes
    ----------
    kind : str
        Name of the class that was saved.
    protocol : int
        Version of the layout of the file.
    versions : mapping of str to str
        Of tagloom, Python and the libraries that wrote the file.
    parameters : mapping
        The constructor's, as `tagloom.persistence.container.encoded` writes them.
    n_items, n_labels, n_features : int or None
        Sizes of the training data; None where the file does not say.
    n_bytes : int
        Size of the file.
    metadata : mapping
        All that the file says beside its numbers.
    """

    kind: str
    protocol: int
    versions: dict[str, str]
    parameters: dict[str, Any]
    n_items: int | None
    n_labels: int | None
    n_features: int | None
    n_bytes: int
    metadata: Facts


def read_metadata(path: str | os.PathLike[str]) -> ModelHeader:
    """Return what a model file of any kind says of itself, without reading its numbers.

    Damage to the header's form and newer protocols are noticed. The digest covers the numbers too
    and is checked only when the model is loaded.
    """
    text, _ = _metadata(Path(path))
    header = _parsed_header(path, text)
    _refuse_newer(path, header)
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


def _metadata(path: Path) -> tuple[str, str]:
    """Return header text and digest without trusting them."""
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
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelFileError(
            f"{path} is not a readable model file: {error}. It may be truncated; restore it from a "
            "copy or fit the model again."
        ) from None


def _parsed_header(path: str | os.PathLike[str], text: str) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except json.JSONDecodeError as error:
        raise ModelFileError(f"{path}: the header is not JSON ({error}).") from None
    wanted = {"protocol": int, "kind": str, "metadata": dict}
    complete = isinstance(header, dict) and all(
        isinstance(header.get(name), kind) for name, kind in wanted.items()
    )
    if not complete:
        raise ModelFileError(f"{path}: the header lacks one of {sorted(wanted)}.")
    return dict(header)


def _refuse_newer(path: str | os.PathLike[str], header: dict[str, Any]) -> None:
    if header["protocol"] <= PROTOCOL:
        return
    written_by = _mapping_in(header, "versions").get("tagloom", "a later version")
    raise ModelFileError(
        f"{path} has protocol {header['protocol']}, written by tagloom {written_by}; "
        f"this is tagloom {tagloom.__version__}, which reads protocols up to {PROTOCOL}. "
        "Upgrade tagloom."
    )


def _mapping_in(metadata: Facts, name: str) -> dict[str, Any]:
    value = metadata.get(name)
    return value if isinstance(value, dict) else {}


def _is_turned(array: npt.NDArray[Any]) -> bool:
    """Say whether columns lie side by side: products round otherwise if rows come to do so."""
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
