import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagloom.formats import (
    Annotation,
    Annotations,
    match,
    read_jsonl,
    read_long_csv,
    write_jsonl,
    write_long_csv,
)
from tagloom.formats.names import PictureIndex

PICTURES = ["2019/a.jpg", "2020/a.jpg", "2020/b.JPG", "c.jpg", "c.png", "deep/er/d.e.jpg", "é.jpg"]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("2019/a.jpg", "2019/a.jpg"),
        ("./2019/a.jpg", "2019/a.jpg"),
        ("2019\\a.jpg", "2019/a.jpg"),
        ("C:\\Users\\me\\2019\\a.jpg", "2019/a.jpg"),
        ("/home/me/2019/x/../a.jpg", "2019/a.jpg"),
        ("../photos/2019/a", "2019/a.jpg"),
        ("2019/A.JPG", "2019/a.jpg"),
        ("b", "2020/b.JPG"),
        ("b.jpg", "2020/b.JPG"),
        ("B", "2020/b.JPG"),
        ("c.png", "c.png"),
        ("/elsewhere/c.jpg", "c.jpg"),
        ("d.e", "deep/er/d.e.jpg"),
        ("er/d.e.jpg", "deep/er/d.e.jpg"),
        ("e\u0301.jpg", "é.jpg"),
    ],
)
def test_the_picture_that_is_meant_is_found(name, found):
    assert PictureIndex(PICTURES).fitting(name) == [found]


@pytest.mark.parametrize(
    ("name", "candidates"),
    [
        ("a.jpg", ["2019/a.jpg", "2020/a.jpg"]),
        ("a", ["2019/a.jpg", "2020/a.jpg"]),
        ("c", ["c.jpg", "c.png"]),
        ("2021/a.jpg", []),
        ("b.png", []),
        ("a.jp", []),
        ("9/a.jpg", []),
        ("", []),
        ("/", []),
        ("..", []),
    ],
)
def test_several_or_none(name, candidates):
    assert PictureIndex(PICTURES).fitting(name) == candidates


def test_the_better_fit_goes_before_the_worse():
    assert PictureIndex(["a.jpg", "x/a.jpg"]).fitting("a.jpg") == ["a.jpg"]
    assert PictureIndex(["a.jpg", "x/a.jpg"]).fitting("/home/x/a.jpg") == ["x/a.jpg"]
    assert PictureIndex(["a.jpg", "A.jpg"]).fitting("A.jpg") == ["A.jpg"]
    assert PictureIndex(["a.jpg", "A.jpg"]).fitting("A.JPG") == ["a.jpg", "A.jpg"]
    # The longer end differs in case, the shorter does not: it stays ambiguous.
    assert PictureIndex(["x/a.jpg", "A.jpg"]).fitting("x/A.jpg") == ["x/a.jpg", "A.jpg"]


def test_everything_is_accounted_for():
    original = Annotations.of(
        [
            Annotation("/photos/2019/a.jpg", "sea"),
            Annotation("2019/a", "sea", False),
            Annotation("2019/a", "sky"),
            Annotation("a.jpg", "sun"),
            Annotation("gone.jpg", "sand"),
            Annotation("2020\\b.jpg", "sky", True, 0.5),
        ],
        images=["c.png"],
        undecided=[("c.png", "sky"), ("gone.jpg", "sky")],
    )
    matched = match(original, PICTURES)
    assert matched.annotations.undecided == {("2019/a.jpg", "sea"), ("c.png", "sky")}
    assert list(matched.annotations) == [
        Annotation("2019/a.jpg", "sky"),
        Annotation("2020/b.JPG", "sky", True, 0.5),
    ]
    assert matched.annotations.images == ("2019/a.jpg", "2020/b.JPG", "c.png")
    assert matched.annotations.tags == original.tags
    assert matched.missing == ["gone.jpg"]
    assert matched.ambiguous == {"a.jpg": ["2019/a.jpg", "2020/a.jpg"]}
    assert matched.merged == {"2019/a.jpg": ["/photos/2019/a.jpg", "2019/a"]}
    assert len(matched.contradictions) == 1
    assert matched.untagged == ["2020/a.jpg", "c.jpg", "c.png", "deep/er/d.e.jpg", "é.jpg"]


