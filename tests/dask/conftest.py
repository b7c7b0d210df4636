import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="session")
def client():
    """Two workers as threads of this process: quick to start, and they share no partitions."""
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(90, 4))
    X[40:44] = X[3]  # equal rows in two partitions
    X[70] = 0
    return X
