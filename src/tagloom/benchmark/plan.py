"""The cells of a benchmark: which there are, what decides each, which are done."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from tagloom import __version__
from tagloom.benchmark.cell import RESULTS_PROTOCOL, Cell, CellStore, Task, digest_of, fingerprint
from tagloom.benchmark.config import Benchmark
from tagloom.benchmark.inputs import split_features
from tagloom.benchmark.methods import DESCRIPTORS, Method, learner_class, methods_named
from tagloom.datasets.base import Dataset
from tagloom.errors import InvalidInputError

# §§ store_code
# Which code a result comes from, told by the text of the modules that decide its numbers.


RESULTS_VERSION = 1
"""Raised by hand with every change that alters the numbers of a learner, a protocol or a measure.

Finished cells of another version are worked out anew: a learner that was changed must not inherit
the results of what it was. Moving or rewording code leaves it as it is.
"""


def code_digest() -> str:
    """Return what tells results of this code from those of other code."""
    return f"results-{RESULTS_VERSION}"


# §§ main run_plan


# Inputs that learners share lie here until a run is complete.
WORK_FOLDER = "work"


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that is to be done, in the order in which it is done.

    The first repetition covers every protocol, rate and method before the second begins: early
    results are already a whole comparison.
    """

    config: Benchmark
    dataset: Dataset
    fingerprint: str
    methods: tuple[Method, ...]
    tasks: tuple[Task, ...]
    notes: tuple[str, ...]

    @property
    def store(self) -> CellStore:
        """Where finished cells are kept."""
        return CellStore(self.config.out)

    def pending(self) -> list[Task]:
        """Return the tasks whose cell is not finished."""
        return [task for task in self.tasks if self.store.read(task.cell) is None]


def plan_benchmark(
    config: Benchmark, dataset: Dataset, methods: Sequence[Method] | None = None
) -> Plan:
    """Lay out the cells of a benchmark on a data set that has features.

    Parameters
    ----------
    config : Benchmark
    dataset : Dataset
        With features, see `Dataset.embedded`.
    methods : sequence of Method, optional
        Instead of those that `config` names: learners of your own.
    """
    split_features(dataset)
    chosen = tuple(methods_named(config.methods) if methods is None else methods)
    notes = list(dataset.notes)
    if config.validate_descriptors:
        chosen += _descriptors(dataset, notes)
    for method in chosen:
        learner_class(method)
    if len({method.name for method in chosen}) < len(chosen):
        raise InvalidInputError("Two methods have the same name.")
    identity = fingerprint(dataset)
    tasks = tuple(_tasks(config, dataset.name, identity, chosen))
    return Plan(config, dataset, identity, chosen, tasks, tuple(notes))


def _descriptors(dataset: Dataset, notes: list[str]) -> tuple[Method, ...]:
    if dataset.features is not None and dataset.features.concepts:
        return DESCRIPTORS
    notes.append(
        "The semantic descriptors are not validated: the set has no posteriors of concepts."
    )
    return ()


def _tasks(
    config: Benchmark, name: str, identity: str, methods: Sequence[Method]
) -> Iterator[Task]:
    made = {
        "n_components": config.n_components,
        "standardize": config.standardize,
        "even_rows": config.even_rows,
        "transductive": config.transductive,
        "code": code_digest(),
    }
    code = {"results": RESULTS_PROTOCOL, "version": __version__}
    visual = made | {"set": identity, "features": "visual"}
    for seed, protocol, rate in product(config.seeds, config.protocols, config.rates):
        pattern = _pattern_facts(config, identity, protocol, rate, seed)
        setting = f"{protocol}_{rate:g}_seed{seed}"
        semantic = made | {"pattern": pattern, "features": config.features}
        semantics = config.out / WORK_FOLDER / f"{setting}_{digest_of(**semantic)}"
        on_labels = config.features == "semantic"
        for method in methods:
            metadata = {"inputs": semantic, "method": method.metadata(), "folds": config.folds}
            digest = digest_of(**metadata, **code)
            yield Task(
                cell=Cell(name, protocol, method.name, rate, seed, digest),
                method=method,
                pattern=_pattern_path(config.out, setting, digest_of(**pattern)),
                features=semantics if on_labels else config.out / WORK_FOLDER / digest_of(**visual),
                semantics=semantics,
                folds=config.folds,
                transductive=config.transductive and method.sees_unlabelled,
                even_rows=config.even_rows,
            )


def _pattern_facts(
    config: Benchmark, identity: str, protocol: str, rate: float, seed: int
) -> dict[str, object]:
    unlisted = config.unlisted if protocol == "presences" else None
    metadata = {"set": identity, "protocol": protocol, "rate": rate, "seed": seed}
    return metadata | {"unlisted": unlisted, "code": code_digest()}


def _pattern_path(out: Path, setting: str, digest: str) -> Path:
    return out / "patterns" / f"{setting}_{digest}.npz"
