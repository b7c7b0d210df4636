"""Data sets for experiments: loaders of published ones, and generated scenes."""

from tagloom.datasets.base import Dataset
from tagloom.datasets.coco_captions import load_coco_captions
from tagloom.datasets.corel5k import load_corel5k
from tagloom.datasets.folder import load_folder
from tagloom.datasets.lear import load_espgame, load_iaprtc12, load_lear
from tagloom.datasets.mirflickr import load_mirflickr25k
from tagloom.datasets.mulan import load_mulan
from tagloom.datasets.openclipart import load_openclipart
from tagloom.datasets.registry import open_dataset
from tagloom.datasets.voc2007 import load_voc2007

__all__ = [
    "Dataset",
    "load_coco_captions",
    "load_corel5k",
    "load_espgame",
    "load_folder",
    "load_iaprtc12",
    "load_lear",
    "load_mirflickr25k",
    "load_mulan",
    "load_openclipart",
    "load_voc2007",
    "open_dataset",
]
