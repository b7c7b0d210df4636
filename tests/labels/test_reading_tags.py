import pandas as pd
import pytest

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels

TAGS = {"a.jpg": ["sea", "sun", "sea"], "b.jpg": [], "c.jpg": ("sun",)}


@pytest.mark.parametrize(
    ("unlisted", "code", "weight"), [("unknown", -1, 0.0), ("absent", 0, 1.0), (0.25, 0, 0.25)]
)
def test_the_owner_says_what_unlisted_means(unlisted, code, weight):
    known = PartialLabels.from_tags(TAGS, unlisted=unlisted)
    assert (known.items, known.labels) == (("a.jpg", "b.jpg", "c.jpg"), ("sea", "sun"))
    assert known.states().tolist() == [[1, 1], [code, code], [code, 1]]
    assert known.weights().tolist() == [[1, 1], [weight, weight], [weight, 1]]
    assert known.unlisted_weight == weight


@pytest.mark.parametrize("unlisted", [None, "missing", 0, 0.0, -0.5, 1.5, True, float("nan"), [1]])
def test_the_three_choices_are_explained(unlisted):
    with pytest.raises(InvalidInputError, match=r'"unknown".*"absent".*weight in \(0, 1\]'):
        PartialLabels.from_tags(TAGS, unlisted=unlisted)


def test_unlisted_has_no_default():
    with pytest.raises(InvalidInputError, match="It was not given"):
        PartialLabels.from_tags(TAGS)


def test_given_labels_keep_their_order():
    known = PartialLabels.from_tags(TAGS, unlisted="unknown", labels=["sun", "snow", "sea"])
    assert known.labels == ("sun", "snow", "sea")
    assert known.states()[0].tolist() == [1, -1, 1]
    assert known.to_tags() == {"a.jpg": ["sea", "sun"], "b.jpg": [], "c.jpg": ["sun"]}


def test_a_series_names_its_items():
    known = PartialLabels.from_tags(pd.Series(TAGS), unlisted="unknown")
    assert known == PartialLabels.from_tags(TAGS, unlisted="unknown")


def test_labels_without_common_order_are_written_in_theirs():
    known = PartialLabels.from_tags([["a", 1]], unlisted="unknown", labels=["b", 1, "a"])
    assert known.to_tags() == [[1, "a"]]


@pytest.mark.parametrize(
    ("tags", "labels", "said"),
    [
        (TAGS, ["sun"], "tag 'sea' of item 'a.jpg'.*given labels: 'sun'.*2 tags"),
        ([[], ["sea"]], ["sun"], "tag 'sea' of item 1"),
        (["sea sun"], None, "Item 0 has the single string 'sea sun'"),
        ({"a.jpg": "sea"}, None, "Item 'a.jpg' has the single string 'sea'"),
        ("sea", None, "found 'sea'"),
        (7, None, "found 7"),
        ([["sea"], None], None, "Item 1 has None"),
        ([["sea"], float("nan")], None, "Item 1 has nan"),
        ([["sea"], [None]], None, "tag None of item 1"),
        ([["sea"], [{"label": "sea"}]], None, "of item 1 cannot be used: a tag must be a name"),
        ([[["sea"]]], ["sea"], "not among the given labels"),
        ([["sea", (["x"],)]], None, "a tag must be a name"),
        ([[(["x"],)]], ["sea"], "not among the given labels"),
        ([["sea", 1]], None, "no common order"),
        (pd.DataFrame({"tags": [["sea"]]}), None, "pass the column"),
    ],
)
def test_what_makes_no_sense_is_refused(tags, labels, said):
    with pytest.raises(InvalidInputError, match=said):
        PartialLabels.from_tags(tags, unlisted="unknown", labels=labels)


def test_no_items_and_no_tags():
    assert PartialLabels.from_tags([], unlisted="absent").shape == (0, 0)
    assert PartialLabels.from_tags([[], []], unlisted="absent").to_tags() == [[], []]
