import numpy as np
import pytest
from scipy import sparse

from tagloom.calibration import ExpectedPrecision
from tagloom.completion.result import CompletionResult
from tagloom.completion.suggestions import tag_table
from tagloom.labels import PartialLabels, State


def made_result(Y, P, labels, threshold=0.5, **changes):
    """Return a result; whatever is NaN is open."""
    known = PartialLabels.from_array(Y, labels=labels)
    P = np.asarray(P, dtype=np.float32)
    is_open = known.states() == int(State.UNKNOWN)
    thresholds = np.full(len(labels), threshold)
    n, m = known.shape
    parts = {
        "photos": None,
        "known": known,
        "P": P,
        "is_open": is_open,
        "thresholds": thresholds,
        "table": tag_table(known, P, is_open, thresholds, np.zeros((n, m), dtype=bool)),
        "suspected_errors": [],
        "to_annotate": [],
        "label_quality": [],
        "bins": [],
        "label_frequencies": np.ones(m),
        "precision": ExpectedPrecision(0.75, 0.5, 0.9, 0),
        "frequencies_estimated": True,
        "implied": np.zeros((n, m), dtype=bool),
        "implications": (),
        "affinities": sparse.csr_array((n, n)),
        "skipped": [],
        "warnings": [],
        "too_rare": {},
        "summary": {},
    }
    return CompletionResult(**(parts | changes))


def test_carriers_are_the_likest_pictures_that_have_the_label():
    S = sparse.csr_array(np.array([[0, 0.2, 0.9, 0.5, 0.5], *np.zeros((4, 5))]))
    Y = [[np.nan], [1], [0], [1], [1]]
    result = made_result(Y, np.full((5, 1), 0.5), ["sea"], affinities=S)
    assert result.neighbors_with(0, 0) == [3, 4, 1]
    assert result.neighbors_with(0, 0, count=1) == [3]
    assert result.neighbors_with(0, 0, count=None) == [3, 4, 1]
    assert result.neighbors_with(1, 0) == []
    assert result.items == ["0", "1", "2", "3", "4"]
    assert result.labels == ["sea"]


def test_a_tag_is_implied_by_a_known_tag_of_the_same_picture():
    Y = [[1, np.nan, np.nan], [np.nan, np.nan, 1], [np.nan, 1, np.nan]]
    implied = np.zeros((3, 3), dtype=bool)
    implied[0, 1] = implied[1, 1] = True
    pairs = (("yeti", "person"), ("man", "person"), ("child", "person"))
    result = made_result(
        Y, np.full((3, 3), 0.95), ["man", "person", "child"], implied=implied, implications=pairs
    )
    assert result.implied_by(0, 1) == 0
    assert result.implied_by(1, 1) == 2
    assert result.implied_by(2, 1) is None
    assert result.implied_by(0, 2) is None


def test_all_tags_together_are_listed_as_often_as_their_presences():
    Y = np.full((20, 2), np.nan)
    Y[:15, 0], Y[:5, 1] = 1, 1
    result = made_result(Y, np.full((20, 2), 0.6), ["cat", "sky"],
                         label_frequencies=np.array([0.75, 0.25]))  # fmt: skip
    # 20 listed tags of 20 + 20 that are there.
    assert result.label_frequency == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("c", "n_answers", "basis"),
    [
        (0.5, 0, "by the lists alone"),
        (0.5, 1, "by 1 answer to"),
        (0.5, 1200, "by 1,200 answers to"),
        (1.0, 0, "measured on held-out tags and absences"),
        (1.0, 7, "by 7 answers to"),
    ],
)
def test_a_claim_says_what_it_rests_on(c, n_answers, basis):
    result = made_result(
        [[1], [np.nan]], [[0.9], [0.7]], ["sea"],
        label_frequencies=np.array([c]), precision=ExpectedPrecision(0.7, 0.4, 0.9, n_answers),
    )  # fmt: skip
    first, *more = result.claims()
    assert first.startswith("About 70% of the suggestions should be right (40% to 90%; ")
    assert basis in first
    assert len(more) == (c < 1)


def test_the_owners_label_frequency_is_not_called_an_estimate():
    result = made_result(
        [[1], [np.nan]], [[0.9], [0.7]], ["sea"],
        label_frequencies=np.array([0.5]), frequencies_estimated=False,
    )  # fmt: skip
    assert len(result.claims()) == 1


def test_tags_that_are_listed_rarely_and_mostly_are_named():
    labels = ["cat", "dog", "sky", "tree", "cloud", "train", "yak"]
    c = np.array([0.9, 0.8, 0.1, 0.3, 0.2, 0.95, 0.01])
    Y = np.full((21, 7), np.nan)
    Y[:20, :6], Y[0, 6] = 1, 1
    result = made_result(Y, np.full((21, 7), 0.6), labels, label_frequencies=c)
    sentence = result.claims()[1]
    assert "few (sky 10%, cloud 20%, tree 30%)" in sentence
    assert "most (train 95%, cat 90%, dog 80%)" in sentence
    few = made_result(Y[:, :5], np.full((21, 5), 0.6), labels[:5], label_frequencies=c[:5])
    assert few.claims()[1].endswith("are listed.")


def test_where_nothing_is_suggested_the_reason_is_told():
    Y, P = [[1, np.nan], [np.nan, 1]], [[0.9, 0.3], [0.41, 0.9]]
    (sentence,) = made_result(Y, P, ["sea", "dog"]).claims()
    assert "41%" in sentence
    assert "50% is asked for" in sentence
    (sentence,) = made_result(Y, P, ["sea", "dog"], threshold=np.inf).claims()
    assert "41%" in sentence
    assert "inf" not in sentence
    (sentence,) = made_result([[1, 0], [0, 1]], P, ["sea", "dog"]).claims()
    assert "--unlisted" in sentence
