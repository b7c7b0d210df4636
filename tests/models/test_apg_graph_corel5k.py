"""The certificate on a real set: Corel5k's photographs as a CNN sees them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.neighbors import kneighbors_graph

from tagloom.labels import PartialLabels, hide_per_class
from tagloom.metrics import mean_average_precision
from tagloom.models import APGGraph


@pytest.fixture(scope="module")
def corel5k(data_folder):
    path = data_folder / "corel5k" / "efficientnet_lite0.npz"
    if not path.is_file():
        pytest.skip(f"no Corel5k features at {path}")
    with np.load(path) as stored:
        visual, Y = stored["pooled"].astype(np.float64), stored["Y"].astype(np.float64)
        train = stored["split"] == "train"
    pca = PCA(n_components=0.9, svd_solver="covariance_eigh").fit(visual[train])
    X = pca.transform(visual)
    X /= np.sqrt(np.mean(np.sum(X[train] ** 2, axis=1)))
    return X[train], Y[train], X[~train], Y[~train]


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_fit_is_certified_to_1e_4_and_predicts_new_pictures(corel5k, rate):
    X, Y, X_test, Y_test = corel5k
    assert X.shape[0] == 4500
    known = hide_per_class(PartialLabels.from_array(Y), rate, random_state=0)
    near = kneighbors_graph(X, 10)
    graph = sparse.csr_array(near.maximum(near.T))
    lam = 0.01 * APGGraph().lam_max(X, known)
    model = APGGraph(lam=lam, gamma=0.01).fit(X, known, graph)
    assert model.gap_ <= 1e-4
    assert mean_average_precision(Y_test, model.scores(X_test)) > (0.33 if rate == 0.1 else 0.42)
