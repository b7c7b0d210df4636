"""
Probabilities that mean something
=================================

A score ranks pictures; it does not say how likely a tag is. ``calibrate`` turns held-out scores
into probabilities, also where only presences are listed and half of them were forgotten.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.model_selection import KFold

from tagloom import LeastSquares
from tagloom.calibration import calibrate, choose_threshold
from tagloom.labels import PartialLabels

rng = np.random.default_rng(0)

# %%
# Tags that were forgotten
# ------------------------
# Twenty tags; a tag that belongs to a picture is listed with probability 1/2.
n, d, c = 3000, 40, 20
X = rng.normal(size=(n, d)).astype(np.float32)
truth = rng.random((n, c)) < expit(X @ rng.normal(size=(d, c)) / 2 - rng.uniform(1, 3, c))
listed = truth & (rng.random((n, c)) < 0.5)
known = PartialLabels.from_entries(
    *np.nonzero(listed), True, shape=listed.shape, unlisted_weight=1.0
)
print(f"{truth.sum():,} tags belong, {listed.sum():,} are listed")

# %%
# Scores of pictures that the learner has not seen
# ------------------------------------------------
# Calibration needs scores of entries that were held out: here pictures, in four folds.
scores = np.empty((n, c), dtype=np.float32)
for training, held_out in KFold(4).split(X):
    learner = LeastSquares(ridge=30.0).fit(X[training], known.take(training))
    scores[held_out] = learner.scores(X[held_out])

# %%
# From scores to probabilities
# ----------------------------
# Where lists hold presences only, how often each tag is listed where it belongs is estimated from
# the ranking. Lists alone cannot prove such an estimate; whoever knows the share can say so.
estimated = calibrate(known, scores, positive_unlabelled=True)
print("label frequencies:", estimated.forgetting.label_frequencies.round(2))
told = calibrate(known, scores, positive_unlabelled=True, label_frequency=0.5)

# %%
# Do they hold?
# -------------
# Of the open entries with a probability of about p, a share p should be right: the dashed line.
is_open = ~listed


def reliability(p):
    """Return promised and observed frequency in ten bins."""
    place = np.digitize(p[is_open], np.linspace(0, 1, 11)[1:-1])
    bins = [place == b for b in range(10) if (place == b).sum() > 20]
    return [p[is_open][b].mean() for b in bins], [truth[is_open][b].mean() for b in bins]


figure, axes = plt.subplots(figsize=(4.8, 4), layout="constrained")
axes.plot([0, 1], [0, 1], color="grey", linestyle="--")
axes.plot(*reliability(scores), marker="s", label="raw scores")
axes.plot(
    *reliability(estimated.probabilities(scores, unlisted=True)), marker="o", label="estimated"
)
axes.plot(*reliability(told.probabilities(scores, unlisted=True)), marker="^", label="share told")
axes.set(xlabel="promised", ylabel="were right")
axes.legend(frameon=False)
plt.show()

# %%
# Suggestions
# -----------
# One threshold for all tags: the largest set of the most probable entries whose mean probability
# is 80%.
for name, calibration in {"estimated": estimated, "share told": told}.items():
    P = calibration.probabilities(scores, unlisted=True)
    threshold = choose_threshold(P, is_open, 0.8)
    suggested = is_open & (threshold <= P)
    print(f"{name}: {suggested.sum():,} suggestions from {threshold:.2f} on,", end=" ")
    print(f"{P[suggested].mean():.0%} promised, {truth[suggested].mean():.0%} right")

# %%
# Thirty answers of a person correct what lists leave open: ``tagloom check`` and the review page
# ask for them, and ``fit_answers`` learns from them.
