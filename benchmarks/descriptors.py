"""Compare semantic descriptors, poolings and graphs on Corel5k.

Each table gives the mean average precision on the test pictures, in percent: mean and standard
deviation over the seeds. Of the training pictures, w% of the positives and w% of the negatives of
each label are observed; test pictures carry no observation. Ridge and gamma are chosen on training
data alone: a fifth of the observed entries of each label is hidden, and the value that ranks them
best is used.

    python benchmarks/descriptors.py --data FEATURES.npz
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from tagloom.graph import semantic_graph
from tagloom.labels import PartialLabels
from tagloom.metrics import mean_average_precision
from tagloom.models import APGGraph
from tagloom.semantics import ConceptSelector, DescriptorPCA, LocalDescriptor

RIDGES = (30.0, 100.0, 300.0, 1000.0)
GAMMAS = (0.0, 0.003, 0.03, 0.3)

Pair = tuple[np.ndarray, np.ndarray]
"""A table of the training pictures and one of the test pictures."""


@dataclass
class Pictures:
    """Visual descriptors (whole and reduced), posteriors and true labels."""

    visual: Pair
    reduced: Pair
    posteriors: Pair
    Y: Pair


def load(path: Path) -> Pictures:
    data = np.load(path, allow_pickle=False)
    train = data["split"] == "train"
    logits = data["logits"].astype(np.float32)
    posteriors = np.exp(logits - logits.max(axis=1, keepdims=True))
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    visual = data["pooled"].astype(np.float32)
    # The PCA of the neighbour search does not depend on labels: it is fitted once.
    pca = PCA(128, svd_solver="covariance_eigh").fit(visual[train])
    tables = (visual, pca.transform(visual), posteriors, data["Y"])
    return Pictures(*((table[train], table[~train]) for table in tables))


def observe(Y: np.ndarray, rate: float, rng: np.random.Generator) -> np.ndarray:
    """Observe that share of the positives and of the negatives of each label, rounded up."""
    observed = np.full(Y.shape, np.nan)
    for j in range(Y.shape[1]):
        for value in (0, 1):
            rows = np.flatnonzero(Y[:, j] == value)
            chosen = rng.permutation(rows)[: int(np.ceil(rate * len(rows)))]
            observed[chosen, j] = value
    return observed


def hide(observed: np.ndarray, rng: np.random.Generator) -> Pair:
    """Split the observed entries of each label: four fifths to train, a fifth to validate."""
    training, validation = observed.copy(), np.full(observed.shape, np.nan)
    for j in range(observed.shape[1]):
        for value in (0, 1):
            rows = rng.permutation(np.flatnonzero(observed[:, j] == value))
            hidden = rows[: len(rows) // 5]
            validation[hidden, j], training[hidden, j] = value, np.nan
    return training, validation


def global_part(pictures: Pictures, observed: np.ndarray) -> Pair:
    train, test = pictures.posteriors
    selector = ConceptSelector().fit(train, observed)
    return selector.transform(train), selector.transform(test)


def local_part(pictures: Pictures, observed: np.ndarray, **options: Any) -> Pair:
    train, test = pictures.reduced
    local = LocalDescriptor(n_components=None, **options)
    return local.fit_transform(train, observed), local.transform(test)


def concatenated(*parts: Pair) -> Pair:
    return np.hstack([part[0] for part in parts]), np.hstack([part[1] for part in parts])


def semantic_descriptors(pictures: Pictures, observed: np.ndarray) -> Iterator[tuple[str, Pair]]:
    g = global_part(pictures, observed)
    known = local_part(pictures, observed)
    paper = local_part(pictures, observed, pooling="paper")
    yield "global", g
    yield "local, known", known
    yield "local, paper", paper
    yield "both, known", concatenated(g, known)
    yield "both, paper", concatenated(g, paper)


def shrinkages(pictures: Pictures, observed: np.ndarray) -> Iterator[tuple[str, Pair]]:
    for value in (0.1, 1.0, 3.0, 10.0, 30.0):
        yield f"local, shrinkage {value:g}", local_part(pictures, observed, shrinkage=value)


def learner_features(pictures: Pictures, observed: np.ndarray) -> Iterator[tuple[str, Pair]]:
    """Yield the learner's X: PCA of [visual; s] with 90% of the variance, and parts of it."""
    s = concatenated(global_part(pictures, observed), local_part(pictures, observed))
    both = concatenated(pictures.visual, s)
    widths = [pictures.visual[0].shape[1], s[0].shape[1]]
    for name, pair, blocks in (
        ("visual", pictures.visual, None),
        ("visual + both", both, None),
        ("visual + both, blocks scaled", both, widths),
    ):
        pca = DescriptorPCA(blocks=blocks).fit(pair[0])
        yield f"{name} ({pca.n_components_})", (pca.transform(pair[0]), pca.transform(pair[1]))


