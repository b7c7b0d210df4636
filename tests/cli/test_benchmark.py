import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tagloom.cli.app import app
from tagloom.datasets.base import Dataset
from tagloom.labels import PartialLabels
from tagloom.vision import Features

runner = CliRunner()
QUICK = ["--methods", "apg-graph", "--repeats", "1", "--rates", "0.5", "--jobs", "1"]


def toy_dataset():
    rng = np.random.default_rng(0)
    visual = rng.normal(size=(40, 5))
    present = visual @ rng.normal(size=(5, 3)) > 0
    items = [f"item-{i}" for i in range(40)]
    truth = PartialLabels.from_array(present, labels=["sky", "sea", "sun"], items=items)
    features = Features(items, visual, np.empty((40, 0)), [])
    notes = ["Made of numbers."]
    return Dataset("toy", truth, range(30), range(30, 40), features=features, notes=notes)


@pytest.fixture(autouse=True)
def _toy_is_the_only_set(monkeypatch):
    monkeypatch.setattr("tagloom.datasets.registry.open_dataset", lambda spec: toy_dataset())


def test_standard_output_holds_json_only(tmp_path):
    out = tmp_path / "out"
    command = ["benchmark", *QUICK, "--out", str(out), "--no-figures", "--json"]
    answer = runner.invoke(app, command)
    assert answer.exit_code == 0, answer.output
    summary = json.loads(answer.stdout)
    assert summary["cells"] == 1
    assert summary["finished_before"] == 0
    assert summary["failed"] == []
    assert summary["map"][0]["method"] == "apg-graph"
    assert 0 < summary["map"][0]["mean"] <= 1
    assert all(Path(path).is_file() for path in summary["files"])
    assert "30 training and 10 test items, 3 labels" in answer.stderr
    assert "note: Made of numbers." in answer.stderr
    again = runner.invoke(app, command)
    assert json.loads(again.stdout)["finished_before"] == 1
    assert "1 already finished" in again.stderr


def test_cells_and_files_are_printed(tmp_path):
    command = ["benchmark", *QUICK, "--out", str(tmp_path / "out"), "--no-figures"]
    answer = runner.invoke(app, command)
    assert answer.exit_code == 0, answer.output
    assert "1 cell: 1 setting of protocol and rate x 1 seed x 1 method" in answer.stdout
    assert "APG-Graph" in answer.stdout
    assert "results.csv" in answer.stdout


def test_figures_and_report_are_written(tmp_path):
    out = tmp_path / "out"
    answer = runner.invoke(app, ["benchmark", *QUICK, "--out", str(out), "--figures"])
    assert answer.exit_code == 0, answer.output
    assert (out / "report.html").is_file()
    assert list((out / "figures").iterdir())


