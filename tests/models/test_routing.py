"""Metadata routing, and descriptors of scikit-learn's kind before a learner."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from toys import low_rank_toy

from tagloom.calibration import CalibratedLearner
from tagloom.graph import ItemGraph
from tagloom.models import APGGraph, LeastSquares, MultilabelStratifiedKFold
from tagloom.semantics import LocalDescriptor, SemanticDescriptor

TOY = low_rank_toy(n=60, d=4, c=3, rate=0.7)
FOLDS = MultilabelStratifiedKFold(2)
PRIOR = TOY.truth * 0.8 + 0.1


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_graphs_and_weights_reach_fit():
    model = APGGraph(lam=0.1, gamma=0.1, gamma_labels=0.1)
    model.set_fit_request(graph=True, label_graph=True, sample_weight=True)
    model.set_score_request(sample_weight=False)
    params = {
        "graph": ItemGraph(TOY.graph),
        "label_graph": np.ones((3, 3)),
        "sample_weight": np.linspace(0.5, 1.5, 60),
    }
    scores = cross_val_score(model, TOY.X, TOY.known, cv=FOLDS, params=params, error_score="raise")
    (train, test), *_ = FOLDS.split(TOY.X, TOY.known)
    alone = APGGraph(lam=0.1, gamma=0.1, gamma_labels=0.1).fit(
        TOY.X[train],
        TOY.known[train],
        TOY.graph[train][:, train],
        np.ones((3, 3)),
        sample_weight=params["sample_weight"][train],
    )
    assert scores[0] == pytest.approx(alone.score(TOY.X[test], TOY.known[test]))


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("model", [LeastSquares(), CalibratedLearner(LeastSquares())], ids=repr)
def test_prior_scores_reach_fit_and_score(model):
    asked = model.set_fit_request(prior=True).set_score_request(prior=True)
    given = {"cv": FOLDS, "params": {"prior": PRIOR}, "error_score": "raise"}
    with_prior = cross_val_score(asked, TOY.X, TOY.known, **given)
    assert with_prior.mean() > 0.95


@pytest.mark.usefixtures("routing")
def test_weights_pass_through_a_pipeline():
    model = LeastSquares().set_fit_request(sample_weight=True)
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    weight = np.linspace(0.5, 1.5, 60)
    fitted = make_pipeline(scaler, model).fit(TOY.X, TOY.known, sample_weight=weight)
    scaled = StandardScaler().fit_transform(TOY.X)
    alone = LeastSquares().fit(scaled, TOY.known, sample_weight=weight)
    np.testing.assert_allclose(fitted.decision_function(TOY.X), alone.decision_function(scaled))


@pytest.mark.usefixtures("routing")
def test_what_was_not_asked_for_is_an_error():
    with pytest.raises(UnsetMetadataPassedError, match="graph"):
        cross_val_score(
            APGGraph(), TOY.X, TOY.known, cv=FOLDS, params={"graph": ItemGraph(TOY.graph)}
        )


def test_descriptors_name_their_columns_and_stand_before_a_learner():
    X = pd.DataFrame(TOY.X).add_prefix("f")
    X[["sky", "sea"]] = np.abs(TOY.X[:, :2]) / 10
    known = TOY.known
    descriptor = SemanticDescriptor(4, local=LocalDescriptor(n_neighbors=5))
    described = descriptor.set_output(transform="pandas").fit_transform(X, known)
    assert list(described.columns) == list(descriptor.get_feature_names_out())
    pd.testing.assert_index_equal(described.index, X.index)
    assert isinstance(descriptor.transform(X), pd.DataFrame)
    pipeline = make_pipeline(SemanticDescriptor(4), LeastSquares())
    assert cross_val_score(pipeline, X, known, cv=2, error_score="raise").min() > 0.4
