"""
Why a tag is suggested
======================

``SemanticTagger.explain`` takes a score apart, exactly: what the visual features add, the
concepts that the encoder sees, the labels of visual neighbours, the name of the label, and
similar pictures in the graph.

Features are generated here, so that no picture and no encoder is needed. With a folder of
pictures the calls are the same: ``SemanticTagger().fit("PHOTOS", known)``.
"""

import matplotlib.pyplot as plt
import numpy as np

from tagloom import PartialLabels, SemanticDiffusion, SemanticTagger
from tagloom.labels import hide_per_class
from tagloom.vision import Features

rng = np.random.default_rng(0)

# %%
# Scenes and what is in them
# --------------------------
labels = ["sky", "sea", "sand", "boat", "tree", "grass", "deer"]
scenes = {
    "beach": [0.9, 0.9, 0.9, 0.3, 0.1, 0.0, 0.0],
    "harbour": [0.8, 0.9, 0.1, 0.9, 0.1, 0.0, 0.0],
    "meadow": [0.8, 0.0, 0.0, 0.0, 0.4, 0.9, 0.3],
    "forest": [0.2, 0.0, 0.0, 0.0, 1.0, 0.4, 0.3],
}
kinds = rng.integers(4, size=240)
present = rng.random((240, 7)) < np.array(list(scenes.values()))[kinds]
visual = rng.normal(size=(4, 32))[kinds] + present @ rng.normal(size=(7, 32))
visual = (visual + 2 * rng.normal(size=visual.shape)) / 12

# %%
# The encoder knows four concepts, each of which it sees in scenes of one kind, more or less
# clearly.
concepts = ["seashore", "dock", "hay", "valley"]
posteriors = np.eye(4)[kinds] + 0.6 * rng.random((240, 4))
posteriors /= posteriors.sum(axis=1, keepdims=True)
names = [f"{list(scenes)[kind]}-{i:03}.jpg" for i, kind in enumerate(kinds)]
pictures = Features(names, visual, posteriors, concepts)

truth = PartialLabels.from_array(present, labels=labels, items=names)
known = hide_per_class(truth, 0.3, random_state=0)
tagger = SemanticTagger(SemanticDiffusion(ridge=5.0)).fit(pictures, known)

# %%
# The best suggestion, in words
# -----------------------------
best = max(tagger.suggest(n_labels=1), key=lambda one: one.score)
why = tagger.explain(best.item, best.label)
print(why)

# %%
# and as a picture
# ----------------
# The parts add up to the score.
parts = {
    "base": why.base,
    "visual features": why.visual,
    "concepts": why.concepts_total,
    "labels of neighbours": why.pooled_total,
    "name": why.name_part,
    "similar pictures": why.graph_part,
}
assert np.isclose(sum(parts.values()), why.score)
ends = np.cumsum(list(parts.values()))
figure, axes = plt.subplots(figsize=(6.5, 2.8), layout="constrained")
axes.barh(list(parts), list(parts.values()), left=ends - list(parts.values()))
axes.axvline(why.score, color="grey", linestyle=":")
axes.invert_yaxis()
axes.set(xlabel="score", title=f"{why.label} for {why.item}: {why.score:.2f}")
plt.show()
