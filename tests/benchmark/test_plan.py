from dataclasses import replace

import numpy as np
import pytest
from toy_sets import RATES, RIDGE, make_dataset, small

from tagloom.benchmark.config import LISTS, PROTOCOLS
from tagloom.benchmark.inputs import listed_share
from tagloom.benchmark.methods import Method
from tagloom.benchmark.plan import plan_benchmark
from tagloom.benchmark.run import run_plan
from tagloom.errors import InvalidInputError
from tagloom.labels import keep_salient


def test_the_first_repetition_covers_everything_before_the_second_begins(tmp_path):
    plan = plan_benchmark(small(tmp_path), make_dataset(), [RIDGE, RATES])
    assert [(task.cell.seed, task.cell.rate, task.cell.method) for task in plan.tasks[:5]] == [
        (0, 0.3, "ridge"),
        (0, 0.3, "rates"),
        (0, 0.6, "ridge"),
        (0, 0.6, "rates"),
        (1, 0.3, "ridge"),
    ]


def with_lists():
    """Return the toy with a salience, and the tags that people have listed."""
    dataset = make_dataset()
    salience = np.random.default_rng(0).normal(size=dataset.truth.shape)
    listed = keep_salient(dataset.truth, 0.4, salience, unlisted="unknown", random_state=0)
    return replace(dataset, listed=listed.select(["sea", "sun", "sky"]), salience=salience)


def test_unlisted_tags_matter_only_where_tags_are_listed(tmp_path):
    config = small(tmp_path, rates=(0.6,), repeats=1, protocols=PROTOCOLS)
    run_plan(plan_benchmark(config, with_lists(), [RIDGE]))
    plan = plan_benchmark(replace(config, unlisted=0.2), with_lists(), [RIDGE])
    assert [task.cell.protocol for task in plan.pending()] == list(LISTS)


def test_salience_and_lists_matter_only_to_their_protocols(tmp_path):
    config = small(tmp_path, rates=(0.6,), repeats=1, protocols=PROTOCOLS)
    dataset = with_lists()
    run_plan(plan_benchmark(config, dataset, [RIDGE]))
    assert plan_benchmark(config, with_lists(), [RIDGE]).pending() == []
    other = replace(dataset, salience=-dataset.salience)
    pending = plan_benchmark(config, other, [RIDGE]).pending()
    assert [task.cell.protocol for task in pending] == ["salience"]
    other = replace(dataset, listed=dataset.listed.select(["sky", "sea", "sun"]))
    pending = plan_benchmark(config, other, [RIDGE]).pending()
    assert [task.cell.protocol for task in pending] == ["listed"]


def test_listed_tags_have_a_rate_of_their_own(tmp_path):
    config = small(tmp_path, repeats=1, protocols=("listed", "presences"))
    plan = plan_benchmark(config, with_lists(), [RIDGE])
    share = round(listed_share(with_lists()), 3)
    settings = [(task.cell.protocol, task.cell.rate) for task in plan.tasks]
    assert settings == [("listed", share), ("presences", 0.3), ("presences", 0.6)]
    with pytest.raises(InvalidInputError, match="does not say which tags people have listed"):
        plan_benchmark(config, make_dataset(), [RIDGE])


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
