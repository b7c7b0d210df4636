import numpy as np
import pytest

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels

NAN = float("nan")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"labels": ["sea"]}, "Expected 2 label names.* found 1"),
        ({"items": ["a", "b"]}, "Expected 1 item names.* found 2"),
        ({"labels": ["sea", "sea"]}, "label names must differ.*'sea'"),
        ({"labels": ["sea", None]}, "position 1 is missing"),
        ({"labels": [NAN, "sea"]}, "position 0 is missing"),
        ({"labels": [["sea"], ["sun"]]}, "hashable"),
        ({"labels": "ab"}, "single string 'ab'"),
    ],
)
def test_names_are_checked(names, message):
    with pytest.raises(InvalidInputError, match=message):
        PartialLabels.from_array([[1, 0]], **names)


def test_names_become_plain_python():
    known = PartialLabels.from_array([[1, 0]], labels=np.array(["a", "b"]), items=np.array([7]))
    assert repr(known.labels + known.items) == "('a', 'b', 7)"
