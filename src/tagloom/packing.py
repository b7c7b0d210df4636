"""Fitted parts as arrays and plain facts, joined under names: what model files are made of."""

import math
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom.errors import InvalidInputError

Arrays = dict[str, npt.NDArray[Any]]
Facts = dict[str, Any]

_SPECIAL = ("inf", "-inf", "nan")


class Packed(NamedTuple):
    """One fitted part: numbers by name, and all else in what JSON can hold."""

    arrays: Arrays
    facts: Facts

    def part(self, name: str) -> "Packed":
        """Return the part that `joined` put under this name."""
        lead = f"{name}/"
        arrays = {key[len(lead) :]: a for key, a in self.arrays.items() if key.startswith(lead)}
        return Packed(arrays, self.facts[name])

    def optional_part(self, name: str) -> "Packed | None":
        """Return the part under this name, None where there was none."""
        return None if self.facts[name] is None else self.part(name)


def joined(parts: Mapping[str, Packed | None], own: Packed | None = None) -> Packed:
    """Put parts side by side, each under its name, beside what is the whole's own.

    >>> left, right = Packed({"a": np.ones(1)}, {"size": 1}), Packed({}, {"size": 2})
    >>> whole = joined({"left": left, "right": right, "none": None})
    >>> sorted(whole.arrays), whole.part("right").facts, whole.optional_part("none")
    (['left/a'], {'size': 2}, None)
    """
    arrays, facts = ({}, {}) if own is None else (dict(own.arrays), dict(own.facts))
    for name, part in parts.items():
        facts[name] = None if part is None else part.facts
        if part is not None:
            arrays |= {f"{name}/{key}": array for key, array in part.arrays.items()}
    return Packed(arrays, facts)


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


def decoded_parameters(facts: Facts, kinds: Collection[type[Any]] = ()) -> Facts:
    """Return values by name as they were before they were encoded."""
    return {name: decoded(value, kinds) for name, value in facts.items()}


def refuse_strange_names(names: Collection[Any]) -> None:
    """Refuse names that JSON would change unasked, as it makes a tuple a list."""
    strange = [name for name in names if not isinstance(name, str | int | float | bool | None)]
    if strange:
        raise InvalidInputError(
            "Names of labels in a model file must be strings, numbers or booleans; "
            f"found {strange[0]!r} of type {type(strange[0]).__name__}."
        )


def pack_names(names: npt.NDArray[Any]) -> Facts:
    """Return names and the type of their array."""
    values = names.tolist()
    refuse_strange_names(values)
    return {"dtype": names.dtype.str, "values": values}


def unpack_names(packed: Facts) -> npt.NDArray[Any]:
    """Return what `pack_names` was given."""
    return np.array(packed["values"], dtype=np.dtype(packed["dtype"]))


def pack_rows(table: sparse.csr_array) -> Packed:
    """Return compressed rows, with positions in four bytes where these suffice."""
    kind = np.int32 if max(table.nnz, *table.shape) <= np.iinfo(np.int32).max else np.int64
    arrays = {
        "data": table.data,
        "indices": table.indices.astype(kind, copy=False),
        "indptr": table.indptr.astype(kind, copy=False),
    }
    return Packed(arrays, {"shape": list(table.shape)})


def unpack_rows(packed: Packed) -> sparse.csr_array:
    """Return what `pack_rows` was given; positions outside the table are refused."""
    parts = tuple(packed.arrays[name] for name in ("data", "indices", "indptr"))
    table = sparse.csr_array(parts, shape=tuple(packed.facts["shape"]))
    table.check_format(full_check=True)
    return table
