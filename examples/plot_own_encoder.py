"""
An encoder of your own
======================

An encoder turns a picture into a visual descriptor and, if it has classes, into their posteriors.
A network in an ONNX file needs no code (``--encoder FILE``); anything else is a class with one
method. This one counts colours, and finds forests and beaches by them.
"""

import tempfile

import matplotlib.pyplot as plt
import numpy as np

from tagloom import SemanticDiffusion, SemanticTagger
from tagloom.datasets.scenes import draw_scene
from tagloom.labels import PartialLabels
from tagloom.vision import Encoder, Framing, embed
from tagloom.vision.encoders.base import fingerprint


# %%
# The encoder
# -----------
# ``identity`` is what features are cached under: whatever changes the numbers belongs into it.
class ColourHistogram(Encoder):
    """Shares of the pixels in 4 x 4 x 4 cells of colour, in each quarter of the picture."""

    name = "colour histogram"
    width = 4 * 64
    concepts = ("red", "green", "blue")
    side_needed = 32

    def __init__(self):
        self.framing = Framing(size=32, view="whole")
        self.identity = fingerprint({"colour histogram": 1, "size": 32})

    def prepare(self, picture):
        return self.framing.apply(picture)

    def encode(self, prepared):
        cells = (prepared // 64).astype(int) @ [16, 4, 1]
        quarters = [cells[:16, :16], cells[:16, 16:], cells[16:, :16], cells[16:, 16:]]
        counts = [np.bincount(part.ravel(), minlength=64) / 256 for part in quarters]
        mean = prepared.reshape(-1, 3).mean(axis=0).astype(np.float32)
        return np.hstack(counts).astype(np.float32), mean / max(mean.sum(), 1)


# %%
# Pictures
# --------
# 90 scenes that tagloom draws itself. Of 60 the labels are known.
scenes = [draw_scene(number, size=(96, 72)) for number in range(90)]
names = [f"{number:03}.png" for number in range(90)]
labels = ["grass", "sand", "sky", "snow", "street", "tree", "water"]
table = np.array([[label in scene.labels for label in labels] for scene in scenes], dtype=float)
table[60:] = np.nan
known = PartialLabels.from_array(table, labels=labels, items=names)

with tempfile.TemporaryDirectory() as folder:
    for name, scene in zip(names, scenes, strict=True):
        scene.image.save(f"{folder}/{name}")
    done = embed(folder, ColourHistogram(), cache=f"{folder}/cache")
    features = done.features()
print(len(done.summary.embedded), "pictures encoded:", features.visual.shape)

# %%
# Tags for the others
# -------------------
tagger = SemanticTagger(SemanticDiffusion(), words=False).fit(features, known)
scores = tagger.scores()[60:]
order = np.argsort(-scores, axis=1)[:, :2]

figure, axes = plt.subplots(2, 4, figsize=(8, 3.6), layout="constrained")
for ax, i in zip(axes.flat, range(8), strict=True):
    ax.imshow(scenes[60 + i].image)
    found = [labels[j] for j in order[i]]
    ax.set_title(", ".join(found), fontsize=9)
    ax.axis("off")
plt.show()
right = np.mean(
    [labels[j] in scenes[60 + i].labels for i, row in enumerate(order) for j in row[:1]]
)
print(f"first tag right for {right:.0%} of the new pictures")
