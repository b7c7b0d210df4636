"""The plan of a benchmark: its cells, what determines each of them, and which are unfinished."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from tagloom import __version__
from tagloom.benchmark.cell import (
    RESULTS_VERSION,
    Cell,
    CellStore,
    Task,
    digest_of,
    digest_of_arrays,
    fingerprint,
)
from tagloom.benchmark.config import LISTS, Benchmark
from tagloom.benchmark.inputs import listed_share, split_features
from tagloom.benchmark.methods import DESCRIPTORS, Method, build_learner, select_methods
from tagloom.datasets.base import Dataset
from tagloom.errors import InvalidInputError

# Inputs that learners share are kept here until the run is complete.
INPUTS_FOLDER = "inputs"
PATTERNS_FOLDER = "patterns"


@dataclass(frozen=True, eq=False)
class Plan:
    """All tasks of a benchmark, in the order in which they run.

    The first repetition covers every protocol, rate and method before the second begins, so that
    early results already are a complete comparison.
    """

    config: Benchmark
    dataset: Dataset
    fingerprint: str
    methods: tuple[Method, ...]
    tasks: tuple[Task, ...]
    notes: tuple[str, ...]

    @property
    def store(self) -> CellStore:
        """The store of finished cells."""
        return CellStore(self.config.out)

    def pending(self) -> list[Task]:
        """Return the tasks whose cell is unfinished."""
        return [task for task in self.tasks if self.store.read(task.cell) is None]


def plan_benchmark(
    config: Benchmark, dataset: Dataset, methods: Sequence[Method] | None = None
) -> Plan:
    """Plan the cells of a benchmark.

    Parameters
    ----------
    config : Benchmark
    dataset : Dataset
        With features, see `Dataset.embedded`.
    methods : sequence of Method, optional
        Methods to compare instead of those that `config` names, such as your own.
    """
    split_features(dataset)
    named = dict.fromkeys((*config.methods, *config.more_methods))
    chosen = tuple(select_methods(named) if methods is None else methods)
    notes = list(dataset.notes)
    if config.validate_descriptors:
        if dataset.features is not None and dataset.features.concepts:
            chosen += DESCRIPTORS
        else:
            notes.append(
                "The semantic descriptors are not validated: the set has no posteriors of concepts."
            )
    _check_words(dataset, chosen)
    for method in chosen:
        build_learner(method, config.random_state)
    if len({method.name for method in chosen}) < len(chosen):
        raise InvalidInputError("Two methods have the same name.")
    identity = fingerprint(dataset)
    tasks = tuple(_tasks(config, dataset, identity, chosen))
    return Plan(config, dataset, identity, chosen, tasks, tuple(notes))


def _check_words(dataset: Dataset, methods: Sequence[Method]) -> None:
    """Require concepts where methods look up the names of the labels."""
    with_words = [method.name for method in methods if method.words]
    if with_words and not (dataset.features is not None and dataset.features.concepts):
        raise InvalidInputError(
            f"methods: {', '.join(with_words)} need posteriors of concepts, and {dataset.name} has "
            "none. Leave them out."
        )


def _tasks(
    config: Benchmark, dataset: Dataset, identity: str, methods: Sequence[Method]
) -> Iterator[Task]:
    inputs = config.out / INPUTS_FOLDER
    common = _common_metadata(config)
    visual = inputs / digest_of(**common, set=identity, features="visual")
    more = {protocol: _protocol_metadata(dataset, protocol) for protocol in config.protocols}
    for seed, (protocol, rate) in product(config.seeds, _settings(config, dataset)):
        pattern = _pattern_metadata(config, identity, protocol, rate, seed) | more[protocol]
        semantic = common | {"pattern": pattern, "features": config.features}
        setting = f"{protocol}_{rate:g}_seed{seed}"
        semantics = inputs / f"{setting}_{digest_of(**semantic)}"
        for method in methods:
            digest = digest_of(
                inputs=semantic,
                method=method.metadata(),
                folds=config.cv,
                version=__version__,
                **({} if config.search_labels is None else {"labels": config.search_labels}),
            )
            yield Task(
                cell=Cell(dataset.name, protocol, method.name, rate, seed, digest),
                method=method,
                pattern=config.out / PATTERNS_FOLDER / f"{setting}_{digest_of(**pattern)}.npz",
                features=semantics if config.features == "semantic" else visual,
                semantics=semantics,
                cv=config.cv,
                transductive=config.transductive and method.uses_unlabelled,
                normalize_rows=config.normalize_rows,
                search_labels=config.search_labels,
            )


def _settings(config: Benchmark, dataset: Dataset) -> list[tuple[str, float]]:
    """Return the protocols with their rates; people have listed a share that nobody can choose."""
    return [
        (protocol, rate)
        for protocol in config.protocols
        for rate in ([round(listed_share(dataset), 3)] if protocol == "listed" else config.rates)
    ]


def _common_metadata(config: Benchmark) -> dict[str, Any]:
    """Return the settings that determine the results of every cell."""
    return {
        "n_components": config.n_components,
        "standardize": config.standardize,
        "normalize_rows": config.normalize_rows,
        "transductive": config.transductive,
        "results": RESULTS_VERSION,
    }


def _pattern_metadata(
    config: Benchmark, identity: str, protocol: str, rate: float, seed: int
) -> dict[str, Any]:
    """Return everything that determines which labels stay known."""
    return {
        "set": identity,
        "protocol": protocol,
        "rate": rate,
        "seed": seed,
        "unlisted": config.unlisted if protocol in LISTS else None,
        "results": RESULTS_VERSION,
    }


def _protocol_metadata(dataset: Dataset, protocol: str) -> dict[str, Any]:
    """Return what determines a pattern beside what every protocol uses of a set."""
    if protocol == "salience" and dataset.salience is not None:
        return {"salience": digest_of_arrays(dataset.salience)}
    if protocol == "listed" and dataset.listed is not None:
        entries, labels = dataset.listed.entries(), list(map(str, dataset.listed.labels))
        return {"listed": [digest_of_arrays(entries.rows, entries.columns), labels]}
    return {}
