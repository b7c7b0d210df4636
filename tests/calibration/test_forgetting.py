import numpy as np
import pytest
from scipy.special import expit, logit

from tagloom.calibration import calibrate, overall_label_frequency
from tagloom.calibration.forgetting import (
    Forgetting,
    estimate_forgetting,
    forgotten_at_random,
    judge_clear_entries,
    nothing_forgotten,
)
from tagloom.labels import PartialLabels


class World:
    """Lists of which the truth is known.

    `mu` are the log-odds of presence, and a present label is listed with the probability `e`.
    Scores are held-out scores at their best: the probability of being listed.
    """

    def __init__(self, mu, e, rng):
        self.p, self.g = expit(mu), expit(mu) * e
        self.truth = rng.random(mu.shape) < self.p
        self.listed = self.truth & (rng.random(mu.shape) < e)
        self.scores = self.g.astype(np.float32)

    @property
    def labels(self):
        return lists_of(self.listed)

    @property
    def frequencies(self):
        return self.listed.sum(axis=0) / self.truth.sum(axis=0)

    def calibrated(self, **options):
        return calibrate(self.labels, self.scores, positive_unlabelled=True, **options)

    def suggested(self, calibration):
        """Return the mean promise of suggestions, the share that is right, and their number."""
        P = calibration.probabilities(self.scores, unlisted=True)
        chosen = (P >= 0.5) & ~self.listed
        return P[chosen].mean(), self.truth[chosen].mean(), chosen.sum()


def lists_of(listed):
    return PartialLabels.from_entries(
        *np.nonzero(listed), True, shape=listed.shape, unlisted_weight=1.0
    )


def forgotten_alike(c, seed=0, n_items=2000, n_labels=16):
    rng = np.random.default_rng(seed)
    mu = rng.uniform(-4, -1, n_labels) + 3 * rng.normal(size=(n_items, n_labels))
    return World(mu, c, rng)


def forgotten_by_tag(seed=0, n_items=2000, n_labels=24):
    rng = np.random.default_rng(seed)
    c = rng.permutation(np.linspace(0.05, 0.95, n_labels))
    mu = rng.uniform(-4, -1, n_labels) + 3 * rng.normal(size=(n_items, n_labels))
    return World(mu, c, rng)


def forgotten_by_salience(seed=0, n_items=2000, n_labels=24):
    """Presence and listing are two thresholds on one scale: e = sigmoid(mu - d) / sigmoid(mu)."""
    rng = np.random.default_rng(seed)
    d = rng.permutation(np.linspace(1, 6, n_labels))
    shown = rng.random((n_items, n_labels)) < rng.uniform(0.05, 0.4, n_labels)
    mu = np.where(shown, 3.0, -5.0) + 0.7 * rng.normal(size=shown.shape)
    return World(mu, expit(mu - d) / expit(mu), rng)


@pytest.mark.parametrize("c", [0.1, 0.3, 0.7])
def test_tags_that_are_all_forgotten_alike_have_one_label_frequency(c):
    found, promised, right, errors = [], [], [], []
    for seed in range(5):
        world = forgotten_alike(c, seed)
        fitted = world.calibrated()
        found.append(fitted.forgetting.label_frequencies.mean())
        promise, share, _ = world.suggested(fitted)
        promised.append(promise)
        right.append(share)
        errors.append(np.abs(fitted.probabilities(world.scores) - world.p).mean())
    assert np.mean(found) == pytest.approx(c, rel=0.12)
    assert np.mean(promised) == pytest.approx(np.mean(right), abs=0.12)
    assert np.mean(errors) < 0.05


def test_complete_lists_are_taken_for_complete():
    for seed in range(5):
        world = forgotten_alike(1.0, seed)
        fitted = world.calibrated()
        assert fitted.forgetting.label_frequencies.mean() > 0.93
        P = fitted.probabilities(world.scores, unlisted=True)
        assert ((P >= 0.5) & ~world.listed).mean() < 0.001


def test_each_tag_has_its_own_label_frequency():
    for seed in range(3):
        world = forgotten_by_tag(seed)
        fitted = world.calibrated()
        c = fitted.forgetting.label_frequencies
        assert np.median(np.abs(c - world.frequencies)) < 0.1
        assert np.corrcoef(c, world.frequencies)[0, 1] > 0.8
        promise, share, n_suggested = world.suggested(fitted)
        # On the careful side: of what cannot be known, less is promised.
        assert promise - 0.05 < share
        assert n_suggested > 50


