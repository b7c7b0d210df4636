import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from layouts import vectors

from tagloom.datasets._vectors import read_vectors
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
    path = tmp_path_factory.getbasetemp() / f"round.{ending}"
    vectors(path, rows, width, values)
    np.testing.assert_array_equal(read_vectors(path), rows)


def test_bytes_written_by_hand(tmp_path):
    path = tmp_path / "two.hvecs"
    path.write_bytes(bytes([3, 0, 1, 0, 0, 0, 0, 1, 3, 0, 5, 0, 6, 0, 7, 0]))
    assert read_vectors(path).tolist() == [[1, 0, 256], [5, 6, 7]]


@settings(deadline=None)
@given(cut=st.integers(1, 15))
def test_cut_off_file_is_refused(tmp_path_factory, cut):
    path = tmp_path_factory.getbasetemp() / "cut.hvecs"
    vectors(path, np.ones((2, 3)))
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    if cut == 8:
        assert read_vectors(path).shape == (1, 3)
    else:
        with pytest.raises(InvalidInputError, match="cut off"):
            read_vectors(path)


@settings(deadline=None)
@given(content=st.binary(max_size=60), ending=st.sampled_from(sorted(FORMS)))
def test_any_bytes_are_read_whole_or_refused(tmp_path_factory, content, ending):
    path = tmp_path_factory.getbasetemp() / f"any.{ending}"
    path.write_bytes(content)
    width, values = (np.dtype(kind).itemsize for kind in FORMS[ending])
    try:
        rows = read_vectors(path)
    except InvalidInputError:
        return
    assert len(rows) * (width + rows.shape[1] * values) == len(content)


def test_changing_width_is_refused_with_its_place(tmp_path):
    path = tmp_path / "wrong.hvecs"
    path.write_bytes(np.array([2, 1, 1, 3, 1, 1], "<u2").tobytes())
    with pytest.raises(InvalidInputError, match=r"vector 2: expected 2 values.*width of 3"):
        read_vectors(path)


def test_unknown_ending_and_missing_file_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="no vector file"):
        read_vectors(tmp_path / "x.txt")
    with pytest.raises(InvalidInputError, match="cannot be read"):
        read_vectors(tmp_path / "x.hvecs")
