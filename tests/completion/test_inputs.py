import os
import shutil

import numpy as np
import pytest

from tagloom.completion.inputs import (
    Options,
    Pictures,
    encode_pictures,
    input_summary,
    known_labels,
    read_sources,
    under_vocabulary,
)
from tagloom.errors import InvalidInputError
from tagloom.formats import Annotation, Annotations
from tagloom.words import Vocabulary

ITEMS = ["a.jpg", "b.jpg", "c.jpg"]


def annotations():
    said = [Annotation("a.jpg", "sea", True), Annotation("b.jpg", "dog", False)]
    return Annotations.of(said, images=ITEMS[:2], undecided={("b.jpg", "sea")})


def test_unknown_stays_unknown():
    said = known_labels(ITEMS, annotations(), Options())
    nan = np.nan
    assert np.array_equal(said.to_array(), [[nan, 1], [0, nan], [nan, nan]], equal_nan=True)


def test_absent_unless_listed_holds_for_pictures_that_are_spoken_of_and_what_is_decided():
    said = known_labels(ITEMS, annotations(), Options(unlisted="absent"))
    nan = np.nan
    assert np.array_equal(said.to_array(), [[0, 1], [0, nan], [nan, nan]], equal_nan=True)


def test_an_unlisted_tag_weighs_what_its_owner_says():
    said = known_labels(ITEMS, annotations(), Options(unlisted=0.2))
    assert said.weights()[0].tolist() == [0.2, 1.0]


def test_aliases_are_read_as_the_tag_that_they_name():
    given = Annotations.of(
        [
            Annotation("a.jpg", "plane", True),
            Annotation("a.jpg", "airplane", False),
            Annotation("b.jpg", "plane", False),
            Annotation("c.jpg", "plane", True, 0.9),
            Annotation("c.jpg", "airplane", False),
            Annotation("c.jpg", "sea", True),
        ],
        images=[*ITEMS, "d.jpg"],
        undecided={("d.jpg", "plane")},
    )
    vocabulary = Vocabulary().merge(["plane"], into="airplane")
    assert under_vocabulary(given, vocabulary) == Annotations.of(
        [
            Annotation("a.jpg", "airplane", True),
            Annotation("b.jpg", "airplane", False),
            # A person's word counts for more than a machine's.
            Annotation("c.jpg", "airplane", False),
            Annotation("c.jpg", "sea", True),
        ],
        images=[*ITEMS, "d.jpg"],
        undecided={("d.jpg", "airplane")},
    )
    assert under_vocabulary(given, Vocabulary()) is given


def written(tmp_path, name, lines):
    path = tmp_path / name
    path.write_text("\n".join(["image,tag,state", *lines]) + "\n", encoding="utf-8")
    return path


def test_sources_that_contradict_each_other_leave_it_open_and_are_counted(collection):
    folder, items = collection.folder, collection.features.items
    one = written(folder, "one.csv", ["p001.jpg,sea,present", "p002.jpg,sea,present"])
    two = written(folder, "two.csv", ["p001.jpg,sea,absent", "p002.jpg,dog,present"])
    read = read_sources([one, two], collection.photos, items, None)
    said = known_labels(items, read.annotations, Options())
    assert said.n_known == 2
    assert any("both present and absent" in warning.reason for warning in read.warnings)
    summary = input_summary(read, Pictures(collection.photos, collection.features, []), said)
    assert summary["contradictions"] == 1
    assert summary["known tags"] == 2
    assert summary["pictures with tags"] == 1


def test_tags_of_other_pictures_are_refused_with_examples(collection):
    path = written(collection.folder, "other.csv", ["x.jpg,sea,present"])
    with pytest.raises(InvalidInputError, match=r"x\.jpg.*p000\.jpg"):
        read_sources([path], collection.photos, collection.features.items, None)


def test_no_tags_at_all_are_refused(collection):
    with pytest.raises(InvalidInputError, match="no keywords in or beside"):
        read_sources([], collection.photos, collection.features.items, None)


def test_pictures_without_a_usable_name_are_skipped_and_told(scenes, tmp_path):
    for number in range(2):
        shutil.copy(scenes / "photos" / f"scene-0000{number}.jpg", tmp_path / f"{number}.jpg")
    try:
        (tmp_path / "1.jpg").rename(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.jpg"))
    except OSError:
        pytest.skip("this file system takes no names but UTF-8")
    (tmp_path / "broken.jpg").write_bytes(b"no picture")
    pictures = encode_pictures(tmp_path, None, scenes / "cache", verbose=False)
    assert pictures.features.items == ["0.jpg"]
    assert sorted(one.name for one in pictures.skipped) == ["?.jpg", "broken.jpg"]
    assert pictures.encoder is not None


def test_a_folder_without_pictures_is_refused(tmp_path):
    pytest.importorskip("onnxruntime")
    with pytest.raises(InvalidInputError, match="There are no pictures"):
        encode_pictures(tmp_path, None, tmp_path.parent / "cache", verbose=False)
