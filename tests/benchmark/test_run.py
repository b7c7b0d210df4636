import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from joblib import cpu_count
from threadpoolctl import threadpool_limits
from toy_sets import GRAPH, RATES, RIDGE, make_dataset, small

from tagloom.benchmark.methods import Method
from tagloom.benchmark.plan import plan_benchmark
from tagloom.benchmark.run import Workers, run_plan
from tagloom.benchmark.summary import RESULT_COLUMNS, write_tables
from tagloom.errors import TagloomError

MEASURED = ["search_seconds", "fit_seconds", "score_seconds", "peak_memory_mib"]


def run(config, methods, dataset=None):
    plan = plan_benchmark(config, dataset or make_dataset(), methods)
    failures = run_plan(plan)
    return write_tables(plan), failures


def same_tables(one, other):
    pd.testing.assert_frame_equal(
        one.results.drop(columns=MEASURED), other.results.drop(columns=MEASURED), check_exact=True
    )
    pd.testing.assert_frame_equal(one.labels, other.labels, check_exact=True)
    assert one.examples == other.examples


def test_tables_have_a_row_for_each_cell_in_a_fixed_order(tmp_path):
    tables, failures = run(
        small(tmp_path / "out", protocols=("uniform", "presences")), [RIDGE, RATES]
    )
    assert failures == {}
    results = tables.results
    assert list(results.columns) == list(RESULT_COLUMNS)
    keys = list(results[["protocol", "method", "rate", "seed"]].itertuples(index=False, name=None))
    assert keys == [
        (protocol, method, rate, seed)
        for protocol in ("uniform", "presences")
        for method in ("ridge", "rates")
        for rate in (0.3, 0.6)
        for seed in (0, 1)
    ]
    assert len(tables.labels) == 4 * len(results)
    again = pd.read_csv(tmp_path / "out" / "results.csv")
    pd.testing.assert_frame_equal(again, results, check_dtype=False)
    pd.testing.assert_frame_equal(
        pd.read_parquet(tmp_path / "out" / "labels.parquet"), tables.labels
    )
    assert not (tmp_path / "out" / "inputs").exists()


def test_results_equal_those_of_the_learner_tuned_by_hand(tmp_path):
    from toy_learners import Ridge

    from tagloom.benchmark.inputs import hide_labels, split_features, visual_features
    from tagloom.metrics import average_precision
    from tagloom.models import tune

    dataset = make_dataset()
    tables, _ = run(small(tmp_path, rates=(0.6,), repeats=1, random_state=3), [RIDGE], dataset)
    known = hide_labels(dataset.truth.take(dataset.training), "per-class", 0.6, 3)
    X = visual_features(*split_features(dataset), 0.9)
    tuned = tune(Ridge(), X.training, known, cv=3, random_state=3)
    ap = average_precision(dataset.truth.take(dataset.test), tuned.model.scores(X.test))
    np.testing.assert_allclose(tables.labels["ap"], ap, rtol=1e-12)
    assert tables.results["map"].item() == pytest.approx(ap.mean(), rel=1e-12)
    assert json.loads(tables.results["parameters"].item()) == tuned.best.params
    assert tables.results["n_trials"].item() == 3


def test_results_are_reproducible_and_do_not_depend_on_processes(tmp_path):
    config = small(tmp_path / "alone")
    alone, _ = run(config, [RIDGE, GRAPH])
    together, failures = run(replace(config, out=tmp_path / "together", n_jobs=2), [RIDGE, GRAPH])
    assert failures == {}
    np.testing.assert_allclose(together.results["map"], alone.results["map"], rtol=1e-6)
    again, _ = run(replace(config, out=tmp_path / "again"), [RIDGE, GRAPH])
    same_tables(again, alone)


def test_finished_cells_are_not_run_again(tmp_path):
    config = small(tmp_path / "out")
    first, _ = run(config, [RIDGE])
    stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "cells").iterdir()}
    assert len(stamps) == 4
    second, _ = run(replace(config, rates=(0.3, 0.6, 0.9)), [RIDGE, RATES])
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in stamps.items())
    kept = second.results.query("method == 'ridge' and rate < 0.7").reset_index(drop=True)
    pd.testing.assert_frame_equal(kept, first.results)


