import numpy as np
import pytest

from tagloom.labels import State


def test_open_entries_of_lists_are_judged_as_they_stand(collection):
    """What is seen follows Bayes' rule, what is unseen has a p of its own; so has what is said."""
    tags = collection.write_lists(rows=range(50))
    done = collection.complete(tags, "out", untagged="unseen", label_frequency=0.6)
    result, calibration = done.result, done.model.calibrations.seen
    p = calibration.probabilities(np.asarray(done.model.tagger.scores(), dtype=np.float32))
    seen = np.zeros(p.shape, dtype=bool)
    seen[result.known.states().max(axis=1) == int(State.PRESENT)] = True
    by_bayes = p * 0.4 / (1 - 0.6 * p)
    open_and_seen, open_and_unseen = result.is_open & seen, result.is_open & ~seen
    assert result.P[open_and_seen] == pytest.approx(by_bayes[open_and_seen], abs=1e-5)
    scores = np.asarray(done.model.tagger.scores(), dtype=np.float32)
    of_unseen = done.model.calibrations.unseen.probabilities(scores)
    assert np.array_equal(result.P[open_and_unseen], of_unseen[open_and_unseen])
    assert not np.array_equal(of_unseen, p)
    assert np.array_equal(done.model.open_probabilities()[result.is_open], result.P[result.is_open])
    listed = ~result.is_open
    assert result.P[listed].mean() < p[listed].mean()


def test_where_absences_are_told_open_entries_are_as_likely_as_their_scores_say(collection):
    done = collection.complete(collection.write_table(), "out")
    result = done.result
    scores = np.asarray(done.model.tagger.scores(), dtype=np.float32)
    p = done.model.calibrations.seen.probabilities(scores)
    assert np.array_equal(result.P[result.is_open], p[result.is_open])


def test_the_summary_counts_the_results(collection):
    result = collection.complete(collection.write_table(), "out").result
    suggested = result.is_open & (result.thresholds <= result.P)
    assert result.summary["suggested tags"] == suggested.sum()
    assert result.summary["suspected label errors"] == len(result.suspected_errors)
    assert len(result.label_quality) == result.known.n_labels
    judged = sum(one.n for one in result.bins)
    assert judged == result.known.n_known
