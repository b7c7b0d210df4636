import pytest

from tagloom.errors import InvalidInputError
from tagloom.formats import Annotation, match, read_long_csv, read_tags

ANNOTATIONS = [
    Annotation("a.jpg", "sea", True),
    Annotation("a.jpg", "sky", False),
    Annotation("b.jpg", "sky", True),
]


@pytest.mark.parametrize(
    "text",
    [
        "image,tag,state\na.jpg,sea,1\na.jpg,sky,0\nb.jpg,sky,1\n",
        "ImageID,LabelName,Confidence\na.jpg,sea,1\na.jpg,sky,0\nb.jpg,sky,1\n",
        "image;tag;state\r\na.jpg;sea;present\r\na.jpg;sky;Absent\r\nb.jpg;sky;PRESENT\r\n",
        "State\tKeyword\tFile Name\ryes\tsea\ta.jpg\rno\tsky\ta.jpg\ryes\tsky\tb.jpg\r",
        "path|label|value\na.jpg | sea | true\na.jpg | sky | false\nb.jpg | sky | 1.0",
        'sep=;\nimage;tag;present\n"a.jpg"; "sea";1\na.jpg;sky;0\nb.jpg;sky;1\n',
        "\ufeffphoto,tag,state\na.jpg,sea,1\na.jpg,sky,0\nb.jpg,sky,1\n",
        "image,tag,state\n\na.jpg,sea,1\n,,\na.jpg,sky,0\nb.jpg,sky,1\nb.jpg,sea,\n",
    ],
)
def test_the_same_annotations_in_many_spellings(table, text):
    reading = read_tags(table(text))
    # White space at the ends of a name is layout where no picture has that name.
    assert list(match(reading.annotations, ["a.jpg", "b.jpg"]).annotations) == ANNOTATIONS
    assert reading.format == "long CSV"
    assert reading.lists_absences
    assert reading.warnings == reading.contradictions == []
    assert reading.duplicates == 0


def test_without_states_only_presences_are_listed(table):
    reading = read_tags(table("image,tag\na.jpg,sea\nb.jpg,0\n"))
    assert list(reading.annotations) == [Annotation("a.jpg", "sea"), Annotation("b.jpg", "0")]
    assert not reading.lists_absences


def test_machines_and_people_are_distinguished(table):
    open_images = "ImageID,Source,LabelName,Confidence\na,m,x,0.7\na,v,y,1\na,v,z,0\na,v,w,1.00\n"
    reading = read_long_csv(table(open_images))
    assert list(reading.annotations) == [
        Annotation("a", "w", True),
        Annotation("a", "x", True, 0.7),
        Annotation("a", "y", True),
        Annotation("a", "z", False),
    ]
    assert reading.warnings[0].what == "1 columns were not used: 'Source'"
    ours = "image,tag,state,probability\na,x,1,1.0\na,y,0,0.25\na,z,,0.5\na,w,1,\n"
    assert list(read_long_csv(table(ours)).annotations) == [
        Annotation("a", "w", True),
        Annotation("a", "x", True, 1.0),
        Annotation("a", "y", False, 0.25),
        Annotation("a", "z", True, 0.5),
    ]


def test_unknown_names_the_picture_and_the_tag(table):
    reading = read_long_csv(table("image,tag,state\na,x,\nb,y,unknown\nc,z,-1\nd,z,-1\n"))
    assert len(reading.annotations) == 0
    assert reading.annotations.images == ("a", "b", "c", "d")
    assert reading.annotations.tags == ("x", "y", "z")
    assert reading.annotations.undecided == {("a", "x"), ("b", "y"), ("c", "z"), ("d", "z")}
    (warning,) = reading.warnings
    assert warning.what == "a cell is -1 (uncertain): read as unknown"
    assert warning.where.endswith("line 4 and 1 more")


def test_nothing_is_dropped_silently(table):
    text = (
        "image,tag,state\n"
        "a.jpg,sea,1\na.jpg,sea,1\n"  # repeated
        "a.jpg,sky,1\na.jpg,sky,0\n"  # contradicted
        ",sun,1\na.jpg,,1\na.jpg, ,0\n"  # no picture, no tag
        "a.jpg,caf\u00e9,1\nb.jpg,cafe\u0301,1\nc.jpg,caf\u00e9 ,1\n"  # one tag in three ways
    )
    reading = read_long_csv(table(text))
    assert list(reading.annotations) == [
        Annotation("a.jpg", "caf\u00e9"),
        Annotation("a.jpg", "sea"),
        Annotation("b.jpg", "caf\u00e9"),
        Annotation("c.jpg", "caf\u00e9"),
    ]
    assert reading.duplicates == 2
    assert [warning.where[-6:] for warning in reading.contradictions] == ["line 5"]
    where = {warning.what: warning.where for warning in reading.warnings}
    assert where["a row names no picture: left out"].endswith("line 6")
    assert where["a tag is blank: left out"].endswith("line 7 and 1 more")
    assert any(what.startswith("1 tags are written in several ways") for what in where)


def test_details_describe_how_it_was_read(table):
    reading = read_long_csv(table("file;label;present\na;x;1\n"))
    assert reading.details == {
        "encoding": "UTF-8",
        "separator": "semicolon",
        "columns": "picture: file, tag: label, state: present",
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("image,tag,state\na,x,2\n", "line 2, column 'state': expected 1 .present.*found '2'"),
        ("image,tag,state\na,x,-0.5\n", "line 2, column 'state'.*found '-0.5'"),
        ("image,tag,state\n\na,x\n", "line 3: expected 3 cells as in the header, found 2"),
        ('image,tag\na,"x\ny"\nb,y,z\n', "line 4: expected 2 cells as in the header, found 3"),
        ('image,tag\na,x\nb,"y\nc,z\n', "line 3, column 3: .*quotation mark"),
        ('image,tag\na,"x"y\n', "line 2, column 5: .*quotation mark"),
        ("image,tag,state,probability\na,x,1,2\n", "column 'probability': .*from 0 to 1.*'2'"),
        ("image,tag,state,probability\na,x,1,nan\n", "found 'nan'"),
        ("\n\nimage,tag,tag\na,x,y\n", "line 3, column 'tag': .*'tag' twice"),
        ("tag,state\nx,1\n", "expected a column 'image' beside the tags"),
        ("image,sea\na,1\n", "expected a column 'tag' or 'label', found 'image', 'sea'"),
    ],
)
def test_bad_tables_are_refused_with_their_place(table, text, problem):
    with pytest.raises(InvalidInputError, match=problem):
        read_long_csv(table(text))
