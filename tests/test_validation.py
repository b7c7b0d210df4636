import numpy as np
import pytest

from tagloom.errors import InvalidInputError
from tagloom.validation import (
    check_choice,
    check_flag,
    check_integer,
    check_n_components,
    check_number,
    check_same_items,
    is_integer,
    some_of,
)


@pytest.mark.parametrize("given", [3, np.int8(3), np.uint64(3)])
def test_integers(given):
    assert is_integer(given)
    check_integer("k", given, at_least=3)
    with pytest.raises(InvalidInputError, match="k must be an integer of at least 4; got"):
        check_integer("k", given, at_least=4)


@pytest.mark.parametrize("given", [3.0, True, np.True_, "3", None])
def test_anything_else_is_not_an_integer(given):
    assert not is_integer(given)
    with pytest.raises(InvalidInputError, match="k must be an integer"):
        check_integer("k", given, at_least=0)


def test_numbers_are_finite_and_in_range():
    check_number("tol", 0, low=0)
    check_number("tol", np.float32(0.5), low=0, high=1)
    with pytest.raises(InvalidInputError, match=r"tol must be a finite number in \(0, 1\]; got 0"):
        check_number("tol", 0, low=0, high=1, inclusive=False)
    for wrong in (np.inf, np.nan, -1, True, "1", None):
        with pytest.raises(InvalidInputError, match=r"tol must be a finite number in \[0, inf\]"):
            check_number("tol", wrong, low=0)


@pytest.mark.parametrize("given", [None, 1, np.int64(200), 0.5, np.float32(0.9)])
def test_components_are_a_number_a_share_or_all(given):
    check_n_components("n_components", given)


@pytest.mark.parametrize("given", [0, -1, 0.0, 1.0, 1.5, np.nan, True, "mle"])
def test_other_components_are_refused(given):
    with pytest.raises(InvalidInputError, match="n_components must be an integer of at least 1"):
        check_n_components("n_components", given)


def test_flags_and_choices():
    check_flag("verbose", np.False_)
    with pytest.raises(InvalidInputError, match="verbose must be True or False; got 1"):
        check_flag("verbose", 1)
    check_choice("scaling", None, (None, "norm"))
    for wrong in ("z", 1, ["norm"]):
        with pytest.raises(InvalidInputError, match="scaling must be one of None, 'norm'; got"):
            check_choice("scaling", wrong, (None, "norm"))


def test_rows_and_items():
    check_same_items(3, 3)
    with pytest.raises(InvalidInputError, match="X has 3 rows, Y has 4"):
        check_same_items(3, 4)


def test_some_of_many_names():
    assert some_of([]) == "none"
    assert some_of(["a", 2]) == "'a', 2"
    assert some_of(range(2000), limit=2) == "0, 1 and 1,998 more"
