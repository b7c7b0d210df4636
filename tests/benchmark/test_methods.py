"""Classifiers of one's own, named on the command line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_sets import make_dataset, small

from tagloom.benchmark.config import Benchmark
from tagloom.benchmark.methods import build_learner, own_method, select_methods
from tagloom.benchmark.plan import plan_benchmark
from tagloom.benchmark.run import run_plan
from tagloom.benchmark.summary import write_tables
from tagloom.errors import InvalidInputError
from tagloom.models import ClassifierPerLabel, LeastSquares


def test_a_classifier_of_ones_own_is_compared_beside_the_others(tmp_path):
    config = small(
        tmp_path,
        methods=("least-squares",),
        more_methods=("sklearn.svm:LinearSVC(C=0.5)", "sklearn.naive_bayes:GaussianNB"),
        rates=(0.6,),
        repeats=1,
        normalize_rows="search",
    )
    plan = plan_benchmark(config, make_dataset())
    assert run_plan(plan) == {}
    results = write_tables(plan).results
    assert list(results["method"]) == ["LinearSVC(C=0.5)", "GaussianNB", "least-squares"]
    assert (results["map"] > 0.5).all()
    assert set(json.loads(results["parameters"][0])) == {"normalize_rows"}


def test_parameters_and_the_seed_reach_the_classifier():
    learner = build_learner(own_method("sklearn.svm:LinearSVC(C=0.5, dual=True)"), 7)
    assert isinstance(learner, ClassifierPerLabel)
    params = learner.estimator.get_params()
    assert (params["C"], params["dual"], params["random_state"]) == (0.5, True, 7)
    own = build_learner(own_method("sklearn.svm:LinearSVC(random_state=3)"), 7)
    assert own.estimator.random_state == 3


def test_a_learner_of_partial_labels_is_used_as_it_is():
    learner = build_learner(own_method("tagloom.models:LeastSquares(ridge=2.0)"), 0)
    assert isinstance(learner, LeastSquares)
    assert learner.ridge == 2.0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere.at_all:Class", "cannot be loaded.*PYTHONPATH"),
        ("sklearn.svm:Nothing", "cannot be loaded.*Nothing"),
        ("sklearn.svm:l1_min_c", "is no class"),
        ("sklearn.svm:SVC(gama=1)", "cannot be made.*gama"),
        ("sklearn.linear_model:Ridge", "neither decision_function nor predict_proba"),
        ("builtins:dict", "must be a classifier"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_runs(tmp_path, name, message):
    with pytest.raises(InvalidInputError, match=message):
        plan_benchmark(small(tmp_path, methods=(name,)), make_dataset())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sklearn.svm:", "is no class"),
        (":SVC", "is no class"),
        ("sklearn/svm:SVC", "is no class"),
        ("sklearn.svm:SVC(1)", "must be name=value"),
        ("sklearn.svm:SVC(C=__import__('os'))", "must be name=value"),
        ("sklearn.svm:SVC(**{'C': 1})", "must be name=value"),
        ("sklearn.svm:SVC(C=1)(C=2)", "must be name=value"),
        ("sklearn.svm:SVC(C={1})", "must be name=value"),
        ("sklearn.svm:SVC(C=", "is no class"),
    ],
)
def test_names_that_are_no_class_with_literals_are_refused(name, message):
    with pytest.raises(InvalidInputError, match=message):
        Benchmark(more_methods=(name,))


@given(st.text(alphabet="ab.:()=,'\"[]{}*1-\n\\ é", max_size=30))
def test_any_text_is_a_method_or_refused(text):
    try:
        method = own_method(f"a:{text}")
    except InvalidInputError:
        return
    assert method.learner.startswith("a:")
    assert not set(method.name) & set("/\\:*?\"'<>| \n")


def test_own_methods_come_first_in_tables():
    names = [method.name for method in select_methods(["maxide", "a:B", "least-squares"])]
    assert names == ["B", "least-squares", "maxide"]


def test_a_part_that_is_left_out_is_not_searched_for(tmp_path):
    names = ["semantic-diffusion-no-kernel", "semantic-diffusion-no-diffusion"]
    own = "tagloom.models:SemanticDiffusion(n_passes=1, smoothing=0.5)"
    config = small(tmp_path, rates=(0.3,), protocols=("per-class",))
    plan = plan_benchmark(config, make_dataset(), select_methods([*names, own]))
    assert run_plan(plan) == {}
    chosen = write_tables(plan).results.set_index("method")["parameters"].map(json.loads)
    for params in chosen[names[0]]:
        assert "kernel" not in params
        assert "smoothing" in params
    for params in chosen[names[1]]:
        assert not {"smoothing", "shrinkage"} & set(params)
        assert "kernel" in params
    for params in chosen["SemanticDiffusion(n_passes=1,smoothing=0.5)"]:
        assert "smoothing" not in params
