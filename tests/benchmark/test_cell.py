import json
import sys

import numpy as np
import pandas as pd
import pytest
from toy_sets import RATES, RIDGE, make_dataset, small

from tagloom.benchmark.cell import PeakMemory, evaluate, evaluate_labels, examples
from tagloom.benchmark.methods import ABLATIONS, Method
from tagloom.benchmark.plan import plan_benchmark
from tagloom.benchmark.run import run_plan
from tagloom.benchmark.summary import write_tables
from tagloom.datasets.base import Dataset
from tagloom.labels import PartialLabels
from tagloom.vision import Features

TRUTH = PartialLabels.from_array(
    [[1, 0, 0], [0, 1, 0], [1, 1, 0]], labels=["a", "b", "never"], items=["x", "y", "z"]
)
SCORES = np.array([[0.9, 0.1, 0.5], [0.2, 0.8, 0.5], [0.7, 0.6, 0.5]])


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports the peak")
def test_peak_memory_is_that_of_the_block_even_when_freed():
    before = np.ones(16 << 20)
    del before
    with PeakMemory() as memory:
        held = np.ones(8 << 20)
        del held
    assert 63 <= memory.mib < 100
    with PeakMemory() as nothing:
        pass
    assert nothing.mib < 8


def test_labels_without_test_presence_are_left_out_and_counted():
    found = evaluate(TRUTH, SCORES)
    assert found["map"] == 1
    assert found["map_voc11"] == 1
    assert found["n_labels_scored"] == 2
    assert found["n_labels_left_out"] == 1
    rows = evaluate_labels(TRUTH, SCORES)
    assert [row["n_test_presences"] for row in rows] == [2, 2, 0]
    assert np.isnan(rows[2]["ap"])


def test_examples_depend_on_the_seed_with_the_best_labels_first():
    found = examples(TRUTH, SCORES, seed=0)
    assert [one["item"] for one in found] == ["x", "y", "z"]
    assert found[0]["top"] == [["a", 0.9], ["never", 0.5], ["b", 0.1]]
    dataset = make_dataset()
    scores = np.random.default_rng(0).normal(size=dataset.truth.shape)
    first, same, other = (examples(dataset.truth, scores, seed) for seed in (1, 1, 2))
    assert len(first) == 12
    assert first == same
    assert first != other


def test_an_undefined_precision_is_an_empty_field(tmp_path):
    dataset = make_dataset()
    states = dataset.truth.to_array()
    states[dataset.test, 3] = 0
    truth = PartialLabels.from_array(states, labels=dataset.truth.labels, items=dataset.truth.items)
    lacking = type(dataset)(
        "lacking", truth, dataset.training, dataset.test, features=dataset.features
    )
    rates = Method("rates", "Rates", "toy_learners:Rates")
    plan = plan_benchmark(small(tmp_path, rates=(0.5,), repeats=1), lacking, [rates])
    assert run_plan(plan) == {}
    tables = write_tables(plan)
    assert tables.results["n_labels_left_out"].item() == 1
    assert (tmp_path / "labels.csv").read_text().splitlines()[-1].endswith(",cat,,0")
    assert pd.read_parquet(tmp_path / "labels.parquet")["ap"].isna().tolist() == [False] * 3 + [
        True
    ]


def test_warnings_of_a_learner_are_stored_with_its_cell(tmp_path):
    method = Method("warning", "", "toy_learners:Warns")
    plan = plan_benchmark(small(tmp_path, rates=(0.5,), repeats=1), make_dataset(), [method])
    assert run_plan(plan) == {}
    (path,) = (tmp_path / "cells").iterdir()
    assert json.loads(path.read_text())["warnings"] == ["this took long"]


def rows_of_different_length():
    """A set in which only the direction of a row decides, and lengths differ a thousandfold."""
    rng = np.random.default_rng(0)
    dataset = make_dataset(n_concepts=0)
    directions = rng.normal(size=(60, 2))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    visual = directions * 10 ** rng.uniform(-1.5, 1.5, size=(60, 1))
    truth = PartialLabels.from_array(directions > 0.6, labels=["up", "right"], items=dataset.items)
    features = Features(list(dataset.items), visual, np.empty((60, 0)), [])
    return Dataset("rays", truth, dataset.training, dataset.test, features=features)


