import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit

from tagloom.calibration import listing as module
from tagloom.calibration.listing import ListingModel, fit_listing
from tagloom.labels import PartialLabels


def drawn(seed=0, n_items=400, n_labels=5, ceilings=None):
    """Draw scores, and lists in which each entry is listed with a probability g that is known."""
    rng = np.random.default_rng(seed)
    scores = rng.beta(0.6, 1.5, size=(n_items, n_labels))
    m = np.ones(n_labels) if ceilings is None else ceilings
    G = m * expit(np.linspace(-4, -1, n_labels) + 6 * scores)
    listed = rng.random(G.shape) < G
    return lists_of(listed), scores, G


def lists_of(listed):
    return PartialLabels.from_entries(
        *np.nonzero(listed), True, shape=listed.shape, unlisted_weight=1.0
    )


def terms_of(scores, q):
    scores, q = np.broadcast_arrays(scores, q)
    t = np.maximum(scores, 1e-4)
    return np.stack([np.log(t), t, np.sqrt(t), q, q * np.log(t), q * t], axis=-1)


def probabilities(model, scores):
    columns = range(scores.shape[1])
    return np.stack([model.probability(scores[:, j], j) for j in columns], axis=1)


def minus_log_likelihood(g, listed):
    return -np.log(np.where(listed, g, 1 - g)).sum()


@pytest.mark.parametrize("ceilings", [None, np.array([0.3, 0.5, 0.8, 1.0, 0.4])])
def test_the_common_curve_maximises_the_penalised_likelihood(ceilings, monkeypatch):
    monkeypatch.setattr(module, "_SHARE_OF_LOW", 1.0)
    labels, scores, _ = drawn(ceilings=ceilings)
    model = fit_listing(labels, scores, ceilings=ceilings)
    listed = labels.states() == 1
    q = np.log((listed.sum(axis=0) + 0.5) / ((~listed).sum(axis=0) + 0.5))
    assert np.allclose(model.log_odds, q)
    D = (terms_of(scores, q) - model.mean) / model.scale
    assert np.allclose(D.mean(axis=(0, 1)), 0)
    assert np.allclose(D.std(axis=(0, 1)), 1)

    def loss(w):
        g = model.ceilings * expit(D @ w[:-1] + w[-1])
        return minus_log_likelihood(g, listed) + 0.5 * w[:-1] @ w[:-1]

    slope = approx_fprime(model.weights, loss, 1e-6)
    at_zero = approx_fprime(np.zeros(7), loss, 1e-6)
    assert np.abs(slope).max() < 2e-3 * np.abs(at_zero).max()
    by_hand = model.ceilings * expit(D @ model.weights[:-1] + model.weights[-1])
    assert np.allclose(probabilities(model.common(), scores), by_hand)


@pytest.mark.parametrize("ceilings", [None, np.array([0.3, 0.5, 0.8, 1.0, 0.4])])
def test_each_label_finds_the_mode_of_its_own_intercept_and_slope(ceilings, monkeypatch):
    """Against an optimiser that knows nothing of Fisher scoring."""
    monkeypatch.setattr(module, "_SHARE_OF_LOW", 1.0)
    labels, scores, _ = drawn(seed=1, ceilings=ceilings)
    model = fit_listing(labels, scores, ceilings=ceilings)
    listed = labels.states() == 1
    for j in range(5):
        h = model.common().log_odds_of(scores[:, j], j)

        def loss(x, j=j, h=h):
            g = model.ceilings[j] * expit(x[0] + x[1] * h)
            prior = 0.5 * (x[0] / 0.3) ** 2 + 0.5 * ((x[1] - 1) / 0.1) ** 2
            return minus_log_likelihood(g, listed[:, j]) + prior

        found = minimize(loss, [0.0, 1.0], method="Nelder-Mead", options={"xatol": 1e-7}).x
        assert model.intercepts[j] == pytest.approx(found[0], abs=1e-3)
        assert model.slopes[j] == pytest.approx(found[1], abs=1e-3)


def test_the_probability_of_being_listed_is_recovered():
    errors = []
    for seed in range(5):
        labels, scores, G = drawn(seed, n_items=1500)
        errors.append(np.abs(probabilities(fit_listing(labels, scores), scores) - G).mean())
    assert np.mean(errors) < 0.03


