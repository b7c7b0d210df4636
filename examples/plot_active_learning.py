"""
What to annotate next
=====================

Two hundred answers are worth more if they are asked for where the model is unsure. The
acquisition score is P (1 - P) / n: the variance that an answer removes, and more for labels with
few known presences n. ``tagloom complete`` writes such a list for every collection
(`annotate_next.csv`), and the review page asks.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_multilabel_classification

from tagloom import LeastSquares
from tagloom.completion.suggestions import annotate_next
from tagloom.labels import PartialLabels, hide_per_class
from tagloom.metrics import mean_average_precision

X, Y = make_multilabel_classification(1500, 40, n_classes=15, n_labels=2, length=60, random_state=2)
X = X / X.std()
truth = PartialLabels.from_array(Y)
train, test = np.arange(1000), np.arange(1000, 1500)


def mean_ap(known):
    learner = LeastSquares(ridge=20.0).fit(X[train], known)
    return mean_average_precision(truth.take(test), learner.scores(X[test]))


def ask(known, rows, columns):
    """Return the known labels with the answers of a person who knows the truth."""
    table = known.to_array()
    table[rows, columns] = Y[rows, columns]
    return PartialLabels.from_array(table)


# %%
# Five rounds of 75 questions
# ---------------------------
# Scores, clipped to probabilities, are enough to choose questions by.
def by_acquisition(known, rng):
    P = np.clip(LeastSquares(ridge=20.0).fit(X[train], known).scores(X[train]), 0, 1)
    is_open = np.isnan(known.to_array())
    queries = annotate_next(P, is_open, known.counts().present, 75, per_label=20)
    return [query.row for query in queries], [query.column for query in queries]


def at_random(known, rng):
    rows, columns = np.nonzero(np.isnan(known.to_array()))
    chosen = rng.choice(len(rows), 75, replace=False)
    return rows[chosen], columns[chosen]


curves = {}
for choose in (by_acquisition, at_random):
    runs = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        known = hide_per_class(truth.take(train), 0.02, random_state=seed)
        run = [mean_ap(known)]
        for _ in range(5):
            known = ask(known, *choose(known, rng))
            run.append(mean_ap(known))
        runs.append(run)
    curves[choose.__name__.replace("_", " ")] = np.mean(runs, axis=0)

# %%
figure, axes = plt.subplots(figsize=(5.5, 3.4), layout="constrained")
for name, curve in curves.items():
    axes.plot(np.arange(6) * 75, curve, marker="o", label=name)
    print(f"{name:15}", curve.round(3))
axes.set(xlabel="answers", ylabel="mAP on new items, mean of three draws")
axes.legend(frameon=False)
plt.show()
