"""Nothing of the user's is overwritten or removed by a benchmark."""

import pytest
from toy_sets import RIDGE, make_dataset, small

from tagloom.benchmark.plan import plan_benchmark
from tagloom.benchmark.run import run_plan
from tagloom.errors import TagloomError


@pytest.mark.parametrize("name", ["labels.csv", "work/thesis.txt", "config.json"])
def test_a_folder_in_which_others_keep_things_is_refused_untouched(tmp_path, name):
    theirs = tmp_path / "theirs" / name
    theirs.parent.mkdir(parents=True)
    theirs.write_text("{}")
    with pytest.raises(TagloomError, match="not empty and no benchmark has written to it"):
        run_plan(plan_benchmark(small(tmp_path / "theirs"), make_dataset(), [RIDGE]))
    assert theirs.read_text() == "{}"
    assert [path for path in (tmp_path / "theirs").rglob("*") if path.is_file()] == [theirs]


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(TagloomError, match="out"):
        run_plan(plan_benchmark(small(tmp_path / "out"), make_dataset(), [RIDGE]))
