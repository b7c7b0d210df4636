"""Runs in which learners are given the test items, without their labels."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from toy_sets import GRAPH, RATES, RIDGE, make_dataset, small

from tagloom.benchmark.inputs import hide_labels, split_features, visual_features
from tagloom.benchmark.methods import METHODS, Method
from tagloom.benchmark.plan import plan_benchmark
from tagloom.benchmark.run import run_plan
from tagloom.benchmark.summary import write_tables
from tagloom.labels import State
from tagloom.metrics import average_precision
from tagloom.models import LabelPropagation, tune

MEASURED = ["search_seconds", "fit_seconds", "score_seconds", "peak_memory_mib"]
TRANSDUCTIVE = {method.name: method for method in METHODS if method.uses_unlabelled}
PROPAGATION = TRANSDUCTIVE["propagation"]


def run(config, methods, dataset=None):
    plan = plan_benchmark(config, dataset or make_dataset(), methods)
    assert run_plan(plan) == {}
    return write_tables(plan)


def one(out, **changes):
    return small(out, **{"rates": (0.5,), "repeats": 1} | changes)


def watched(folder, **changes):
    folder.mkdir()
    parameters = {"folder": str(folder)}
    return Method("watched", "Watched", "toy_learners:Watched", parameters, **changes)


def seen_by(method):
    (path,) = Path(method.parameters["folder"]).iterdir()
    with np.load(path) as stored:
        return {name: stored[name] for name in stored}


def test_learners_with_a_graph_use_unlabelled_items():
    assert set(TRANSDUCTIVE) == {"propagation", "apg-graph", "semantic-diffusion"}


@pytest.mark.parametrize("features", ["visual", "semantic"])
@pytest.mark.parametrize(
    ("protocol", "unlisted"),
    [("per-class", "absent"), ("presences", "absent"), ("presences", "unknown")],
)
def test_flipping_all_test_labels_changes_no_score_and_no_choice(
    tmp_path, features, protocol, unlisted
):
    honest, poisoned = (
        run(
            one(tmp_path / str(flip), protocols=(protocol,), features=features, unlisted=unlisted),
            list(TRANSDUCTIVE.values()),
            make_dataset(flip_test=flip),
        )
        for flip in (False, True)
    )
    assert honest.examples == poisoned.examples
    assert list(honest.results["parameters"]) == list(poisoned.results["parameters"])
    assert not np.allclose(honest.results["map"], poisoned.results["map"])


@pytest.mark.parametrize("unlisted", ["absent", "unknown"])
def test_the_learner_sees_the_test_items_without_labels(tmp_path, unlisted):
    dataset = make_dataset()
    here, elsewhere = (
        watched(tmp_path / str(sees), uses_unlabelled=sees) for sees in (True, False)
    )
    config = one(tmp_path / "out", protocols=("presences",), unlisted=unlisted)
    run(config, [here], dataset)
    run(config, [elsewhere], dataset)
    X = visual_features(*split_features(dataset), 0.9)
    all_items, training = seen_by(here), seen_by(elsewhere)
    np.testing.assert_array_equal(all_items["X"], np.concatenate(X))
    np.testing.assert_array_equal(training["X"], X.training)
    np.testing.assert_array_equal(all_items["states"][:40], training["states"])
    assert (all_items["states"][40:] == int(State.UNKNOWN)).all()


def test_results_equal_those_of_the_learner_tuned_by_hand_on_all_items(tmp_path):
    dataset = make_dataset()
    tables = run(one(tmp_path, random_state=3), [PROPAGATION], dataset)
    known = hide_labels(dataset.truth.take(dataset.training), "per-class", 0.5, 3)
    X = np.concatenate(visual_features(*split_features(dataset), 0.9))
    Y = np.vstack([known.to_array(), np.full((20, 4), np.nan)])
    tuned = tune(LabelPropagation(on_unlearnable="ignore"), X, Y, cv=3, random_state=3)
    scores = tuned.model.training_scores(X)[40:]
    ap = average_precision(dataset.truth.take(dataset.test), scores)
    np.testing.assert_allclose(tables.labels["ap"], ap, rtol=1e-12)
    assert json.loads(tables.results["parameters"].item()) == tuned.best.params


def test_learners_that_ignore_unlabelled_items_have_the_same_results_either_way(tmp_path):
    config = one(tmp_path / "with", protocols=("per-class", "presences"))
    methods = [RIDGE, GRAPH, RATES]
    there = run(config, methods)
    gone = run(replace(config, out=tmp_path / "without", transductive=False), methods)
    pd.testing.assert_frame_equal(
        there.results.drop(columns=MEASURED), gone.results.drop(columns=MEASURED), check_exact=True
    )
    pd.testing.assert_frame_equal(there.labels, gone.labels, check_exact=True)
    assert there.examples == gone.examples


def test_transductive_and_inductive_cells_are_not_mixed_up(tmp_path):
    config = one(tmp_path / "mixed")
    there = run(config, [PROPAGATION])
    gone = run(replace(config, transductive=False), [PROPAGATION])
    assert len(list((tmp_path / "mixed" / "cells").iterdir())) == 2
    apart = run(replace(config, out=tmp_path / "apart", transductive=False), [PROPAGATION])
    assert gone.results["map"].item() == apart.results["map"].item()
    assert gone.examples == apart.examples != there.examples


def test_transductive_and_inductive_cells_have_different_digests(tmp_path):
    methods = [RIDGE, *TRANSDUCTIVE.values()]
    plans = [
        plan_benchmark(small(tmp_path, transductive=flag), make_dataset(), methods)
        for flag in (True, False)
    ]
    there, gone = ({task.cell.digest for task in plan.tasks} for plan in plans)
    assert len(there) == len(gone) == 4 * 4
    assert not there & gone
    assert {task.pattern for task in plans[0].tasks} == {task.pattern for task in plans[1].tasks}
    assert {task.method.name for task in plans[0].tasks if task.transductive} == set(TRANSDUCTIVE)
    assert not any(task.transductive for task in plans[1].tasks)
    blind = plan_benchmark(
        small(tmp_path), make_dataset(), [replace(PROPAGATION, uses_unlabelled=False)]
    )
    assert not {task.cell.digest for task in blind.tasks} & there


def test_graphs_with_and_without_test_items_are_made_side_by_side(tmp_path):
    transductive = replace(GRAPH, name="transductive", uses_unlabelled=True)
    together = run(one(tmp_path / "together"), [GRAPH, transductive]).results.set_index("method")[
        "map"
    ]
    for method in (GRAPH, transductive):
        alone = run(one(tmp_path / method.name), [method]).results["map"].item()
        assert together[method.name] == alone
