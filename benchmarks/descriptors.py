"""Which semantic descriptor, which pooling and which graph serve best on Corel5k.

Each table gives the mean average precision on the test pictures, in percent: mean and standard
deviation over the seeds. Of the training pictures, w% of the positives and w% of the negatives of
each label are observed; test pictures carry no observation. Every parameter is chosen on training
data alone: a fifth of the observed entries of each label is hidden, and the parameter that ranks
them best is used.

    python benchmarks/descriptors.py --data ../shared/data/corel5k/efficientnet_lite0.npz
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tagloom.graph import semantic_graph
from tagloom.labels import PartialLabels
from tagloom.metrics import mean_average_precision
from tagloom.models import APGGraph
from tagloom.semantics import DescriptorPCA, LocalDescriptor, SemanticDescriptor

RIDGES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
GAMMAS = (0.001, 0.01, 0.1, 1.0)


@dataclass
class Pictures:
    """Visual descriptors and posteriors side by side, and the true labels."""

    X: np.ndarray
    n_visual: int
    Y: np.ndarray
    train: np.ndarray


def load(path: Path) -> Pictures:
    data = np.load(path, allow_pickle=False)
    logits = data["logits"].astype(np.float64)
    posteriors = np.exp(logits - logits.max(axis=1, keepdims=True))
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    visual = data["pooled"].astype(np.float64)
    return Pictures(
        np.hstack([visual, posteriors]), visual.shape[1], data["Y"], data["split"] == "train"
    )


def observe(Y: np.ndarray, rate: float, rng: np.random.Generator) -> np.ndarray:
    """Observe that share of the positives and of the negatives of each label, rounded up."""
    seen = np.full(Y.shape, np.nan)
    for j in range(Y.shape[1]):
        for value in (0, 1):
            rows = np.flatnonzero(Y[:, j] == value)
            chosen = rng.permutation(rows)[: int(np.ceil(rate * len(rows)))]
            seen[chosen, j] = value
    return seen


def hide(seen: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Split the observed entries: four fifths to learn from, a fifth to choose by.

    A label keeps its last observed presence for learning.
    """
    learn, choose = seen.copy(), np.full(seen.shape, np.nan)
    for j in range(seen.shape[1]):
        for value in (0, 1):
            rows = rng.permutation(np.flatnonzero(seen[:, j] == value))
            hidden = rows[: len(rows) // 5]
            choose[hidden, j], learn[hidden, j] = value, np.nan
    return learn, choose


def ridge_scores(train: np.ndarray, seen: np.ndarray, ridge: float, other: np.ndarray) -> Any:
    learner = APGGraph(lam=0, ridge=ridge, on_unlearnable="ignore", tol=1e-5)
    return learner.fit(train, PartialLabels.from_array(seen)).scores(other)


Describe = Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def chosen_ridge(
    describe: Describe, X: np.ndarray, seen: np.ndarray, seed: int
) -> tuple[float, float]:
    """Return the ridge that ranks hidden entries best, and how well it does."""
    learn, choose = hide(seen, np.random.default_rng(seed))
    features, _ = describe(X, learn, X[:1])
    values = [
        mean_average_precision(choose, ridge_scores(features, learn, ridge, features))
        for ridge in RIDGES
    ]
    best = int(np.argmax(values))
    return RIDGES[best], values[best]


def validate(pictures: Pictures, describe: Describe, rate: float, seed: int) -> float:
    """Return the test mAP of the ridge learner on these descriptors."""
    X, Y = pictures.X[pictures.train], pictures.Y[pictures.train]
    seen = observe(Y, rate, np.random.default_rng(seed))
    ridge, _ = chosen_ridge(describe, X, seen, seed)
    train, test = describe(X, seen, pictures.X[~pictures.train])
    scores = ridge_scores(train, seen, ridge, test)
    return 100 * mean_average_precision(pictures.Y[~pictures.train], scores)


def standardized(train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bring the rows to mean 0 and total variance 1: one grid of ridges fits all descriptors."""
    mean, size = train.mean(axis=0), np.sqrt(train.var(axis=0).sum())
    return 10 * (train - mean) / size, 10 * (test - mean) / size


def semantic(n_visual: int, **options: Any) -> Describe:
    def describe(X: np.ndarray, seen: np.ndarray, other: np.ndarray) -> Any:
        descriptor = SemanticDescriptor(n_visual, **options)
        return standardized(descriptor.fit_transform(X, seen), descriptor.transform(other))

    return describe


def all_features(n_visual: int, *, scaled: bool = True, **options: Any) -> Describe:
    """PCA of [visual; s] with 90% of the energy, or of the visual descriptor alone."""

    def describe(X: np.ndarray, seen: np.ndarray, other: np.ndarray) -> Any:
        descriptor = SemanticDescriptor(n_visual, scaling="norm", **options)
        S, S_other = descriptor.fit_transform(X, seen), descriptor.transform(other)
        pca = DescriptorPCA(blocks=[n_visual, S.shape[1]] if scaled else None)
        train = pca.fit_transform(np.hstack([X[:, :n_visual], S]))
        return standardized(train, pca.transform(np.hstack([other[:, :n_visual], S_other])))

    return describe


def visual_only(n_visual: int) -> Describe:
    def describe(X: np.ndarray, seen: np.ndarray, other: np.ndarray) -> Any:
        pca = DescriptorPCA()
        train = pca.fit_transform(X[:, :n_visual])
        return standardized(train, pca.transform(other[:, :n_visual]))

    return describe


def descriptions(n: int) -> dict[str, Describe]:
    paper = LocalDescriptor(pooling="paper")
    return {
        "global": semantic(n, local="drop"),
        "local (known)": semantic(n, concepts="drop"),
        "local (paper)": semantic(n, concepts="drop", local=paper),
        "both (known)": semantic(n),
        "both (paper)": semantic(n, local=paper),
        "both (known, norm)": semantic(n, scaling="norm"),
        "visual, PCA": visual_only(n),
        "visual + both, PCA": all_features(n),
        "visual + both, PCA, unscaled": all_features(n, scaled=False),
    }


def priors(n: int) -> dict[str, Describe]:
    return {
        f"local (known), prior {prior:g}": semantic(
            n, concepts="drop", local=LocalDescriptor(prior=prior)
        )
        for prior in (0.1, 1.0, 3.0, 10.0, 30.0)
    }


def compare_graphs(pictures: Pictures, rate: float, seed: int, pooling: str) -> dict[str, float]:
    """Return test mAP of the ridge learner with and without a graph over all pictures."""
    X, test = pictures.X[pictures.train], pictures.X[~pictures.train]
    seen = observe(pictures.Y[pictures.train], rate, np.random.default_rng(seed))
    describe = all_features(pictures.n_visual)
    ridge, _ = chosen_ridge(describe, X, seen, seed)
    learn, choose = hide(seen, np.random.default_rng(seed))
    results = {}
    for weight in ("none", "dot", "cosine"):
        gammas = (0.0,) if weight == "none" else (0.0, *GAMMAS)
        tried = []
        for gamma in gammas:
            scores = _with_graph(
                pictures, describe, (X, X[:0]), learn, ridge, gamma, weight, pooling
            )
            tried.append(mean_average_precision(choose, scores))
        gamma = gammas[int(np.argmax(tried))]
        scores = _with_graph(pictures, describe, (X, test), seen, ridge, gamma, weight, pooling)
        truth = pictures.Y[~pictures.train]
        results[weight] = 100 * mean_average_precision(truth, scores[len(X) :])
        results[f"gamma of {weight}"] = gamma
    return results


def _with_graph(
    pictures: Pictures,
    describe: Describe,
    rows: tuple[np.ndarray, np.ndarray],
    seen: np.ndarray,
    ridge: float,
    gamma: float,
    weight: str,
    pooling: str,
) -> Any:
    """Learn with the graph over training and new pictures; the latter are all unknown."""
    X, other = rows
    descriptor = SemanticDescriptor(pictures.n_visual, local=LocalDescriptor(pooling=pooling))
    S = descriptor.fit_transform(X, seen)
    if len(other):
        train, new = describe(X, seen, other)
        features, S = np.vstack([train, new]), np.vstack([S, descriptor.transform(other)])
    else:
        features, _ = describe(X, seen, X[:1])
    known = np.vstack([seen, np.full((len(other), seen.shape[1]), np.nan)])
    W = None
    if gamma > 0:
        W = semantic_graph(S, weight=weight)
        # The same mean degree for both weights: one grid of gammas means the same to each.
        W /= W.sum() / len(S)
    learner = APGGraph(lam=0, ridge=ridge, gamma=gamma, on_unlearnable="ignore", tol=1e-5)
    return learner.fit(features, PartialLabels.from_array(known), graph=W).scores(features)


def show(name: str, values: list[list[float]]) -> None:
    cells = "  ".join(f"{np.mean(v):5.1f} ± {np.std(v):3.1f}" for v in values)
    print(f"{name:30s}  {cells}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rates", type=float, nargs="+", default=[0.1, 0.2, 0.3, 0.4, 0.5])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--what", choices=["descriptors", "priors", "graphs"], default="descriptors"
    )
    parser.add_argument("--pooling", choices=["known", "paper"], default="known")
    options = parser.parse_args()
    pictures = load(options.data)
    print(f"{'mAP (%) at observed share':30s}  " + "  ".join(f"{r:11.0%}" for r in options.rates))
    if options.what == "graphs":
        found = [
            [compare_graphs(pictures, rate, seed, options.pooling) for seed in range(options.seeds)]
            for rate in options.rates
        ]
        for name in found[0][0]:
            show(name, [[one[name] for one in at_rate] for at_rate in found])
        return
    table = descriptions if options.what == "descriptors" else priors
    for name, describe in table(pictures.n_visual).items():
        seeds = range(options.seeds)
        values = [[validate(pictures, describe, r, seed) for seed in seeds] for r in options.rates]
        show(name, values)


if __name__ == "__main__":
    main()
