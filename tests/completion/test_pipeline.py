import csv
import json

import numpy as np
import pytest
from safetensors import safe_open

from tagloom.completion import fit
from tagloom.completion import pipeline as run
from tagloom.completion.model import CompletionModel
from tagloom.completion.suggestions import TagState
from tagloom.errors import InvalidInputError
from tagloom.labels import State
from tagloom.vision import Features

FILES = {
    "suggestions.csv", "suspected_errors.csv", "annotate_next.csv", "model.tagloom", "report.html",
    "run.json", ".tagloom.json", ".tagloom.lock",
}  # fmt: skip


def read(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def files_of(folder):
    return {path.name for path in folder.iterdir()} - {"suggestions.parquet"}


def model_in(folder):
    """Return what a model file holds; the order of its parts is the format's own affair."""
    with safe_open(folder / "model.tagloom", "np") as opened:
        arrays = {name: opened.get_tensor(name).tobytes() for name in opened.keys()}  # noqa: SIM118
        return arrays, opened.metadata()


def assert_same(one, two):
    for name in ("suggestions.csv", "suspected_errors.csv", "annotate_next.csv"):
        assert (one / name).read_bytes() == (two / name).read_bytes()
    assert model_in(one) == model_in(two)


def share_right(collection, table):
    rows = [(r, c) for r, c, s in zip(table.rows, table.columns, table.state, strict=True)
            if s == TagState.SUGGESTED]  # fmt: skip
    return np.mean([collection.truth[at] for at in rows]), len(rows)


def test_lists_are_completed(collection):
    done = collection.complete(collection.write_lists(), "out")
    assert 0.4 < done.result.label_frequency < 1
    assert files_of(done.out) == FILES
    assert len(read(done.out / "annotate_next.csv")) == 6


def test_what_is_suggested_for_lists_is_most_of_what_is_missing_and_right(make_collection):
    n_right = n_suggested = n_open = 0
    for seed in range(4):  # about forty hidden tags each
        collection = make_collection(seed)
        done = collection.complete(collection.write_lists(seed=seed + 1), "out")
        right, n = share_right(collection, done.result.table)
        n_right, n_suggested = n_right + right * n, n_suggested + n
        n_open += int(collection.truth[done.result.is_open].sum())
    assert n_right > 0.5 * n_open
    assert n_right > 0.9 * n_suggested


def test_a_table_with_absences_is_completed(collection):
    done = collection.complete(collection.write_table(), "out")
    result = done.result
    right, n_suggested = share_right(collection, result.table)
    assert result.label_frequency == 1
    assert n_suggested > 0.6 * collection.truth[result.is_open].sum()
    assert right > 0.7
    truth = collection.truth[result.is_open]
    assert result.P[result.is_open].mean() == pytest.approx(truth.mean(), abs=0.1)


def test_the_probabilities_of_lists_allow_for_the_list(collection):
    """By Bayes' rule an unlisted tag is less likely on a picture that somebody has looked at."""
    tags = collection.write_lists(rows=range(50))
    seen = collection.complete(tags, "seen", untagged="seen").result
    unseen = collection.complete(tags, "unseen", untagged="unseen").result
    assert unseen.P[50:].mean() > 1.2 * seen.P[50:].mean()
    truth = collection.truth[50:]
    assert unseen.P[50:].mean() == pytest.approx(truth.mean(), abs=0.15)


def test_unlisted_tags_that_are_absent_are_never_suggested(collection):
    done = collection.complete(
        collection.write_lists(share=1.0, rows=range(60)), "out", unlisted="absent"
    )
    result = done.result
    assert not result.is_open[:60].any()
    assert result.is_open[60:].all()
    suggested = {row.image for row in result.table if row.state == TagState.SUGGESTED}
    assert suggested
    assert suggested <= set(collection.features.items[60:])
    right, _ = share_right(collection, result.table)
    assert right > 0.7


def test_a_planted_slip_is_doubted(collection):
    path = collection.write_table(share=0.9)
    rows = read(path)
    # The picture whose tag is surest absent is said to have it, and the other way round.
    before = collection.complete(path, "before").result
    flips = []
    for column in range(2):
        label = before.labels[column]
        states, p = before.known.states()[:, column], before.P[:, column]
        given = np.flatnonzero(states == int(State.PRESENT))
        denied = np.flatnonzero(states == int(State.ABSENT))
        flips += [(int(given[p[given].argmax()]), label), (int(denied[p[denied].argmin()]), label)]
    for row, label in flips:
        rows[row][label] = "0" if rows[row][label] == "1" else "1"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    after = collection.complete(path, "after").result
    doubted = {(one.row, after.labels[one.column]) for one in after.suspected_errors}
    # Of so few pictures not all can be sure enough.
    assert len(doubted & set(flips)) >= 2
    assert len(doubted - set(flips)) <= 1
    chances = [one.error_probability for one in after.suspected_errors]
    assert chances == sorted(chances, reverse=True)
    assert min(chances) > 0.5


def test_asked_precision_raises_what_is_right(collection):
    tags = collection.write_table(share=0.4)
    careful = collection.complete(tags, "careful", precision=0.95).result.table
    right, n_suggested = share_right(collection, careful)
    assert n_suggested > 10
    assert right > 0.85


def test_the_same_seed_gives_the_same_bits(collection):
    tags = collection.write_lists()
    one, two = (collection.complete(tags, out).out for out in ("one", "two"))
    assert_same(one, two)


@pytest.mark.parametrize("lost", ["nothing", "trials", "half of trials", "fold1"])
def test_a_run_that_was_broken_off_goes_on_and_ends_the_same(collection, monkeypatch, lost):
    tags = collection.write_lists()
    whole = collection.complete(tags, "whole").out
    with monkeypatch.context() as broken:
        broken.setattr(run, "assemble_result", lambda *args, **kwargs: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            collection.complete(tags, "broken")
    out = collection.folder / "broken"
    (kept,) = (out / ".checkpoint").iterdir()
    trials = kept / "trials"
    if lost == "trials":
        trials.unlink()
    elif lost == "half of trials":
        trials.write_bytes(trials.read_bytes()[: trials.stat().st_size // 2])
    elif lost != "nothing":
        (path,) = kept.glob(f"{lost}-*.npy")
        path.unlink()
    else:
        monkeypatch.setattr(fit, "_scores_of_fold", lambda *args: pytest.fail("worked out again"))
    collection.complete(tags, "broken")
    assert_same(out, whole)
    assert not (out / ".checkpoint").exists()


def test_a_run_that_is_done_has_nothing_to_do_until_something_changes(collection):
    tags = collection.write_lists()
    out = collection.complete(tags, "out").out
    before = (out / "run.json").read_bytes()
    assert collection.complete(tags, "out").result is None
    assert (out / "run.json").read_bytes() == before
    assert files_of(out) == FILES
    assert collection.complete(tags, "out", again=True).result is not None
    assert collection.complete(tags, "out", random_state=3).result is not None
    assert collection.complete(collection.write_lists(seed=2), "out").result is not None
    (out / "suggestions.csv").unlink()
    assert collection.complete(collection.write_lists(seed=2), "out").result is not None


def test_whether_a_picture_is_on_the_list_decides_the_run(collection):
    """With nothing to its name, a picture that is listed has no tag; another is unknown."""
    tags = collection.write_lists(share=1.0)
    bare = [row for row in read(tags) if not row["tags"]]
    assert bare
    collection.complete(tags, "out", unlisted="absent")
    kept = [row for row in range(80) if collection.truth[row].any()]
    tags = collection.write_lists(share=1.0, rows=kept)
    assert collection.complete(tags, "out", unlisted="absent").result is not None


def test_the_record_tells_what_was_done(collection):
    tags = collection.write_lists()
    out = collection.complete(tags, "out").out
    record = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert record["options"]["cv"] == 3
    assert (record["options"]["min_pictures"], record["options"]["annotate_next"]) == (2, 6)
    assert record["summary"]["pictures"] == 80
    assert list(record["inputs"]["tags"]) == [str(tags)]
    assert set(record["files"]) - {"suggestions.parquet"} == {
        name for name in FILES if name[0] != "." and name != "run.json"
    }


def test_an_update_takes_answers_and_keeps_the_label_frequency(collection):
    first = collection.complete(collection.write_lists(), "out")
    answers = []
    for question in first.result.to_annotate:
        row, column = question.row, question.column
        answers.append((first.result.items[row], first.result.labels[column],
                        collection.truth[row, column]))  # fmt: skip
    path = collection.write_answers(answers)
    done = run.update(first.out / "model.tagloom", [path], collection.folder / "updated")
    assert np.array_equal(done.result.label_frequencies, first.result.label_frequencies)
    assert done.model.known.n_known == first.model.known.n_known + len(answers)
    assert done.model.feedback.n_known == len(answers)
    assert done.model.answers == done.model.feedback
    assert done.result.precision.n_answers == len(answers)
    states = done.result.known.states()
    for question, (_, _, present) in zip(first.result.to_annotate, answers, strict=True):
        assert states[question.row, question.column] == int(present)
    assert files_of(done.out) == FILES


def test_an_update_learns_what_a_new_fit_with_the_same_parameters_learns(collection):
    first = collection.complete(collection.write_lists(), "out")
    path = collection.write_answers([("p000.jpg", "beach", True), ("p001.jpg", "cat", False)])
    done = run.update(first.out / "model.tagloom", [path], collection.folder / "updated")
    tagger = CompletionModel.load(done.out / "model.tagloom").tagger
    scores = fit._scores_of_fold(tagger, collection.features, tagger.known_)
    assert np.array_equal(scores, tagger.scores().astype(np.float32))


def test_many_denials_do_not_turn_lists_into_something_else(collection):
    first = collection.complete(collection.write_lists(), "out")
    unlisted = np.argwhere(~collection.truth)
    answers = [(collection.features.items[r], first.result.labels[c], False) for r, c in unlisted]
    assert len(answers) > first.model.known.n_known
    done = run.update(
        first.out / "model.tagloom", [collection.write_answers(answers)], collection.folder / "new"
    )
    assert done.result.label_frequency == first.result.label_frequency
    right, n_suggested = share_right(collection, done.result.table)
    assert right == 1
    assert n_suggested > 6
    listed = done.result.known.states() == int(State.PRESENT)
    assert done.result.P[listed].mean() > 0.4


def test_an_update_that_says_it_all_again_changes_nothing(collection):
    tags = collection.write_lists()
    first = collection.complete(tags, "out")
    done = run.update(first.out / "model.tagloom", [tags], collection.folder / "updated")
    assert done.model.feedback.n_known == 0
    name = "suggestions.csv"
    assert (done.out / name).read_bytes() == (first.out / name).read_bytes()


def test_an_update_may_bring_a_new_tag(collection):
    first = collection.complete(collection.write_lists(), "out")
    with_it = np.flatnonzero(collection.truth[:, 0])[:12]
    answers = [(collection.features.items[row], "sand", True) for row in with_it]
    done = run.update(
        first.out / "model.tagloom", [collection.write_answers(answers)], collection.folder / "new"
    )
    assert "sand" in done.result.labels
    column = done.result.labels.index("sand")
    others = np.setdiff1d(np.arange(80), with_it)
    beach = collection.truth[others, 0]
    P = done.result.P[others, column]
    assert P[beach].mean() > 2 * P[~beach].mean()


def test_an_update_without_news_is_refused(collection):
    first = collection.complete(collection.write_lists(), "out")
    path = collection.folder / "none.csv"
    path.write_text("image,tags\np000.jpg,\n", encoding="utf-8")
    with pytest.raises(InvalidInputError, match="nothing to learn"):
        run.update(first.out / "model.tagloom", [path], collection.folder / "updated")


def test_a_rare_tag_stays_and_is_not_learned(collection):
    tags = collection.write_lists()
    answers = collection.write_answers([("p003.jpg", "yak", True)])
    result = collection.complete([tags, answers], "out").result
    assert result.too_rare == {"yak": 1}
    rows = [row for row in read(collection.folder / "out" / "suggestions.csv")
            if row["tag"] == "yak"]  # fmt: skip
    assert [(row["image"], row["probability"], row["state"]) for row in rows] == [
        ("p003.jpg", "", "known")
    ]


def with_animals(collection):
    """Lists in which every other picture of a cat or a dog has the tag animal, too."""
    animals = np.flatnonzero(collection.truth[:, 2:4].any(axis=1))[::2]
    statements = [(collection.features.items[row], "animal", True) for row in animals]
    return [collection.write_lists(), collection.write_answers(statements, "animals.csv")]


def test_what_a_listed_tag_implies_is_suggested_and_stays_a_guess(collection):
    done = collection.complete(with_animals(collection), "out")
    result = done.result
    animal = result.labels.index("animal")
    states = result.known.states()
    listed = states == int(State.PRESENT)
    of_cats_and_dogs = listed[:, [result.labels.index(tag) for tag in ("cat", "dog")]].any(axis=1)
    implied = np.flatnonzero(of_cats_and_dogs & ~listed[:, animal])
    assert len(implied) > 5
    assert (states[implied, animal] == int(State.UNKNOWN)).all()
    assert (result.P[implied, animal] >= np.float32(0.95)).all()
    suggested = {(row.image, row.tag) for row in result.table if row.state == TagState.SUGGESTED}
    assert {(result.items[row], "animal") for row in implied} <= suggested
    known = {(row.image, row.tag) for row in result.table if row.state == TagState.KNOWN}
    assert not known & {(result.items[row], "animal") for row in implied}
    assert result.known.n_known == int(listed.sum())
    assert done.model.known == result.known
    for row in implied:
        assert result.labels[result.implied_by(row, animal)] in ("cat", "dog")
    assert np.array_equal(done.model.open_probabilities()[result.is_open], result.P[result.is_open])


def test_rejecting_what_is_implied_lowers_the_other_implications(collection):
    first = collection.complete(with_animals(collection), "out")
    implied = np.argwhere(first.model.implied)
    column = int(implied[0, 1])
    rejected = implied[::2, 0]
    answers = [(first.result.items[row], "animal", False) for row in rejected]
    path = collection.write_answers(answers)
    done = run.update(first.out / "model.tagloom", [path], collection.folder / "updated")
    assert (done.result.known.states()[rejected, column] == int(State.ABSENT)).all()
    others = implied[1::2, 0]
    assert done.result.P[others, column].max() < first.result.P[others, column].min() - 0.1


def test_only_answers_to_what_was_asked_calibrate(collection):
    """A tag added unasked is there; it says nothing about the probabilities of suggestions."""
    first = collection.complete(collection.write_lists(), "out")
    result = first.result
    asked = result.is_open & (result.thresholds <= result.P)
    asked[[one.row for one in result.to_annotate], [one.column for one in result.to_annotate]] = 1
    unasked = np.argwhere(result.is_open & ~asked)[:7]
    chosen = np.argwhere(asked)[:9]
    answers = [
        (result.items[row], result.labels[column], bool(collection.truth[row, column]))
        for row, column in (*unasked, *chosen)
    ]
    path = collection.write_answers([*answers, ("p005.jpg", "yak", True)])
    done = run.update(first.out / "model.tagloom", [path], collection.folder / "updated")
    assert done.model.feedback.n_known == 17
    entries = done.model.answers.entries()
    labels = done.model.answers.labels
    places = zip(entries.rows, entries.columns, strict=True)
    found = {(row, labels[column]) for row, column in places}
    assert found == {(row, result.labels[column]) for row, column in chosen}
    assert done.result.precision.n_answers == 9


def test_answers_of_several_updates_add_up(collection):
    done = collection.complete(collection.write_lists(), "out")
    for number, n_answers in enumerate((4, 8)):
        queries = done.result.to_annotate[:4]
        answers = [
            (done.result.items[one.row], done.result.labels[one.column],
             bool(collection.truth[one.row, one.column])) for one in queries
        ]  # fmt: skip
        path = collection.write_answers(answers, f"answers{number}.csv")
        out = collection.folder / f"updated{number}"
        done = run.update(done.out / "model.tagloom", [path], out)
        assert done.model.answers.n_known == n_answers
        assert done.result.precision.n_answers == n_answers
    assert "by 8 answers" in done.result.claims()[0]


def test_rejected_suggestions_make_the_others_less_probable_and_accepted_ones_more(collection):
    first = collection.complete(collection.write_lists(), "out")
    suggested = np.argwhere(first.result.is_open & (first.result.thresholds <= first.result.P))
    asked, others = suggested[::2], tuple(suggested[1::2].T)
    before, after = first.result.P[others].mean(), {}
    for yes in (True, False):
        answers = [(first.result.items[r], first.result.labels[c], yes) for r, c in asked]
        path = collection.write_answers(answers, f"{yes}.csv")
        out = collection.folder / str(yes)
        after[yes] = run.update(first.out / "model.tagloom", [path], out).result.P[others].mean()
    assert after[False] < before - 0.2
    assert after[False] < after[True]


def test_a_picture_without_tags_is_judged_alike_in_the_folder_and_as_a_new_one(collection):
    done = collection.complete(collection.write_lists(rows=range(55)), "out")
    features = collection.features
    new = Features(
        [f"new{number}.jpg" for number in range(25)], features.visual[55:],
        features.posteriors[55:], features.concepts,
    )  # fmt: skip
    inside, outside = done.result.P[55:], done.model.probabilities(new)
    assert np.abs(inside - outside).mean() < 0.15
    assert outside.mean() == pytest.approx(collection.truth[55:].mean(), abs=0.15)
    assert (collection.truth[55:][outside >= 0.5]).mean() > 0.7
