import numpy as np
import pandas as pd
import pytest

from tagloom.errors import InvalidInputError
from tagloom.vision import load_features

VISUAL = np.arange(6, dtype=np.float32).reshape(2, 3)
POSTERIORS = np.array([[0.25, 0.75], [0.5, 0.5]], dtype=np.float32)


def check(features):
    assert features.items == ["a.jpg", "b.jpg"]
    assert features.concepts == ["cat", "dog"]
    np.testing.assert_array_equal(features.visual, VISUAL)
    np.testing.assert_array_equal(features.posteriors, POSTERIORS)


def wide():
    table = pd.DataFrame({"item": ["a.jpg", "b.jpg"]})
    for column in range(3):
        table[f"visual:{column}"] = VISUAL[:, column]
    table["posterior:cat"], table["posterior:dog"] = POSTERIORS.T
    return table


def nested():
    columns = {"item": ["a.jpg", "b.jpg"], "visual": list(VISUAL), "posteriors": list(POSTERIORS)}
    return pd.DataFrame(columns)


def test_a_table_with_a_column_per_number():
    check(load_features(wide()))
    check(load_features(wide().set_index("item")))


def test_a_table_with_lists():
    check(load_features(nested(), concepts=["cat", "dog"]))


def test_a_parquet_file(tmp_path):
    wide().to_parquet(tmp_path / "wide.parquet")
    check(load_features(tmp_path / "wide.parquet"))
    nested().to_parquet(tmp_path / "nested.parquet")
    check(load_features(str(tmp_path / "nested.parquet"), concepts=["cat", "dog"]))


def test_posteriors_are_optional():
    features = load_features(wide()[["item", "visual:0"]])
    assert features.posteriors.shape == (2, 0)
    assert features.concepts == []


def test_a_npz_of_ones_own(tmp_path):
    arrays = {"items": ["a.jpg", "b.jpg"], "visual": VISUAL, "posteriors": POSTERIORS}
    np.savez(tmp_path / "own.npz", **arrays)
    check(load_features(tmp_path / "own.npz", concepts=["cat", "dog"]))
    with pytest.raises(InvalidInputError, match=r"own\.npz does not name its concepts"):
        load_features(tmp_path / "own.npz")


def test_logits_are_refused():
    table = wide().assign(**{"posterior:dog": [0.5, 7.5]})
    with pytest.raises(
        InvalidInputError, match=r"item 'b\.jpg' has 7\.5 for 'dog'\. Apply a softmax"
    ):
        load_features(table)


def test_no_pickle_is_loaded(tmp_path):
    np.savez(tmp_path / "evil.npz", items=np.array([{}], dtype=object), visual=VISUAL)
    with pytest.raises(
        InvalidInputError, match=r"evil\.npz cannot be read as a \.npz file of plain"
    ):
        load_features(tmp_path / "evil.npz")


@pytest.mark.parametrize("name", ["bad.npz", "bad.parquet", "bad.csv"])
@pytest.mark.parametrize("content", [b"", b"noise", b"PK\x03\x04noise", b"PAR1noise"])
def test_a_file_of_another_kind_is_named(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInputError, match=f"{name} cannot be read"):
        load_features(tmp_path / name)


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(InvalidInputError, match="There is no file of features"):
        load_features(tmp_path / "gone.npz")
    with pytest.raises(InvalidInputError, match=r"the table has no 'visual'\. It holds: items"):
        load_features(wide()[["item"]])
    np.savez(tmp_path / "own.npz", visual=VISUAL)
    with pytest.raises(InvalidInputError, match=r"own\.npz has no 'items'. It holds: visual"):
        load_features(tmp_path / "own.npz")


def test_lists_of_different_length_are_refused():
    table = pd.DataFrame({"item": ["a", "b"], "visual": [[1.0], [1.0, 2.0]]})
    with pytest.raises(InvalidInputError, match="list of the same length in every row"):
        load_features(table)
