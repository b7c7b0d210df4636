"""Beyond one machine: the same objective on Dask, for rows that no worker holds together."""

from tagloom.dask.apg_graph import ClusterAPGGraph
from tagloom.dask.blocks import RowBlocks, row_blocks
from tagloom.dask.embedding import ClusterEmbedding, cluster_embed
from tagloom.dask.neighbors import GraphBlocks, NeighborBlocks, cluster_graph, cluster_neighbors
from tagloom.dask.parquet import ParquetItems, write_parquet
from tagloom.dask.pca import ClusterPCA

__all__ = [
    "ClusterAPGGraph",
    "ClusterEmbedding",
    "ClusterPCA",
    "GraphBlocks",
    "NeighborBlocks",
    "ParquetItems",
    "RowBlocks",
    "cluster_embed",
    "cluster_graph",
    "cluster_neighbors",
    "row_blocks",
    "write_parquet",
]
