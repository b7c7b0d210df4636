"""Peak memory and time of `tagloom complete` on many pictures, all steps but the encoding.

Features are synthetic, or with `--like` drawn between those of real pictures and their neighbours.
The memory is that of the whole process: run it in a fresh one for each figure.

    python benchmarks/complete_scale.py --items 20000
    python benchmarks/complete_scale.py --items 200000 --like /data/corel5k/efficientnet_lite0.npz
"""

import argparse
import csv
import resource
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from tagloom.completion import pipeline
from tagloom.completion.inputs import Options, Pictures
from tagloom.neighbors import nearest_neighbors
from tagloom.vision import Features

STEPS = ("fit_tagger", "score_held_out", "assemble_result", "write_outputs")

_BLOCK = 1000


class Collection(NamedTuple):
    """Pictures, and the names of their true labels."""

    features: Features
    labels: list[np.ndarray]


def collection(n_items: int, n_labels: int, seed: int = 0) -> Collection:
    """Return features of pictures of 200 kinds, as large as lite0's, and their true labels.

    A kind of picture has some 1.5% of the labels; features are those of the kind with noise. All is
    generated block by block in single precision, so that this does not set the peak.
    """
    rng = np.random.default_rng(seed)
    kind = rng.integers(200, size=n_items)
    has = rng.random((200, n_labels)) < 0.015
    has[np.arange(200), np.arange(200) % n_labels] = True
    centres = rng.normal(size=(200, 1280)).astype(np.float32)
    likely = rng.gamma(0.05, size=(200, 1000)).astype(np.float32)
    visual = np.empty((n_items, 1280), dtype=np.float32)
    posteriors = np.empty((n_items, 1000), dtype=np.float32)
    for start in range(0, n_items, _BLOCK):
        here = kind[start : start + _BLOCK]
        noise = rng.standard_normal((len(here), 1280), dtype=np.float32)
        visual[start : start + _BLOCK] = centres[here] + 1.5 * noise
        mass = likely[here] + 0.2 * rng.gamma(0.05, size=(len(here), 1000))
        posteriors[start : start + _BLOCK] = mass / mass.sum(axis=1, keepdims=True)
    items = [f"2019/IMG_{row:05}.jpg" for row in range(n_items)]
    features = Features(items, visual, posteriors, [f"concept {j}" for j in range(1000)])
    names = np.array([f"tag {label:03}" for label in range(n_labels)])
    return Collection(features, [names[has[k]] for k in kind])


def collection_like(path: Path, n_items: int, seed: int = 0) -> Collection:
    """Return pictures between the real ones of a file and one of their ten neighbours each.

    The file has "pooled" and "logits" of a network, labels "Y" of 0 and 1, and their names "words".
    A picture is nearer to the first of its two, whose labels it has; noise of a quarter of the
    standard deviation of each column sets it apart from others of the same two.
    """
    rng = np.random.default_rng(seed)
    with np.load(path, allow_pickle=False) as file:
        pooled, logits = (file[name].astype(np.float32) for name in ("pooled", "logits"))
        words, Y = file["words"], file["Y"]
    names = [words[has > 0] for has in Y]
    near = nearest_neighbors(pooled, 10).indices
    one = rng.integers(len(pooled), size=n_items)
    other = near[one, rng.integers(10, size=n_items)]
    share = rng.random((n_items, 1), dtype=np.float32) / 2
    visual = np.empty((n_items, pooled.shape[1]), dtype=np.float32)
    posteriors = np.empty((n_items, logits.shape[1]), dtype=np.float32)
    noise = pooled.std(axis=0) / 4
    for start in range(0, n_items, _BLOCK):
        part = slice(start, start + _BLOCK)
        a, b, t = one[part], other[part], share[part]
        visual[part] = (1 - t) * pooled[a] + t * pooled[b]
        visual[part] += noise * rng.standard_normal(visual[part].shape, dtype=np.float32)
        posteriors[part] = softmax((1 - t) * logits[a] + t * logits[b], axis=1)
    items = [f"2019/IMG_{row:06}.jpg" for row in range(n_items)]
    concepts = [f"concept {j}" for j in range(logits.shape[1])]
    return Collection(Features(items, visual, posteriors, concepts), [names[row] for row in one])


def write_tags(path: Path, items: list[str], labels: list[np.ndarray], share: float) -> int:
    """List a share of the true tags, and return how many."""
    rng, count = np.random.default_rng(1), 0
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(("image", "tag"))
        for item, present in zip(items, labels, strict=True):
            listed = present[rng.random(len(present)) < share]
            writer.writerows((item, label) for label in listed)
            count += len(listed)
    return count


class Watch(threading.Thread):
    """Notes where the main thread was when the memory was largest."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._main = threading.main_thread().ident
        self.peak, self.where = 0, ""

    def run(self) -> None:
        """Look every twentieth of a second."""
        while True:
            now = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
            if now > 1.01 * self.peak:
                frames = traceback.extract_stack(sys._current_frames()[self._main])
                ours = [frame for frame in frames if "tagloom" in frame.filename][-6:]
                self.peak = now
                self.where = "\n".join(
                    f"    {Path(frame.filename).name}:{frame.lineno} {frame.name}: {frame.line}"
                    for frame in ours
                )
            time.sleep(0.05)


def peak() -> float:
    """Return the largest memory of this process so far, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--labels", type=int, default=500, help="of synthetic pictures")
    parser.add_argument("--like", type=Path, help="real pictures to draw others between")
    parser.add_argument("--share", type=float, default=0.5, help="of the true tags that is listed")
    parser.add_argument("--minutes", type=float, default=0.0, help="of the search for parameters")
    parser.add_argument("--folds", type=int, default=Options().cv)
    parser.add_argument("--where", action="store_true", help="print where the peak was")
    given = parser.parse_args()
    if given.like:
        features, labels = collection_like(given.like, given.items)
    else:
        features, labels = collection(given.items, given.labels)
    started, used = time.perf_counter(), time.process_time()

    def on_step(step: str, findings: dict[str, Any]) -> None:
        wall, cpu = time.perf_counter() - started, time.process_time() - used
        now = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**30
        memory = f"{now:6.2f} GiB, peak {peak():6.2f}"
        print(f"{wall:7.1f} s, processor {cpu:7.1f} s, {memory}  before/at {step}", flush=True)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "photos").mkdir()
        n_tags = write_tags(folder / "tags.csv", features.items, labels, given.share)
        print(f"{given.items:,} pictures, {n_tags:,} tags; made with {peak():.2f} GiB")
        pipeline.find_pictures = lambda photos: SimpleNamespace(pictures=features.items)
        pipeline.encode_pictures = lambda photos, *_, **__: Pictures(photos, features, [])
        for step in STEPS:
            setattr(pipeline, step, _reporting(step, getattr(pipeline, step), on_step))
        watch = Watch()
        if given.where:
            watch.start()
        pipeline.complete(
            folder / "photos",
            [folder / "tags.csv"],
            folder / "out",
            Options(max_minutes=given.minutes, cv=given.folds),
            on_step=on_step,
        )
    on_step("the end", {})
    if given.where:
        print(f"largest when looked at: {watch.peak / 2**30:.2f} GiB in\n{watch.where}")


def _reporting(name: str, call: Any, on_step: Any) -> Any:
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        on_step(name, {})
        result = call(*args, **kwargs)
        on_step(f"end of {name}", {})
        return result

    return wrapped


if __name__ == "__main__":
    main()
