"""Time and memory of the relevance of all concepts, for dense, sparse and weighted labels.

python benchmarks/mutual_information.py
"""

import argparse
import resource
import time

import numpy as np

from tagloom.labels import PartialLabels
from tagloom.semantics import ConceptSelector


def kinds_of_labels(
    n_items: int, n_labels: int, rng: np.random.Generator
) -> dict[str, PartialLabels]:
    Y = (rng.random((n_items, n_labels)) < 0.02).astype(float)
    tags = [np.flatnonzero(row).tolist() for row in Y]
    return {
        "all known": PartialLabels.from_array(Y),
        "10% known": PartialLabels.from_array(np.where(rng.random(Y.shape) < 0.1, Y, np.nan)),
        "weights": PartialLabels.from_array(Y, weights=rng.random(Y.shape) + 0.5),
        "tags, unlisted absent at 0.1": PartialLabels.from_tags(
            tags, unlisted=0.1, labels=range(n_labels)
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=18_000)
    parser.add_argument("--labels", type=int, default=291)
    parser.add_argument("--concepts", type=int, default=1000)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    concepts = rng.random((options.items, options.concepts), dtype=np.float32)
    for name, known in kinds_of_labels(options.items, options.labels, rng).items():
        start = time.perf_counter()
        ConceptSelector().fit(concepts, known)
        print(f"{name:30s} {time.perf_counter() - start:6.1f} s", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:.0f} MiB, of which the concepts {concepts.nbytes / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
