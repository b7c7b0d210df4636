import dask.array as da
import numpy as np
import pytest
from scipy import sparse

from tagloom import dask as tagloom_dask
from tagloom.dask import GraphBlocks, row_blocks
from tagloom.dask.graph import congruence
from tagloom.dask.pca import moments_of
from tagloom.errors import InvalidInputError
from tagloom.graph import laplacian, semantic_graph


@pytest.mark.parametrize("symmetrize", ["max", "mean", "min"])
@pytest.mark.parametrize("weight", ["dot", "cosine"])
def test_graph_equals_that_in_memory(client, rows, weight, symmetrize):
    expected = semantic_graph(rows, 4, weight=weight, symmetrize=symmetrize)
    blocks = da.from_array(rows, chunks=((37, 3, 50), 4))
    found = tagloom_dask.semantic_graph(
        blocks, 4, weight=weight, symmetrize=symmetrize, client=client
    )
    np.testing.assert_allclose(found.to_matrix().toarray(), expected.toarray(), atol=1e-12)


def test_congruence_is_x_l_x_with_columns_far_from_zero(client, rows):
    W = semantic_graph(rows, 4)
    X = rows + 1e5
    blocks = row_blocks(da.from_array(X, chunks=(25, 4)))
    graph = GraphBlocks.from_matrix(W, blocks.sizes)
    found = congruence(blocks, graph, moments_of(blocks, client).mean, client)
    expected = rows.T @ laplacian(sparse.csr_array(W)).toarray() @ rows
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_a_graph_in_other_partitions_is_refused(client, rows):
    blocks = row_blocks(da.from_array(rows, chunks=(45, 4)))
    graph = GraphBlocks.from_matrix(semantic_graph(rows, 4), (30, 60))
    with pytest.raises(InvalidInputError, match="partitions of X"):
        congruence(blocks, graph, np.zeros(4), client)