def test_where_what_is_salient_is_listed_the_tags_are_told_apart():
    for seed in range(3):
        world = forgotten_by_salience(seed)
        fitted = world.calibrated()
        c = fitted.forgetting.label_frequencies
        assert np.median(np.abs(c - world.frequencies)) < 0.25
        assert np.corrcoef(c, world.frequencies)[0, 1] > 0.95
        promise, share, n_suggested = world.suggested(fitted)
        assert promise - 0.05 < share
        assert n_suggested > 100


@pytest.mark.parametrize("c", [0.1, 0.3, 0.7, 1.0])
def test_with_the_true_label_frequency_every_bin_is_calibrated(c):
    world = forgotten_alike(c, n_items=6000)
    fitted = world.calibrated(label_frequency=c)
    assert (fitted.forgetting.label_frequencies == c).all()
    assert not fitted.forgetting.estimated
    P = fitted.probabilities(world.scores)
    for low in np.arange(0, 1, 0.2):
        inside = (low <= P) & (low + 0.2 > P)
        # Near certainty one listed presence in ten is little to go by, and p stays too low.
        off = 0.05 if c > 0.1 else 0.12
        assert P[inside].mean() == pytest.approx(world.truth[inside].mean(), abs=off)


@pytest.mark.parametrize(("n_items", "n_labels", "share"), [(400, 6, 0.2), (1000, 30, 0.05)])
def test_a_ranking_that_says_nothing_gets_no_flood_of_suggestions(n_items, n_labels, share):
    """Random scores cannot tell which tags were forgotten."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        listed = rng.random((n_items, n_labels)) < share
        noise = rng.random((n_items, n_labels)).astype(np.float32)
        fitted = calibrate(lists_of(listed), noise, positive_unlabelled=True)
        P = fitted.probabilities(noise, unlisted=True)
        assert ((P >= 0.5) & ~listed).mean() < 0.02


@pytest.mark.parametrize("spread", [0.5, 1.0])
def test_a_weak_ranking_promises_no_more_than_it_holds(spread):
    """Few entries are clear: that the top is listed rarely does not mean it was forgotten."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        mu = rng.uniform(-3.5, -2, 20) + spread * rng.normal(size=(2000, 20))
        world = World(mu, 0.6, rng)
        P = world.calibrated().probabilities(world.scores, unlisted=True)
        chosen = (P >= 0.5) & ~world.listed
        # So many of the suggestions are more than right.
        excess = P[chosen].sum() - world.truth[chosen].sum()
        assert excess < 0.02 * world.truth.sum()


@pytest.mark.parametrize(("ceiling", "shift"), [(0.6, 0.0), (1.0, 2.0), (0.8, 1.0)])
def test_unlisted_by_bayes_rule(ceiling, shift):
    """Draw listed tags with g and present ones with p, all listed ones being present."""
    z = np.array([-2.0, 0.0, 1.5])
    model = Forgetting(np.array([ceiling]), np.array([shift]), np.array([0.5]))
    p, g = model.present(z, 0), ceiling * expit(z)
    assert np.allclose(p, expit(z + shift))
    u = np.random.default_rng(0).random((200_000, 1))
    present, listed = u < p, u < g
    for k in range(3):
        observed = present[~listed[:, k], k].mean()
        assert (p[k] - g[k]) / (1 - g[k]) == pytest.approx(observed, abs=0.01)


def test_what_is_listed_is_present():
    """However steep, p never falls below g."""
    z = np.linspace(-20, 20, 401)
    for ceiling, shift in [(1.0, 0.0), (0.3, 0.0), (1.0, 5.0), (0.5, 0.1), (1.0, -3.0)]:
        model = Forgetting(np.array([ceiling]), np.array([shift]), np.ones(1))
        p = model.present(z, 0)
        assert (p >= ceiling * expit(z)).all()
        assert (np.diff(p) >= 0).all()
        assert (p <= 1).all()


def test_forgotten_at_random_presence_is_listing_divided_by_the_label_frequency():
    z = np.linspace(-5, 5, 11)
    model = forgotten_at_random(0.4, 3)
    g = model.ceilings[1] * expit(z)
    assert np.allclose(model.present(z, 1), g / 0.4)
    assert model.label_frequencies.tolist() == [0.4] * 3


def test_a_complete_list_leaves_nothing_open():
    model = nothing_forgotten(2)
    z = np.linspace(-5, 5, 11)
    assert np.array_equal(model.present(z, 0), expit(z))
    world = forgotten_alike(1.0, n_items=300)
    fitted = world.calibrated(label_frequency=1.0)
    assert not fitted.probabilities(world.scores, unlisted=True).any()


