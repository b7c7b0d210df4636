import numpy as np

from tagloom.datasets import small_scenes


def test_same_seed_same_set_and_every_label_occurs():
    first, second = small_scenes(random_state=3), small_scenes(random_state=3)
    np.testing.assert_array_equal(first.X, second.X)
    assert first.truth == second.truth
    assert first.truth.is_complete
    assert first.truth.counts().present.min() >= 20
    assert small_scenes(random_state=4).truth != first.truth