@pytest.mark.parametrize(
    "change",
    [
        {"cv": 2},
        {"n_components": 0.5},
        {"standardize": True},
        {"normalize_rows": "always"},
        {"normalize_rows": "search"},
        {"features": "semantic"},
        {"protocols": ("uniform",)},
    ],
)
def test_cells_of_another_configuration_are_not_used(tmp_path, change):
    config = small(tmp_path / "mixed", rates=(0.6,))
    run(config, [RIDGE])
    mixed, _ = run(replace(config, **change), [RIDGE])
    apart, _ = run(replace(config, out=tmp_path / "apart", **change), [RIDGE])
    same_tables(mixed, apart)
    assert len(list((tmp_path / "mixed" / "cells").iterdir())) == 4


def test_cells_of_another_set_or_learner_are_not_used(tmp_path):
    config = small(tmp_path / "mixed", rates=(0.6,), repeats=1)
    first, _ = run(config, [RIDGE])
    fixed = replace(RIDGE, parameters={"ridge": 1e6}, fixed=("ridge",))
    other_learner, _ = run(config, [fixed])
    assert other_learner.results["n_trials"].item() == 0
    other_set, _ = run(config, [RIDGE], make_dataset(seed=1))
    assert other_set.results["map"].item() != first.results["map"].item()


def test_a_damaged_cell_is_run_again(tmp_path):
    config = small(tmp_path)
    first, _ = run(config, [RIDGE])
    damaged = sorted((tmp_path / "cells").iterdir())[0]
    damaged.write_text('{"row": ')
    second, _ = run(config, [RIDGE])
    same_tables(first, second)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failure_is_reported_stops_no_other_cell_and_is_tried_again(tmp_path, jobs):
    lucky = tmp_path / "luck"
    broken = Method("broken", "Broken", "toy_learners:Broken", {"needs": str(lucky)})
    config = small(tmp_path / "out", n_jobs=jobs)
    tables, failures = run(config, [broken, RATES])
    assert {cell.method for cell in failures} == {"broken"}
    assert set(failures.values()) == {"RuntimeError: this learner has no luck"}
    assert set(tables.results["method"]) == {"rates"}
    stored = [json.loads(path.read_text()) for path in (tmp_path / "out" / "failed").iterdir()]
    assert len(stored) == 4
    assert all("toy_learners.py" in one["traceback"] for one in stored)
    lucky.touch()
    tables, failures = run(config, [broken, RATES])
    assert failures == {}
    assert list(tables.results["method"].value_counts()) == [4, 4]
    assert not list((tmp_path / "out" / "failed").iterdir())


def test_failed_inputs_affect_only_the_methods_that_need_them(tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise ValueError("no graph today")

    monkeypatch.setattr("tagloom.benchmark.inputs.semantic_graph", fail)
    tables, failures = run(small(tmp_path), [GRAPH, RATES])
    assert set(failures.values()) == {"ValueError: no graph today"}
    assert set(tables.results["method"]) == {"rates"}


def test_a_killed_worker_is_reported_with_the_remedy(tmp_path):
    killed = Method("killed", "Killed", "toy_learners:Killed")
    with pytest.raises(TagloomError, match=r"worker process was killed.*--jobs 1"):
        run(small(tmp_path, n_jobs=2), [killed])


SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
from pathlib import Path
from toy_sets import make_dataset, small, RIDGE, GRAPH
from tagloom.benchmark.methods import Method
from tagloom.benchmark.run import run_plan
from tagloom.benchmark.plan import plan_benchmark

if __name__ == "__main__":
    slow = Method("slow", "Slow", "toy_learners:Slow")
    config = small(Path({out!r}), n_jobs={jobs})
    run_plan(plan_benchmark(config, make_dataset(), [RIDGE, slow, GRAPH]))
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_killed_in_the_middle_ends_with_the_same_table(tmp_path, jobs):
    slow = Method("slow", "Slow", "toy_learners:Slow")
    out = tmp_path / "killed"
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(folder=str(Path(__file__).parent), out=str(out), jobs=jobs))
    started = subprocess.Popen([sys.executable, str(script)], start_new_session=True)
    _wait_for_cells(out, 3, started)
    os.killpg(started.pid, signal.SIGKILL)
    started.wait()
    n_before = len(list((out / "cells").glob("*.json")))
    assert 3 <= n_before < 12
    resumed, failures = run(small(out, n_jobs=jobs), [RIDGE, slow, GRAPH])
    assert failures == {}
    unbroken, _ = run(small(tmp_path / "unbroken", n_jobs=jobs), [RIDGE, slow, GRAPH])
    same_tables(resumed, unbroken)


def _wait_for_cells(out, number, process):
    end = time.monotonic() + 60
    while len(list((out / "cells").glob("*.json"))) < number:
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < end, "no cell was finished in a minute"
        time.sleep(0.02)


