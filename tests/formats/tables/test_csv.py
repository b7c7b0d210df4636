import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagloom.formats.tables.csv import SEPARATORS, csv_rows, sniff_separator

cells = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6).map(str.lstrip)
rows = st.integers(2, 4).flatmap(
    lambda width: st.lists(st.lists(cells, min_size=width, max_size=width), max_size=5)
)


@pytest.mark.parametrize("separator", SEPARATORS)
@given(body=rows)
def test_the_separator_under_a_known_header_is_found(separator, body):
    width = len(body[0]) if body else 2
    header = ["image", "tag", "state", "probability"][:width]
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=separator).writerows([header, *body])
    assert sniff_separator(stream.getvalue()) == separator


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("file_name,tags\na.jpg,sea;sky\nb.jpg,sea;sky;sun\n", ","),
        ("file_name;tags\na.jpg;sea,sky\nb.jpg;sea,sky\n", ";"),
        ("file_name\ttags\na.jpg\tsea, sky\n", "\t"),
        ("which, where;sea;sky\nx, y;1;0\n", ";"),
        ('"image";"a,b";"c,d"\n"x";1;0\n', ";"),
        ("a.jpg|sea, far|sky\nb.jpg|sea, far\n", "|"),
        ("one\ntwo\n", ","),
    ],
)
def test_separators_of_usual_files(text, separator):
    assert sniff_separator(text) == separator


@given(body=rows)
def test_rows_begin_on_their_lines(body):
    stream = io.StringIO(newline="")
    csv.writer(stream, quoting=csv.QUOTE_ALL).writerows(body)
    text = stream.getvalue()
    lines = io.StringIO(text, newline="").readlines()
    for line, row in csv_rows(text, ","):
        if row:
            rest = "".join(lines[line - 1 :])
            assert next(csv.reader(io.StringIO(rest, newline=""))) == row
