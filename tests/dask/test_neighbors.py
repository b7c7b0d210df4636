import dask.array as da
import numpy as np
import pytest

from tagloom import dask as tagloom_dask
from tagloom.dask.blocks import compute, task
from tagloom.dask.neighbors import exchange, k_means
from tagloom.errors import InvalidInputError
from tagloom.neighbors import nearest_neighbors


@pytest.fixture
def many_rows(rng):
    """Rows near a surface, as features are, in no order."""
    latent = rng.normal(size=(1500, 3))
    return np.tanh(latent @ rng.normal(size=(3, 12))) + 0.05 * rng.normal(size=(1500, 12))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_neighbors_equal_those_in_memory(client, rows, metric):
    expected = nearest_neighbors(rows, 5, metric=metric)
    blocks = da.from_array(rows, chunks=((37, 3, 50), 4))
    found = tagloom_dask.nearest_neighbors(blocks, 5, metric=metric, client=client)
    np.testing.assert_array_equal(found.indices.compute(), expected.indices)
    np.testing.assert_allclose(found.distances.compute(), expected.distances, atol=1e-12)
    assert found.recall == 1


def test_neighbors_of_queries_equal_those_in_memory(client, rows, rng):
    queries = rng.normal(size=(31, 4))
    expected = nearest_neighbors(rows, 5, queries)
    blocks = da.from_array(rows, chunks=((37, 3, 50), 4))
    found = tagloom_dask.nearest_neighbors(
        blocks, 5, da.from_array(queries, chunks=(20, 4)), client=client
    )
    np.testing.assert_array_equal(found.indices.compute(), expected.indices)


def test_as_many_neighbors_as_rows_are_refused(client, rows):
    with pytest.raises(InvalidInputError, match="from 1 to 89"):
        tagloom_dask.nearest_neighbors(da.from_array(rows, chunks=(45, 4)), 90, client=client)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_inverted_file_finds_the_share_that_it_reports(client, many_rows, metric):
    expected = nearest_neighbors(many_rows, 6, metric=metric)
    blocks = da.from_array(many_rows, chunks=(400, -1))
    how = {"metric": metric, "algorithm": "approximate", "client": client}
    found = tagloom_dask.nearest_neighbors(blocks, 6, **how)
    indices, distances = found.indices.compute(), found.distances.compute()
    hits = [len(np.intersect1d(*pair)) for pair in zip(expected.indices, indices, strict=True)]
    assert np.mean(hits) / 6 == pytest.approx(found.recall, abs=0.02)
    assert found.recall > 0.93
    # What is found is right: no row twice, none its own neighbour, true distances in order.
    assert all(len(set(row)) == 6 and n not in row for n, row in enumerate(indices))
    far = expected.distances[:, -1]
    assert (distances[:, -1] >= far - 1e-9).all()
    again = tagloom_dask.nearest_neighbors(blocks, 6, **how)
    np.testing.assert_array_equal(again.indices.compute(), indices)


def test_inverted_file_for_queries_finds_nearly_all(client, many_rows):
    base, queries = many_rows[:1200], many_rows[1200:]
    expected = nearest_neighbors(base, 6, queries).indices
    blocks = [da.from_array(part, chunks=(300, -1)) for part in (base, queries)]
    found = tagloom_dask.nearest_neighbors(
        blocks[0], 6, blocks[1], algorithm="approximate", client=client
    )
    hits = [
        len(np.intersect1d(*pair)) for pair in zip(expected, found.indices.compute(), strict=True)
    ]
    assert np.mean(hits) / 6 > 0.93


def test_inverted_file_of_equal_rows_has_one_cell(client):
    rows = da.ones((60, 3), chunks=(25, 3))
    found = tagloom_dask.nearest_neighbors(rows, 4, algorithm="approximate", client=client)
    indices = found.indices.compute()
    assert all(len(set(row)) == 4 and n not in row for n, row in enumerate(indices))
    assert (found.distances.compute() == 0).all()


def test_k_means_finds_separate_groups(rng):
    middles = 100 * np.eye(3)
    rows = np.repeat(middles, 30, axis=0) + rng.normal(size=(90, 3))
    centres = k_means(rows[rng.permutation(90)], 3, random_state=2)
    found = centres[np.argsort(-centres @ [3, 2, 1])]
    np.testing.assert_allclose(found, middles, atol=1)


@pytest.mark.parametrize(("n_senders", "n_receivers"), [(1, 1), (5, 3), (3, 7)])
def test_exchange_delivers_everything_in_order(client, n_senders, n_receivers):
    senders = [task(list, [[f"{a} to {b}"] for b in range(n_receivers)]) for a in range(n_senders)]
    received = compute(client, task(list, exchange(senders, n_receivers)))
    expected = [[f"{a} to {b}" for a in range(n_senders)] for b in range(n_receivers)]
    assert received == expected
