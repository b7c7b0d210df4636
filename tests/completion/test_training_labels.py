import numpy as np
import pytest

from tagloom.completion.inputs import Options
from tagloom.completion.training_labels import training_labels, without
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, State, add_known
from tagloom.words import Vocabulary

OPTIONS = Options(min_pictures=2)
PRESENT, ABSENT, UNKNOWN = (int(state) for state in (State.PRESENT, State.ABSENT, State.UNKNOWN))


def lists(tags, labels=None):
    return PartialLabels.from_tags(tags, unlisted="unknown", labels=labels)


def test_unlisted_tags_are_presumed_absent_for_the_learner_and_for_nobody_else():
    said = lists([["sea"], ["sea", "dog"], ["dog"]])
    training = training_labels(said, OPTIONS)
    assert training.positive_unlabelled
    assert training.known == said
    assert np.array_equal(training.labels.to_array(), [[0, 1], [1, 1], [1, 0]])
    assert not training.unseen.any()


def test_nothing_is_presumed_where_absences_are_told():
    nan = np.nan
    said = PartialLabels.from_array(
        [[1, 0, 0], [1, 1, nan], [0, nan, 1], [0, 1, 0], [0, 0, 1], [nan] * 3]
    )
    training = training_labels(said, OPTIONS)
    assert not training.positive_unlabelled
    assert training.labels == said
    assert training.unseen.tolist() == [False] * 5 + [True]


def test_a_few_denials_leave_lists_what_they_are():
    said = PartialLabels.from_array([[1, 0], [1, 1], [np.nan, 1], [1, np.nan]])
    training = training_labels(said, OPTIONS)
    assert training.positive_unlabelled
    assert training.known == said
    assert np.array_equal(training.labels.to_array(), [[1, 0], [1, 1], [0, 1], [1, 0]])


@pytest.mark.parametrize("unlisted", ["absent", 0.25])
def test_the_owners_word_on_unlisted_tags_is_taken(unlisted):
    said = PartialLabels.from_tags([["sea"], ["sea", "dog"], ["dog"]], unlisted=unlisted)
    training = training_labels(said, OPTIONS)
    assert not training.positive_unlabelled
    assert training.labels == said


def test_rare_labels_are_set_aside_with_what_was_known_labels_them():
    said = lists([["sea", "yak"], ["sea"], [7, "sea"]], labels=["sea", "yak", 7])
    training = training_labels(said, OPTIONS)
    assert training.labels.labels == ("sea",)
    assert training.rare.labels == ("yak", 7)
    assert training.too_rare == {"yak": 1, "7": 1}


def test_a_label_that_nobody_denied_is_not_learned_where_others_are_asked_for():
    nan = np.nan
    said = PartialLabels.from_array([[1, 1], [1, 1], *[[0, nan]] * 5])
    training = training_labels(said, OPTIONS)
    assert training.labels.labels == (0,)
    assert training.too_rare == {"1": 2}
    with pytest.raises(InvalidInputError, match="absent from another"):
        training_labels(PartialLabels.from_array([[1, 0], [1, 0], [nan, 0]]), OPTIONS)


def test_a_picture_with_nothing_but_a_rare_tag_was_looked_at():
    said = lists([["yak"], ["sea"], ["sea"], []])
    training = training_labels(said, Options(min_pictures=2, untagged="unseen"))
    assert training.unseen.tolist() == [False, False, False, True]
    assert np.array_equal(training.labels.to_array(), [[0], [1], [1], [np.nan]], equal_nan=True)


def test_tags_of_which_nothing_can_be_learned_are_refused():
    with pytest.raises(InvalidInputError, match="2 or more pictures"):
        training_labels(lists([["sea"], ["dog"]]), OPTIONS)


@pytest.mark.parametrize(("more_empty", "unseen"), [(0, False), (2000, True)])
def test_pictures_without_tags_are_unseen_where_forgetting_does_not_explain_them(
    more_empty, unseen
):
    rng = np.random.default_rng(0)
    listed = rng.random((2000, 30)) < 0.05
    empty = np.zeros((more_empty, 30), dtype=bool)
    rows, columns = np.nonzero(np.concatenate([listed, empty]))
    said = PartialLabels.from_entries(rows, columns, True, shape=(2000 + more_empty, 30))
    training = training_labels(said, OPTIONS)
    untagged = np.bincount(rows, minlength=said.n_items) == 0
    assert untagged.any()
    assert np.array_equal(training.unseen, untagged if unseen else np.zeros_like(untagged))
    # Nobody may have looked at them all the same: their tags are not less probable.
    assert np.array_equal(training.looked_at, ~untagged)


def test_the_owner_can_say_whether_untagged_pictures_were_seen():
    said = lists([["sea"], ["sea"], []])
    assert not training_labels(said, Options(min_pictures=2, untagged="seen")).unseen.any()
    assert training_labels(said, Options(min_pictures=2, untagged="unseen")).unseen.tolist() == [
        0,
        0,
        1,
    ]


