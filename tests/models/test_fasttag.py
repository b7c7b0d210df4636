"""FastTag's closed forms against enumeration and a general minimiser, and its own search."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from toys import low_rank_toy

from tagloom.labels import PartialLabels, hide_per_class, keep_presences
from tagloom.metrics import mean_average_precision
from tagloom.models import FastTag
from tagloom.models.fasttag import Features, Settings, corrupted_moments, f1_at, fit_layers

TOY = low_rank_toy()
RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 3)) + 2.0
TAGS = (RNG.normal(size=(12, 4)) > 0.3).astype(float)


def corruptions(y, p):
    """Every way to blank out tags of y, with its probability."""
    for blanked in product([False, True], repeat=len(y)):
        blanked = np.array(blanked)
        yield np.where(blanked, 0.0, y), np.prod(np.where(blanked, p, 1 - p))


@pytest.mark.parametrize("p", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("Y", [TAGS, np.tanh(RNG.normal(size=(12, 4)))], ids=["tags", "reals"])
def test_moments_of_corrupted_tags_are_those_of_all_corruptions(Y, p):
    mean = Y.mean(axis=0)
    P, Q = np.zeros((4, 4)), np.zeros((4, 4))
    for y in Y:
        for corrupted, probability in corruptions(y, p):
            moved = corrupted - (1 - p) * mean
            P += probability * np.outer(y - mean, moved) / len(Y)
            Q += probability * np.outer(moved, moved) / len(Y)
    S = np.cov(Y.T, bias=True)
    found = corrupted_moments((Y**2).mean(axis=0), S, p)
    np.testing.assert_allclose(found[0], P, atol=1e-12)
    np.testing.assert_allclose(found[1], Q, atol=1e-12)


@cache
def all_corruptions(p):
    pairs = [(y, *pair) for y in TAGS for pair in corruptions(y, p)]
    return [np.array(part) for part in zip(*pairs, strict=True)]


def written_out(B, b, W, c, *, noise, alpha, beta, ridge):
    """The objective as it stands in the docstring, the expectation as a sum."""
    fit = np.sum((TAGS @ B.T + b - X @ W.T - c) ** 2) / len(TAGS)
    y, corrupted, probability = all_corruptions(noise)
    expected = probability @ np.sum((y - corrupted @ B.T - b) ** 2, axis=1) / len(TAGS)
    return fit + beta * np.sum(W**2) + alpha * expected + ridge * np.sum(B**2)


@pytest.mark.parametrize(("noise", "alpha"), [(0.0, 1.0), (0.4, 0.5), (0.8, 10.0)])
def test_the_turns_end_at_the_minimum_of_the_objective(noise, alpha):
    common = {"noise": noise, "alpha": alpha, "ridge": 1e-3}
    settings = Settings(**common, n_layers=1, max_rounds=10_000, tol=0.0)
    W, c = fit_layers(Features(X, 0.1), sparse.csr_array(TAGS), settings)
    T, d = TAGS.shape[1], X.shape[1]

    def parts(v):
        B, b, rest = v[: T * T].reshape(T, T), v[T * T : T * T + T], v[T * T + T :]
        return B, b, rest[: T * d].reshape(T, d), rest[T * d :]

    start = np.zeros(T * T + T + T * d + T)
    best = minimize(lambda v: written_out(*parts(v), **common, beta=0.1), start, method="BFGS")
    _, _, expected_W, expected_c = parts(best.x)
    np.testing.assert_allclose(W, expected_W, atol=1e-3)
    np.testing.assert_allclose(X @ W.T + c, X @ expected_W.T + expected_c, atol=1e-3)


def test_a_layer_more_learns_from_squashed_enriched_tags():
    one = FastTag(noise=0.3, beta=0.1, n_layers=1).fit(TOY.X, TOY.known)
    two = FastTag(noise=0.3, beta=0.1, n_layers=2).fit(TOY.X, TOY.known)
    assert not np.allclose(one.coef_, two.coef_)
    assert two.scores(TOY.X).max() < 1.5


def test_tags_that_go_together_are_added():
    # Whoever has the first tag has the second, which is often left out; features tell nothing.
    rng = np.random.default_rng(0)
    has = rng.random(400) < 0.3
    Y = np.column_stack([has, has & (rng.random(400) < 0.7)]).astype(float)
    features = has[:, None] + rng.normal(scale=0.1, size=(400, 1))
    plain = FastTag(noise=0.0, alpha=1000.0).fit(features, Y).scores(features)
    enriched = FastTag(noise=0.9, alpha=1000.0).fit(features, Y).scores(features)
    assert enriched[has, 1].mean() > plain[has, 1].mean() + 0.1


def test_known_absences_and_weights_have_no_say():
    entries = TOY.known.entries()
    where = entries.present
    only_present = PartialLabels.from_entries(
        entries.rows[where],
        entries.columns[where],
        True,
        shape=TOY.known.shape,
        weights=np.linspace(0.1, 2.0, where.sum()),
    )
    with_absences = FastTag().fit(TOY.X, TOY.known)
    np.testing.assert_array_equal(with_absences.coef_, FastTag().fit(TOY.X, only_present).coef_)


def test_f1_at_by_hand():
    scores = np.array([[3.0, 2.0, 1.0], [1.0, 3.0, 2.0], [3.0, 1.0, 2.0]])
    truth = np.array([[1, 0, 0], [0, 0, 1], [0, 0, 1]], dtype=bool)
    # The two highest: {0, 1}, {1, 2}, {0, 2}. Tag 0: precision 1/2, recall 1; tag 2: 1 and 1.
    overall, per_tag = f1_at(scores, truth, 2)
    np.testing.assert_allclose(per_tag, [2 / 3, 0, 1])
    assert overall == pytest.approx(2 * 0.75 * 1 / 1.75)
    assert f1_at(scores, np.zeros((3, 3), dtype=bool), 2)[0] == 0


def many_tags():
    toy = low_rank_toy(n=200, d=10, c=30, rank=3, rate=1.0, seed=2)
    known = hide_per_class(PartialLabels.from_array(toy.truth), 0.3, 0)
    return toy, known


def test_own_search_lets_tags_differ_and_is_the_same_twice():
    toy, known = many_tags()
    first, second = (FastTag(search="own", beta=0.1).fit(toy.X, known) for _ in range(2))
    np.testing.assert_array_equal(first.coef_, second.coef_)
    assert len(set(zip(first.noise_, first.alpha_, first.n_layers_, strict=True))) > 1
    assert mean_average_precision(toy.truth, first.scores(toy.X)) > 0.75


def test_without_search_every_tag_gets_the_given_parameters():
    model = FastTag(noise=0.2, alpha=3.0, n_layers=2).fit(TOY.X, TOY.known)
    assert set(model.noise_) == {0.2}
    assert set(model.alpha_) == {3.0}
    assert set(model.n_layers_) == {2}


def test_labels_known_only_as_present_are_no_trouble():
    listed = keep_presences(PartialLabels.from_array(TOY.truth), 0.5, unlisted="unknown")
    assert FastTag().fit(TOY.X, listed).learnable_.all()


def test_collinear_features_of_large_size_are_fitted():
    rng = np.random.default_rng(0)
    X = 1e7 * rng.normal(size=(40, 3)) @ rng.normal(size=(3, 6))
    Y = (rng.random((40, 4)) < 0.4).astype(float)
    assert np.isfinite(FastTag().fit(X, Y).scores(X)).all()
