"""What a benchmark is to do: flags, a TOML file whose keys are the flags, and checks of both."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tagloom.benchmark.methods import METHODS, checked_names
from tagloom.errors import InvalidInputError
from tagloom.io import atomic_write, read_toml
from tagloom.validation import (
    check_choice,
    check_flag,
    check_integer,
    check_n_components,
    check_number,
)

PROTOCOLS = ("per-class", "presences", "uniform")
FEATURES = ("visual", "semantic")
RATES = (0.1, 0.2, 0.3, 0.4, 0.5)


@dataclass(frozen=True)
class Benchmark:
    """One benchmark; every field has a flag of `tagloom benchmark` and a key of its TOML file.

    Parameters
    ----------
    dataset : str
        What `tagloom.datasets.registry.open_dataset` opens.
    protocols : tuple of {"per-class", "presences", "uniform"}
        How labels are hidden.
    rates : tuple of float
        Shares of the labels that stay known, each in (0, 1].
    methods : tuple of str
        Names of the learners to compare.
    repeats, seed : int
        The seeds are seed, seed + 1, ..., seed + repeats - 1.
    folds : int
        Into how many folds the known entries are split to choose parameters.
    features : {"visual", "semantic"}
        What all learners see: the visual descriptor, or the paper's [visual; s].
    n_components : float or int
        Principal components to keep: a share of the variance in (0, 1), or their number.
    standardize : bool
        Whether to divide each column of the visual descriptor by its standard deviation over the
        training items first: for tables whose columns have unlike units.
    even_rows : bool
        Whether to bring the features that all learners see to about one length, as
        `SemanticDiffusion` does by itself (and then not again): how much of its lead is that?
        Descriptors that are judged alone stay as they are.
    unlisted : "absent", "unknown" or float
        What a tag that is not listed means in the protocol "presences"; a number is the weight with
        which it is absent.
    transductive : bool
        Whether the test items, without their labels, are there when a learner that can use
        unlabelled items learns: a collection is completed. Else they are new to every learner.
    validate_descriptors : bool
        Whether to judge the semantic descriptors by themselves, too.
    figures : bool
        Whether to draw figures.
    out : Path
        Where everything goes.
    jobs : int, optional
        How many cells are worked on at once; one for each core by default.
    """

    dataset: str = "scenes"
    protocols: tuple[str, ...] = field(default=("per-class",), metadata={"key": "protocol"})
    rates: tuple[float, ...] = RATES
    methods: tuple[str, ...] = tuple(method.name for method in METHODS)
    repeats: int = 5
    seed: int = 0
    folds: int = 2
    features: str = "visual"
    n_components: float = 0.9
    standardize: bool = False
    even_rows: bool = False
    unlisted: str | float = "absent"
    transductive: bool = True
    validate_descriptors: bool = False
    figures: bool = True
    out: Path = Path("tagloom-benchmark")
    jobs: int | None = None

    def __post_init__(self) -> None:
        for name in ("protocols", "rates", "methods"):
            object.__setattr__(self, name, _without_repeats(key_of(name), getattr(self, name)))
        if not isinstance(self.dataset, str) or not self.dataset:
            raise InvalidInputError(f"dataset must be the name of a set; got {self.dataset!r}.")
        if not isinstance(self.out, str | os.PathLike):
            raise InvalidInputError(f"out must be the path of a folder; got {self.out!r}.")
        object.__setattr__(self, "out", Path(self.out))
        _check_choices(self)
        _check_numbers(self)

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the repetitions."""
        return tuple(range(self.seed, self.seed + self.repeats))

    def to_dict(self) -> dict[str, Any]:
        """Return the configuration by key, as JSON can hold it."""
        values = {key_of(one.name): getattr(self, one.name) for one in fields(self)}
        listed = {key: list(v) if isinstance(v, tuple) else v for key, v in values.items()}
        return listed | {"out": str(self.out)}

    def save(self, path: str | os.PathLike[str], **more: Any) -> None:
        """Write the configuration, and what else decided the result, as JSON."""
        with atomic_write(path) as part:
            part.write_text(json.dumps(self.to_dict() | more, indent=2) + "\n", encoding="utf-8")


def key_of(name: str) -> str:
    """Return the key of a field in a TOML file: its flag without the leading dashes."""
    (found,) = (one for one in fields(Benchmark) if one.name == name)
    return str(found.metadata.get("key", name.replace("_", "-")))


def read_config(path: str | os.PathLike[str] | None, flags: Mapping[str, Any]) -> Benchmark:
    """Join a TOML file (where there is one) and flags by field; flags win, None is no flag."""
    given = {name: value for name, value in flags.items() if value is not None}
    if path is None:
        return Benchmark(**given)
    table = read_toml(path)
    try:
        return replace(_from_keys(table), **given)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from None


def _from_keys(table: Mapping[str, Any]) -> Benchmark:
    names = {key_of(one.name): one.name for one in fields(Benchmark)}
    for key in table:
        if key not in names:
            near = get_close_matches(key.replace("_", "-"), names, n=1, cutoff=0.5)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise InvalidInputError(f"unknown key {key!r}.{hint} Known keys: {', '.join(names)}.")
    return Benchmark(**{names[key]: value for key, value in table.items()})


def _without_repeats(key: str, given: Any) -> tuple[Any, ...]:
    """Read a list, or a value alone, in the order in which values first come."""
    values = list(given) if isinstance(given, list | tuple) else [given]
    if not values:
        raise InvalidInputError(f"{key} must hold at least one value; it is empty.")
    if not all(isinstance(value, str | int | float) for value in values):
        raise InvalidInputError(f"{key} must be a list of names or numbers; got {given!r}.")
    return tuple(dict.fromkeys(values))


def _check_choices(config: Benchmark) -> None:
    for protocol in config.protocols:
        check_choice("protocol", protocol, PROTOCOLS)
    check_choice("features", config.features, FEATURES)
    checked_names(config.methods)
    check_flag("validate-descriptors", config.validate_descriptors)
    check_flag("transductive", config.transductive)
    check_flag("figures", config.figures)
    check_flag("standardize", config.standardize)
    check_flag("even_rows", config.even_rows)
    if isinstance(config.unlisted, str):
        check_choice("unlisted", config.unlisted, ("absent", "unknown"))
    else:
        check_number("unlisted", config.unlisted, low=0, high=1, inclusive=False)


def _check_numbers(config: Benchmark) -> None:
    for rate in config.rates:
        check_number("rates", rate, low=0, high=1, inclusive=False)
    object.__setattr__(config, "rates", tuple(float(rate) for rate in config.rates))
    check_n_components("n_components", config.n_components)
    check_integer("repeats", config.repeats, at_least=1)
    check_integer("seed", config.seed, at_least=0)
    if config.seed + config.repeats > 2**32:
        raise InvalidInputError(f"seed must be below 2^32; got {config.seed}.")
    check_integer("folds", config.folds, at_least=2)
    if config.jobs is not None:
        check_integer("jobs", config.jobs, at_least=1)
