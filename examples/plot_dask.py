"""
The same fit on a cluster
=========================

``tagloom.dask.APGGraph`` minimises the same objective on a Dask cluster: rows are partitions that
no worker has to hold all of. Here the cluster is two threads of this process; on a real one only
the ``Client`` is another.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

import tagloom
import tagloom.dask
from tagloom.labels import PartialLabels, hide_per_class

rng = np.random.default_rng(0)
X = rng.normal(size=(4000, 32)).astype(np.float32)
truth = PartialLabels.from_array(X @ rng.normal(size=(32, 10)) > 2)
known = hide_per_class(truth, 0.1, random_state=0)

# %%
# In memory
# ---------
here = tagloom.APGGraph(lam=3.0, ridge=1.0).fit(X, known)
print(f"objective {here.objective_:.6f}, certified to {here.gap_:.1e}")

# %%
# In eight partitions
# -------------------
# Y is an array of 1, 0 and NaN, in the same chunks of rows as X.
with (
    LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster,
    Client(cluster) as client,
):
    parts = da.from_array(X, chunks=(500, -1))
    labels = da.from_array(known.to_array(), chunks=(500, -1))
    there = tagloom.dask.APGGraph(lam=3.0, ridge=1.0).fit(parts, labels, client=client)
    print(f"objective {there.objective_:.6f}, certified to {there.gap_:.1e}")
    print(f"{there.n_passes_} passes over the partitions")

# %%
# Both are within ``tol`` of the same optimum, and say so.
print(f"relative difference {abs(there.objective_ - here.objective_) / here.objective_:.1e}")

figure, axes = plt.subplots(figsize=(4, 3.6), layout="constrained")
axes.plot(here.coef_.ravel(), there.coef_.ravel(), ".")
axes.set(xlabel="coefficients, in memory", ylabel="coefficients, eight partitions")
plt.show()