def test_failed_cells_are_reported_with_exit_code_1(tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError("no luck")

    monkeypatch.setattr("tagloom.models.APGGraph.fit", fail)
    command = ["benchmark", *QUICK, "--out", str(tmp_path / "out")]
    answer = runner.invoke(app, command)
    assert answer.exit_code == 1
    assert "1 of 1 cells failed" in answer.stderr
    assert "apg-graph, per-class, rate 0.5, seed 0: RuntimeError: no luck" in answer.stderr
    machine = runner.invoke(app, [*command, "--json"])
    assert machine.exit_code == 1
    assert json.loads(machine.stdout)["failed"][0]["error"] == "RuntimeError: no luck"


def test_flags_win_over_the_file(tmp_path):
    path = tmp_path / "benchmark.toml"
    path.write_text('rates = [0.2]\nmethods = ["apg-graph"]\nrepeats = 1\nfigures = false\n')
    out = tmp_path / "out"
    command = ["benchmark", "--config", str(path), "--rates", "0.5,0.7", "--out", str(out)]
    answer = runner.invoke(app, [*command, "--jobs", "1", "--json"])
    assert [row["rate"] for row in json.loads(answer.stdout)["map"]] == [0.5, 0.7]
    assert json.loads((out / "config.json").read_text())["rates"] == [0.5, 0.7]


def test_a_classifier_of_ones_own_joins_from_the_command_line(tmp_path):
    own = "sklearn.linear_model:LogisticRegression(C=2.0, tol=0.001)"
    for flags in (["--method", own], ["--methods", f"{own},apg-graph"]):
        command = ["benchmark", *QUICK, *flags, "--out", str(tmp_path / "out"), "--no-figures"]
        answer = runner.invoke(app, [*command, "--json"])
        assert answer.exit_code == 0, answer.output
        rows = json.loads(answer.stdout)["map"]
        names = ["LogisticRegression(C=2.0,tol=0.001)", "apg-graph"]
        assert [row["method"] for row in rows] == names
        assert all(row["fit_seconds"] > 0 for row in rows)


def test_rates_that_are_not_numbers_are_wrong_usage():
    answer = runner.invoke(app, ["benchmark", "--rates", "0.1,many"])
    assert answer.exit_code == 2
    assert "must be numbers such as" in answer.stderr


@pytest.mark.parametrize(
    ("missing", "remedy"),
    [
        ({"pandas", "pyarrow"}, 'pip install "tagloom[pandas]"'),
        ({"matplotlib"}, 'pip install "tagloom[figures]". Or go without figures: --no-figures.'),
        ({"pyarrow", "matplotlib"}, 'pip install "tagloom[pandas,figures]"'),
    ],
)
def test_a_missing_extra_is_reported_before_anything_runs(tmp_path, monkeypatch, missing, remedy):
    monkeypatch.setattr(
        "tagloom.benchmark.summary.find_spec", lambda name: name not in missing or None
    )
    answer = runner.invoke(app, ["benchmark", *QUICK, "--out", str(tmp_path / "out")])
    assert remedy in str(answer.exception)
    assert not (tmp_path / "out").exists()


def test_methods_are_listed():
    answer = runner.invoke(app, ["benchmark", "--list-methods"])
    assert "least-squares" in answer.stdout
    assert "  Semantic diffusion  (ours)\n" in answer.stdout
    listed = json.loads(runner.invoke(app, ["benchmark", "--list-methods", "--json"]).stdout)
    assert [one["name"] for one in listed if one["ours"]] == [
        "apg-graph",
        "semantic-diffusion",
        "semantic-diffusion+words",
    ]


SCRIPT = """
import sys
sys.path[:0] = [{here!r}, {toys!r}]
import tagloom.datasets.registry
from tagloom.benchmark import methods

if __name__ == "__main__":
    from toy_sets import make_dataset

    tagloom.datasets.registry.open_dataset = lambda spec: make_dataset()
    methods.METHODS = (methods.Method("slow", "Slow", "toy_learners:Slow"),)
    from tagloom.cli import main

    sys.argv = ["tagloom", "benchmark", "--methods", "slow", "--repeats", "9", "--jobs", "{jobs}",
                "--out", {out!r}]
    main()
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupt_keeps_finished_cells_and_reports_it(tmp_path, jobs):
    out, script = tmp_path / "out", tmp_path / "script.py"
    here = Path(__file__).parent
    toys = here.parent / "benchmark"
    script.write_text(SCRIPT.format(here=str(here), toys=str(toys), jobs=jobs, out=str(out)))
    started = subprocess.Popen(
        [sys.executable, str(script)], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    end = time.monotonic() + 60
    while len(list((out / "cells").glob("*.json"))) < 2:
        assert started.poll() is None, started.stderr.read()
        assert time.monotonic() < end, "no cell was finished in a minute"
        time.sleep(0.02)
    # A terminal sends Ctrl-C to the program and to its workers alike.
    os.killpg(started.pid, signal.SIGINT)
    _, output = started.communicate(timeout=60)
    assert started.returncode == 130, output
    assert "of 45 cells are finished and kept" in output
    assert "Traceback" not in output
    assert len(list((out / "cells").glob("*.json"))) >= 2
