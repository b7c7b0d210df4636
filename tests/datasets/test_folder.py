import csv
import re
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layouts import picture

from tagloom.datasets import load_folder
from tagloom.errors import InvalidInputError

nan = float("nan")
# A column of one of these names means that the table is not wide, or has no labels.
RESERVED = {
    "image",
    "tag",
    "label",
    "labelname",
    "label_name",
    "keyword",
    "tags",
    "labels",
    "split",
}


@pytest.fixture
def folder(tmp_path):
    for name in ("a.jpg", "sub/b.png", "c.jpg", "unlisted.jpg"):
        picture(tmp_path / name)
    return tmp_path


def write(folder, text, name="labels.csv"):
    (folder / name).write_bytes(text.encode())


LONG = "image,label,present\na.jpg,sea,1\na.jpg,sky,0\nsub/b.png,sky,1\n"
WIDE = "file_name,sea,sky\na.jpg,1,0\nsub/b.png,,1\n"


@pytest.mark.parametrize("text", [LONG, WIDE, LONG.replace("\n", "\r\n"), "\ufeff" + WIDE])
@pytest.mark.parametrize("given", [".", "labels.csv"])
def test_long_and_wide_give_the_same(folder, text, given):
    write(folder, text)
    dataset = load_folder(folder / given)
    assert dataset.items == ("a.jpg", "sub/b.png")
    assert dataset.truth.labels == ("sea", "sky")
    np.testing.assert_array_equal(dataset.truth.to_array(), [[1, 0], [nan, 1]])
    assert dataset.picture(1).is_file()
    assert len(dataset.training) == len(dataset.test) == 1


@settings(deadline=None)
@given(
    states=st.lists(
        st.lists(st.sampled_from(["1", "0", ""]), min_size=3, max_size=3), min_size=2, max_size=2
    ),
    labels=st.lists(
        st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1).map(
            lambda name: unicodedata.normalize("NFC", name)
        ),
        min_size=3,
        max_size=3,
        unique_by=str.lower,
    ).filter(lambda names: not RESERVED & {name.lower() for name in names}),
)
def test_any_names_and_states_survive_both_forms(tmp_path_factory, states, labels):
    folder = tmp_path_factory.mktemp("any")
    for name in ("a.jpg", "b.jpg"):
        (folder / name).write_bytes(b"\xff\xd8\xff")
    cells = list(zip(("a.jpg", "b.jpg"), states, strict=True))
    with (folder / "wide.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([["image", *labels], *([item, *row] for item, row in cells)])
    with (folder / "long.csv").open("w", newline="", encoding="utf-8") as stream:
        rows = [(i, name, s) for i, row in cells for name, s in zip(labels, row, strict=True)]
        csv.writer(stream).writerows([("image", "label", "present"), *rows])
    wide, long = load_folder(folder / "wide.csv").truth, load_folder(folder / "long.csv").truth
    expected = [[float(state or "nan") for state in row] for row in states]
    np.testing.assert_array_equal(wide.to_array(), expected)
    assert long.select(labels) == wide


def test_names_may_lack_their_endings(folder):
    write(folder, "ImageID,LabelName,Confidence\nb,sky,1\na,sea,1\n")
    assert load_folder(folder).items == ("sub/b.png", "a.jpg")


def test_split_column(folder):
    write(folder, "image,sea,split\na.jpg,1,test\nsub/b.png,0,train\nc.jpg,,train\n")
    dataset = load_folder(folder)
    assert dataset.truth.labels == ("sea",)
    assert (dataset.training.tolist(), dataset.test.tolist()) == ([1, 2], [0])
    assert dataset.notes == ()


def test_tags_need_a_word_on_what_is_unlisted(folder):
    write(folder, 'file_name,tags\na.jpg,"sea; big sky"\nsub/b.png,\nc.jpg,sea\n', "metadata.csv")
    with pytest.raises(InvalidInputError, match="unlisted"):
        load_folder(folder)
    dataset = load_folder(folder, unlisted="absent")
    assert dataset.truth.to_tags() == {
        "a.jpg": ["big sky", "sea"],
        "sub/b.png": [],
        "c.jpg": ["sea"],
    }
    assert dataset.truth.is_complete
    assert load_folder(folder, unlisted="unknown").truth.n_known == 3
    write(folder, "file_name,tags\na.jpg,sea|sky\n", "metadata.csv")
    assert load_folder(folder, unlisted=0.5, separator="|").truth.labels == ("sea", "sky")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("image,sea\na.jpg,2\n", "line 2, column 'sea': expected 1 .present., 0"),
        ("image,sea\na.jpg,1,0\n", "line 2: expected 2 cells as in the header, found 3"),
        ("image,sea,sea\na.jpg,1,1\n", "'sea' twice"),
        ("image,\na.jpg,1\n", "an empty name"),
        ("image\na.jpg\n", "no column of labels"),
        ("image,label\na.jpg,sea\n", "`unlisted` is the meaning of a tag that is not listed"),
        ("image,sea\n../secret.jpg,1\n", "inside the folder"),
        ("image,sea\n/etc/x.jpg,1\n", "inside the folder"),
        ("image,sea\nzebra.jpg,1\n", "None of the 1 pictures"),
        ("image,sea,split\na.jpg,1,val\n", "expected 'train' or 'test', found 'val'"),
        ('image,sea\n"a.jpg,1\n', "line 2"),
        ("", "is empty"),
    ],
)
def test_bad_tables_are_refused_with_their_place(folder, text, problem):
    write(folder, text)
    with pytest.raises(InvalidInputError, match=problem):
        load_folder(folder)


