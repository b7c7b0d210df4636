from dataclasses import replace

import pytest
from toy_sets import RATES, RIDGE, make_dataset, small

from tagloom.benchmark.methods import Method
from tagloom.benchmark.plan import plan_benchmark
from tagloom.benchmark.run import run_plan
from tagloom.errors import InvalidInputError


def test_the_first_repetition_covers_everything_before_the_second_begins(tmp_path):
    plan = plan_benchmark(small(tmp_path), make_dataset(), [RIDGE, RATES])
    assert [(task.cell.seed, task.cell.rate, task.cell.method) for task in plan.tasks[:5]] == [
        (0, 0.3, "ridge"),
        (0, 0.3, "rates"),
        (0, 0.6, "ridge"),
        (0, 0.6, "rates"),
        (1, 0.3, "ridge"),
    ]


def test_unlisted_tags_matter_only_under_presences(tmp_path):
    config = small(tmp_path, rates=(0.6,), repeats=1, protocols=("per-class", "presences"))
    run_plan(plan_benchmark(config, make_dataset(), [RIDGE]))
    plan = plan_benchmark(replace(config, unlisted=0.2), make_dataset(), [RIDGE])
    assert [task.cell.protocol for task in plan.pending()] == ["presences"]


def test_cells_of_another_results_version_are_not_used(tmp_path, monkeypatch):
    config = small(tmp_path)
    run_plan(plan_benchmark(config, make_dataset(), [RATES]))
    assert plan_benchmark(config, make_dataset(), [RATES]).pending() == []
    monkeypatch.setattr("tagloom.benchmark.plan.RESULTS_VERSION", 0)
    assert len(plan_benchmark(config, make_dataset(), [RATES]).pending()) == 4


def test_descriptors_are_validated_only_where_there_are_concepts(tmp_path):
    config = small(tmp_path, validate_descriptors=True)
    plan = plan_benchmark(config, make_dataset(n_concepts=0), [RIDGE])
    assert [method.name for method in plan.methods] == ["ridge"]
    assert "no posteriors" in plan.notes[-1]


def test_a_missing_learner_is_named_before_anything_runs(tmp_path):
    lost = Method("lost", "Lost", "tagloom.models:Nowhere")
    with pytest.raises(InvalidInputError, match=r"method 'lost'.*tagloom\.models:Nowhere"):
        plan_benchmark(small(tmp_path), make_dataset(), [lost])
    assert not list(tmp_path.iterdir())
