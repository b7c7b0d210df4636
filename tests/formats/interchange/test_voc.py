import pytest
from format_examples import annotations
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tagloom.errors import InvalidInputError, UnwritableFileError
from tagloom.formats import Annotation, Annotations, match
from tagloom.formats.interchange.voc import is_voc, read_voc, write_voc

SHARED = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None
)
STEMS = st.from_regex(r"[a-zé0-9_/.-]{0,6}[a-zé0-9_-]", fullmatch=True).filter(
    lambda text: not text.startswith("/")
)
TAGS = st.lists(
    st.from_regex(r"[a-zé_0-9'&+-][a-zé_0-9 '&.+-]{0,6}", fullmatch=True),
    max_size=4,
    unique_by=str.casefold,
)


def entries(*listed, **more):
    return Annotations.of([Annotation(*one) for one in listed], **more)


@SHARED
@given(original=annotations(st.lists(STEMS, max_size=4, unique=True), TAGS, machine=False))
def test_what_people_annotated_is_read_back(tmp_path_factory, original):
    bare = Annotations.of(
        [one._replace(image=f"{one.image}.jpg") for one in original],
        images=[f"{image}.jpg" for image in original.images],
        tags=original.tags,
    )
    folder = tmp_path_factory.mktemp("voc")
    assert write_voc(bare, folder) == []
    reading = read_voc(folder / "ImageSets" / "Main") if original.tags else None
    if reading is not None:
        assert reading.annotations == original
        assert is_voc(folder)
        assert reading.lists_absences
        assert reading.duplicates == 0


def test_extensions_come_from_the_pictures(tmp_path):
    original = entries(("a.jpg", "dog"), ("b.png", "dog", False), images=["c.jpg"])
    write_voc(original, tmp_path)
    (tmp_path / "JPEGImages").mkdir()
    for name in original.images:
        (tmp_path / "JPEGImages" / name).touch()
    reading = read_voc(tmp_path)
    assert reading.annotations == original
    assert reading.warnings == []


def test_lists_have_every_picture_with_its_state(tmp_path):
    original = entries(("a.jpg", "dog"), ("b.jpg", "dog", False), ("c.jpg", "dog", True, 0.9))
    (warning,) = write_voc(original, tmp_path)
    assert "no suggestions" in warning.what
    main = tmp_path / "ImageSets" / "Main"
    assert (main / "dog_trainval.txt").read_text() == "a  1\nb -1\nc  0\n"
    assert (main / "trainval.txt").read_text() == "a\nb\nc\n"


@pytest.mark.parametrize("tag", ["a/b", "a\\b", ".hidden", "a\nb", "x" * 300, "what?", 'a"b', " a"])
def test_tags_that_name_no_file_are_refused(tmp_path, tag):
    with pytest.raises(InvalidInputError, match="a file for each tag"):
        write_voc(entries(("a.jpg", tag)), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_tags_that_differ_by_case_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="'Dog', 'dog'"):
        write_voc(entries(tags=["dog", "Dog", "cat"]), tmp_path)


@pytest.mark.parametrize("images", [["a b.jpg"], ["a.jpg", "a.png"], ["\ufeffa.jpg"]])
def test_pictures_that_have_no_id_are_refused(tmp_path, images):
    with pytest.raises(InvalidInputError, match=r"these (pictures|cannot)"):
        write_voc(entries(images=images), tmp_path)


def test_lists_of_others_are_not_mixed_with_ours(tmp_path):
    write_voc(entries(("a.jpg", "dog")), tmp_path)
    write_voc(entries(("b.jpg", "dog")), tmp_path)
    assert read_voc(tmp_path).annotations.images == ("b",)
    with pytest.raises(UnwritableFileError, match=r"dog_trainval\.txt"):
        write_voc(entries(("a.jpg", "cat")), tmp_path)


@pytest.fixture
def edition(tmp_path):
    home = tmp_path / "VOCdevkit" / "VOC2007"
    (home / "ImageSets" / "Main").mkdir(parents=True)
    (home / "Annotations").mkdir()
    return home


def lists(home, **files):
    for name, text in files.items():
        (home / "ImageSets" / "Main" / f"{name}.txt").write_bytes(text.encode())


def test_sides_are_joined_and_halves_are_not_counted_twice(tmp_path, edition):
    lists(
        edition,
        dog_train="1  1\r\n",
        dog_val="2 -1\r\n",
        dog_trainval="1  1\r\n2 -1\r\n",
        dog_test="\ufeff3  0\n\n4 1",
        train="1\n",
        test="3\n4\n5\n",
    )
    for path in (tmp_path, tmp_path / "VOCdevkit", edition, edition / "ImageSets"):
        assert is_voc(path)
        reading = read_voc(path)
        assert reading.annotations == entries(
            ("1", "dog"), ("2", "dog", False), ("4", "dog"), images=["3", "5"]
        )
        assert reading.duplicates == 0
        assert reading.details["sides"] == "test, trainval"


def test_halves_are_read_where_there_is_no_whole(edition):
    lists(edition, dog_train="1 1\n", dog_val="2 -1\n1 -1\n", cat_val="1 1\n1 1\n")
    reading = read_voc(edition)
    assert reading.annotations == entries(
        ("1", "cat"), ("2", "dog", False), undecided=[("1", "dog")]
    )
    assert len(reading.contradictions) == 1
    assert reading.duplicates == 2


