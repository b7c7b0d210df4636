import pytest
from toys import low_rank_toy

from tagloom.errors import InvalidInputError
from tagloom.models import BinaryRelevance, FastTag, LeastSquares

TOY = low_rank_toy()


@pytest.mark.parametrize("kind", [LeastSquares, BinaryRelevance, FastTag])
def test_features_whose_squares_overflow_are_refused(kind):
    with pytest.raises(InvalidInputError, match="features are too large: the largest is"):
        kind().fit(TOY.X * 1e200, TOY.known)


@pytest.mark.parametrize("kind", [LeastSquares, BinaryRelevance])
@pytest.mark.parametrize("n_jobs", [0, 1.5, True])
def test_a_number_of_workers_that_cannot_be_is_refused(kind, n_jobs):
    with pytest.raises(InvalidInputError, match=r"'n_jobs' parameter of .* other than 0"):
        kind(n_jobs=n_jobs).fit(TOY.X, TOY.known)