def test_all_learners_see_the_same_inputs_and_no_label_of_a_test_item(tmp_path):
    seen = {}
    for flip in (False, True):
        methods = []
        for name in ("one", "two"):
            folder = tmp_path / f"{name}-{flip}"
            folder.mkdir()
            methods.append(Method(name, name, "toy_learners:Watched", {"folder": str(folder)}))
        config = small(tmp_path / f"out-{flip}", rates=(0.3,), repeats=1)
        run(config, methods, make_dataset(flip_test=flip))
        for method in methods:
            (path,) = Path(method.parameters["folder"]).iterdir()
            with np.load(path) as stored:
                seen[method.name, flip] = {name: stored[name] for name in stored}
    first = seen["one", False]
    assert first["mapped"]
    for other in seen.values():
        np.testing.assert_array_equal(other["states"], first["states"])
        np.testing.assert_array_equal(other["X"], first["X"])


def test_flipping_all_test_labels_changes_no_score_and_no_choice(tmp_path):
    methods = [RIDGE, GRAPH, Method("r", "", "toy_learners:Ridge", inputs="local")]
    tables = [
        run(
            small(tmp_path / str(flip), rates=(0.3,), features="semantic"),
            methods,
            make_dataset(flip_test=flip),
        )[0]
        for flip in (False, True)
    ]
    honest, poisoned = tables
    assert honest.examples == poisoned.examples
    assert list(honest.results["parameters"]) == list(poisoned.results["parameters"])
    assert not np.allclose(honest.results["map"], poisoned.results["map"])


def test_threads_of_all_workers_fit_the_cores(tmp_path, monkeypatch):
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "seen"
    folder.mkdir()
    watched = Method("watched", "Watched", "toy_learners:Watched", {"folder": str(folder)})
    with threadpool_limits(cpu_count()):
        run(small(tmp_path / "out", n_jobs=2), [watched])
    jobs = min(2, cpu_count())
    for path in folder.iterdir():
        with np.load(path) as stored:
            assert stored["threads"] * jobs <= max(jobs, cpu_count())


@pytest.mark.parametrize(("cores", "jobs"), [(2, 2), (8, 3), (8, None), (2, 9), (1, 4)])
def test_jobs_times_threads_are_no_more_than_cores(monkeypatch, cores, jobs):
    monkeypatch.setattr("tagloom.benchmark.run.cpu_count", lambda: cores)
    workers = Workers(jobs)
    assert workers.n_jobs * (workers.threads or 1) <= cores
    assert workers.n_jobs == min(cores, jobs or cores)


def test_the_paper_searches_no_ridge(tmp_path):
    tables, _ = run(small(tmp_path, rates=(0.6,), repeats=1), [GRAPH])
    assert set(json.loads(tables.results["parameters"].item())) == {"lam", "gamma"}
    assert tables.results["n_trials"].item() == 12


def test_learners_see_the_parts_of_the_descriptor(tmp_path):
    widths = {}
    for part in ("global", "local", "both"):
        folder = tmp_path / part
        folder.mkdir()
        method = Method(part, part, "toy_learners:Watched", {"folder": str(folder)}, inputs=part)
        run(small(tmp_path / "out", rates=(0.6,), repeats=1), [method])
        (path,) = folder.iterdir()
        with np.load(path) as stored:
            widths[part] = stored["X"].shape[1]
    assert widths == {"global": 2, "local": 4, "both": 6}


def test_the_configuration_is_stored_with_the_results(tmp_path):
    run(small(tmp_path / "out"), [RATES])
    stored = json.loads((tmp_path / "out" / "config.json").read_text())
    assert stored["rates"] == [0.3, 0.6]
    assert len(stored["fingerprint"]) == 16


@pytest.mark.parametrize("name", ["labels.csv", "inputs/thesis.txt", "config.json"])
def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path, name):
    theirs = tmp_path / "theirs" / name
    theirs.parent.mkdir(parents=True)
    theirs.write_text('{"fingerprint": "of something else"}')
    with pytest.raises(TagloomError, match="not the result of an earlier benchmark"):
        run_plan(plan_benchmark(small(tmp_path / "theirs"), make_dataset(), [RIDGE]))
    assert theirs.read_text() == '{"fingerprint": "of something else"}'
    assert [path for path in (tmp_path / "theirs").rglob("*") if path.is_file()] == [theirs]


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(TagloomError, match="out"):
        run_plan(plan_benchmark(small(tmp_path / "out"), make_dataset(), [RIDGE]))
