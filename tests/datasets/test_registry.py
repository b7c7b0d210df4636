import sys
import types

import numpy as np
import pytest
from layouts import coco_captions, corel5k, lear, mirflickr, openclipart, picture, voc2007

from tagloom.datasets import Dataset, open_dataset
from tagloom.datasets.registry import KINDS
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels


def test_each_kind_opens_its_layout(tmp_path):
    states = {"trainval": {"1": [1] * 20}, "test": {"2": [-1] * 20}}
    voc2007(tmp_path, states)
    for name in ("espgame", "iaprtc12"):
        lear(tmp_path / name, name, {"train": {"a": [1]}, "test": {"b": [0]}}, ["x"])
    mirflickr(tmp_path / "mir", 2, {})
    corel5k(tmp_path / "corel", [("1", [1])], [("2", [1])], ["x"], stored=False)
    coco_captions(tmp_path / "coco", [[1, 0, 1]] * 4, [[1, 0]] * 4)
    openclipart(tmp_path / "art", {"a": ["x"], "b": ["x"]})
    np.savez(tmp_path / "m.npz", X=np.ones((4, 1)), Y=np.eye(4))
    for name in ("a", "b"):
        picture(tmp_path / "own" / f"{name}.jpg")
    (tmp_path / "own/labels.csv").write_text("image,tags\na.jpg,x|y\nb.jpg,y\n")
    specs = {
        f"voc2007:{tmp_path}?check_counts=false": "VOC 2007",
        f"espgame:{tmp_path}/espgame?check_counts=False": "ESP Game",
        f"iaprtc12:{tmp_path}/iaprtc12?check_counts=false": "IAPR TC-12",
        f"mirflickr25k:{tmp_path}/mir?check_counts=false&split=halves": "MIRFlickr-25K",
        f"corel5k:{tmp_path}/corel?check_counts=false&features=none": "Corel5k",
        f"coco_captions:{tmp_path}/coco?test_share=0.5": "COCO captions",
        f"openclipart:{tmp_path}/art?min_count=2&unlisted=unknown&left_out=hash,y": "Open Clip Art",
        f"mulan:{tmp_path}/m.npz": "m",
        f"folder:{tmp_path}/own?unlisted=absent&separator=|": "own",
    }
    assert {spec.partition(":")[0] for spec in specs} == set(KINDS) - {"scenes"}
    for spec, name in specs.items():
        assert open_dataset(spec).name == name


def test_options_arrive(tmp_path):
    np.savez(tmp_path / "a?b.npz", X=np.ones((10, 1)), Y=np.ones((10, 1)))
    assert len(open_dataset(f"mulan:{tmp_path}/a?b.npz").test) == 2
    assert len(open_dataset(f"mulan:{tmp_path}/a?b.npz?test_share=0.5").test) == 5


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("coco:/data", "Unknown kind of data set 'coco'.*voc2007, espgame, .*folder, scenes"),
        ("", "Unknown kind"),
        ("mulan", "has no path. Write mulan:PATH"),
        ("mulan:", "has no path"),
        ("mulan:x.npz?colour=red", "Unknown option 'colour' of mulan. It has 'test_share'"),
        ("mulan:x.npz?random_state=red", "random_state of mulan cannot be 'red'"),
        ("voc2007:x?check_counts=maybe", "expected true or false"),
        ("mulan:nowhere.npz", r"nowhere\.npz is missing"),
    ],
)
def test_bad_specs_are_refused(spec, problem):
    with pytest.raises(InvalidInputError, match=problem):
        open_dataset(spec)


def test_scenes_are_imported_late_by_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "tagloom.datasets.scenes", None)
    with pytest.raises(InvalidInputError, match="'scenes' cannot be opened here"):
        open_dataset("scenes:5")
    module = types.ModuleType("tagloom.datasets.scenes")
    truth = PartialLabels.from_array(np.eye(2), items=["a", "b"])
    module.open_scenes = lambda text: Dataset(f"<{text}>", truth, [0], [1])
    monkeypatch.setitem(sys.modules, "tagloom.datasets.scenes", module)
    assert open_dataset("scenes").name == "<>"
    assert open_dataset("scenes:30").name == "<30>"
