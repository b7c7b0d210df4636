import logging
import os
import signal

import numpy as np
import pytest
from cut_problems import Problem

from tagloom.cluster import ClusterAPGGraph, ParquetItems, write_parquet
from tagloom.models import APGGraph

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def processes():
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.mark.parametrize("n_killed", [1, 2])
def test_workers_killed_between_iterations_cost_nothing_but_time(processes, tmp_path, n_killed):
    processes.wait_for_workers(2)
    problem = Problem()
    write_parquet(tmp_path, problem.X, problem.Y, rows_per_file=50)
    killed = []

    def kill(line, M):
        if line.iteration == 2:
            killed.extend(list(processes.run(os.getpid).values())[:n_killed])
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    items = ParquetItems(tmp_path, present="present", absent="absent", unlisted="unknown")
    parameters = {"lam": 2.0, "ridge": 1.0, "tol": 1e-5, "solver": "admm"}
    found = ClusterAPGGraph(**parameters)
    found.fit(items, client=processes, callback=kill, keep=True)
    assert len(killed) == n_killed
    expected = APGGraph(**parameters).fit(problem.X, problem.Y)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-5)
    np.testing.assert_array_equal(found.classes_, [str(label) for label in expected.classes_])
