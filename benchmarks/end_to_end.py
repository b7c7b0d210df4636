"""How long `tagloom complete` takes, as a multiple of the bare network on decoded pictures.

One run prints, in seconds on the clock and of the processors:

- decoding: all pictures from files to the squares of pixels that the network takes;
- bare inference: the network on these, one per call from one thread per core. It is measured before
  and after the completion, on a sample of the pictures, so that both see the same machine;
- the completion from an empty cache to the report, step by step.

With --busy N the part after the encoding is run twice more, alone and beside N busy loops. The fair
share of a program with a thread for each of c cores is then c / (c + N) of them: by the clock it
should take 1 + N/c times as long, and by processor time as long as alone. Threads that wait for
each other in a busy loop take a multiple of both.

    python benchmarks/end_to_end.py PHOTOS TAGS --count 1000
    python benchmarks/end_to_end.py PHOTOS TAGS --busy 2
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embed import machine, timed
from tagloom.completion import pipeline
from tagloom.completion.inputs import Options
from tagloom.vision import Encoder, decode, find_pictures, load_encoder
from tagloom.vision.pipeline import available_cores

Seconds = NDArray[np.float64]
STEPS = {
    "encode_pictures": "encode",
    "labels_to_train": "training labels",
    "fit_tagger": "search and fit",
    "score_held_out": "score held-out labels",
    "calibrate_collection": "calibrate",
    "assemble_result": "suggest",
    "write_outputs": "report and other files",
}
GOAL, GOAL_OF_LEARNING = 1.3, 12.0


def link(photos: Path, into: Path, count: int | None) -> list[str]:
    """Link pictures spread evenly over a folder, under their own names."""
    items = find_pictures(photos).pictures
    places = np.linspace(0, len(items) - 1, min(count or len(items), len(items))).astype(int)
    chosen = [items[place] for place in places]
    for item in chosen:
        (into / item).parent.mkdir(parents=True, exist_ok=True)
        (into / item).symlink_to((photos / item).resolve())
    return chosen


def in_threads(work: Callable[[Any], object], tasks: list[Any]) -> Callable[[], object]:
    def run() -> None:
        with ThreadPoolExecutor(available_cores()) as pool:
            for _ in pool.map(work, tasks):
                pass

    return run


class Bare:
    """The network on decoded pictures, of which a sample is kept."""

    def __init__(self, encoder: Encoder, photos: Path, items: list[str], sample: int) -> None:
        self.encoder, self.photos, self.n_items = encoder, photos, len(items)
        self.decoding = timed(in_threads(self.squares, items))
        places = np.linspace(0, len(items) - 1, min(sample, len(items))).astype(int)
        self.looks = [look for place in places for look in self.squares(items[place])]
        self.rounds: list[Seconds] = []

    def squares(self, item: str) -> list[tuple[Encoder, NDArray[Any]]]:
        """Return what each look of the encoder takes of a picture."""
        content = (self.photos / item).read_bytes()
        picture = decode(content, needed=self.encoder.side_needed)
        return [(look, look.prepare(picture)) for look in self.encoder.members]

    def measure(self) -> None:
        """Encode the sample once more."""
        taken = timed(in_threads(lambda look: look[0].encode(look[1]), self.looks))
        n_pictures = len(self.looks) / len(self.encoder.members)
        self.rounds.append(taken * self.n_items / n_pictures)

    @property
    def inference(self) -> Seconds:
        """Seconds for all pictures."""
        return np.median(self.rounds, axis=0)


@contextmanager
def steps_timed() -> Iterator[dict[str, Seconds]]:
    """Time the steps of the pipeline."""
    taken: dict[str, Seconds] = {}
    plain = {name: getattr(pipeline, name) for name in STEPS}

    def timing(name: str) -> Callable[..., Any]:
        def step(*args: Any, **given: Any) -> Any:
            result: list[Any] = []
            seconds = timed(lambda: result.append(plain[name](*args, **given)))
            taken[name] = taken.get(name, np.zeros(2)) + seconds
            return result[0]

        return step

    for name in STEPS:
        setattr(pipeline, name, timing(name))
    try:
        yield taken
    finally:
        for name, function in plain.items():
            setattr(pipeline, name, function)


def complete(photos: Path, tags: Path, home: Path, name: str) -> tuple[Seconds, dict[str, Seconds]]:
    """Complete into a folder of that name; the cache is shared by all runs."""
    with steps_timed() as steps:
        total = timed(
            lambda: pipeline.complete(
                photos, [tags], home / name, Options(), cache=home / "cache", verbose=True
            )
        )
    return total, steps


def row(name: str, seconds: Seconds, bare: Seconds) -> None:
    ratio = seconds / bare
    print(f"{name:24} {seconds[0]:8.1f} {seconds[1]:10.1f} {ratio[0]:10.2f} {ratio[1]:10.2f}")


def report(total: Seconds, steps: dict[str, Seconds], bare: Bare) -> None:
    print(f"{'seconds':24} {'clock':>8} {'processors':>10} {'of bare':>10} {'of bare':>10}")
    row("decoding, apart", bare.decoding, bare.inference)
    row("bare inference", bare.inference, bare.inference)
    for name, seconds in steps.items():
        row(STEPS[name], seconds, bare.inference)
    row("everything else", total - sum(steps.values()), bare.inference)
    learning = total - steps["encode_pictures"]
    row("all but encoding", learning, bare.inference)
    row("end to end", total, bare.inference)
    clock, processors = total / bare.inference
    print(
        f"end to end / bare inference: {clock:.2f} by the clock, {processors:.2f} by processor "
        f"time (at most {GOAL} is wanted); all but encoding: {learning[0]:.1f} s "
        f"(at most {GOAL_OF_LEARNING:.0f} s is wanted for 5,000 pictures)"
    )


def busy(photos: Path, tags: Path, home: Path, n_loops: int) -> None:
    """Compare the part after the encoding alone and beside busy loops."""
    alone, _ = complete(photos, tags, home, "alone")
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n_loops)]
    try:
        beside, _ = complete(photos, tags, home, "beside")
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    fair = 1 + n_loops / available_cores()
    clock, processors = beside / alone
    print(
        f"beside {n_loops} busy loops, encoding cached: {beside[0]:.1f} s after {alone[0]:.1f} s "
        f"alone, {clock / fair:.2f} of the fair {fair:.1f} times as long; processor time "
        f"{beside[1]:.1f} s after {alone[1]:.1f} s, {processors:.2f} times as much"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("photos", type=Path)
    parser.add_argument("tags", type=Path)
    parser.add_argument("--count", type=int, help="only so many of the pictures")
    parser.add_argument("--sample", type=int, default=200, help="pictures for bare inference")
    parser.add_argument("--busy", type=int, default=0, help="number of busy loops")
    args = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        photos = home / "photos"
        photos.mkdir()
        items = link(args.photos, photos, args.count)
        bare = Bare(load_encoder(["lite0"]), photos, items, args.sample)
        print(f"{len(items):,} pictures, {len(bare.encoder.members)} looks at each", flush=True)
        bare.measure()
        total, steps = complete(photos, args.tags, home, "out")
        bare.measure()
        report(total, steps, bare)
        if args.busy:
            busy(photos, args.tags, home, args.busy)


if __name__ == "__main__":
    main()
