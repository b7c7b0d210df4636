"""The same estimators for data sets that do not fit on one machine, on a Dask cluster."""

from tagloom.dask.apg_graph import APGGraph
from tagloom.dask.blocks import RowBlocks, row_blocks
from tagloom.dask.graph import GraphBlocks, NeighborBlocks, nearest_neighbors, semantic_graph
from tagloom.dask.parquet import ParquetItems, write_parquet
from tagloom.dask.pca import PCA
from tagloom.dask.vision import Embedding, embed

__all__ = [
    "PCA",
    "APGGraph",
    "Embedding",
    "GraphBlocks",
    "NeighborBlocks",
    "ParquetItems",
    "RowBlocks",
    "embed",
    "nearest_neighbors",
    "row_blocks",
    "semantic_graph",
    "write_parquet",
]
