"""Average precision of all labels: tagloom against a loop over scikit-learn's, alternating.

    python benchmarks/metrics.py --items 12500 --labels 291

The ratio is that of the medians; both must agree to 1e-12.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
from sklearn.metrics import average_precision_score

from tagloom.metrics import at_top_k, average_precision, average_precision_per_item


def problem(n_items: int, n_labels: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Make labels of very unequal frequency, 6 to an item, and scores correlated with them."""
    rng = np.random.default_rng(0)
    frequency = np.geomspace(0.001, 1.0, n_labels)
    frequency *= 6 / frequency.sum()
    truth = rng.random((n_items, n_labels)) < frequency
    truth[0] = True
    scores = rng.normal(size=truth.shape) + 1.5 * truth
    return truth, scores.astype(dtype)


def by_scikit_learn(truth: np.ndarray, scores: np.ndarray) -> np.ndarray:
    return np.array([average_precision_score(t, s) for t, s in zip(truth.T, scores.T, strict=True)])


def seconds(call: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def compare(truth: np.ndarray, scores: np.ndarray, repeats: int) -> None:
    theirs, ours = [], []
    for _ in range(repeats):
        taken, expected = seconds(lambda: by_scikit_learn(truth, scores))
        theirs.append(taken)
        taken, found = seconds(lambda: average_precision(truth, scores))
        ours.append(taken)
        assert np.abs(found - expected).max() < 1e-12
    slow, quick = statistics.median(theirs), statistics.median(ours)
    print(
        f"{scores.dtype!s:8s} scikit-learn {1000 * slow:7.1f} ms   "
        f"tagloom {1000 * quick:6.1f} ms   {slow / quick:5.1f} x",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=12_500)
    parser.add_argument("--labels", type=int, default=291)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    print(f"{options.items:,} items x {options.labels} labels, {options.repeats} rounds, medians")
    for dtype in ("float32", "float64"):
        compare(*problem(options.items, options.labels, dtype), options.repeats)
    truth, scores = problem(options.items, options.labels, "float32")
    for name, call in (
        ("voc11", lambda: average_precision(truth, scores, interpolation="voc11")),
        ("per item", lambda: average_precision_per_item(truth, scores)),
        ("at top 5", lambda: at_top_k(truth, scores)),
    ):
        print(f"{name:10s} {1000 * statistics.median(seconds(call)[0] for _ in range(5)):7.1f} ms")


if __name__ == "__main__":
    main()
