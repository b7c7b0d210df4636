"""
What an unlisted tag means
==========================

People list what they see and leave out the rest. A list of tags therefore holds presences only,
and you have to say what a missing tag means: nothing, "absent", or "probably absent". This
example shows the three and what they do to a learner.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

from tagloom import LeastSquares, PartialLabels

tags = {
    "a.jpg": ["beach", "sea"],
    "b.jpg": ["sea"],
    "c.jpg": ["forest"],
    "d.jpg": ["forest", "lake"],
}

# %%
# Three readings of the same lists
# --------------------------------
# There is no default: ``unlisted`` has to be given.
readings = {
    "unknown": PartialLabels.from_tags(tags, unlisted="unknown"),
    "absent, weight 0.1": PartialLabels.from_tags(tags, unlisted=0.1),
    "absent": PartialLabels.from_tags(tags, unlisted="absent"),
}
for name, known in readings.items():
    print(f"{name:20} {known}")

# %%
figure, axes = plt.subplots(1, 3, figsize=(8.5, 2.8), layout="constrained")
colours = ListedColormap(["#d95f02", "#eeeeee", "#1b9e77"])
for ax, (name, known) in zip(axes, readings.items(), strict=True):
    states = np.nan_to_num(2 * known.to_array() - 1)
    ax.imshow(states, cmap=colours, vmin=-1, vmax=1)
    for (i, j), weight in np.ndenumerate(known.weights()):
        ax.text(j, i, f"{weight:g}" if weight else "?", ha="center", va="center")
    ax.set_xticks(range(known.n_labels), known.labels, rotation=45)
    ax.set_yticks(range(known.n_items), known.items)
    ax.set_title(name, fontsize=10)
plt.show()

# %%
# Green is present, orange absent, grey unknown; the numbers are weights in the loss of a learner.
#
# What it does to a learner
# -------------------------
# 300 pictures of two kinds. Half of all tags were forgotten. Where unlisted means absent, scores
# are too low; where it means unknown, nothing is known to be absent and every score is near 1 (a
# warning would say so). A small weight ranks as well as the former and keeps the level of the
# latter within reach.
rng = np.random.default_rng(0)
truth = rng.random((300, 1)) < 0.5
X = np.hstack([truth, ~truth]) + 0.4 * rng.normal(size=(300, 2))
lists = {
    f"{i}.jpg": [tag for tag in (["beach"] if beach else ["forest"]) if rng.random() < 0.5]
    for i, beach in enumerate(truth[:, 0])
}
for unlisted in ("absent", 0.3, 0.1, 0.03):
    known = PartialLabels.from_tags(lists, unlisted=unlisted)
    scores = LeastSquares().fit(X, known).scores(X)
    beach = list(known.labels).index("beach")
    means = [scores[truth[:, 0] == there, beach].mean() for there in (True, False)]
    print(f"unlisted={unlisted!s:7} score with beach {means[0]:.2f}, without {means[1]:.2f}")

# %%
# To get probabilities instead of scores, see :doc:`plot_calibrated_suggestions`.
