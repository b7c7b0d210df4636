import pytest

from tagloom.errors import InvalidInputError
from tagloom.formats import Annotation, read_tags

HEAD = "image,tag,probability,rank,state\n"


def test_the_state_alone_distinguishes_people_whatever_the_probability(table):
    reading = read_tags(
        table(
            HEAD + "a.jpg,sea,0.9000,1,known\na.jpg,sky,0.8000,2,suggested\n"
            "a.jpg,sand,0.1000,3,doubtful-known\na.jpg,sun,0.9700,4,doubtful-absent\n"
            "a.jpg,rare,,5,known\n"
        )
    )
    assert list(reading.annotations) == [
        Annotation("a.jpg", "rare", True),
        Annotation("a.jpg", "sand", True),
        Annotation("a.jpg", "sea", True),
        Annotation("a.jpg", "sky", True, 0.8),
        Annotation("a.jpg", "sun", False),
    ]
    assert reading.warnings == []


@pytest.mark.parametrize(
    ("state", "present"),
    [("Known ", True), ("present", True), ("1", True), ("absent", False), ("0", False)],
)
def test_an_edited_state_is_a_persons(table, state, present):
    reading = read_tags(table(f"{HEAD}a.jpg,sea,0.9000,1,{state}\n"))
    assert list(reading.annotations) == [Annotation("a.jpg", "sea", present)]


def test_a_spreadsheet_may_have_saved_it(table):
    text = "image;tag;probability;rank;state\r\na.jpg;sea;0,9;1;suggested\r\na.jpg;sky;0,8;2;no\r\n"
    assert list(read_tags(table("\ufeff" + text)).annotations) == [
        Annotation("a.jpg", "sea", True, 0.9),
        Annotation("a.jpg", "sky", False),
    ]


def test_a_query_without_an_answer_stays_a_suggestion(table):
    reading = read_tags(
        table("image,tag,probability,acquisition_score,state\na,sea,0.5,0.1,\na,sky,0.5,0.1,yes\n")
    )
    assert list(reading.annotations.without_suggestions()) == [Annotation("a", "sky", True)]
    assert reading.warnings == []


def test_what_is_no_state_is_refused_with_its_place(table):
    with pytest.raises(InvalidInputError, match=r"line 2, column 'state'.*found 'maybe'"):
        read_tags(table(HEAD + "a.jpg,sea,0.9,1,maybe\n"))


def test_a_foreign_table_with_ranks_keeps_its_machine(table):
    reading = read_tags(table("image,tag,probability,rank,present\na.jpg,sea,0.9,1,1\n"))
    assert list(reading.annotations) == [Annotation("a.jpg", "sea", True, 0.9)]