def test_contradicting_split_is_refused(folder):
    write(folder, "image,label,present,split\na.jpg,x,1,train\na.jpg,y,1,test\n")
    with pytest.raises(InvalidInputError, match=r"line 3, column 'split': 'a\.jpg' is 'test' here"):
        load_folder(folder)


def test_missing_or_ambiguous_table(folder):
    with pytest.raises(InvalidInputError, match="there are 0"):
        load_folder(folder)
    write(folder, WIDE, "x.csv")
    assert load_folder(folder).items == ("a.jpg", "sub/b.png")
    write(folder, WIDE, "y.csv")
    with pytest.raises(InvalidInputError, match="there are 2"):
        load_folder(folder)
    assert load_folder(folder, table="y.csv").items == ("a.jpg", "sub/b.png")
    with pytest.raises(InvalidInputError, match=r"z\.csv is missing"):
        load_folder(folder, table="z.csv")
    with pytest.raises(InvalidInputError, match="form must be one of"):
        load_folder(folder, form="tall")


def test_pictures_that_are_not_there_are_noted(folder):
    write(folder, "image,sea\na.jpg,1\nzebra.jpg,0\n")
    dataset = load_folder(folder)
    assert dataset.items == ("a.jpg", "zebra.jpg")
    assert "'zebra.jpg'" in dataset.notes[0]


@pytest.mark.parametrize(
    ("text", "state", "note"),
    [
        ("image,sea\na.jpg,-1\n", nan, "a cell is -1 .uncertain."),
        ("image,sea\na.jpg,1\n\na.jpg,0\n", nan, "1 labels contradict themselves: .*line 4"),
        ("image,sea\na,1\na.jpg,1\n", 1, "1 labels are repeated"),
        ("image,sea\na,1\na.jpg,0\n", nan, "1 labels contradict themselves"),
        ("image,label,present\na.jpg,sea,1\na.jpg,sea,0\n", nan, "contradict .*line 3"),
        ("image,sea\na.jpg,1\n,0\n", 1, "a row names no picture"),
        ("image,label,present\na.jpg,sea,0.7\n", nan, "1 labels are only a machine's"),
        ("image,sea,Age\na.jpg,1,68\n", 1, "1 columns were not used: 'Age'"),
    ],
)
def test_oddities_are_noted_and_never_guessed(folder, text, state, note):
    write(folder, text)
    dataset = load_folder(folder)
    np.testing.assert_array_equal(dataset.truth.to_array(), [[state]])
    assert dataset.items == ("a.jpg",)
    assert re.search(note, " ".join(dataset.notes))


def test_presences_without_states_need_a_word_on_what_is_unlisted(folder):
    write(folder, "image;label;split\na.jpg;sea;train\nc.jpg;sky;test\n")
    dataset = load_folder(folder, unlisted="absent")
    np.testing.assert_array_equal(dataset.truth.to_array(), [[1, 0], [0, 1]])
    assert (dataset.training.tolist(), dataset.test.tolist()) == ([0], [1])