paths = st.lists(st.text("abA.", min_size=1, max_size=3), min_size=1, max_size=3).map("/".join)
proper = paths.filter(lambda path: not {".", ".."} & set(path.split("/")))


@given(st.lists(proper, unique=True), st.data())
def test_a_pictures_own_path_always_means_it(pictures, data):
    tags = st.lists(st.sampled_from("xyz"), unique=True)
    original = Annotations.of(
        [Annotation(picture, tag) for picture in pictures for tag in data.draw(tags)],
        images=pictures,
        tags="xyz",
        undecided=[(picture, "z") for picture in pictures],
    )
    matched = match(original, pictures)
    assert matched.annotations == original
    assert matched.missing == []
    assert matched.ambiguous == matched.merged == {}


@given(st.lists(proper, unique=True), st.lists(paths, unique=True))
def test_every_name_and_picture_is_in_one_list(pictures, names):
    original = Annotations.of([Annotation(name, "x") for name in names])
    matched = match(original, pictures)
    used = set(names) - set(matched.missing) - set(matched.ambiguous)
    assert set(matched.missing).isdisjoint(matched.ambiguous)
    in_merged = [name for listed in matched.merged.values() for name in listed]
    n_pictures = len(used) - len(in_merged) + len(matched.merged)
    assert len(matched.annotations) == len(matched.annotations.images) == n_pictures
    assert sorted([*matched.untagged, *matched.annotations.images]) == sorted(pictures)


def test_exact_lookups_of_paths_and_stems():
    index = PictureIndex(["a/b.jpg", "b.png", "c.jpg", "c.png", ".jpg"])
    assert index.at_end_of("C:\\photos\\a\\b.jpg") == "a/b.jpg"
    assert index.at_end_of("a/B.jpg") == "a/B.jpg"
    assert index.at_end_of("\\x\\y.jpg") == "\\x\\y.jpg"
    odd = PictureIndex(["b.jpg", "a\\b.jpg", "a/b.jpg"])
    assert odd.at_end_of("in/a\\b.jpg") == odd.with_stem("a\\b") == "a\\b.jpg"
    assert odd.at_end_of("in\\a/b.jpg") == "a/b.jpg"
    assert index.with_stem("a\\b") == "a/b.jpg"
    assert index.with_stem("b") == "b.png"
    assert index.with_stem("B") is None
    assert index.with_stem("c") is None
    assert index.with_stem(".jpg") == ".jpg"
    assert PictureIndex.of_folder(None).with_stem("b") is None


odd_names = st.text(st.sampled_from("ab. /\\\tÉ"), min_size=1, max_size=6).filter(str.strip)


@given(st.lists(odd_names, unique=True, min_size=1), st.data())
def test_names_of_files_are_taken_as_they_are(tmp_path_factory, pictures, data):
    tagged = data.draw(st.lists(st.sampled_from(pictures), unique=True, min_size=1))
    annotations = Annotations.of(
        [Annotation(name, f"tag{number}") for number, name in enumerate(tagged)]
    )
    for write, read in ((write_long_csv, read_long_csv), (write_jsonl, read_jsonl)):
        path = tmp_path_factory.mktemp("odd") / "tags"
        write(annotations, path)
        matched = match(read(path).annotations, pictures)
        assert matched.annotations == annotations
        assert (matched.missing, matched.ambiguous, matched.merged) == ([], {}, {})


@pytest.mark.parametrize(
    ("name", "pictures", "found"),
    [
        ("a.jpg ", ["a.jpg", "a.jpg "], "a.jpg "),
        ("a.jpg ", ["a.jpg", "b.jpg "], "a.jpg"),
        (" a.jpg", ["a.jpg"], "a.jpg"),
        ("x\\b.jpg", ["b.jpg", "x/b.jpg", "x\\b.jpg"], "x\\b.jpg"),
        ("x\\b.jpg", ["b.jpg", "x/b.jpg"], "x/b.jpg"),
        ("photos/x\\b.jpg", ["b.jpg", "x/b.jpg", "x\\b.jpg"], "x\\b.jpg"),
        ("photos\\x/b.jpg", ["b.jpg", "x/b.jpg", "x\\b.jpg"], "x/b.jpg"),
    ],
)
def test_backslashes_and_blanks_are_first_parts_of_a_name(name, pictures, found):
    assert PictureIndex(pictures).fitting(name) == [found]
