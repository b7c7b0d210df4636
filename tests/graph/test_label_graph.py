import numpy as np
import pytest

from tagloom.errors import InvalidInputError
from tagloom.graph import check_weights, label_graph_from_cooccurrence, label_graph_from_edges
from tagloom.labels import PartialLabels

NAN = float("nan")


def slow_cooccurrence(known, measure):
    """Go through all pairs of labels and all items at which both are known."""
    states, weights = known.states(), known.weights()
    W = np.zeros((known.n_labels, known.n_labels))
    for i in range(known.n_labels):
        for j in range(known.n_labels):
            product = weights[:, i] * weights[:, j]
            has_i, has_j = states[:, i] == 1, states[:, j] == 1
            n, a, b = ((product * both).sum() for both in (has_i & has_j, has_i, has_j))
            if i == j or n == 0:
                continue
            W[i, j] = {
                "cosine": n / np.sqrt(a * b),
                "jaccard": n / (a + b - n),
                "conditional": (n / a + n / b) / 2,
            }[measure]
    return W


def kinds():
    rng = np.random.default_rng(0)
    Y = (rng.random((50, 20)) < 0.3).astype(float)
    Y[:, 5] = 0
    tags = [[str(j) for j in range(20) if row[j] == 1] for row in Y]
    Y[rng.random(Y.shape) < 0.2] = NAN
    few = np.where(np.arange(50)[:, None] < 6, Y, NAN)
    places = np.nonzero(~np.isnan(few))
    background = PartialLabels.from_tags(tags, unlisted=0.3, labels=[str(j) for j in range(20)])
    return {
        "dense": PartialLabels.from_array(Y),
        "weighted": PartialLabels.from_array(Y, weights=rng.random(Y.shape) + 0.1),
        "sparse": PartialLabels.from_entries(*places, few[places] == 1, shape=Y.shape),
        "background": background.with_hidden([0, 1, 2], [0, 1, 2]),
    }


@pytest.mark.parametrize("kind", ["dense", "weighted", "sparse", "background"])
@pytest.mark.parametrize("measure", ["cosine", "jaccard", "conditional"])
def test_agrees_with_the_definition(kind, measure):
    known = kinds()[kind]
    assert known.is_sparse == (kind in ("sparse", "background"))
    W = label_graph_from_cooccurrence(known, measure=measure)
    np.testing.assert_allclose(W.toarray(), slow_cooccurrence(known, measure), atol=1e-12)
    check_weights(W, 20, name="label_graph", nodes="labels")
    assert (W.data <= 1 + 1e-12).all()


def test_unknown_is_not_absent():
    Y = [[1, 1], [1, NAN], [NAN, 1], [0, 0]]
    assert label_graph_from_cooccurrence(Y).toarray()[0, 1] == 1
    assert label_graph_from_cooccurrence(np.nan_to_num(Y)).toarray()[0, 1] == 0.5


def test_edges_have_no_direction_and_the_largest_weight_counts():
    edges = [("sea", "beach", 0.2), ("beach", "sea", 0.7), ("sea", "boat"), ("sea", "sea", 9)]
    W = label_graph_from_edges(edges, ["beach", "boat", "sea"])
    assert W.toarray().tolist() == [[0, 0, 0.7], [0, 0, 1], [0.7, 1, 0]]
    check_weights(W, 3, name="label_graph", nodes="labels")


def test_labels_may_be_partial_labels_and_edges_none():
    known = PartialLabels.from_array([[1, 0]], labels=["a", "b"])
    assert label_graph_from_edges([("a", "b")], known).toarray().tolist() == [[0, 1], [1, 0]]
    assert label_graph_from_edges([], known).nnz == 0
    assert label_graph_from_edges([("a", "b", 0)], known).nnz == 0


def test_names_that_are_no_labels():
    edges = [("sea", "see"), ("sae", "boat"), ("sea", "boat")]
    with pytest.raises(InvalidInputError, match=r"2 name.*2 labels: 'see', 'sae'\. Correct them"):
        label_graph_from_edges(edges, ["boat", "sea"])
    W = label_graph_from_edges(edges, ["boat", "sea"], on_unknown_name="ignore")
    assert W.toarray().tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("edge", "message"),
    [
        (("a",), "Edge 0 must be"),
        ("ab", "Edge 0 must be"),
        (("a", "b", -1), "weight of edge 0"),
        (("a", "b", "much"), "weight of edge 0"),
        (("a", "b", NAN), "weight of edge 0"),
    ],
)
def test_invalid_edges_are_refused(edge, message):
    with pytest.raises(InvalidInputError, match=message):
        label_graph_from_edges([edge], ["a", "b"])


def test_other_refusals():
    with pytest.raises(InvalidInputError, match="measure must be one of"):
        label_graph_from_cooccurrence([[1, 1]], measure="lift")
    with pytest.raises(InvalidInputError, match="must differ"):
        label_graph_from_edges([], ["a", "a"])
    with pytest.raises(InvalidInputError, match="on_unknown_name must be"):
        label_graph_from_edges([], ["a"], on_unknown_name="skip")
