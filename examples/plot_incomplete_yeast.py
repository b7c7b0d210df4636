"""
Learning from a tenth of the labels
===================================

*yeast* holds 2,417 genes with 103 numbers and 14 functions each (Elisseeff and Weston 2001). Here
nine labels of ten are hidden, four learners learn from the rest, and all are judged by complete
labels of new genes.

The file `yeast.npz` is not part of tagloom: name its folder in the environment variable
``TAGLOOM_DATA``. Without it a generated set of similar size stands in.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import make_multilabel_classification
from sklearn.model_selection import train_test_split

from tagloom import KNeighborsTagger, LabelPropagation, LeastSquares, SemanticDiffusion
from tagloom.datasets import load_mulan
from tagloom.labels import PartialLabels, hide_per_class
from tagloom.metrics import mean_average_precision

# %%
# The data
# --------
# A ``Dataset`` has features, the complete labels, and rows for training and test.
path = Path(os.environ.get("TAGLOOM_DATA", "."), "mulan", "yeast.npz")
if path.exists():
    data = load_mulan(path)
    X, X_test = data.features.visual[data.training], data.features.visual[data.test]
    truth, truth_test = data.truth.take(data.training), data.truth.take(data.test)
else:
    X, Y = make_multilabel_classification(
        1600, 100, n_classes=14, n_labels=4, length=200, random_state=0
    )
    X, X_test, Y, Y_test = train_test_split(X / X.std(), Y, random_state=0)
    truth, truth_test = PartialLabels.from_array(Y), PartialLabels.from_array(Y_test)

# %%
# Hiding
# ------
# One of ten presences and one of ten absences of each label stay known. What is hidden is
# *unknown*, not absent.
known = hide_per_class(truth, 0.1, random_state=0)
print(known)

# %%
# Learning
# --------
# All learners share one interface, and none takes an unknown label for an absent one.
learners = {
    "nearest neighbours": KNeighborsTagger(),
    "label propagation": LabelPropagation(),
    "least squares": LeastSquares(ridge=1.0),
    "semantic diffusion": SemanticDiffusion(),
}
rates = [0.05, 0.1, 0.3]
curves = {name: [] for name in learners}
for rate in rates:
    known = hide_per_class(truth, rate, random_state=0)
    for name, learner in learners.items():
        scores = learner.fit(X, known).scores(X_test)
        curves[name].append(100 * mean_average_precision(truth_test, scores))

# %%
figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
for name, curve in curves.items():
    axes.plot([100 * rate for rate in rates], curve, marker="o", label=name)
axes.set(xlabel="labels known (%)", ylabel="mAP on new items")
axes.legend(frameon=False)
plt.show()

# %%
# Parameters are the defaults here. :doc:`plot_tuning` chooses them, and ``tagloom benchmark``
# does all of this, with seeds, intervals and a report.
