"""What a reader needs to run an experiment again: configuration, machine, versions."""

import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tagloom import __version__
from tagloom.datasets.base import Dataset

_PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "onnxruntime", "numba")


def configuration_facts(configuration: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings as text."""
    return {str(name): _as_text(value) for name, value in configuration.items()}


def dataset_facts(dataset: Dataset) -> dict[str, str]:
    """Return the sizes of a data set."""
    test = dataset.truth.take(dataset.test)
    n_entries = test.n_items * test.n_labels
    facts = {
        "items": f"{len(dataset.training):,} for training, {len(dataset.test):,} for test",
        "labels": f"{test.n_labels:,}",
        "labels of a test item": f"{test.n_present / max(1, test.n_items):.1f} on average",
    }
    if not test.is_complete:
        unknown = n_entries - test.n_known
        share = unknown / max(1, n_entries)
        facts["unknown truth"] = f"{unknown:,} test entries ({share:.1%}), judged nowhere"
    if dataset.features is not None:
        facts["visual descriptor"] = f"{dataset.features.visual.shape[1]:,} numbers per item"
    return facts


def machine_facts() -> dict[str, str]:
    """Return what the times depend on; nothing that tells whose machine it is."""
    facts = {
        "processor": _processor(),
        "cores": f"{_usable_cores()} usable",
        "system": f"{platform.system()} {platform.machine()}",
    }
    memory = _memory()
    return facts | ({"memory": memory} if memory else {})


def version_facts() -> dict[str, str]:
    """Return the versions that decide the numbers."""
    facts = {"tagloom": __version__, "Python": platform.python_version()}
    for package in _PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            continue
    return facts


def _as_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_as_text, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {_as_text(entry)}" for name, entry in value.items())
    return "not set" if value is None else str(value)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or "unknown"


def _usable_cores() -> int:
    """Count the cores that this process may use, where the system tells."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


def _memory() -> str | None:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
    return f"{size / 2**30:.1f} GiB"
