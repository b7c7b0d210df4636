import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dask_problems import Problem
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tagloom import dask as tagloom_dask
from tagloom.dask import ParquetItems, row_blocks, write_parquet
from tagloom.dask.blocks import load_block, to_dask_array
from tagloom.dask.parquet import features_column, write_table
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels
from tagloom.models import APGGraph

NAMES = [f"label {j}" for j in range(9)]
LISTS = {"present": "present", "absent": "absent", "unlisted": "unknown"}


@pytest.fixture
def known():
    return PartialLabels.from_array(Problem().Y, labels=NAMES)


@pytest.fixture
def folder(tmp_path, known):
    write_parquet(tmp_path / "items", Problem().X, known, rows_per_file=50)
    return tmp_path / "items"


@pytest.mark.parametrize("keep", [True, False])
def test_fit_equals_that_in_memory(client, folder, known, keep):
    parameters = {"lam": 2.0, "ridge": 0.5, "gamma": 0.1, "tol": 1e-6, "solver": "admm"}
    problem = Problem()
    expected = APGGraph(**parameters).fit(problem.X, known, graph=problem.graph)
    items = ParquetItems(folder, **LISTS)
    found = tagloom_dask.APGGraph(**parameters)
    found.fit(items, graph=problem.graph, client=client, keep=keep)
    assert found.objective_ == pytest.approx(expected.objective_, rel=2e-6)
    assert found.classes_.tolist() == NAMES
    np.testing.assert_allclose(found.scores(items).compute(), found.to_local().scores(problem.X))


def test_grouping_files_in_one_task_does_not_change_the_sums(client, tmp_path, known):
    X = np.repeat(Problem().X, 2, axis=0)
    twice = known.take(np.repeat(np.arange(known.n_items), 2))
    write_parquet(tmp_path, X, twice, rows_per_file=10)
    items = ParquetItems(tmp_path, **LISTS, labels=NAMES)
    stop = {"callback": lambda line, M: line.iteration == 2, "client": client}
    grouped, single = (
        tagloom_dask.APGGraph(tol=0.0).fit(items, keep=keep, **stop) for keep in (False, True)
    )
    np.testing.assert_allclose(grouped.coef_, single.coef_, rtol=1e-9, atol=1e-12)


def test_columns_of_numbers_and_of_states_are_read(client, tmp_path):
    problem = Problem()
    columns = {f"x{j}": problem.X[:, j] for j in range(6)}
    columns |= {
        name: pa.array(column, from_pandas=True).cast(pa.bool_())
        for name, column in zip(NAMES, problem.Y.T, strict=True)
    }
    pq.write_table(pa.table(columns), tmp_path / "all.parquet", row_group_size=70)
    items = ParquetItems(tmp_path, features=[f"x{j}" for j in range(6)], label_columns=NAMES)
    assert row_blocks(items).sizes == (70, 70, 70, 30)
    np.testing.assert_array_equal(to_dask_array(items).compute(), problem.X)
    parts = [load_block(block) for block in items.label_blocks(tuple(NAMES))]
    found = np.vstack([part.to_array() for part in parts])
    np.testing.assert_array_equal(found, problem.Y)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(st.data())
def test_written_files_are_read_back(tmp_path_factory, data):
    n, c = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 4))
    states = st.lists(st.sampled_from([0.0, 1.0, np.nan]), min_size=c, max_size=c)
    Y = np.array(data.draw(st.lists(states, min_size=n, max_size=n)))
    names = data.draw(st.lists(st.text(min_size=1), min_size=c, max_size=c, unique=True))
    known = PartialLabels.from_array(Y, labels=names)
    folder = tmp_path_factory.mktemp("items")
    X = np.arange(2.0 * n).reshape(n, 2).astype(data.draw(st.sampled_from(["f4", "f8"])))
    write_parquet(folder, X, known, rows_per_file=data.draw(st.integers(1, n)))
    items = ParquetItems(folder, **LISTS)
    read = [load_block(block) for block in items.label_blocks(tuple(names))]
    np.testing.assert_array_equal(np.vstack([part.to_array() for part in read]), Y)
    rows = row_blocks(items)
    assert rows.dtype == X.dtype
    np.testing.assert_array_equal(np.vstack([load_block(block) for block in rows.blocks]), X)


