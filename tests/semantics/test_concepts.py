import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from tagloom.errors import InvalidInputError
from tagloom.semantics import ConceptSelector


@pytest.fixture
def toy():
    rng = np.random.default_rng(0)
    Y = (rng.random((200, 4)) < 0.4).astype(float)
    noise = rng.random((200, 5))
    telling = Y[:, [2, 0]] + 0.1 * rng.random((200, 2))
    return pd.DataFrame(np.hstack([noise, telling]), columns=[*"vwxyz", "sandbar", "dog"]), Y


def test_the_telling_concepts_are_chosen_and_named(toy):
    X, Y = toy
    selector = ConceptSelector().fit(X, Y)
    assert selector.get_feature_names_out().tolist() == ["sandbar", "dog"]
    assert set(selector.chosen_) == {5, 6}
    assert (np.diff(selector.relevance_[selector.chosen_]) <= 0).all()
    np.testing.assert_array_equal(selector.transform(X), X[["sandbar", "dog"]])


@pytest.mark.parametrize(
    ("wanted", "kept"), [(0.5, 2), (0.75, 3), (1, 1), (3, 3), (99, 7), (0.01, 1)]
)
def test_number_kept(toy, wanted, kept):
    X, Y = toy
    assert clone(ConceptSelector(wanted)).fit(X, Y).get_support().sum() == kept


def test_concepts_of_equal_relevance_are_taken_in_order():
    column = np.arange(20.0)[:, None]
    selector = ConceptSelector(2).fit(np.hstack([column] * 4), (column > 9).astype(float))
    assert selector.chosen_.tolist() == [0, 1]


def test_pandas_output(toy):
    X, Y = toy
    selector = ConceptSelector().set_output(transform="pandas").fit(X, Y)
    assert selector.transform(X).columns.tolist() == ["sandbar", "dog"]


@pytest.mark.parametrize("wanted", [0, -1, 0.0, -0.5, float("nan"), "half", True])
def test_senseless_numbers_are_refused(toy, wanted):
    with pytest.raises(InvalidInputError, match="n_concepts must be"):
        ConceptSelector(wanted).fit(*toy)


def test_labels_are_required(toy):
    with pytest.raises(InvalidInputError, match="requires y"):
        ConceptSelector().fit(toy[0])