@pytest.mark.parametrize("line", ["1", "1 2", "1 1 1", "1 x", "1 01"])
def test_bad_line_is_named(edition, line):
    lists(edition, dog_test=f"1 1\n\n{line}\n")
    with pytest.raises(InvalidInputError, match=r"dog_test\.txt, line 3: expected the id"):
        read_voc(edition)


def test_lists_that_are_no_text_are_refused(edition):
    lists(edition, dog_test="")
    (edition / "ImageSets/Main/dog_test.txt").write_bytes(b"1 1\n\xff 1\n")
    with pytest.raises(InvalidInputError, match="UTF-8"):
        read_voc(edition)
    lists(edition, dog_test="1 1\n", test="1 1\n")
    with pytest.raises(InvalidInputError, match=r"[/\\]test\.txt, line 1"):
        read_voc(edition)


def test_one_of_several_editions_must_be_named(tmp_path, edition):
    (tmp_path / "VOCdevkit" / "VOC2012").mkdir()
    assert is_voc(tmp_path)
    with pytest.raises(InvalidInputError, match="'VOC2007', 'VOC2012'"):
        read_voc(tmp_path)


def object_xml(name, difficult=None):
    part = "<part><name>head</name></part>"
    hard = "" if difficult is None else f"<difficult>{difficult}</difficult>"
    return f"<object><name>{name}</name>{hard}{part}</object>"


def picture(home, stem, *objects, filename=""):
    text = f"<annotation><filename>{filename}</filename>{''.join(objects)}</annotation>"
    (home / "Annotations" / f"{stem}.xml").write_text(text)


def test_objects_are_presences_unless_all_are_difficult(edition):
    dogs = [object_xml("dog", 1), object_xml("dog", 0), object_xml("dog")]
    picture(edition, "1", *dogs, object_xml("cat", 1), filename="1.png")
    picture(edition, "2")
    picture(edition, "3", object_xml(""), object_xml(" cow "), filename="in\\3.jpg")
    for path in (edition, edition / "Annotations"):
        assert is_voc(path)
        reading = read_voc(path)
        assert reading.annotations == entries(
            ("1.png", "dog"), ("in\\3.jpg", "cow"), images=["2"], undecided=[("1.png", "cat")]
        )
        assert not reading.lists_absences
        assert reading.duplicates == 0
        assert reading.details["objects"] == "6"
        assert sorted(warning.what.partition(":")[0] for warning in reading.warnings) == [
            "an object without a name",
            "no filename is given",
        ]


NAMES = st.text(st.sampled_from(" \\/a\n\t\u00a0é"), min_size=1, max_size=4).filter(str.strip)


@SHARED
@given(names=st.lists(NAMES, min_size=1, max_size=6, unique=True))
@example(names=["a", "a ", " a", "\\a", "/a", "a\n"])
def test_objects_stay_with_the_picture_that_the_file_names(tmp_path_factory, names):
    """White space at an end and backslashes are parts of a name: `a` and `a ` are two pictures."""
    folder = tmp_path_factory.mktemp("objects")
    pictures = [f"{name}.jpg" for name in names] + [f"{name}.jpg " for name in names]
    for number, name in enumerate(pictures):
        text = f"<annotation><filename>{name}</filename>{object_xml(f'of {number}')}</annotation>"
        (folder / f"xml {number}.xml").write_text(text, encoding="utf-8", newline="")
    matched = match(read_voc(folder).annotations, pictures)
    assert not matched.missing
    assert not matched.merged
    assert {(one.image, one.tag) for one in matched.annotations} == {
        (name, f"of {number}") for number, name in enumerate(pictures)
    }


BOMB = "".join(
    f'<!ENTITY b{n} "{f"&b{n - 1};" * 10}">' if n else '<!ENTITY b0 "lol">' for n in range(9)
)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (f"<!DOCTYPE a [{BOMB}]><annotation>&b8;</annotation>", "document type"),
        (
            '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><annotation>&x;</annotation>',
            "document type",
        ),
        ('<!DOCTYPE annotation SYSTEM "http://example.org/x"><annotation/>', "document type"),
        ("<annotation>", "malformed XML, no element found"),
        ("<annotation>&x;</annotation>", "malformed XML, undefined entity"),
        ("<other><annotation/></other>", "outermost"),
        ('<?xml version="1.0" encoding="none"?><annotation/>', "XML"),
        (
            "<annotation><object><name>x</name><difficult>?</difficult></object></annotation>",
            "0 or 1",
        ),
    ],
)
def test_hostile_xml_is_refused(edition, text, what):
    (edition / "Annotations" / "1.xml").write_text(text)
    with pytest.raises(InvalidInputError, match=rf"1\.xml.*{what}"):
        read_voc(edition)


def test_deep_xml_is_no_traceback(edition):
    depth = 200_000
    (edition / "Annotations" / "1.xml").write_text(
        "<annotation>" + "<a>" * depth + "</a>" * depth + "</annotation>"
    )
    assert read_voc(edition).annotations.images == ("1",)


def test_other_folders_are_not_detected(tmp_path):
    (tmp_path / "my_test.txt").write_text("1 1\n")
    (tmp_path / "build.xml").write_text("<project/>")
    for path in (tmp_path, tmp_path / "none", tmp_path / "my_test.txt"):
        assert not is_voc(path)
        with pytest.raises(InvalidInputError, match="is not PASCAL VOC"):
            read_voc(path)
