"""Beyond one machine: the same objective on Dask, for rows that no worker holds together."""

from tagloom.cluster.apg_graph import ClusterAPGGraph
from tagloom.cluster.blocks import RowBlocks, row_blocks
from tagloom.cluster.embedding import ClusterEmbedding, cluster_embed
from tagloom.cluster.graph import GraphBlocks, cluster_graph
from tagloom.cluster.neighbours import NeighbourBlocks, cluster_neighbours
from tagloom.cluster.parquet import ParquetItems
from tagloom.cluster.parquet_writing import write_parquet
from tagloom.cluster.pca import ClusterPCA

__all__ = [
    "ClusterAPGGraph",
    "ClusterEmbedding",
    "ClusterPCA",
    "GraphBlocks",
    "NeighbourBlocks",
    "ParquetItems",
    "RowBlocks",
    "cluster_embed",
    "cluster_graph",
    "cluster_neighbours",
    "row_blocks",
    "write_parquet",
]
