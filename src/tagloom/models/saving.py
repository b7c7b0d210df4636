"""Model files: numbers in safetensors, everything else in a JSON header. Nothing is ever executed.

The header carries a digest of itself and of the numbers, so that a damaged or altered file is
noticed. It is no signature: who can write the file can write a fitting digest.
"""

import hashlib
import json
import os
import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy
import sklearn
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

import tagloom
from tagloom.errors import InvalidInputError, ModelFileError
from tagloom.files import written_whole
from tagloom.packing import Arrays, Facts, Packed

PROTOCOL = 1

_Model = TypeVar("_Model")


def write_model(
    path: str | os.PathLike[str], kind: str, arrays: Mapping[str, npt.NDArray[Any]], facts: Any
) -> None:
    """Write arrays and facts (whatever JSON can hold) whole or not at all."""
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
        "facts": facts,
    }
    try:
        text = json.dumps(header, ensure_ascii=True, allow_nan=False, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"The model cannot be saved to {path}: names of labels and features and parameters "
            f"must be strings, finite numbers, booleans or None ({error})."
        ) from None
    metadata = {"tagloom": text, "sha256": _digest(text, tensors)}
    with written_whole(path) as part:
        save_file(tensors, part, metadata=metadata)


def read_model(path: str | os.PathLike[str], kind: str) -> Packed:
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
    return Packed(
        {name: array.T if name in turned else array for name, array in tensors.items()},
        header["facts"],
    )


def build_from(
    path: str | os.PathLike[str], kind: str, build: Callable[[Packed], _Model]
) -> _Model:
    """Read a model file and build what it holds; a part that is missing or wrong is refused."""
    packed = read_model(path, kind)
    try:
        return build(packed)
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
        The constructor's, as `tagloom.packing.encoded` writes them.
    n_items, n_labels, n_features : int or None
        Sizes of the training data; None where the file does not say.
    n_bytes : int
        Size of the file.
    facts : mapping
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
    facts: Facts


def read_facts(path: str | os.PathLike[str]) -> ModelHeader:
    """Return what a model file of any kind says of itself, without reading its numbers.

    Damage to the header's form and newer protocols are noticed. The digest covers the numbers too
    and is checked only when the model is loaded.
    """
    text, _ = _metadata(Path(path))
    header = _parsed_header(path, text)
    _refuse_newer(path, header)
    facts = header["facts"]
    size = _mapping_in(facts, "size")
    return ModelHeader(
        kind=header["kind"],
        protocol=header["protocol"],
        versions=_mapping_in(header, "versions"),
        parameters=_mapping_in(facts, "parameters"),
        n_items=size.get("items"),
        n_labels=size.get("labels"),
        n_features=size.get("features"),
        n_bytes=Path(path).stat().st_size,
        facts=facts,
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
    wanted = {"protocol": int, "kind": str, "facts": dict}
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


def _mapping_in(facts: Facts, name: str) -> dict[str, Any]:
    value = facts.get(name)
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
