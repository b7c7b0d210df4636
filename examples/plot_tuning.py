"""
Choosing parameters
===================

``tune`` hides folds of what is known, learns from the rest, and keeps the parameters that recover
the hidden part best. No label of a test item is ever needed.
"""

import matplotlib.pyplot as plt
import numpy as np

from tagloom import LeastSquares, PartialLabels, SemanticDiffusion, tune
from tagloom.labels import hide_per_class
from tagloom.metrics import mean_average_precision

rng = np.random.default_rng(0)
X = rng.normal(size=(700, 60))
M = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 12)) / 4
truth = PartialLabels.from_array(X @ M + 3 * rng.normal(size=(700, 12)) > 3)
known = hide_per_class(truth.take(np.arange(400)), 0.15, random_state=0)
X_train, X_test, truth_test = X[:400], X[400:], truth.take(np.arange(400, 700))

# %%
# A grid of your own
# ------------------
# Any parameter of the learner can be in ``param_grid``. Where the solution has a closed form, all
# ridges are solved together.
search = tune(
    LeastSquares(),
    X_train,
    known,
    param_grid={"ridge": np.geomspace(0.01, 1e4, 13).tolist()},
    verbose=False,
)
print(search.best)

# %%
# Held-out and test
# -----------------
# The held-out score is a guess at the score on new items. Its place, not its height, is what
# counts.
trials = sorted(search.trials, key=lambda trial: trial.params["ridge"])
ridges = [trial.params["ridge"] for trial in trials]
held_out = np.array([trial.mean for trial in trials])
spread = np.array([trial.std for trial in trials])
test = [
    mean_average_precision(truth_test, LeastSquares(ridge=r).fit(X_train, known).scores(X_test))
    for r in ridges
]
figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
axes.plot(ridges, held_out, marker="o", label="held-out entries")
axes.fill_between(ridges, held_out - spread, held_out + spread, alpha=0.2)
axes.plot(ridges, test, marker="s", label="new items")
axes.axvline(search.best.params["ridge"], color="grey", linestyle=":", label="chosen")
axes.set(xscale="log", xlabel="ridge", ylabel="mAP")
axes.legend(frameon=False)
plt.show()

# %%
# The learner's own grid
# ----------------------
# Without ``param_grid`` a learner's own is searched, in stages. It begins with safe values;
# another must be better by one standard error.
best = tune(SemanticDiffusion(), X_train, known, verbose=False)
print(best.to_frame().head(5).to_string())
print("new items:", round(mean_average_precision(truth_test, best.model.scores(X_test)), 3))