def test_the_shift_makes_the_top_as_pure_as_it_is_expected_to_be():
    world = forgotten_by_salience()
    listed = list(world.listed.T)
    G = [np.ascontiguousarray(column) for column in world.g.T]
    clear = judge_clear_entries(G, G, listed, np.full(24, 0.98))
    assert ((clear.frequency > 0) & (clear.frequency <= 1)).all()
    assert 0 <= clear.selectivity <= 1
    m = clear.ceilings
    Z = [logit(np.minimum(g / m[j], 1 - 1e-9)) for j, g in enumerate(G)]
    found = estimate_forgetting(clear, Z, listed)
    assert np.array_equal(found.ceilings, m)
    bounds = -6 * clear.selectivity * np.log(clear.frequency)
    checked = 0
    for j, z in enumerate(Z):
        assert 0 <= found.shifts[j] <= bounds[j] + 1e-9
        # The top of a ranking ends with the entry that makes up a quarter of the listed ones.
        order = np.argsort(-z, kind="stable")
        wanted = min(150, max(1, 0.25 * listed[j].sum()))
        end = np.flatnonzero(np.cumsum(listed[j][order]) >= wanted)[0] + 1
        purity = found.present(z[order[:end]], j).mean()
        listed_share = listed[j].mean() / found.present(z, j).mean()
        least = clear.frequency[j] ** (1 + 1.5 * clear.selectivity)
        assert listed_share >= least - 1e-6
        if 0 < found.shifts[j] < bounds[j] - 1e-9 and listed_share > least + 1e-6:
            assert purity == pytest.approx(clear.purity[j], abs=1e-6)
            checked += 1
        elif found.shifts[j] > 0:
            assert purity <= clear.purity[j] + 1e-9
    assert checked > 0


def test_the_listed_of_each_tag_are_the_label_frequency_of_its_presences():
    world = forgotten_by_tag()
    fitted = world.calibrated()
    P = fitted.probabilities(world.scores).sum(axis=0, dtype=np.float64)
    expected = world.listed.sum(axis=0) / np.maximum(P, world.listed.sum(axis=0))
    assert fitted.forgetting.label_frequencies == pytest.approx(expected, rel=1e-4)


def test_all_tags_together_are_listed_as_often_as_their_presences():
    assert overall_label_frequency(np.array([10, 30]), np.array([0.1, 1.0])) == pytest.approx(
        40 / 130
    )
    assert overall_label_frequency(np.array([5, 5]), np.ones(2)) == 1
    assert overall_label_frequency(np.zeros(2), np.array([0.5, 0.5])) == 1


@pytest.mark.parametrize(
    ("present", "scores"),
    [
        (np.ones((5, 2), bool), np.random.default_rng(0).random((5, 2))),
        (np.eye(4, dtype=bool), np.full((4, 4), 0.3)),
        (np.eye(4, dtype=bool), -np.ones((4, 4))),
        (np.array([[True]]), np.array([[0.5]])),
        (np.eye(4, dtype=bool)[:, :3], np.random.default_rng(0).random((4, 3))),
        (np.eye(6, dtype=bool) & (np.arange(6) < 5), np.random.default_rng(0).random((6, 6))),
        (np.zeros((3, 2), dtype=bool), np.random.default_rng(0).random((3, 2))),
    ],
    ids=["all tags on all pictures", "equal scores", "negative scores", "one picture",
         "an untagged picture", "a label that nobody lists", "nothing listed at all"],
)  # fmt: skip
@pytest.mark.parametrize("positive_unlabelled", [True, False])
def test_degenerate_lists_give_probabilities_all_the_same(present, scores, positive_unlabelled):
    fitted = calibrate(lists_of(present), scores, positive_unlabelled=positive_unlabelled)
    for unlisted in (True, False):
        P = fitted.probabilities(scores, unlisted=unlisted)
        assert P.dtype == np.float32
        assert ((P >= 0) & (P <= 1)).all()
    c = fitted.forgetting.label_frequencies
    assert ((c >= 0) & (c <= 1)).all()


def test_the_state_is_restored_to_the_last_bit():
    forgetting = forgotten_by_tag(n_items=300).calibrated().forgetting
    again = Forgetting.from_state(forgetting.to_state())
    z = np.linspace(-5, 5, 50)
    for column in range(24):
        assert np.array_equal(again.present(z, column), forgetting.present(z, column))
    assert np.array_equal(again.label_frequencies, forgetting.label_frequencies)
    assert again.estimated is True
    assert Forgetting.from_state(nothing_forgotten(2).to_state()).estimated is False