def standardized(pair: Pair) -> Pair:
    """Scale the rows to mean 0 and total variance 100, so that one grid of ridges fits all."""
    mean, size = pair[0].mean(axis=0), np.sqrt(pair[0].var(axis=0).sum())
    train, test = (np.float32(10) * (table - mean) / size for table in pair)
    return train.astype(np.float32), test.astype(np.float32)


def fitted(
    X: np.ndarray, observed: np.ndarray, ridge: float, gamma: float = 0, graph: Any = None
) -> Any:
    learner = APGGraph(lam=0, ridge=ridge, gamma=gamma, on_unlearnable="ignore", tol=1e-3)
    return learner.fit(X, PartialLabels.from_array(observed), graph=graph)


def chosen_ridge(X: np.ndarray, training: np.ndarray, validation: np.ndarray) -> float:
    """Return the ridge that ranks hidden entries best."""
    values = [mean_average_precision(validation, fitted(X, training, r).scores(X)) for r in RIDGES]
    return RIDGES[int(np.argmax(values))]


def compare_descriptors(
    pictures: Pictures, rate: float, seed: int, describe: Any
) -> dict[str, float]:
    """Return the test mAP of the ridge learner on each descriptor."""
    rng = np.random.default_rng(seed)
    observed = observe(pictures.Y[0], rate, rng)
    training, validation = hide(observed, rng)
    ridges = [
        chosen_ridge(standardized(pair)[0], training, validation)
        for _, pair in describe(pictures, training)
    ]
    results = {}
    for ridge, (name, pair) in zip(ridges, describe(pictures, observed), strict=True):
        train, test = standardized(pair)
        scores = fitted(train, observed, ridge).scores(test)
        results[name.split(" (")[0]] = 100 * mean_average_precision(pictures.Y[1], scores)
    return results


def compare_graphs(pictures: Pictures, rate: float, seed: int) -> dict[str, float]:
    """Return the test mAP without a graph and with each kind of weight, on the learner's features.

    The graph includes the test pictures, of which all labels are unknown.
    """
    rng = np.random.default_rng(seed)
    observed = observe(pictures.Y[0], rate, rng)
    training, validation = hide(observed, rng)
    X, S = _features_and_descriptors(pictures, training)
    chosen = {
        weight: _chosen_pair(
            X[0], training, validation, None if weight == "none" else _graph(S[0], weight)
        )
        for weight in ("none", "dot", "cosine")
    }
    X, S = _features_and_descriptors(pictures, observed)
    everything = np.vstack([observed, np.full(pictures.Y[1].shape, np.nan)])
    results = {}
    for weight, (ridge, gamma) in chosen.items():
        W = _graph(np.vstack(S), weight) if gamma else None
        scores = fitted(np.vstack(X), everything, ridge, gamma, W).scores(X[1])
        results[f"graph: {weight}"] = 100 * mean_average_precision(pictures.Y[1], scores)
    return results | {f"gamma of {weight}": gamma for weight, (_, gamma) in chosen.items()}


def _chosen_pair(
    X: np.ndarray, training: np.ndarray, validation: np.ndarray, W: Any
) -> tuple[float, float]:
    """Return the ridge and gamma that rank hidden entries best."""
    grid = [(ridge, gamma) for ridge in RIDGES for gamma in (GAMMAS if W is not None else (0.0,))]
    values = [
        mean_average_precision(validation, fitted(X, training, ridge, gamma, W).scores(X))
        for ridge, gamma in grid
    ]
    return grid[int(np.argmax(values))]


def _features_and_descriptors(pictures: Pictures, observed: np.ndarray) -> tuple[Pair, Pair]:
    s = concatenated(global_part(pictures, observed), local_part(pictures, observed))
    both = concatenated(pictures.visual, s)
    pca = DescriptorPCA(blocks=[pictures.visual[0].shape[1], s[0].shape[1]]).fit(both[0])
    return standardized((pca.transform(both[0]), pca.transform(both[1]))), s


def _graph(S: np.ndarray, weight: str) -> Any:
    """Return the graph scaled to a mean degree of 1, so that one grid of gammas fits all."""
    W = semantic_graph(S, weight=weight)
    return W * (len(S) / W.sum())


WHAT = {"descriptors": semantic_descriptors, "shrinkage": shrinkages, "features": learner_features}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rates", type=float, nargs="+", default=[0.1, 0.2, 0.3, 0.4, 0.5])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--what", choices=[*WHAT, "graphs"], default="descriptors")
    options = parser.parse_args()
    pictures = load(options.data)
    for rate in options.rates:
        found = []
        for seed in range(options.seeds):
            if options.what == "graphs":
                found.append(compare_graphs(pictures, rate, seed))
            else:
                found.append(compare_descriptors(pictures, rate, seed, WHAT[options.what]))
        for name in found[0]:
            values = [one[name] for one in found]
            print(
                f"{rate:4.0%}  {name:30s} {np.mean(values):8.4g} ± {np.std(values):.2g}", flush=True
            )


if __name__ == "__main__":
    main()
