"""Compare the speed from files to the cache with that of bare onnxruntime.

Each of many short rounds times three things on the same pictures, one after the other and in
rotating order, so that other load on the machine affects them alike:

- bare, batches: decoded pictures in batches, onnxruntime's own threads, as most programs use it;
- bare, per picture: decoded pictures, one per call from one thread per core, as embed uses it;
- embed: from files through decoding and encoding into an empty cache.

Rates are given per second and per processor second: on a shared machine a program with more threads
gets more of it, which counts as speed by the clock but not by processor time.

Run it with: python benchmarks/embed.py [--folder PICTURES] [--count 480] [--rounds 9]
"""

import argparse
import os
import platform
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from PIL import Image

from tagloom.vision import EfficientNetLite, decode, embed, find_pictures
from tagloom.vision.encoders.efficientnet import (
    VARIANTS,
    build_efficientnet,
    read_torch_weights,
    verified_weights,
)
from tagloom.vision.pipeline import available_cores

BATCH = 16
Rates = dict[str, list[NDArray[np.float64]]]
GOAL = 0.9


def machine() -> str:
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").is_file():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(
            (line.split(": ")[1] for line in lines if line.startswith("model name")), model
        )
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return (
        f"{model}, {available_cores()} cores, load {load}; Python {platform.python_version()}, "
        f"onnxruntime {onnxruntime.__version__}, numpy {np.__version__}"
    )


def make_photographs(folder: Path, count: int, size: tuple[int, int]) -> None:
    """Write JPEGs with as much detail as photographs have: noise on several scales."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        picture = np.zeros((size[1], size[0], 3))
        for cells in (4, 16, 64):
            noise = Image.fromarray(rng.integers(0, 256, (cells, cells, 3), dtype=np.uint8))
            picture += np.asarray(noise.resize(size, Image.Resampling.BICUBIC)) / cells**0.5
        scaled = (picture / picture.max() * 255).astype(np.uint8)
        Image.fromarray(scaled).save(folder / f"{seed:04}.jpg", quality=90)


def pick(folder: Path, into: Path, count: int) -> None:
    """Link pictures spread evenly over a folder."""
    items = find_pictures(folder).pictures
    for place in np.linspace(0, len(items) - 1, min(count, len(items))).astype(int):
        (into / f"{place:06}{Path(items[place]).suffix}").symlink_to(
            (folder / items[place]).resolve()
        )


def bare_single(encoder: EfficientNetLite, pixels: list[NDArray[np.uint8]]) -> None:
    with ThreadPoolExecutor(available_cores()) as pool:
        list(pool.map(encoder.encode, pixels))


def bare_batches() -> Callable[[list[NDArray[np.uint8]]], None]:
    kind = VARIANTS["lite0"]
    weights = read_torch_weights(verified_weights("lite0", kind))
    graph = build_efficientnet(weights, size=kind.size, depth=kind.depth, batch=BATCH)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = available_cores()
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])

    def run(pixels: list[NDArray[np.uint8]]) -> None:
        for start in range(0, len(pixels), BATCH):
            batch = np.stack(pixels[start : start + BATCH])
            session.run(["visual", "posteriors"], {"pictures": batch})

    return run


def timed(work: Callable[[], object]) -> NDArray[np.float64]:
    """Return the seconds on the clock and of the processors."""
    started = np.array([time.perf_counter(), time.process_time()])
    work()
    return np.array([time.perf_counter(), time.process_time()]) - started


def rounds(folder: Path, count: int) -> Rates:
    encoder = EfficientNetLite()
    items = find_pictures(folder).pictures
    raw = [(folder / item).read_bytes() for item in items]
    pixels = [encoder.prepare(decode(one, needed=encoder.side_needed)) for one in raw]
    batches = bare_batches()
    rates: Rates = {"bare, per picture": [], "bare, batches": [], "embed": []}
    for number in range(count + 1):
        with tempfile.TemporaryDirectory() as cache:
            work: list[tuple[str, Callable[[], object]]] = [
                ("bare, per picture", lambda: bare_single(encoder, pixels)),
                ("embed", lambda cache=cache: embed(folder, encoder, cache=cache)),
                ("bare, batches", lambda: batches(pixels)),
            ]
            turn = number % len(work)
            seconds = {name: timed(one) for name, one in work[turn:] + work[:turn]}
        # The first round warms caches and is not counted.
        for name, taken in seconds.items() if number else ():
            rates[name].append(len(items) / taken)
    return rates


def report(rates: Rates) -> None:
    for name, values in rates.items():
        clock, processor = np.median(values, axis=0)
        print(f"{name:18} {clock:7.1f} pictures/s  {processor:7.1f} pictures/processor second")
    for name in ("bare, batches", "bare, per picture"):
        by_round = np.array(rates["embed"]) / np.array(rates[name])
        low, middle, high = np.percentile(by_round, [25, 50, 75], axis=0)
        for place, clock in enumerate(("clock", "processor time")):
            spread = f"middle half of the rounds {low[place]:.3f} to {high[place]:.3f}"
            verdict = "reached" if middle[place] >= GOAL else "missed"
            print(f"embed / {name}, by {clock}: {middle[place]:.3f} ({spread}), {GOAL} {verdict}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, help="pictures to use; else some are generated")
    parser.add_argument("--count", type=int, default=480)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    count = max(1, options.count // BATCH) * BATCH
    print(machine())
    with tempfile.TemporaryDirectory() as home:
        if options.folder:
            pick(options.folder, Path(home), count)
        else:
            make_photographs(Path(home), count, (640, 480))
        report(rounds(Path(home), options.rounds))


if __name__ == "__main__":
    main()
