"""The configuration of a benchmark, from command line flags and an optional TOML file."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tagloom.benchmark.methods import METHODS, check_methods
from tagloom.errors import InvalidInputError
from tagloom.io import atomic_write, read_toml
from tagloom.validation import (
    check_choice,
    check_flag,
    check_integer,
    check_n_components,
    check_number,
)

PROTOCOLS = ("per-class", "presences", "uniform", "salience", "listed")
# Those that leave lists of tags: presences only, and what an unlisted tag means is a setting.
LISTS = ("presences", "salience", "listed")
FEATURES = ("visual", "semantic")
ROW_NORMALIZATION = ("search", "always", "never")
RATES = (0.1, 0.2, 0.3, 0.4, 0.5)


@dataclass(frozen=True)
class Benchmark:
    """One benchmark; every field has a flag of `tagloom benchmark` and a key in its TOML file.

    Parameters
    ----------
    dataset : str
        Any name that `tagloom.datasets.registry.open_dataset` opens.
    protocols : tuple of {"per-class", "presences", "uniform", "salience", "listed"}
        How labels are hidden.
    rates : tuple of float
        Shares of the labels that stay known, each in (0, 1]. The protocol "listed" has its own.
    methods : tuple of str
        Names of the learners to compare, or classes "package.module:Class" of your own.
    more_methods : tuple of str
        Further ones, beside those of `methods`.
    repeats, random_state : int
        The seeds are random_state, random_state + 1, ..., random_state + repeats - 1.
    cv : int
        Number of cross-validation folds of the known entries when parameters are chosen.
    search_labels : int, optional
        Number of labels on which parameters are chosen, drawn by the seed; by default all. The last
        fit learns all of them. It bounds the cost of learners that fit every label on its own.
    features : {"visual", "semantic"}
        The features of all learners: the visual descriptor, or the paper's [visual; s].
    n_components : float or int
        Principal components to keep: a share of the variance in (0, 1), or their number.
    standardize : bool
        Whether to divide each column of the visual descriptor by its standard deviation over the
        training items first, for tables whose columns have different units.
    normalize_rows : {"search", "always", "never"}
        Whether to normalise the rows of the features. `SemanticDiffusion` does so by itself. By
        "search" every other learner chooses between rows as they are and normalised ones, as it
        chooses its parameters, so that no lead is due to the length of rows. By "always" the rows
        of all learners are normalised (and never twice). Descriptors that are validated on their
        own stay as they are.
    unlisted : "absent", "unknown" or float
        Meaning of an unlisted tag in the protocols "presences", "salience" and "listed"; a number
        is the weight with which it counts as absent.
    transductive : bool
        Whether learners that can use unlabelled items are given the test items, without labels,
        as when a collection is completed. Otherwise the test items are new to every learner.
    validate_descriptors : bool
        Whether to evaluate the semantic descriptors on their own, too.
    figures : bool
        Whether to draw figures.
    out : Path
        The output folder.
    n_jobs : int, optional
        How many cells run in parallel; one per core by default.
    """

    dataset: str = "scenes"
    protocols: tuple[str, ...] = field(default=("per-class",), metadata={"key": "protocol"})
    rates: tuple[float, ...] = RATES
    methods: tuple[str, ...] = tuple(method.name for method in METHODS)
    more_methods: tuple[str, ...] = field(default=(), metadata={"key": "method"})
    repeats: int = 5
    random_state: int = field(default=0, metadata={"key": "seed"})
    cv: int = field(default=3, metadata={"key": "folds"})
    search_labels: int | None = None
    features: str = "visual"
    n_components: float = 0.9
    standardize: bool = False
    normalize_rows: str = "search"
    unlisted: str | float = "absent"
    transductive: bool = True
    validate_descriptors: bool = False
    figures: bool = True
    out: Path = Path("tagloom-benchmark")
    n_jobs: int | None = field(default=None, metadata={"key": "jobs"})

    def __post_init__(self) -> None:
        for name in ("protocols", "rates", "methods"):
            object.__setattr__(self, name, _unique(key_of(name), getattr(self, name)))
        more = _unique(key_of("more_methods"), self.more_methods) if self.more_methods else ()
        object.__setattr__(self, "more_methods", more)
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
        return tuple(range(self.random_state, self.random_state + self.repeats))

    def to_dict(self) -> dict[str, Any]:
        """Return the configuration by key, ready for JSON."""
        values = {key_of(one.name): getattr(self, one.name) for one in fields(self)}
        listed = {key: list(v) if isinstance(v, tuple) else v for key, v in values.items()}
        return listed | {"out": str(self.out)}

    def save(self, path: str | os.PathLike[str], **more: Any) -> None:
        """Write the configuration, and further entries, as JSON."""
        with atomic_write(path) as part:
            part.write_text(json.dumps(self.to_dict() | more, indent=2) + "\n", encoding="utf-8")


def key_of(name: str) -> str:
    """Return the TOML key of a field, which is its flag without the leading dashes."""
    (found,) = (one for one in fields(Benchmark) if one.name == name)
    return str(found.metadata.get("key", name.replace("_", "-")))


def read_config(path: str | os.PathLike[str] | None, flags: Mapping[str, Any]) -> Benchmark:
    """Merge an optional TOML file and flags (by field); flags win, and None is no flag."""
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


def _unique(key: str, given: Any) -> tuple[Any, ...]:
    """Return the distinct values of a list, or of a single value, in their order."""
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
    check_choice(key_of("normalize_rows"), config.normalize_rows, ROW_NORMALIZATION)
    check_methods((*config.methods, *config.more_methods))
    for name in (
        "validate_descriptors",
        "transductive",
        "figures",
        "standardize",
    ):
        check_flag(key_of(name), getattr(config, name))
    if isinstance(config.unlisted, str):
        check_choice("unlisted", config.unlisted, ("absent", "unknown"))
    else:
        check_number("unlisted", config.unlisted, low=0, high=1, inclusive=False)


def _check_numbers(config: Benchmark) -> None:
    for rate in config.rates:
        check_number("rates", rate, low=0, high=1, inclusive=False)
    object.__setattr__(config, "rates", tuple(float(rate) for rate in config.rates))
    check_n_components("n-components", config.n_components)
    check_integer("repeats", config.repeats, at_least=1)
    check_integer("seed", config.random_state, at_least=0)
    if config.random_state + config.repeats > 2**32:
        raise InvalidInputError(f"seed must be below 2^32; got {config.random_state}.")
    check_integer("folds", config.cv, at_least=2)
    if config.search_labels is not None:
        check_integer("search-labels", config.search_labels, at_least=1)
    if config.n_jobs is not None:
        check_integer("jobs", config.n_jobs, at_least=1)
