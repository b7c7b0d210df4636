import logging
import os
import signal

import numpy as np
import pytest
from dask_problems import Problem

from tagloom import dask as tagloom_dask
from tagloom.dask import ParquetItems, write_parquet
from tagloom.models import APGGraph

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def processes():
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


def test_fit_survives_the_loss_of_one_worker_and_of_all(processes, tmp_path):
    problem = Problem()
    write_parquet(tmp_path, problem.X, problem.Y, rows_per_file=50)
    killed = []

    def kill(line, M):
        if line.iteration in (2, 4):
            running = list(processes.run(os.getpid).values())
            for pid in running[:1] if line.iteration == 2 else running:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    items = ParquetItems(tmp_path, present="present", absent="absent", unlisted="unknown")
    parameters = {"lam": 2.0, "ridge": 1.0, "tol": 1e-5, "solver": "admm"}
    found = tagloom_dask.APGGraph(**parameters)
    found.fit(items, client=processes, callback=kill, keep=True)
    assert len(killed) >= 2
    expected = APGGraph(**parameters).fit(problem.X, problem.Y)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-5)
    np.testing.assert_array_equal(found.classes_, [str(label) for label in expected.classes_])
