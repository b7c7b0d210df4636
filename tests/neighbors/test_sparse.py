import numpy as np

from tagloom.neighbors import nearest_neighbors, neighbor_table


def test_a_table_leaves_the_neighbors_as_they_are():
    found = nearest_neighbors(np.random.default_rng(0).normal(size=(40, 3)), 5)
    indices, values = found.indices.copy(), np.exp(-found.distances)
    before = values.copy()
    table = neighbor_table(values, found.indices, 40)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_array_equal(values, before)
    rows = np.repeat(np.arange(40), 5)
    np.testing.assert_array_equal(table.toarray()[rows, indices.ravel()], values.ravel())