def test_unlisted_labels_mean_what_is_declared(tmp_path):
    tags = PartialLabels.from_tags([["a"], ["b"]], unlisted="unknown")
    write_parquet(tmp_path, np.ones((2, 1)), tags)
    read = {
        unlisted: load_block(
            ParquetItems(tmp_path, present="present", unlisted=unlisted).label_blocks(("a", "b"))[0]
        ).to_array()
        for unlisted in ("unknown", "absent")
    }
    np.testing.assert_array_equal(read["unknown"], [[1, np.nan], [np.nan, 1]])
    np.testing.assert_array_equal(read["absent"], [[1, 0], [0, 1]])
    with pytest.raises(InvalidInputError, match="unlisted"):
        ParquetItems(tmp_path, present="present")


def _tables():
    good = {"features": [[1.0, 2.0]] * 2, "present": [["a"], []]}
    yield "no column 'features'", {"other": [1, 2]}
    yield "lists of 1 and of 2 numbers", good | {"features": [[1.0, 2.0], [1.0]]}
    yield r"row 1, place 0", good | {"features": [[1.0, 2.0], [np.nan, 1.0]]}
    yield "expected a list of numbers", good | {"features": ["x", "y"]}
    yield "lacks features", good | {"features": [[1.0, 2.0], None]}
    yield "row 1 lists 'z', which is none of the 1 labels", good | {"present": [["a"], ["z"]]}
    yield "without a name", good | {"present": [["a"], [None]]}
    yield "expected lists of names", good | {"present": [1, 2]}


@pytest.mark.parametrize(("message", "columns"), list(_tables()))
def test_errors_name_the_file(tmp_path, message, columns):
    pq.write_table(pa.table(columns), tmp_path / "bad.parquet")
    items = ParquetItems(tmp_path, present="present", unlisted="absent")
    with pytest.raises(InvalidInputError, match=rf"bad\.parquet.*{message}"):
        [load_block(b) for b in (*row_blocks(items).blocks, *items.label_blocks(("a",)))]


def test_a_file_of_another_width_is_named(tmp_path):
    for name, width in (("a", 2), ("b", 3)):
        pq.write_table(pa.table({"features": [[1.0] * width]}), tmp_path / f"{name}.parquet")
    with pytest.raises(InvalidInputError, match=r"b\.parquet.*expected 2 numbers.*found 3"):
        [load_block(block) for block in row_blocks(ParquetItems(tmp_path)).blocks]


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(InvalidInputError, match=r"x\.parquet cannot be read as parquet"):
        row_blocks(ParquetItems(tmp_path))


@pytest.mark.parametrize("keep_time", [True, False])
def test_a_file_replaced_between_passes_is_refused(client, folder, known, keep_time):
    last = sorted(folder.iterdir())[-1]
    before = last.stat()

    def replace_file(line, M):
        if line.iteration == 1:
            table = pq.read_table(last)
            rows = np.stack(table["features"].to_pylist())
            columns = {name: table[name].combine_chunks() for name in ("present", "absent")}
            write_table(last, {"features": features_column(rows[::-1] * 2), **columns})
            if keep_time:
                os.utime(last, ns=(before.st_atime_ns, before.st_mtime_ns))

    model = tagloom_dask.APGGraph(tol=0.0, max_iter=20)
    items = ParquetItems(folder, **LISTS, labels=NAMES)
    with pytest.raises(InvalidInputError, match=f"{last.name} was changed while it was in use"):
        model.fit(items, client=client, keep=False, callback=replace_file)


def test_errors_in_tasks_reach_the_caller(client, tmp_path):
    pq.write_table(
        pa.table({"features": [[1.0]], "present": [["a"]], "absent": [["a"]]}),
        tmp_path / "x.parquet",
    )
    with pytest.raises(InvalidInputError, match=r"x\.parquet.*contradict"):
        tagloom_dask.APGGraph().fit(ParquetItems(tmp_path, **LISTS), client=client)


@pytest.mark.parametrize("missing", ["nowhere", "empty"])
def test_folders_without_files_are_refused(tmp_path, missing):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInputError, match=missing):
        row_blocks(ParquetItems(tmp_path / missing))


def test_labels_that_lists_cannot_express_are_not_written(tmp_path):
    tags = PartialLabels.from_tags([["a"], ["b"]], unlisted="absent")
    with pytest.raises(InvalidInputError, match="cannot express that"):
        write_parquet(tmp_path, np.ones((2, 1)), tags.with_hidden([0], [1]))
    weighted = PartialLabels.from_array([[1.0]], weights=[[2.0]])
    with pytest.raises(InvalidInputError, match="weight other than 1"):
        write_parquet(tmp_path, np.ones((1, 1)), weighted)
