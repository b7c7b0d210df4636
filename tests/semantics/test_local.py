import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, State
from tagloom.semantics import LocalDescriptor

NAN = float("nan")


def slow_local(train, known, queries, k, pooling, shrinkage, *, itself):
    """Compute the definition item by item and label by label."""
    states, weights = known.states(), known.weights()
    rows = []
    for i, x in enumerate(queries):
        distance = np.linalg.norm(train - x, axis=1)
        order = [n for n in np.argsort(distance, kind="stable") if itself or n != i][:k]
        row = []
        for j in range(known.n_labels):
            has = states[:, j] == State.PRESENT
            if pooling == "paper":
                row.append(sum(has[n] for n in order) / k)
                continue
            rate = (weights[:, j] * has).sum() / weights[:, j].sum()
            present = sum(weights[n, j] for n in order if has[n])
            row.append(
                (present + shrinkage * rate) / (sum(weights[n, j] for n in order) + shrinkage)
            )
        rows.append(row)
    return np.array(rows)


def kinds_of_labels():
    rng = np.random.default_rng(0)
    Y = (rng.random((40, 20)) < 0.4).astype(float)
    Y[rng.random(Y.shape) < 0.2] = NAN
    Y[0], Y[1] = 1, 0
    weights = rng.random(Y.shape) + 0.2
    tags = [[str(j) for j in range(20) if Y[i, j] == 1] for i in range(40)]
    background = PartialLabels.from_tags(tags, unlisted=0.2, labels=[str(j) for j in range(20)])
    few = np.where(np.arange(40)[:, None] < 4, Y, NAN)
    places = np.nonzero(~np.isnan(few))
    return {
        "dense": PartialLabels.from_array(Y),
        "weighted": PartialLabels.from_array(Y, weights=weights),
        "background": background.with_hidden([3, 8], [0, 5]),
        "sparse": PartialLabels.from_entries(*places, few[places] == 1, shape=Y.shape),
    }


@pytest.mark.parametrize("kind", ["dense", "weighted", "background", "sparse"])
@pytest.mark.parametrize(("pooling", "shrinkage"), [("paper", 1.0), ("known", 0.5), ("known", 7)])
def test_agrees_with_the_definition(kind, pooling, shrinkage):
    known = kinds_of_labels()[kind]
    assert known.is_sparse == (kind in ("background", "sparse"))
    rng = np.random.default_rng(1)
    train, new = rng.standard_normal((40, 3)), rng.standard_normal((9, 3))
    local = LocalDescriptor(8, n_components=None, pooling=pooling, shrinkage=shrinkage)
    arguments = (8, pooling, shrinkage)
    np.testing.assert_allclose(
        local.fit_transform(train, known),
        slow_local(train, known, train, *arguments, itself=False),
        atol=1e-12,
    )
    np.testing.assert_allclose(
        local.transform(new), slow_local(train, known, new, *arguments, itself=True), atol=1e-12
    )


def test_own_labels_never_enter_the_training_descriptor():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((30, 4))
    Y = (rng.random((30, 3)) < 0.5).astype(float)
    original = LocalDescriptor(5, pooling="paper").fit_transform(X, Y)
    Y[7] = 1 - Y[7]
    changed = LocalDescriptor(5, pooling="paper").fit_transform(X, Y)
    np.testing.assert_array_equal(original[7], changed[7])
    assert (original != changed).any()


def test_equal_items_are_neighbors_and_transform_treats_rows_as_new_items():
    X = np.array([[0.0], [0.0], [9.0], [9.0]])
    Y = np.array([[1.0], [0.0], [1.0], [1.0]])
    local = LocalDescriptor(1, pooling="paper")
    assert local.fit_transform(X, Y).ravel().tolist() == [0, 1, 1, 1]
    assert local.neighbors_.indices.ravel().tolist() == [1, 0, 3, 2]
    assert local.transform(X).ravel().tolist() == [1, 1, 1, 1]


def test_it_is_the_rate_where_neighbors_are_unknown():
    X = np.arange(4.0)[:, None]
    Y = [[NAN], [NAN], [1], [0]]
    local = LocalDescriptor(1, shrinkage=0)
    assert local.fit_transform(X, Y).ravel().tolist() == [0.5, 0.5, 0.5, 1.0]
    assert LocalDescriptor(1, pooling="paper").fit_transform(X, Y).ravel().tolist() == [0, 0, 0, 1]


def test_label_without_known_entry_is_zero():
    assert (LocalDescriptor().fit_transform([[0.0], [1.0]], [[NAN, 1], [NAN, 1]])[:, 0] == 0).all()


def test_visual_descriptors_are_searched_after_pca():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 20))
    Y = (rng.random((60, 4)) < 0.5).astype(float)
    reduced = PCA(5, svd_solver="full").fit_transform(X)
    given = LocalDescriptor(6, n_components=None).fit_transform(reduced, Y)
    np.testing.assert_allclose(LocalDescriptor(6, n_components=5).fit_transform(X, Y), given)
    wide = LocalDescriptor(3, n_components=128).fit(X[:10], Y[:10])
    assert wide.transform(X).shape == (60, 4)


def test_fewer_items_than_neighbors_means_all_others():
    assert LocalDescriptor(pooling="paper").fit_transform(
        [[0.0], [1], [2]], [[1], [1], [0]]
    ).tolist() == [
        [0.5],
        [0.5],
        [1.0],
    ]


def test_names_clone_and_precision():
    frame = pd.DataFrame({"beach": [1, None, 0], "sea": [0, 1, None]})
    local = clone(LocalDescriptor(1).set_output(transform="pandas"))
    X = np.array([[0.0], [1.0], [2.0]], dtype=np.float32)
    described = local.fit_transform(X, frame)
    assert described.columns.tolist() == ["beach", "sea"]
    assert LocalDescriptor(1).fit_transform(X, frame).dtype == np.float32


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_neighbors": 0},
        {"n_components": 0.5},
        {"pooling": "mean"},
        {"shrinkage": -1},
        {"metric": 2},
    ],
)
def test_invalid_parameters_are_refused_in_fit(wrong):
    local = LocalDescriptor(**wrong)
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        local.fit([[0.0], [1.0]], [[1], [0]])


def test_a_single_item_has_no_neighbor():
    with pytest.raises(InvalidInputError, match="at least 2 items"):
        LocalDescriptor().fit_transform([[0.0]], [[1]])


@pytest.mark.parametrize("pooling", ["known", "paper"])
@pytest.mark.parametrize("unlisted", ["unknown", 0.2])
def test_items_pooled_a_few_at_a_time_are_pooled_alike(pooling, unlisted, monkeypatch):
    rng = np.random.default_rng(0)
    visual = rng.standard_normal((90, 4)).astype(np.float32)
    tags = [[j for j in range(6) if rng.random() < 0.3] for _ in range(90)]
    known = PartialLabels.from_tags(tags, unlisted=unlisted, labels=range(6))
    local = LocalDescriptor(n_neighbors=7, pooling=pooling)
    whole = local.fit_transform(visual, known)
    monkeypatch.setattr("tagloom.semantics.local._SUMS_AT_ONCE", 30)
    np.testing.assert_array_equal(local.fit_transform(visual, known), whole)
    assert whole.dtype == np.float32
