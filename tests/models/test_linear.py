import pytest
from toys import low_rank_toy

from tagloom.errors import InvalidInputError
from tagloom.models import BinaryRelevance, FastTag, LeastSquares

TOY = low_rank_toy()


@pytest.mark.parametrize("kind", [LeastSquares, BinaryRelevance, FastTag])
def test_features_whose_squares_overflow_are_refused(kind):
    with pytest.raises(InvalidInputError, match="features are too large: the largest is"):
        kind().fit(TOY.X * 1e200, TOY.known)
