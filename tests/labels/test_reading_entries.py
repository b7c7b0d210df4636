import numpy as np
import pytest

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels


def test_exact_repetitions_are_merged():
    known = PartialLabels.from_entries(
        [1, 0, 1], [0, 1, 0], [True, False, True], shape=(2, 2), weights=[0.5, 1, 0.5]
    )
    assert known.states().tolist() == [[-1, 0], [1, -1]]
    assert known.weights().tolist() == [[0, 1], [0.5, 0]]


def test_contradictions_are_named_and_counted():
    with pytest.raises(InvalidInputError) as caught:
        PartialLabels.from_entries(
            [0, 0, 0, 1, 1],
            [1, 1, 1, 0, 0],
            [True, False, True, False, True],
            shape=(2, 2),
            labels=["sea", "sun"],
        )
    message = str(caught.value)
    assert message.startswith("2 entries")
    assert "row 0, column 1 (label 'sun') is present (weight 1) and absent (weight 1)" in message
    assert "row 1, column 0 (label 'sea') is absent (weight 1) and present (weight 1)" in message


def test_weights_can_contradict_and_long_lists_are_cut():
    rows = np.repeat(np.arange(9), 2)
    with pytest.raises(InvalidInputError, match=r"^9 entries.*weight 1.*weight 2.*; \.\.\.\. "):
        PartialLabels.from_entries(rows, rows, True, shape=(9, 9), weights=np.tile([1, 2], 9))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"rows": [0, 2]}, "Entry 1 has row 2, but the rows of this table go from 0 to 1"),
        ({"columns": [-1, 0]}, "Entry 0 has column -1"),
        ({"rows": [0.0, 1.0]}, "integers"),
        ({"rows": [[0, 1]]}, "integers"),
        ({"rows": [0]}, "1 rows and 2 columns"),
        ({"present": [True]}, "Expected 2 values in `present`"),
        ({"present": [1, -1]}, "found .*-1.* for entry 1.*with_hidden"),
        ({"present": [1, np.nan]}, "found .*nan.* for entry 1"),
        ({"weights": [1, 1, 1]}, "Expected 2 weights"),
        ({"shape": (2,)}, "two numbers"),
        ({"shape": (2, -1)}, "two numbers"),
        ({"shape": (2, 2**31)}, "too large"),
        ({"unlisted_weight": 1.5}, "weight in .0, 1.*Got 1.5"),
        ({"unlisted_weight": True}, "Got True"),
        ({"unlisted_weight": float("nan")}, "Got nan"),
        ({"unlisted_weight": "absent"}, "Got 'absent'"),
    ],
)
def test_what_makes_no_sense_is_refused(changed, said):
    sound = {"rows": [0, 1], "columns": [1, 0], "present": [True, False], "shape": (2, 2)}
    with pytest.raises(InvalidInputError, match=said):
        PartialLabels.from_entries(**(sound | changed))


def test_an_unsigned_or_empty_list_of_positions_is_fine():
    known = PartialLabels.from_entries(
        np.array([1], np.uint8), np.array([0], np.uint64), True, shape=(2, 2)
    )
    assert known.states().tolist() == [[-1, -1], [1, -1]]
    assert PartialLabels.from_entries([], [], [], shape=(0, 3)).n_known == 0


def test_an_absence_checked_by_hand_outweighs_the_background():
    known = PartialLabels.from_entries([0], [0], [False], shape=(1, 2), unlisted_weight=0.2)
    assert known.weights().tolist() == [[1.0, 0.2]]
    assert known.entries().present.tolist() == [False]