def cell_of(folder, dataset, method, **changes):
    settings = {"rates": (0.6,), "repeats": 1, **changes}
    plan = plan_benchmark(small(folder, **settings), dataset, [method])
    assert run_plan(plan) == {}
    row = write_tables(plan).results.iloc[0]
    return row, json.loads(row["parameters"])


@pytest.mark.parametrize("method", [RIDGE, RATES], ids=["search", "nothing to search"])
def test_normalised_rows_are_a_candidate_of_the_search(tmp_path, method):
    dataset = rows_of_different_length()
    found, params = cell_of(tmp_path / "search", dataset, method, normalize_rows="search")
    always, _ = cell_of(tmp_path / "always", dataset, method, normalize_rows="always")
    never, plain = cell_of(tmp_path / "never", dataset, method, normalize_rows="never")
    assert found["n_trials"] == 2 * max(1, never["n_trials"])
    assert "normalize_rows" not in plain
    chosen = always if params.pop("normalize_rows") else never
    assert found["map"] == chosen["map"]
    assert params == json.loads(chosen["parameters"])


def test_rows_are_normalised_where_that_is_better(tmp_path):
    _, rays = cell_of(tmp_path / "a", rows_of_different_length(), RIDGE, normalize_rows="search")
    assert rays["normalize_rows"] is True
    _, tie = cell_of(tmp_path / "b", make_dataset(), RATES, normalize_rows="search")
    assert tie["normalize_rows"] is False


def test_a_learner_that_normalises_rows_by_itself_is_tuned_once(tmp_path):
    method = Method("diffusion", "", "tagloom.models:SemanticDiffusion")
    search, _ = cell_of(tmp_path / "a", make_dataset(), method, normalize_rows="search")
    never, _ = cell_of(tmp_path / "b", make_dataset(), method, normalize_rows="never")
    assert search["n_trials"] == never["n_trials"]
    assert search["map"] == never["map"]
    _, params = cell_of(tmp_path / "c", make_dataset(), method, normalize_rows="always")
    assert "normalize_rows" not in params


def test_parameters_are_chosen_on_some_labels_and_all_are_learned(tmp_path):
    watched = tmp_path / "watched"
    watched.mkdir()
    method = Method("watched", "", "toy_learners:Watched", {"folder": str(watched)})
    cell_of(tmp_path / "a", make_dataset(), method, normalize_rows="search", search_labels=2)
    widths = [np.load(path)["states"].shape[1] for path in watched.iterdir()]
    assert sorted(widths) == [2] * 6 + [4] * 2
    chosen = {
        name: cell_of(tmp_path / name, make_dataset(), RIDGE, search_labels=number)[0]["map"]
        for name, number in (("all", None), ("four", 4), ("more", 9))
    }
    assert len(set(chosen.values())) == 1


def test_labels_with_fewer_examples_than_folds_take_no_part_in_a_search_on_some(tmp_path):
    watched = tmp_path / "watched"
    watched.mkdir()
    method = Method("watched", "", "toy_learners:Watched", {"folder": str(watched)})
    dataset = make_dataset(n_rare=2)
    cell_of(tmp_path / "a", dataset, method, normalize_rows="search", search_labels=3)
    widths = [np.load(path)["states"].shape[1] for path in watched.iterdir()]
    assert sorted(widths) == [2] * 6 + [4] * 2


# Linear parts, three of which are no kernels; then smoothing, score normalisation, self-training.
CANDIDATES = {
    "no-kernel": 3 + 14,
    "no-diffusion": 5 + 2,
    "no-second-pass": 5 + 14,
    "no-self-training": 5 + 8,
    "no-row-normalization": 5 + 14,
    "no-score-normalization": 5 + 7,
    "only-ridge": 3,
    "only-kernel": 5,
    "only-row-normalization": 3,
    "only-score-normalization": 3 + 2,
    "only-words": 3,
    "only-diffusion": 3 + 4,
    "only-two-passes": 3 + 4,
    "only-self-training": 3 + 7,
}


@pytest.mark.parametrize("method", ABLATIONS, ids=[one.name for one in ABLATIONS])
def test_only_what_an_ablation_has_is_searched(tmp_path, method):
    row, params = cell_of(tmp_path, make_dataset(), method)
    assert not set(params) & set(method.fixed)
    assert row["n_trials"] == CANDIDATES[method.name.removeprefix("semantic-diffusion-")]
