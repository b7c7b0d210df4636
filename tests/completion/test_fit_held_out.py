import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from tagloom.completion.fit import plan_entries
from tagloom.labels import PartialLabels, State
from tagloom.models import SemanticDiffusion
from tagloom.tagger import SemanticTagger
from tagloom.vision import Features


def held_out_scores(known, final, score, **split):
    plan = plan_entries(known, final, **split)
    return plan.table(map(score, plan.folds))


def random_known(unlisted_weight, seed=0):
    rng = np.random.default_rng(seed)
    rows, columns = np.nonzero(rng.random((31, 4)) < 0.5)
    present = np.ones(len(rows), bool) if unlisted_weight else rng.random(len(rows)) < 0.5
    return PartialLabels.from_entries(
        rows, columns, present, shape=(31, 4), unlisted_weight=unlisted_weight
    )


@pytest.mark.parametrize("unlisted_weight", [0.0, 1.0, 0.3])
def test_what_is_listed_is_scored_once_by_a_learner_that_was_not_shown_it(unlisted_weight):
    known = random_known(unlisted_weight)
    listed = np.zeros(known.shape, dtype=bool)
    entries = known.entries()
    listed[entries.rows, entries.columns] = True
    times_hidden = np.zeros(known.shape, dtype=int)

    def score(training):
        shown = np.zeros(known.shape, dtype=bool)
        of_training = training.entries()
        shown[of_training.rows, of_training.columns] = True
        assert not (shown & ~listed).any()
        times_hidden[listed & ~shown] += 1
        # A learner that was shown an entry gives itself away by a five.
        return np.where(listed, np.where(shown, 5.0, 2.0), 1.0).astype(np.float32)

    final = np.full(known.shape, 3, np.float32)
    H = held_out_scores(known, final, score, n_splits=3)
    assert (times_hidden[listed] == 1).all()
    assert np.allclose(H[listed], 2 * 3)
    assert np.allclose(H[~listed], 1 * 3)
    assert H.dtype == np.float32


def test_scores_of_folds_are_brought_to_the_size_of_the_final_ones():
    known = random_known(1.0)
    rng = np.random.default_rng(1)
    final = rng.random(known.shape)
    H = held_out_scores(known, final, lambda _: 0.75 * final, n_splits=4)
    assert np.allclose(H, final)


def test_where_all_is_listed_scores_stay_as_they_are():
    known = PartialLabels.from_array(np.random.default_rng(0).random((12, 2)) < 0.5)
    half = np.full((12, 2), 0.5)
    H = held_out_scores(known, np.ones((12, 2)), lambda _: half, n_splits=3)
    assert np.array_equal(H, np.full((12, 2), 0.5))


@pytest.mark.parametrize("local", [True, False])
def test_of_pictures_that_tell_nothing_nothing_is_foretold(local):
    """No label comes back by way of the neighbours' pooled labels, nor by the graph."""
    rng = np.random.default_rng(3)
    n_items = 240
    visual = rng.normal(size=(n_items, 6 if local else 1))
    features = Features([f"{i}" for i in range(n_items)], visual, np.ones((n_items, 1)), ["all"])
    truth = rng.random((n_items, 3)) < 0.4
    known = PartialLabels.from_array(truth, items=features.items)

    def scores(training):
        return SemanticTagger(SemanticDiffusion(ridge=0.1)).fit(features, training).scores()

    final = scores(known)
    H = held_out_scores(known, final, scores, n_splits=4)
    shown = np.mean([roc_auc_score(truth[:, j], final[:, j]) for j in range(3)])
    hidden = np.mean([roc_auc_score(truth[:, j], H[:, j]) for j in range(3)])
    assert shown > 0.8
    assert 0.35 < hidden < 0.6
    assert (known.states() != int(State.UNKNOWN)).all()