def test_many_denied_suggestions_leave_lists_what_they_are():
    tags = PartialLabels.from_entries([0, 1, 2], [0, 0, 1], True, shape=(8, 2))
    said = PartialLabels.from_entries(
        [0, 1, 2, 3, 4, 5, 6, 7, 0], [0, 0, 1, 0, 0, 0, 0, 0, 1], [1, 1, 1, 0, 0, 0, 0, 0, 0],
        shape=(8, 2),
    )  # fmt: skip
    later = without(said, tags)
    assert not training_labels(said, Options(min_pictures=2)).positive_unlabelled
    assert training_labels(said, Options(min_pictures=2), later).positive_unlabelled


def test_an_answer_does_not_make_a_picture_looked_through():
    said = PartialLabels.from_entries(
        [0, 0, 1, 1, 2, 3], [0, 1, 0, 1, 0, 1], [True, True, True, True, True, False], shape=(4, 2)
    )
    later = PartialLabels.from_entries([2, 3], [0, 1], [True, False], shape=(4, 2))
    training = training_labels(said, Options(min_pictures=2, untagged="unseen"), later)
    assert training.unseen.tolist() == [False, False, True, True]
    expected = [[PRESENT, PRESENT], [PRESENT, PRESENT], [PRESENT, UNKNOWN], [UNKNOWN, ABSENT]]
    assert training.labels.states().tolist() == expected
    unasked = [[PRESENT, PRESENT], [PRESENT, PRESENT], [UNKNOWN] * 2, [UNKNOWN] * 2]
    assert training.without_feedback.states().tolist() == unasked


def test_what_was_asked_about_was_not_on_the_list_before():
    lists_ = PartialLabels.from_entries([0, 0, 1, 2], [0, 1, 0, 1], True, shape=(3, 2))
    later = PartialLabels.from_entries([1, 2], [1, 0], [True, False], shape=(3, 2))
    training = training_labels(add_known(lists_, later), OPTIONS, later)
    assert training.without_feedback == training_labels(lists_, OPTIONS).labels
    assert training.labels.to_array().tolist() == [[1, 1], [1, 1], [0, 1]]


def test_without_hides_by_the_names_of_labels():
    known = PartialLabels.from_array([[1, 0], [0, 1]], labels=["sea", "dog"])
    later = PartialLabels.from_array([[np.nan, 1], [1, np.nan]], labels=["yak", "dog"])
    hidden = without(known, later).to_array()
    assert np.array_equal(hidden, [[1, np.nan], [0, 1]], equal_nan=True)


def test_what_the_owner_calls_absent_was_looked_at():
    codes = np.array([[1, np.nan], [1, np.nan], [np.nan, 1], [np.nan, 1], [np.nan, np.nan]])
    rows, columns = np.nonzero(codes == 1)
    said = PartialLabels.from_entries(
        rows, columns, np.ones(4, dtype=bool), shape=codes.shape, unlisted_weight=1.0
    )
    assert not training_labels(said, Options(min_pictures=2)).unseen.any()
    open_row = said.with_hidden(np.array([4, 4]), np.array([0, 1]))
    assert training_labels(open_row, Options(min_pictures=2)).unseen.tolist() == [0, 0, 0, 0, 1]


MAN_IS_A_PERSON = (("man", "person"),)


def test_what_a_listed_tag_implies_is_present_for_the_learner_and_known_to_nobody():
    said = lists([["man"], ["man", "person"], ["person", "sea"], ["sea"]])
    training = training_labels(said, OPTIONS, implications=MAN_IS_A_PERSON)
    man, person, sea = (said.labels.index(tag) for tag in ("man", "person", "sea"))
    expected = np.zeros((4, 3), dtype=bool)
    expected[0, person] = True
    assert np.array_equal(training.implied, expected)
    assert training.known == said
    states = training.labels.states()
    assert states[:, person].tolist() == [PRESENT, PRESENT, PRESENT, ABSENT]
    # A person need not be a man.
    assert states[:, man].tolist() == [PRESENT, PRESENT, ABSENT, ABSENT]
    assert states[:, sea].tolist() == [ABSENT, ABSENT, PRESENT, PRESENT]


def test_a_known_absence_is_never_implied():
    said = PartialLabels.from_array(
        [[1, 0], [1, 1], [np.nan, 1], [1, np.nan], [1, 1]], labels=["man", "person"]
    )
    training = training_labels(said, OPTIONS, implications=MAN_IS_A_PERSON)
    assert training.positive_unlabelled
    assert training.implied[:, 1].tolist() == [False, False, False, True, False]
    assert training.labels.states()[:, 1].tolist() == [ABSENT, PRESENT, PRESENT, PRESENT, PRESENT]


