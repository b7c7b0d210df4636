"""Test items that are there, without their labels, when a learner learns."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_sets import GRAPH, RATES, RIDGE, make_dataset, small

from tagloom.benchmark.inputs import hidden, split_features, visual_features, with_unlabelled
from tagloom.benchmark.methods import METHODS, Method
from tagloom.benchmark.plan import plan_benchmark
from tagloom.benchmark.run import run_plan
from tagloom.benchmark.summary import write_tables
from tagloom.labels import PartialLabels, State, split_items, split_known
from tagloom.metrics import average_precision
from tagloom.models import LabelPropagation, tune

MEASURED = ["search_seconds", "fit_seconds", "score_seconds", "peak_memory_mib"]
SEEING = {method.name: method for method in METHODS if method.sees_unlabelled}
PROPAGATION = SEEING["propagation"]
UNLISTED = {"unknown": 0.0, "absent": 1.0, "perhaps": 0.3}


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


def test_who_sees_unlabelled_items_is_who_uses_a_graph():
    assert set(SEEING) == {"propagation", "apg-graph", "semantic-diffusion"}


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
            list(SEEING.values()),
            make_dataset(flip_test=flip),
        )
        for flip in (False, True)
    )
    assert honest.examples == poisoned.examples
    assert list(honest.results["parameters"]) == list(poisoned.results["parameters"])
    assert not np.allclose(honest.results["map"], poisoned.results["map"])


@pytest.mark.parametrize("unlisted", ["absent", "unknown"])
def test_the_learner_is_shown_test_items_of_which_everything_is_unknown(tmp_path, unlisted):
    dataset = make_dataset()
    here, elsewhere = (
        watched(tmp_path / str(sees), sees_unlabelled=sees) for sees in (True, False)
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


def test_the_numbers_are_those_of_the_learner_tuned_by_hand_on_all_items(tmp_path):
    dataset = make_dataset()
    tables = run(one(tmp_path, seed=3), [PROPAGATION], dataset)
    known = hidden(dataset.truth.take(dataset.training), "per-class", 0.5, 3)
    X = np.concatenate(visual_features(*split_features(dataset), 0.9))
    Y = np.vstack([known.to_array(), np.full((20, 4), np.nan)])
    tuned = tune(LabelPropagation(on_unlearnable="ignore"), X, Y, cv=2, random_state=3)
    scores = tuned.model.training_scores(X)[40:]
    ap = average_precision(dataset.truth.take(dataset.test), scores)
    np.testing.assert_allclose(tables.labels["ap"], ap, rtol=1e-12)
    assert json.loads(tables.results["parameters"].item()) == tuned.best.params


def test_who_does_not_see_unlabelled_items_has_the_same_numbers_either_way(tmp_path):
    config = one(tmp_path / "with", protocols=("per-class", "presences"))
    methods = [RIDGE, GRAPH, RATES]
    there = run(config, methods)
    gone = run(replace(config, out=tmp_path / "without", transductive=False), methods)
    pd.testing.assert_frame_equal(
        there.results.drop(columns=MEASURED), gone.results.drop(columns=MEASURED), check_exact=True
    )
    pd.testing.assert_frame_equal(there.labels, gone.labels, check_exact=True)
    assert there.examples == gone.examples


def test_cells_of_one_kind_are_not_taken_for_the_other(tmp_path):
    config = one(tmp_path / "mixed")
    there = run(config, [PROPAGATION])
    gone = run(replace(config, transductive=False), [PROPAGATION])
    assert len(list((tmp_path / "mixed" / "cells").iterdir())) == 2
    apart = run(replace(config, out=tmp_path / "apart", transductive=False), [PROPAGATION])
    assert gone.results["map"].item() == apart.results["map"].item()
    assert gone.examples == apart.examples != there.examples


def test_cells_and_inputs_of_both_kinds_have_names_of_their_own(tmp_path):
    methods = [RIDGE, *SEEING.values()]
    plans = [
        plan_benchmark(small(tmp_path, transductive=flag), make_dataset(), methods)
        for flag in (True, False)
    ]
    there, gone = ({task.cell.digest for task in plan.tasks} for plan in plans)
    assert len(there) == len(gone) == 4 * 4
    assert not there & gone
    assert {task.pattern for task in plans[0].tasks} == {task.pattern for task in plans[1].tasks}
    assert {task.method.name for task in plans[0].tasks if task.transductive} == set(SEEING)
    assert not any(task.transductive for task in plans[1].tasks)
    blind = plan_benchmark(
        small(tmp_path), make_dataset(), [replace(PROPAGATION, sees_unlabelled=False)]
    )
    assert not {task.cell.digest for task in blind.tasks} & there


def test_a_graph_of_all_and_one_of_training_items_are_made_side_by_side(tmp_path):
    seeing = replace(GRAPH, name="seeing", sees_unlabelled=True)
    together = run(one(tmp_path / "together"), [GRAPH, seeing]).results.set_index("method")["map"]
    for method in (GRAPH, seeing):
        alone = run(one(tmp_path / method.name), [method]).results["map"].item()
        assert together[method.name] == alone


def partial_labels(unlisted, seed=0):
    rng = np.random.default_rng(seed)
    rows, columns = np.nonzero(rng.random((12, 4)) < 0.5)
    known = PartialLabels.from_entries(
        rows,
        columns,
        # Where absence is presumed only presences are listed.
        True if unlisted else rng.random(len(rows)) < 0.5,
        shape=(12, 4),
        weights=rng.uniform(0.2, 1.0, size=len(rows)),
        labels=["sky", "sea", "sun", "cat"],
        unlisted_weight=unlisted,
    )
    return known.with_hidden([3, 5], [1, 2])


@pytest.mark.parametrize("unlisted", UNLISTED.values(), ids=UNLISTED)
@pytest.mark.parametrize("n_items", [0, 1, 5])
def test_unlabelled_items_are_added_and_nothing_else_changes(unlisted, n_items):
    known = partial_labels(unlisted)
    joined = with_unlabelled(known, n_items)
    assert joined.shape == (12 + n_items, 4)
    assert joined.labels == known.labels
    assert joined.unlisted_weight == known.unlisted_weight
    assert joined.take(range(12)) == known
    assert (joined.states()[12:] == int(State.UNKNOWN)).all()
    assert not joined.weights()[12:].any()
    np.testing.assert_array_equal(joined.weights()[:12], known.weights())


@pytest.mark.parametrize("split", [split_known, split_items])
@settings(max_examples=30, deadline=None)
@given(
    unlisted=st.sampled_from(list(UNLISTED.values())),
    n_items=st.integers(1, 60),
    seed=st.integers(0, 999),
    n_splits=st.integers(2, 4),
)
def test_folds_are_the_same_with_unlabelled_items_and_never_judge_them(
    split, unlisted, n_items, seed, n_splits
):
    known = partial_labels(unlisted, seed)
    joined = with_unlabelled(known, n_items)
    for alone, beside in zip(
        split(known, n_splits, seed), split(joined, n_splits, seed), strict=True
    ):
        for small_part, large_part in zip(alone, beside, strict=True):
            assert large_part.take(range(12)) == small_part
            assert (large_part.states()[12:] == int(State.UNKNOWN)).all()
