"""
A regularisation path with certificates
=======================================

``APGGraph`` minimises the paper's objective. From ``lam_max``, at which M is 0, down to weak
penalties the rank of M grows. Every fit on the path starts from the one before, and stops when
its duality gap proves that it is within ``tol`` of the optimum.
"""

import matplotlib.pyplot as plt
import numpy as np

from tagloom import APGGraph, regularization_path
from tagloom.graph import semantic_graph
from tagloom.labels import PartialLabels, hide_per_class
from tagloom.metrics import mean_average_precision

# %%
# Labels of low rank
# ------------------
# 16 labels that depend on four directions of 40 features.
rng = np.random.default_rng(0)
X = rng.normal(size=(800, 40)) / np.sqrt(40)
M = 6 * rng.normal(size=(40, 4)) @ rng.normal(size=(4, 16))
truth = PartialLabels.from_array(X @ M + 4 * rng.normal(size=(800, 16)) > 5)
known = hide_per_class(truth.take(np.arange(500)), 0.3, random_state=0)
graph = semantic_graph(X[:500])

# %%
# The path
# --------
path = list(regularization_path(APGGraph(gamma=0.01), X[:500], known, graph, n_lams=15, eps=3e-3))
lams = [model.lam for model in path]
ranks = [np.linalg.matrix_rank(model.coef_) for model in path]
test = [
    mean_average_precision(truth.take(np.arange(500, 800)), model.scores(X[500:])) for model in path
]
print("largest gap on the path:", max(model.gap_ for model in path))

# %%
figure, left = plt.subplots(figsize=(6, 3.4), layout="constrained")
left.plot(lams, test, marker="o")
left.set(xscale="log", xlabel="lam", ylabel="mAP on new items")
right = left.twinx()
right.plot(lams, ranks, color="grey", drawstyle="steps-mid", linestyle=":")
right.set_ylabel("rank of M (dotted)")
plt.show()
