"""The same estimators for data sets that do not fit on one machine, on a Dask cluster."""

from tagloom.dask.apg_graph import APGGraph
from tagloom.dask.blocks import RowBlocks, row_blocks
from tagloom.dask.graph import GraphBlocks, semantic_graph
from tagloom.dask.neighbors import NeighborBlocks, nearest_neighbors
from tagloom.dask.parquet import ParquetItems, write_parquet
from tagloom.dask.pca import PCA
from tagloom.dask.semantic_diffusion import SemanticDiffusion
from tagloom.dask.vision import Embedding, embed

__all__ = [
    "PCA",
    "APGGraph",
    "Embedding",
    "GraphBlocks",
    "NeighborBlocks",
    "ParquetItems",
    "RowBlocks",
    "SemanticDiffusion",
    "embed",
    "nearest_neighbors",
    "row_blocks",
    "semantic_graph",
    "write_parquet",
]
