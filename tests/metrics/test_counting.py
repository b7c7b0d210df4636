import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tagloom.metrics import counted_by_cells, counted_by_sorting

dtypes = st.sampled_from([np.float32, np.float64])


@st.composite
def lines(draw):
    """Scores of every size, ties and unknown (-infinity) among them; some are presences."""
    dtype = np.dtype(draw(dtypes))
    finite = st.floats(allow_nan=False, allow_infinity=False, width=8 * dtype.itemsize)
    few = st.sampled_from([-np.inf, -1.0, 0.0, 1.0, 1.5, float(np.finfo(dtype).max)])
    scores = draw(arrays(dtype, st.integers(1, 40), elements=st.one_of(finite, few)))
    known = np.flatnonzero(np.isfinite(scores))
    if not len(known):
        scores[0], known = 0, np.array([0])
    chosen = draw(st.sets(st.sampled_from(known.tolist()), min_size=1))
    return scores, np.sort(scores[sorted(chosen)])


@pytest.mark.parametrize("counted", [counted_by_cells, counted_by_sorting])
@given(line=lines())
def test_counts_are_those_of_plain_comparison(counted, line):
    scores, presences = line
    expected = [int(np.sum(scores >= presence)) for presence in presences]
    assert counted(scores, presences).tolist() == expected


@given(seed=st.integers(0, 1000), dtype=dtypes)
def test_cells_agree_with_sorting_where_many_scores_share_one(seed, dtype):
    rng = np.random.default_rng(seed)
    scores = rng.standard_cauchy(size=400).astype(dtype).round(seed % 5)
    presences = np.sort(rng.choice(scores, 30))
    np.testing.assert_array_equal(
        counted_by_cells(scores, presences), counted_by_sorting(scores, presences)
    )
