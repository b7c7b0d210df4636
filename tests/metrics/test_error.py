import numpy as np
import pytest

from tagloom.labels import PartialLabels
from tagloom.metrics import squared_error


def test_squared_error_weighs_the_known_entries():
    truth = PartialLabels.from_array([[1.0, np.nan], [0.0, 0.0]], weights=[[3, 1], [1, 1]])
    assert squared_error(truth, [[0.0, 9.0], [0.0, 2.0]]) == pytest.approx((3 + 0 + 4) / 5)


def test_squared_error_of_nothing_known_is_undefined():
    assert np.isnan(squared_error([[np.nan]], [[1.0]]))
