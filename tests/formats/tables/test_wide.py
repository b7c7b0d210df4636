import pytest

from tagloom.errors import InvalidInputError
from tagloom.formats import Annotation, read_tags, read_wide_csv


def test_cells_are_present_absent_or_unknown(table):
    reading = read_tags(table("image,sea,sky\na.jpg,1,0\nsub\\b.jpg,,yes\nc.jpg,,\n"))
    assert list(reading.annotations) == [
        Annotation("a.jpg", "sea", True),
        Annotation("a.jpg", "sky", False),
        Annotation("sub\\b.jpg", "sky", True),
    ]
    assert reading.annotations.images == ("a.jpg", "c.jpg", "sub\\b.jpg")
    assert reading.format == "wide CSV"
    assert reading.lists_absences
    assert reading.warnings == []


def test_uncertain_is_unknown_and_other_columns_are_named(table):
    text = "Path,Sex,Age,No Finding,Edema\np1/a.jpg,Male,68,1.0,-1.0\np2/b.jpg,Female,87,,0.0\n"
    reading = read_tags(table(text))
    assert list(reading.annotations) == [
        Annotation("p1/a.jpg", "No Finding", True),
        Annotation("p2/b.jpg", "Edema", False),
    ]
    assert reading.annotations.tags == ("Edema", "No Finding")
    assert [warning.what for warning in reading.warnings] == [
        "2 columns were not used: 'Sex', 'Age'",
        "a cell is -1 (uncertain): read as unknown",
    ]
    assert reading.warnings[1].where.endswith("line 2")


def test_a_column_split_is_no_tag_unless_it_holds_states(table):
    assert read_wide_csv(table("image,sea,split\na,1,train\n")).annotations.tags == ("sea",)
    assert read_wide_csv(table("image,sea,split\na,1,0\n")).annotations.tags == ("sea", "split")


def test_rows_of_one_picture_are_merged(table):
    reading = read_wide_csv(table("image,sea,sky\na,1,1\na,1,0\n,1,1\n"))
    assert list(reading.annotations) == [Annotation("a", "sea")]
    assert reading.duplicates == 2
    assert len(reading.contradictions) == 1
    assert "a row names no picture" in reading.warnings[0].what
    assert reading.warnings[0].where.endswith("line 4")


def test_columns_without_names(table):
    numbered = ",image,sea\n0,a,1\n1,b,0\n"
    assert len(read_wide_csv(table(numbered)).annotations) == 2
    assert read_wide_csv(table("image,sea,\na,1,\n")).warnings == []
    with pytest.raises(InvalidInputError, match=r"line 1, column 3: .*an empty name"):
        read_wide_csv(table("image,sea,\na,1,1\n"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("image,sea\na,2\n", "line 2, column 'sea': expected 1 .present.*found '2'"),
        ("image,sea\na,1\nb,0.5\n", "line 3, column 'sea'.*found '0.5'"),
        ("image,sea\na\n", "line 2: expected 2 cells"),
        ("image\na\n", "no column of labels"),
        ("image,split\na,train\n", "no column of labels"),
        ("image,sea,sea \na,1,1\n", "'sea' twice"),
    ],
)
def test_bad_tables_are_refused_with_their_place(table, text, problem):
    with pytest.raises(InvalidInputError, match=problem):
        read_wide_csv(table(text))
