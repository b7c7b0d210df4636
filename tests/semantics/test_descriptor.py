import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels
from tagloom.semantics import ConceptSelector, DescriptorPCA, LocalDescriptor, SemanticDescriptor


@pytest.fixture
def pictures():
    rng = np.random.default_rng(0)
    Y = (rng.random((50, 4)) < 0.4).astype(float)
    visual = rng.standard_normal((50, 6)) + 2 * Y[:, [0]]
    posteriors = rng.random((50, 5)) * (1 + Y[:, [1]])
    Y[rng.random(Y.shape) < 0.3] = np.nan
    return np.hstack([visual, posteriors]), Y


def test_the_parts_stand_side_by_side(pictures):
    X, Y = pictures
    semantic = SemanticDescriptor(6)
    S = semantic.fit_transform(X, Y)
    g = ConceptSelector().fit_transform(X[:, 6:], Y)
    l_ = LocalDescriptor().fit_transform(X[:, :6], Y)
    np.testing.assert_array_equal(S, np.hstack([g, l_]))
    new = X[:7] + 0.01
    np.testing.assert_array_equal(
        semantic.transform(new),
        np.hstack(
            [semantic.concepts_.transform(new[:, 6:]), semantic.local_.transform(new[:, :6])]
        ),
    )


def test_scaling_gives_both_parts_the_same_mean_square_norm(pictures):
    X, Y = pictures
    semantic = SemanticDescriptor(6, scaling="norm")
    S = semantic.fit_transform(X, Y)
    for part in (S[:, :2], S[:, 2:]):
        assert (part**2).sum(axis=1).mean() == pytest.approx(1)
    plain = SemanticDescriptor(6).fit(X, Y)
    np.testing.assert_allclose(
        semantic.transform(X) * np.repeat(semantic.scales_, [2, 4]), plain.transform(X)
    )


@pytest.mark.parametrize(("dropped", "width"), [("concepts", 4), ("local", 2)])
def test_one_part_can_be_dropped(pictures, dropped, width):
    X, Y = pictures
    semantic = SemanticDescriptor(6, **{dropped: "drop"})
    assert semantic.fit_transform(X, Y).shape == semantic.transform(X).shape == (50, width)
    assert len(semantic.get_feature_names_out()) == width


def test_names_are_readable(pictures):
    X, Y = pictures
    concept_names = ["dog", "cat", "sandbar", "toaster", "harp"]
    table = pd.DataFrame(Y, columns=["sea", "sky", "tree", "car"])
    semantic = SemanticDescriptor(6, concept_names=concept_names).fit(X, table)
    names = semantic.get_feature_names_out().tolist()
    assert names[2:] == ["label:sea", "label:sky", "label:tree", "label:car"]
    assert all(name.removeprefix("concept:") in concept_names for name in names[:2])
    frame = pd.DataFrame(X, columns=[f"v{i}" for i in range(6)] + concept_names)
    assert SemanticDescriptor(6).fit(frame, table).get_feature_names_out().tolist() == names
    with pytest.raises(InvalidInputError, match="Expected 5 concept names"):
        SemanticDescriptor(6, concept_names=["dog"]).fit(X, Y)


def test_clone_keeps_parameters_and_the_parts_given_stay_unfitted(pictures):
    X, Y = pictures
    local = LocalDescriptor(3)
    semantic = clone(SemanticDescriptor(6, local=local)).set_params(local__n_neighbors=4)
    semantic.fit(X, Y)
    assert semantic.local_.n_neighbors == 4
    assert not hasattr(semantic.local, "labels_")
    assert local.n_neighbors == 3


@pytest.mark.parametrize("changed", [{}, {"local": LocalDescriptor(3)}])
def test_the_same_pictures_with_other_labels(pictures, changed):
    X, Y = pictures
    first = SemanticDescriptor(6, concepts=ConceptSelector(0.5, n_bins=4)).fit(X, Y)
    others = PartialLabels.from_array(Y[::-1])
    fresh = SemanticDescriptor(6, **changed)
    expected = fresh.fit_transform(X, others)
    again = SemanticDescriptor(6, **changed)
    np.testing.assert_array_equal(again.fit_transform(X, others, like=first), expected)
    np.testing.assert_array_equal(again.transform(X[:3] + 0.1), fresh.transform(X[:3] + 0.1))
    assert first.local_.to_state().known != others


def test_it_works_in_a_pipeline(pictures):
    X, Y = pictures
    visual = FunctionTransformer(lambda table: table[:, :6])
    union = FeatureUnion([("visual", visual), ("semantic", SemanticDescriptor(6))])
    pipeline = make_pipeline(union, DescriptorPCA(blocks=[6, 6]))
    features = pipeline.fit_transform(X, Y)
    S = SemanticDescriptor(6).fit_transform(X, Y)
    by_hand = DescriptorPCA(blocks=[6, 6]).fit_transform(np.hstack([X[:, :6], S]))
    np.testing.assert_allclose(features, by_hand)
    assert pipeline.transform(X[:3]).shape == (3, features.shape[1])


@pytest.mark.parametrize("wrong", [{"n_visual": 12}, {"n_visual": -1}, {"n_visual": 2.0}])
def test_number_of_visual_columns_is_checked(pictures, wrong):
    with pytest.raises(InvalidInputError, match="n_visual must be an integer from 0 to 11"):
        SemanticDescriptor(**wrong).fit(*pictures)


def test_invalid_parts_are_refused(pictures):
    with pytest.raises(InvalidInputError, match="both parts are dropped"):
        SemanticDescriptor(6, concepts="drop", local="drop").fit(*pictures)
    with pytest.raises(InvalidInputError, match="concepts must be a ConceptSelector"):
        SemanticDescriptor(6, concepts=LocalDescriptor()).fit(*pictures)
    with pytest.raises(InvalidInputError, match="scaling must be one of None, 'norm'"):
        SemanticDescriptor(6, scaling="z").fit(*pictures)