def test_weights_count_as_so_many_entries():
    rng = np.random.default_rng(0)
    scores = rng.random((60, 2))
    present = rng.random((60, 2)) < scores
    twice = PartialLabels.from_array(np.concatenate([present, present]))
    weighing_two = PartialLabels.from_array(present, weights=np.full(present.shape, 2.0))
    one = fit_listing(twice, np.concatenate([scores, scores]))
    two = fit_listing(weighing_two, scores)
    # The log-odds of a label count entries, not weights.
    assert np.allclose(probabilities(one, scores), probabilities(two, scores), atol=0.01)


def test_a_sample_of_the_low_scores_stands_for_all(monkeypatch):
    labels, scores, _ = drawn(n_items=4000)
    sampled = probabilities(fit_listing(labels, scores), scores)
    monkeypatch.setattr(module, "_SHARE_OF_LOW", 1.0)
    every = probabilities(fit_listing(labels, scores), scores)
    assert np.abs(sampled - every).mean() < 0.015
    assert sampled.mean() == pytest.approx((labels.states() == 1).mean(), abs=0.01)


def test_hidden_entries_are_no_absences(monkeypatch):
    monkeypatch.setattr(module, "_SHARE_OF_LOW", 1.0)
    labels, scores, _ = drawn()
    unseen = np.repeat([[False], [True]], [400, 400], axis=0)
    both = lists_of(np.concatenate([labels.states() == 1, np.zeros((400, 5), dtype=bool)]))
    hidden = both.with_hidden(*np.nonzero(np.broadcast_to(unseen, (800, 5))))
    model = fit_listing(hidden, np.concatenate([scores, scores]))
    alone = probabilities(fit_listing(labels, scores), scores)
    assert np.allclose(probabilities(model, scores), alone, atol=1e-4)


def test_no_probability_exceeds_its_ceiling():
    ceilings = np.array([0.3, 0.5, 0.8, 1.0, 0.4])
    labels, scores, _ = drawn(ceilings=ceilings)
    model = fit_listing(labels, scores, ceilings=ceilings)
    everything = np.repeat(np.linspace(-1, 100, 500)[:, None], 5, axis=1)
    G = probabilities(model, everything)
    assert (ceilings >= G).all()
    assert (G >= 0).all()


def test_labels_with_few_listings_keep_to_the_common_curve():
    """The scores of one label say nothing, which takes many entries to notice."""
    slopes = {}
    for n_judged in (20, 2000):
        rng = np.random.default_rng(0)
        scores = rng.beta(0.6, 1.5, size=(2000, 8))
        G = expit(-3 + 6 * scores)
        G[:, 7] = G[:, 7].mean()
        rows = np.arange(n_judged, 2000)
        labels = lists_of(rng.random(G.shape) < G).with_hidden(rows, np.full(len(rows), 7))
        model = fit_listing(labels, scores)
        slopes[n_judged] = model.slopes[7]
    assert slopes[20] > 0.9
    assert slopes[2000] < 0.6


def test_a_label_that_came_with_answers_has_the_log_odds_of_those():
    known = PartialLabels.from_array([[1, np.nan], [0, np.nan], [1, np.nan], [0, np.nan]])
    by_now = PartialLabels.from_array([[1, 1], [0, 1], [1, 0], [1, 0]])
    scores = np.random.default_rng(0).random((4, 2))
    assert np.allclose(fit_listing(known, scores, current=by_now).log_odds, 0)


def test_where_every_annotation_was_withdrawn_the_present_ones_count():
    scores = np.random.default_rng(0).random((6, 2))
    nothing = PartialLabels.from_array(np.full((6, 2), np.nan))
    by_now = PartialLabels.from_array([[1, 0], [0, 1], [1, 0], [1, 1], [0, 0], [0, 1]])
    found = fit_listing(nothing, scores, current=by_now)
    expected = fit_listing(by_now, scores)
    assert np.array_equal(probabilities(found, scores), probabilities(expected, scores))


def test_the_state_is_restored_to_the_last_bit():
    labels, scores, _ = drawn()
    model = fit_listing(labels, scores)
    again = ListingModel.from_state(model.to_state())
    assert np.array_equal(probabilities(again, scores), probabilities(model, scores))
    assert np.array_equal(
        probabilities(again.common(), scores), probabilities(model.common(), scores)
    )


def test_the_same_seed_gives_the_same_bits():
    labels, scores, _ = drawn(n_items=300)
    one, two, other = (fit_listing(labels, scores, random_state=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.weights, two.weights)
    assert not np.array_equal(one.weights, other.weights)
