"""How people list tags: which of the objects in a picture its caption names.

For each object that is also a tag: how often it is listed where it is present (the label frequency
c), how often a listing is right, and by how much the log-odds of being listed rise with a standard
deviation of salience, measured as the protocol "salience" of the benchmark does where a set has
none of its own. Then the constants of `tagloom.labels.keep_salient`, fitted to them.

    python benchmarks/listing.py coco_captions:/data/coco_captions
"""

import argparse
from typing import Any

import numpy as np
from scipy.stats import beta
from sklearn.linear_model import LogisticRegression

from tagloom.benchmark.inputs import training_salience
from tagloom.datasets import Dataset, open_dataset
from tagloom.labels import PartialLabels

Array = Any


def tables(dataset: Dataset) -> tuple[list[str], Array, Array, Array]:
    """Return the objects that are tags, where they are present and listed, and their salience."""
    assert dataset.listed is not None
    truth, listed = (one.take(dataset.training) for one in (dataset.truth, dataset.listed))
    names = [str(label) for label in truth.labels if label in listed.labels]
    columns = [truth.labels.index(name) for name in names]
    return (
        names,
        _present(truth, names),
        _present(listed, names),
        training_salience(dataset)[:, columns],
    )


def _present(known: PartialLabels, names: list[str]) -> Array:
    return known.select(names).to_array() == 1


def listing_curve(present: Array, listed: Array, salience: Array) -> tuple[float, Array]:
    """Fit log-odds of being listed = a + b z to the presences of a tag; return b and P(listed)."""
    own = salience[present]
    z = ((own - own.mean()) / own.std())[:, None]
    curve = LogisticRegression(C=100).fit(z, listed[present])
    return float(curve.coef_[0, 0]), curve.predict_proba(z)[:, 1]


def talkativeness(present: Array, listed: Array, expected: Array) -> tuple[float, float]:
    """Estimate the variance of the log-odds over pictures, and its standard error.

    If u_i shifts the log-odds of all tags of picture i, the deviations of two tags from their
    expected listing have the covariance Var(u) v_ij v_ik, where v = p (1 - p).
    """
    deviation = np.where(present, listed - expected, 0.0)
    v = np.where(present, expected * (1 - expected), 0.0)
    products = (deviation.sum(axis=1) ** 2 - (deviation**2).sum(axis=1)) / 2
    weights = (v.sum(axis=1) ** 2 - (v**2).sum(axis=1)) / 2
    return products.sum() / weights.sum(), 1 / np.sqrt(weights.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="as in open_dataset, e.g. coco_captions:PATH")
    names, present, listed, salience = tables(open_dataset(parser.parse_args().data))
    expected = np.zeros(present.shape)
    frequencies, slopes = [], []
    print(f"{'tag':12} present  listed  label frequency  right  slope")
    for column, name in enumerate(names):
        own, wrote = present[:, column], listed[:, column]
        slope, expected[own, column] = listing_curve(own, wrote, salience[:, column])
        frequencies.append(wrote[own].mean())
        slopes.append(slope)
        print(
            f"{name:12} {own.sum():7,} {wrote.sum():7,}  {frequencies[-1]:15.2f}  "
            f"{own[wrote].mean():5.2f}  {slope:5.2f}"
        )
    print(
        "label frequencies: Beta({:.2f}, {:.2f})".format(*beta.fit(frequencies, floc=0, fscale=1))
    )
    print(f"slope of salience: median {np.median(slopes):.2f}")
    print(
        "variance of talkativeness: {:.2f} ± {:.2f}".format(
            *talkativeness(present, listed, expected)
        )
    )


if __name__ == "__main__":
    main()