def test_a_rare_tag_implies_and_is_never_implied():
    said = lists([["man"], ["person"], ["person"], ["sea"], ["sea"]])
    training = training_labels(said, OPTIONS, implications=[*MAN_IS_A_PERSON, ("sea", "man")])
    assert training.labels.labels == ("person", "sea")
    assert training.implied[:, 0].tolist() == [True, False, False, False, False]
    assert not training.implied[:, 1].any()


def test_a_chain_and_names_that_do_not_occur_imply_nothing_by_themselves():
    said = lists([["man"], ["man"], ["person"], ["person"]])
    unknown = [("yeti", "person"), ("man", "yeti")]
    assert not training_labels(said, OPTIONS, implications=unknown).implied.any()


def test_nothing_is_implied_where_absences_are_annotated():
    said = PartialLabels.from_array(
        [[1, np.nan], [1, 1], [0, 0], [0, 1], [0, 0]], labels=["man", "person"]
    )
    training = training_labels(said, OPTIONS, implications=MAN_IS_A_PERSON)
    assert not training.positive_unlabelled
    assert not training.implied.any()
    assert training.labels == said


def test_what_an_answer_implies_was_not_on_the_list_before():
    tags = lists([["man"], ["man", "person"], ["person", "sea"], ["sea"]])
    man = tags.labels.index("man")
    later = PartialLabels.from_entries([3], [man], True, shape=tags.shape, labels=tags.labels)
    now = add_known(tags, later)
    training = training_labels(now, OPTIONS, later, implications=MAN_IS_A_PERSON)
    alone = training_labels(tags, OPTIONS, implications=MAN_IS_A_PERSON)
    assert training.without_feedback == alone.labels
    assert training.labels.states()[3].tolist() == [PRESENT] * 3


def test_a_rejected_implication_is_absent_for_the_learner():
    tags = lists([["man"], ["man", "person"], ["person", "sea"], ["sea"]])
    person = tags.labels.index("person")
    later = PartialLabels.from_entries([0], [person], False, shape=tags.shape, labels=tags.labels)
    now = add_known(tags, later)
    training = training_labels(now, OPTIONS, later, implications=MAN_IS_A_PERSON)
    assert training.labels.states()[0, person] == ABSENT
    assert training.without_feedback.states()[0, person] == PRESENT


def by_names(said, prior, added=(), feedback=None):
    options = Options(min_pictures=2, vocabulary=Vocabulary().add(added))
    return training_labels(said, options, feedback, prior=prior)


ASKED = lists([["sea"], ["sea"], ["sea", "dog"], []], labels=["sea", "dog", "cat"])


def test_an_added_tag_is_unknown_to_the_learner_until_a_picture_has_it():
    training = by_names(ASKED, {"cat": np.array([0.9, 0.5, 0.05, 0.0])}, ["cat"])
    assert training.judged_by_name == ("cat",)
    assert training.never_listed.tolist() == [False, True]
    assert training.too_rare == {"dog": 1}
    assert (training.labels.states()[:, 1] == UNKNOWN).all()


def test_where_a_name_is_not_seen_its_tag_is_absent_once_it_has_a_presence():
    given = ASKED.with_entries([0], [2], True)
    prior = {"cat": np.array([0.9, 0.5, 0.05, 0.0])}
    training = by_names(add_known(ASKED, given), prior, ["cat"], given)
    assert training.never_listed.tolist() == [False, True]
    assert training.labels.states()[:, 1].tolist() == [PRESENT, UNKNOWN, ABSENT, ABSENT]
    assert training.known.states()[:, 1].tolist() == [PRESENT, UNKNOWN, UNKNOWN, UNKNOWN]


def test_a_tag_on_too_few_pictures_is_judged_by_its_name():
    training = by_names(ASKED, {"dog": np.array([0.0, 0.3, 0.9, 0.0]), "cat": np.ones(4)})
    assert training.labels.labels == ("sea", "dog")
    assert training.by_name.tolist() == [False, True]
    assert not training.never_listed.any()
    assert training.labels.states()[:, 1].tolist() == [ABSENT, UNKNOWN, PRESENT, ABSENT]


def test_an_added_tag_without_a_meaning_is_named_and_no_error():
    training = by_names(ASKED, {}, ["cat"])
    assert training.unlinked == ("cat",)
    assert training.too_rare == {"dog": 1}
    assert training.labels.labels == ("sea",)


def test_an_added_tag_stays_unknown_beside_known_absences():
    said = PartialLabels.from_array([[1, np.nan], [1, np.nan], [0, np.nan]], labels=["sea", "cat"])
    training = by_names(said, {"cat": np.array([0.9, 0.5, 0.0])}, ["cat"])
    assert not training.positive_unlabelled
    assert training.by_name.tolist() == [False, True]
    assert (training.labels.states()[:, 1] == UNKNOWN).all()
