"""Tags that no picture has yet, in whole runs."""

import numpy as np
import pytest

from tagloom.completion import pipeline as run
from tagloom.completion.inputs import Options, Pictures
from tagloom.completion.model import CompletionModel
from tagloom.labels import State
from tagloom.vision import Features
from tagloom.words import Vocabulary

CONCEPTS = ["tabby", "beagle", "canoe", "web site"]


@pytest.fixture
def named(collection, monkeypatch):
    """A collection whose concepts show cats, dogs and boats; no list mentions a dog."""
    rng = np.random.default_rng(3)
    boat, cat, dog = collection.truth[:, 1:4].T
    shown = np.column_stack([cat, dog, boat, ~(boat | cat | dog)]) + 0.05
    posteriors = shown * rng.uniform(0.6, 1.0, shown.shape)
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    given = collection.features
    collection.features = Features(given.items, given.visual, posteriors, CONCEPTS)
    monkeypatch.setattr(
        run, "encode_pictures", lambda photos, *_, **__: Pictures(photos, collection.features, [])
    )
    path = collection.write_lists()
    path.write_text(path.read_text().replace(";dog", "").replace("dog", ""), encoding="utf-8")
    collection.tags = path
    return collection


def completed(named, *added, out="out"):
    options = Options(min_pictures=2, cv=3, vocabulary=Vocabulary().add(added))
    return run.complete(named.photos, [named.tags], named.folder / out, options)


def test_an_added_tag_is_ranked_by_its_name(named):
    result = completed(named, "dog").result
    P, dog = result.P[:, result.labels.index("dog")], named.truth[:, 3]
    assert P[dog].min() > P[~dog].max()
    assert not (result.known.states()[:, result.labels.index("dog")] != int(State.UNKNOWN)).any()
    row = int(np.argmax(np.where(dog, P, 0)))
    looks = result.looks_like(row, result.labels.index("dog"))
    assert looks == "looks like a beagle; a beagle is a dog"
    report = (named.folder / "out" / "report.html").read_text(encoding="utf-8")
    assert looks in report
    quality = next(one for one in result.label_quality if one.label == "dog")
    assert quality.n_present == 0
    assert np.isnan(quality.roc_auc)


def test_answers_about_an_added_tag_are_learned(named):
    first = completed(named, "dog")
    column = first.result.labels.index("dog")
    before = first.result.P[:, column]
    asked = [one.row for one in first.result.to_annotate if one.column == column]
    dogs = [row for row in asked if named.truth[row, 3]]
    assert dogs
    answers = [(named.features.items[row], "dog", False) for row in dogs]
    tags = [named.write_answers(answers)]
    result = run.update(first.out / "model.tagloom", tags, named.folder / "new").result
    column = result.labels.index("dog")
    still_open = named.truth[:, 3] & result.is_open[:, column]
    assert result.P[still_open, column].mean() < before[still_open].mean() - 0.02


def test_an_added_tag_that_means_nothing_is_said_to_be_not_linked(named):
    result = completed(named, "sunset").result
    assert result.unlinked == ("sunset",)
    assert "sunset" not in result.known.labels
    assert "nothing to learn from until you tag a picture" in (
        named.folder / "out" / "report.html"
    ).read_text(encoding="utf-8")


def test_a_tag_can_be_added_to_a_finished_run(named):
    first = completed(named)
    assert "dog" not in first.result.labels
    model = first.out / "model.tagloom"
    run.update(model, [], named.folder / "new", vocabulary=Vocabulary().add(["dog"]))
    again = CompletionModel.load(named.folder / "new" / "model.tagloom")
    P = again.probabilities(named.features)[:, again.tagger.classes_.index("dog")]
    dog = named.truth[:, 3]
    assert P[dog].min() > P[~dog].max()


def test_tags_can_be_merged_in_a_finished_run(named):
    extra = named.write_answers([(item, "kitten", True) for item in named.features.items[:4]])
    options = Options(min_pictures=2, cv=3)
    first = run.complete(named.photos, [named.tags, extra], named.folder / "out", options)
    before = first.result.known
    vocabulary = Vocabulary().merge(["kitten"], into="cat")
    done = run.update(first.out / "model.tagloom", [], named.folder / "new", vocabulary=vocabulary)
    assert "kitten" not in done.result.labels
    present = int(State.PRESENT)
    had = [before.states()[:, before.labels.index(tag)] == present for tag in ("cat", "kitten")]
    now = done.result.known.states()[:, done.result.labels.index("cat")] == present
    assert np.array_equal(now, had[0] | had[1])
