import numpy as np
import pytest

from tagloom.dask.blocks import client_or_default, computed, task, tree_sum
from tagloom.errors import InvalidInputError


class Written:
    """Says in which order it was added."""

    def __init__(self, text):
        self.text = text

    def __add__(self, other):
        return Written(f"({self.text}+{other.text})")


def test_terms_are_added_in_one_order_eight_at_a_time(client):
    terms = [task(Written, str(number)) for number in range(10)]
    eight = "(((((((0+1)+2)+3)+4)+5)+6)+7)"
    assert computed(client, tree_sum(terms)).text == f"({eight}+(8+9))"


def test_a_large_argument_draws_no_warning(client):
    big = np.zeros(2_000_000)
    assert computed(client, task(len, big)) == 2_000_000


def test_no_client_is_told_with_the_remedy(monkeypatch):
    import distributed

    def nobody():
        raise ValueError("No clients found")

    monkeypatch.setattr(distributed, "default_client", nobody)
    with pytest.raises(InvalidInputError, match=r"distributed\.Client"):
        client_or_default()
