import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from layouts import vectors

from tagloom.datasets.lear import read_vectors
from tagloom.errors import InvalidInputError

FORMS = {
    "hvecs": ("<u2", "<u2"),
    "hvecs32": ("<u4", "<u4"),
    "fvec": ("<u4", "<f4"),
    "dvecs": ("<u4", "<f8"),
}
SHAPES = array_shapes(min_dims=2, max_dims=2, max_side=9)


@settings(deadline=None)
@given(data=st.data(), ending=st.sampled_from(sorted(FORMS)))
def test_round_trip(tmp_path_factory, data, ending):
    width, values = FORMS[ending]
    rows = data.draw(arrays(values, SHAPES))
    assume(ending != "hvecs" or not fits_both(rows))
    path = tmp_path_factory.getbasetemp() / f"round.{ending}"
    vectors(path, rows, width, values)
    np.testing.assert_array_equal(read_vectors(path, len(rows)), rows)


@settings(deadline=None)
@given(rows=arrays("<u2", SHAPES))
def test_round_trip_with_one_width_for_all(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "once.hvecs"
    vectors_after_one_width(path, rows)
    # Two vectors may hold what would be widths: then either reading would be a guess.
    values = rows.ravel().tolist()
    width = rows.shape[1]
    assume(not (len(rows) == 2 and values[width - 1] == width))
    np.testing.assert_array_equal(read_vectors(path, len(rows)), rows)


def fits_both(rows):
    """Say whether a file of such vectors may be read with one width for all as well."""
    return len(rows) == 2 and rows.flat[0] == 0


def vectors_after_one_width(path, rows):
    rows = np.asarray(rows, "<u2")
    path.write_bytes(np.array([rows.shape[1]], "<i4").tobytes() + rows.tobytes())


def test_bytes_written_by_hand(tmp_path):
    path = tmp_path / "two.hvecs"
    path.write_bytes(bytes([3, 0, 1, 0, 0, 0, 0, 1, 3, 0, 5, 0, 6, 0, 7, 0]))
    assert read_vectors(path, 2).tolist() == [[1, 0, 256], [5, 6, 7]]
    path.write_bytes(bytes([3, 0, 0, 0, 1, 0, 0, 0, 0, 1, 5, 0, 6, 0, 7, 0]))
    assert read_vectors(path, 2).tolist() == [[1, 0, 256], [5, 6, 7]]


def test_a_file_that_fits_both_layouts_is_refused(tmp_path):
    path = tmp_path / "both.hvecs"
    vectors(path, [[0, 7], [1, 1]])
    with pytest.raises(InvalidInputError, match=r"16-bit width before each.*one 32-bit width"):
        read_vectors(path, 2)


def test_one_width_for_all_is_of_hvecs_only(tmp_path):
    path = tmp_path / "once.fvec"
    path.write_bytes(np.array([2], "<i4").tobytes() + np.ones((3, 2), "<f4").tobytes())
    with pytest.raises(InvalidInputError, match="does not hold 3 vectors"):
        read_vectors(path, 3)


@settings(deadline=None)
@given(cut=st.integers(1, 23))
def test_cut_off_file_is_refused(tmp_path_factory, cut):
    path = tmp_path_factory.getbasetemp() / "cut.hvecs"
    vectors(path, np.ones((3, 3)))
    path.write_bytes(path.read_bytes()[:-cut])
    problem = "expected 3 rows, found" if cut in (8, 16) else "truncated"
    with pytest.raises(InvalidInputError, match=problem):
        read_vectors(path, 3)


@settings(deadline=None)
@given(
    content=st.binary(max_size=60), n_rows=st.integers(0, 5), ending=st.sampled_from(sorted(FORMS))
)
def test_any_bytes_are_read_whole_or_refused(tmp_path_factory, content, n_rows, ending):
    path = tmp_path_factory.getbasetemp() / f"any.{ending}"
    path.write_bytes(content)
    width, values = (np.dtype(kind).itemsize for kind in FORMS[ending])
    try:
        rows = read_vectors(path, n_rows)
    except InvalidInputError:
        return
    assert len(rows) == n_rows
    sizes = {n_rows * (width + rows.shape[1] * values)}
    if ending == "hvecs":
        sizes.add(4 + n_rows * rows.shape[1] * values)
    assert len(content) in sizes


def test_changing_width_is_refused_with_its_place(tmp_path):
    path = tmp_path / "wrong.hvecs"
    path.write_bytes(np.array([2, 1, 1, 3, 1, 1], "<u2").tobytes())
    with pytest.raises(InvalidInputError, match=r"vector 2: expected 2 values.*width of 3"):
        read_vectors(path, 2)


def test_unknown_ending_and_missing_file_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="not a vector file"):
        read_vectors(tmp_path / "x.txt", 1)
    with pytest.raises(InvalidInputError, match="cannot be read"):
        read_vectors(tmp_path / "x.hvecs", 1)
