"""Size of a saved tagger, part by part, and the time to write, read and inspect it."""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tagloom import APGGraph, PartialLabels, SemanticDiffusion, SemanticTagger
from tagloom.labels import hide_per_class
from tagloom.persistence import read_metadata
from tagloom.persistence.container import read_model
from tagloom.vision import Features


def collection(n_items: int, n_labels: int) -> tuple[Features, PartialLabels]:
    """Return random features of the shape that EfficientNet gives; one in ten labels is known."""
    rng = np.random.default_rng(0)
    visual = rng.normal(size=(n_items, 1280)) * np.arange(1, 1281) ** -0.25
    posteriors = rng.gamma(0.1, size=(n_items, 1000))
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    scores = visual[:, :40] @ rng.normal(size=(40, n_labels)) / 3
    truth = scores + rng.normal(size=scores.shape) > 3
    items = [f"2019/07 Norway/IMG_{i:05}.jpg" for i in range(n_items)]
    known = PartialLabels.from_array(truth, items=items)
    features = Features(items, visual, posteriors, [f"concept {j}" for j in range(1000)])
    return features, hide_per_class(known, 0.1, 0)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = call()
    return time.perf_counter() - started, result


def report(tagger: SemanticTagger, path: Path) -> None:
    writing, _ = timed(lambda: tagger.save(path))
    reading, loaded = timed(lambda: SemanticTagger.load(path))
    inspecting, header = timed(lambda: read_metadata(path))
    same = np.array_equal(loaded.scores(), tagger.scores())
    print(
        f"{type(tagger.learner_).__name__}: {header.n_features} features, "
        f"{header.n_bytes / 1e6:.1f} MB; written in {writing:.2f} s, read in {reading:.2f} s, "
        f"inspected in {inspecting:.3f} s; same scores: {same}"
    )
    arrays = read_model(path, "SemanticTagger").arrays
    for name, array in sorted(arrays.items(), key=lambda pair: -pair[1].nbytes)[:14]:
        print(f"  {array.nbytes / 1e6:6.2f} MB  {name} {array.shape} {array.dtype}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=4500)
    parser.add_argument("--labels", type=int, default=260)
    parser.add_argument("--n-components", type=float, default=0.8)
    given = parser.parse_args()
    features, known = collection(given.items, given.labels)
    learners = (
        SemanticDiffusion(on_unlearnable="ignore"),
        APGGraph(10.0, ridge=1.0, tol=1e-2, on_unlearnable="ignore"),
    )
    with tempfile.TemporaryDirectory() as folder:
        for learner in learners:
            tagger = SemanticTagger(learner, n_components=given.n_components).fit(features, known)
            report(tagger, Path(folder) / "model.tagloom")


if __name__ == "__main__":
    main()
