import numpy as np
import pytest

from tagloom.dask.blocks import compute, get_client, task, tree_sum
from tagloom.errors import InvalidInputError


class Written:
    """A term that records the order of the additions."""

    def __init__(self, text):
        self.text = text

    def __add__(self, other):
        return Written(f"({self.text}+{other.text})")


def test_terms_are_added_in_one_order_eight_at_a_time(client):
    terms = [task(Written, str(number)) for number in range(10)]
    eight = "(((((((0+1)+2)+3)+4)+5)+6)+7)"
    assert compute(client, tree_sum(terms)).text == f"({eight}+(8+9))"


def test_a_large_argument_draws_no_warning(client):
    big = np.zeros(2_000_000)
    assert compute(client, task(len, big)) == 2_000_000


def test_a_missing_client_is_refused_with_the_remedy(monkeypatch):
    import distributed

    def no_client():
        raise ValueError("No clients found")

    monkeypatch.setattr(distributed, "default_client", no_client)
    with pytest.raises(InvalidInputError, match=r"distributed\.Client"):
        get_client()
