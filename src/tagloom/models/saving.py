"""Model files: numbers in safetensors, everything else in a JSON header. Nothing is ever executed.

The header carries a digest of itself and of the numbers, so that a damaged or altered file is
noticed. It is no signature: who can write the file can write a fitting digest.
"""

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy
import sklearn
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

import tagloom
from tagloom.errors import InvalidInputError, ModelFileError
from tagloom.files import written_whole

PROTOCOL = 1

Arrays = dict[str, npt.NDArray[Any]]


def write_model(
    path: str | os.PathLike[str], kind: str, arrays: Mapping[str, npt.NDArray[Any]], facts: Any
) -> None:
    """Write arrays and facts (whatever JSON can hold) whole or not at all."""
    tensors = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    header = {
        "protocol": PROTOCOL,
        "kind": kind,
        "versions": _versions(),
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


def read_model(path: str | os.PathLike[str], kind: str) -> tuple[Arrays, Any]:
    """Read what `write_model` wrote; anything else is refused with the reason."""
    text, digest, tensors = _raw(Path(path))
    header = _parsed_header(path, text)
    if header["protocol"] > PROTOCOL:
        written_by = header.get("versions", {}).get("tagloom", "a later version")
        raise ModelFileError(
            f"{path} has protocol {header['protocol']}, written by tagloom {written_by}; "
            f"this is tagloom {tagloom.__version__}, which reads protocols up to {PROTOCOL}. "
            "Upgrade tagloom."
        )
    if digest != _digest(text, tensors):
        raise ModelFileError(
            f"{path} was altered or damaged after it was written: its contents do not match its "
            "digest. Restore it from a copy or fit the model again."
        )
    if header["kind"] != kind:
        raise ModelFileError(f"{path} holds a {header['kind']}; expected a {kind}.")
    return tensors, header["facts"]


def plain_parameters(estimator: Any) -> dict[str, Any]:
    """Return the constructor parameters with numpy's scalars made Python's."""
    params: dict[str, Any] = estimator.get_params(deep=False)
    return {k: v.item() if isinstance(v, np.generic) else v for k, v in params.items()}


def pack_names(names: npt.NDArray[Any]) -> dict[str, Any]:
    """Return names and their type for JSON, which would turn a tuple into a list unasked."""
    values = names.tolist()
    strange = [name for name in values if not isinstance(name, str | int | float | bool | None)]
    if strange:
        raise InvalidInputError(
            "Names of labels in a model file must be strings, numbers or booleans; "
            f"found {strange[0]!r} of type {type(strange[0]).__name__}."
        )
    return {"dtype": names.dtype.str, "values": values}


def unpack_names(packed: dict[str, Any]) -> npt.NDArray[Any]:
    """Return what `pack_names` was given."""
    return np.array(packed["values"], dtype=np.dtype(packed["dtype"]))


def _raw(path: Path) -> tuple[str, str, Arrays]:
    """Return header text, digest and arrays without trusting any of them."""
    if not path.is_file():
        raise ModelFileError(f"There is no model file at {path}.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelFileError(
            f"{path} is not a readable model file: {error}. It may be truncated; restore it from a "
            "copy or fit the model again."
        ) from None
    if "tagloom" not in metadata or "sha256" not in metadata:
        raise ModelFileError(f"{path} is a safetensors file, but not one written by tagloom.")
    return metadata["tagloom"], metadata["sha256"], tensors


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
