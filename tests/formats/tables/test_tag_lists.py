import pytest

from tagloom.errors import InvalidInputError
from tagloom.formats import read_bare_tag_list_csv, read_tag_list_csv, read_tags


def listed(reading):
    return {
        image: [one.tag for one in said] for image, said in reading.annotations.by_image().items()
    }


TAGS = {"a.jpg": ["big sky", "sea"], "b.jpg": [], "c.jpg": ["sea"]}


@pytest.mark.parametrize(
    "text",
    [
        "file_name,tags\na.jpg,sea; big sky\nb.jpg,\nc.jpg,sea\n",
        'file_name,tags\na.jpg,"sea, big sky"\nb.jpg,\nc.jpg,sea\n',
        "image;keywords\na.jpg;sea,big sky\nb.jpg;\nc.jpg;sea\n",
        "filename\tlabels\na.jpg\tsea|big sky|\nb.jpg\t\nc.jpg\tsea\n",
        'file_name,tags\na.jpg,"[""sea"",""big sky""]"\nb.jpg,[]\nc.jpg,"[""sea""]"\n',
        "file_name,tags\na.jpg,\"['sea', 'big sky']\"\nb.jpg,\nc.jpg,['sea']\n",
    ],
)
def test_tags_of_a_cell_are_separated_in_many_ways(table, text):
    reading = read_tags(table(text, "metadata.csv"))
    assert listed(reading) == TAGS
    assert reading.format == "tag-list CSV"
    assert not reading.lists_absences
    assert reading.warnings == []


def test_the_separator_of_tags_is_reported_and_may_be_given(table):
    path = table("file_name,tags\na,x;y|z\nb,x;y\n")
    assert listed(read_tag_list_csv(path)) == {"a": ["x", "y|z"], "b": ["x", "y"]}
    assert read_tag_list_csv(path).details["between tags"] == "semicolon"
    assert listed(read_tag_list_csv(path, separator="|")) == {"a": ["x;y", "z"], "b": ["x;y"]}


def test_other_columns_blanks_and_repetitions_are_counted(table):
    reading = read_tags(table("file_name,width,tags\na,640,x;;x\n,640,y\n"))
    assert listed(reading) == {"a": ["x"]}
    assert reading.duplicates == 1
    counted = [warning.what for warning in reading.warnings]
    assert counted == [
        "1 columns were not used: 'width'",
        "a tag is blank: left out",
        "a row names no picture: left out",
    ]
    assert all("more" not in warning.where for warning in reading.warnings)


def test_a_folder_is_read_by_its_metadata(table, tmp_path):
    table("file_name,tags\na.jpg,sea\n", "metadata.csv")
    assert listed(read_tags(tmp_path)) == {"a.jpg": ["sea"]}


def test_rows_without_header_where_nothing_else_can_be_meant(table):
    reading = read_tags(table("a.jpg,sea,big sky\nb.png\nsub/c.JPG,sea\n"))
    assert listed(reading) == {"a.jpg": ["big sky", "sea"], "b.png": [], "sub/c.JPG": ["sea"]}
    assert reading.format == "tag-list CSV without header"
    assert not reading.lists_absences


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a.jpg,sea\nb.jpg,sky,1\n", "line 2, column 3: .*found '1'"),
        ("a.jpg,sea\nb.jpg,0.5\n", "line 2, column 2: .*found '0.5'"),
        ("a.jpg,sea\nb,sky\n", "line 2, column 1: .*found 'b'"),
        ("a.jpg,sea;sky\n", "line 1, column 2: .*found 'sea;sky'"),
        ("image,sea,sky\na.jpg,sea\n", "line 1, column 1: .*found 'image'"),
    ],
)
def test_rows_without_header_are_refused_where_in_doubt(table, text, problem):
    path = table(text)
    with pytest.raises(InvalidInputError, match=problem):
        read_bare_tag_list_csv(path)
    if not text.startswith("image"):
        with pytest.raises(InvalidInputError, match="force it with --format"):
            read_tags(path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("file_name,sea\na,1\n", "expected the columns 'file_name' and 'tags', found 'file_name'"),
        ("tags\nx\n", "expected the columns"),
        ('file_name,tags\na,"[""x,]"\nb,"[""y""]"\n', "line 2, column 'tags': .*list of tags"),
        ("file_name,tags\na,[1]\n", "line 2, column 'tags': .*list of tags"),
        ("file_name,tags\na,x,y\n", "line 2: expected 2 cells.*quotation marks"),
    ],
)
def test_bad_tables_are_refused_with_their_place(table, text, problem):
    with pytest.raises(InvalidInputError, match=problem):
        read_tag_list_csv(table(text))
