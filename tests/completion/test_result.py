import numpy as np
from scipy import sparse

from tagloom.completion.result import CompletionResult
from tagloom.completion.suggestions import tag_table
from tagloom.labels import PartialLabels, State


def test_carriers_are_the_likest_pictures_that_have_the_label(tmp_path):
    said = PartialLabels.from_array([[np.nan], [1], [0], [1], [1]], labels=["sea"])
    S = sparse.csr_array(np.array([[0, 0.2, 0.9, 0.5, 0.5], *np.zeros((4, 5))]))
    P = np.full((5, 1), 0.5, dtype=np.float32)
    open_to = said.states() == int(State.UNKNOWN)
    table = tag_table(said, P, open_to, np.array([0.3]), ~open_to & open_to)
    result = CompletionResult(
        tmp_path, said, P, open_to, np.array([0.3]), table, [], [], [], [], 1.0, S, [], [], {}, {}
    )
    assert result.neighbors_with(0, 0) == [3, 4, 1]
    assert result.neighbors_with(0, 0, count=1) == [3]
    assert result.neighbors_with(1, 0) == []
    assert result.items == ["0", "1", "2", "3", "4"]
    assert result.labels == ["sea"]
