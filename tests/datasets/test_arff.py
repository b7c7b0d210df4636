import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagloom.datasets.arff import read_arff
from tagloom.errors import InvalidInputError

NAMES = st.text(
    st.characters(
        codec="utf-8", exclude_categories=("Cs", "Cc", "Zl", "Zp"), exclude_characters="\ufeff"
    ),
    min_size=1,
    max_size=8,
).filter(lambda text: text.strip() == text)


def quoted(text, mark):
    return mark + text.replace("\\", "\\\\").replace(mark, "\\" + mark) + mark


@st.composite
def tables(draw):
    n_columns = draw(st.integers(1, 5))
    names = draw(st.lists(NAMES, min_size=n_columns, max_size=n_columns, unique=True))
    kinds = [
        tuple(draw(st.lists(NAMES, min_size=1, max_size=4, unique=True)))
        if draw(st.booleans())
        else ()
        for _ in names
    ]
    rows = [
        [
            None
            if draw(st.integers(0, 9)) == 0
            else draw(
                st.sampled_from(kind) if kind else st.floats(allow_nan=False, allow_infinity=False)
            )
            for kind in kinds
        ]
        for _ in range(draw(st.integers(0, 5)))
    ]
    return names, kinds, rows


def cell(value, mark):
    if value is None:
        return "?"
    return quoted(value, mark) if isinstance(value, str) else repr(value)


def written(names, kinds, rows, *, sparse, mark, end, case):
    lines = ["% a comment", f"{case('@relation')} 'a set: -C 2'", ""]
    for name, kind in zip(names, kinds, strict=True):
        listed = "{" + ", ".join(quoted(value, mark) for value in kind) + "}" if kind else "NUMERIC"
        lines.append(f"{case('@attribute')} {quoted(name, mark)} {listed}")
    lines.append(case("@data"))
    for row in rows:
        if sparse:
            pairs = [
                f"{place} {cell(value, mark)}"
                for place, (value, kind) in enumerate(zip(row, kinds, strict=True))
                if value != (kind[0] if kind else 0.0)
            ]
            lines.append("{" + ",".join(pairs) + "}")
        else:
            lines.append(" , ".join(cell(value, mark) for value in row))
    return end.join(lines) + end


@settings(max_examples=200, deadline=None)
@given(
    table=tables(),
    sparse=st.booleans(),
    mark=st.sampled_from("'\""),
    end=st.sampled_from(["\n", "\r\n"]),
    case=st.sampled_from([str.upper, str.lower]),
    bom=st.booleans(),
)
def test_round_trip(tmp_path_factory, table, sparse, mark, end, case, bom):
    names, kinds, rows = table
    path = tmp_path_factory.getbasetemp() / "round.arff"
    text = written(names, kinds, rows, sparse=sparse, mark=mark, end=end, case=case)
    path.write_bytes(text.encode("utf-8-sig" if bom else "utf-8"))
    read = read_arff(path)
    assert [(a.name, a.values) for a in read.attributes] == list(zip(names, kinds, strict=True))
    expected = [
        [
            np.nan if value is None else float(kind.index(value)) if kind else value
            for value, kind in zip(row, kinds, strict=True)
        ]
        for row in rows
    ]
    np.testing.assert_array_equal(read.values, np.reshape(expected, (len(rows), len(names))))


@settings(max_examples=300, deadline=None)
@given(
    content=st.text(alphabet="@atribuedn xyz01{}',\"%?\\\n", max_size=80),
    header=st.sampled_from(["", "@relation r\n@attribute x numeric\n@attribute y {0,1}\n@data\n"]),
)
def test_any_text_is_read_or_refused_with_a_place(tmp_path_factory, content, header):
    path = tmp_path_factory.getbasetemp() / "any.arff"
    path.write_text(header + content)
    problem = ""
    try:
        read_arff(path)
    except InvalidInputError as error:
        problem = str(error)
    assert not problem or problem.startswith(str(path))


def test_sparse_rows_leave_out_zeros_and_first_values(tmp_path):
    path = tmp_path / "s.arff"
    path.write_text(
        "@relation r\n@attribute x real\n@attribute y {no,yes}\n@data\n{}\n{ 1 yes }\n{0 2}\n"
    )
    assert read_arff(path).values.tolist() == [[0, 0], [0, 1], [2, 0]]


HEADER = "@relation r\n@attribute 'first one' numeric\n@attribute y {0,1}\n@data\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            HEADER + "1,0\n2.x,1\n",
            r"line 6, column 1: 'first one' must be a finite number; found '2\.x'",
        ),
        (HEADER + "  1, 2\n", "line 5, column 6: 'y' must be one of '0', '1'; found '2'"),
        (HEADER + "1,0,1\n", "line 5, column 5: expected 2 values, found 3"),
        (HEADER + "1\n", "line 5, column 1: expected 2 values, found 1"),
        (HEADER + "1,,0\n", "line 5, column 3: expected a value, found none"),
        (HEADER + "1 0\n", "expected one value between commas"),
        (HEADER + "1,'0\n", "line 5, column 3: this quotation mark is never closed"),
        (HEADER + "1,'0'1\n", "line 5, column 6: expected a comma, found '1'"),
        (HEADER + "inf,0\n", "must be a finite number"),
        (HEADER + "1_0,0\n", "must be a finite number"),
        (HEADER + "{0 1\n", "line 5, column 4: the sparse row is never closed"),
        (HEADER + "{2 1}\n", "column 2: expected the number of an attribute from 0 to 1"),
        (
            HEADER + "{0 1, 0 2}\n",
            "column 7: expected the number of an attribute from 0 to 1, each once",
        ),
        (HEADER + "{0}\n", "column 3: expected a value, found the end of the line"),
        (
            "@relation r\n@attribute x string\n@data\n",
            "line 2, column 14: the attribute 'x' is of the type 'string'",
        ),
        ("@relation r\n@attribute x {a,a}\n@data\n", "has the value 'a' twice"),
        ("@relation r\n@attribute x {a\n@data\n", "never closed"),
        ("@relation r\n@attribute x real\n@attribute x real\n@data\n", "two attributes above"),
        ("@relation r\n@attribute x real\n1\n", "line 3, column 1: expected @relation"),
        ("@relation r\n@attribute x real\n", "no line @data"),
        ("@relation r\n@data\n", "there is no attribute before"),
        ("", "no line @data"),
    ],
)
def test_bad_text_is_named_with_line_and_column(tmp_path, text, problem):
    path = tmp_path / "bad.arff"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=problem):
        read_arff(path)


def test_a_bare_question_mark_is_missing_also_where_it_is_a_quoted_value(tmp_path):
    path = tmp_path / "marks.arff"
    path.write_text("@relation x\n@attribute a {'?', b}\n@data\n'?'\n?\nb\n")
    np.testing.assert_array_equal(read_arff(path).values, [[0.0], [np.nan], [1.0]])
