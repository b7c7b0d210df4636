import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toys import low_rank_toy

from tagloom.errors import InvalidInputError, ModelFileError
from tagloom.labels import PartialLabels
from tagloom.models import APGGraph, LeastSquares, Maxide, SemanticDiffusion
from tagloom.persistence import codecs, read_metadata
from tagloom.persistence import container as saving

TOY = low_rank_toy()
NEW = np.random.default_rng(7).normal(size=(9, TOY.X.shape[1]))


def there_and_back(model, tmp_path):
    model.save(tmp_path / "m")
    return type(model).load(tmp_path / "m")


def assert_same(loaded, model, X=TOY.X, new=NEW, known=TOY.known):
    np.testing.assert_array_equal(loaded.scores(new), model.scores(new))
    np.testing.assert_array_equal(loaded.scores(X), model.scores(X))
    np.testing.assert_array_equal(loaded.training_scores(X), model.training_scores(X))
    np.testing.assert_array_equal(loaded.predict(new), model.predict(new))
    np.testing.assert_array_equal(loaded.complete(X, known), model.complete(X, known))
    one, other = loaded.affinities(new), model.affinities(new)
    np.testing.assert_array_equal(one.toarray(), other.toarray())
    assert loaded.scores(new).dtype == model.scores(new).dtype


@pytest.mark.parametrize("n_passes", [1, 2, 3])
@pytest.mark.parametrize("lam", [0.0, 0.5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_round_trip_is_exact(n_passes, lam, dtype, tmp_path):
    X = TOY.X.astype(dtype)
    model = SemanticDiffusion(lam, n_passes=n_passes, n_neighbors=6).fit(X, TOY.known)
    loaded = there_and_back(model, tmp_path)
    assert_same(loaded, model, X, NEW.astype(dtype))
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.graph_.toarray(), model.graph_.toarray())
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    assert loaded.n_iter_ == model.n_iter_


@pytest.mark.parametrize("kernel", ["rbf", "rational_quadratic"])
def test_a_kernel_comes_along(kernel, tmp_path):
    model = SemanticDiffusion(kernel=kernel, ridge=0.4, n_components=20).fit(TOY.X, TOY.known)
    loaded = there_and_back(model, tmp_path)
    assert_same(loaded, model)
    assert loaded.get_params() == model.get_params()


def test_the_ridge_of_an_older_file_keeps_its_strength(tmp_path, monkeypatch):
    """Its features were scaled, here by 2, and the ridge is in proportion to their square."""
    model = SemanticDiffusion(kernel="rbf", ridge=0.4).fit(TOY.X, TOY.known)
    serialize = codecs._serialize_kernel

    def as_before(kernel_map):
        arrays, metadata = serialize(kernel_map)
        arrays["projection"] = 2 * arrays["projection"]
        return codecs.Serialized(arrays, {"gamma": metadata["gamma"]})

    monkeypatch.setattr(codecs, "_serialize_kernel", as_before)
    assert there_and_back(model, tmp_path).ridge == pytest.approx(0.1, rel=1e-5)


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    shrinkage=st.sampled_from([0.01, 1.0, np.inf, np.float32(0.3)]),
    smoothing=st.sampled_from([0, 0.0, 0.5, 0.9]),
    metric=st.sampled_from(["euclidean", "cosine"]),
    unlisted=st.sampled_from([0.0, 0.2]),
)
def test_any_parameters_survive(shrinkage, smoothing, metric, unlisted, tmp_path):
    entries = TOY.known.entries()
    known = PartialLabels.from_entries(
        entries.rows,
        entries.columns,
        entries.present,
        shape=TOY.known.shape,
        unlisted_weight=unlisted,
    )
    model = SemanticDiffusion(
        shrinkage=shrinkage, smoothing=smoothing, metric=metric, n_neighbors=4
    )
    assert_same(there_and_back(model.fit(TOY.X, known), tmp_path), model)


def test_without_any_graph_nothing_but_the_linear_part_is_kept(tmp_path):
    model = SemanticDiffusion(shrinkage=np.inf, smoothing=0).fit(TOY.X, TOY.known)
    loaded = there_and_back(model, tmp_path)
    assert_same(loaded, model)
    assert loaded.graph_ is None
    assert loaded.shrinkage == np.inf


def test_names_and_single_columns_are_kept(tmp_path):
    X = pd.DataFrame(TOY.X).add_prefix("f")
    Y = pd.DataFrame(TOY.known.to_array()).add_prefix("label ")
    model = SemanticDiffusion().fit(X, Y)
    loaded = there_and_back(model, tmp_path)
    pd.testing.assert_frame_equal(loaded.scores(X), model.scores(X), check_exact=True)
    one = SemanticDiffusion().fit(TOY.X, np.array(["no", "yes"] * 60))
    np.testing.assert_array_equal(there_and_back(one, tmp_path).predict(NEW), one.predict(NEW))


def test_a_loaded_model_can_be_fitted_again(tmp_path):
    model = SemanticDiffusion(warm_start=True).fit(TOY.X, TOY.known)
    loaded = there_and_back(model, tmp_path).set_params(shrinkage=0.7).fit(TOY.X, TOY.known)
    fresh = SemanticDiffusion(shrinkage=0.7).fit(TOY.X, TOY.known)
    np.testing.assert_array_equal(loaded.scores(NEW), fresh.scores(NEW))


def test_least_squares_is_saved_alike(tmp_path):
    model = LeastSquares(0.3).fit(TOY.X, TOY.known)
    loaded = there_and_back(model, tmp_path)
    np.testing.assert_array_equal(loaded.scores(NEW), model.scores(NEW))


@pytest.fixture
def path(tmp_path):
    SemanticDiffusion(n_neighbors=5).fit(TOY.X, TOY.known).save(tmp_path / "m")
    return tmp_path / "m"


def test_damage_is_refused(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelFileError, match="not a readable model file"):
        SemanticDiffusion.load(path)
    altered = bytearray(content)
    altered[-3] ^= 1
    path.write_bytes(altered)
    with pytest.raises(ModelFileError, match="altered or damaged"):
        SemanticDiffusion.load(path)


def test_other_kinds_are_refused(path, tmp_path):
    with pytest.raises(ModelFileError, match="holds a SemanticDiffusion; expected a APGGraph"):
        APGGraph.load(path)


@pytest.mark.parametrize("missing", ["rows", "pass1/residuals", "pass0/S/indices", "link0/F"])
def test_missing_parts_are_refused(path, missing):
    arrays, metadata = saving.read_model(path, "SemanticDiffusion")
    del arrays[missing]
    saving.write_model(path, "SemanticDiffusion", arrays, metadata)
    with pytest.raises(ModelFileError, match="lacks or misstates a part"):
        SemanticDiffusion.load(path)


def test_positions_outside_a_graph_are_refused(path):
    arrays, metadata = saving.read_model(path, "SemanticDiffusion")
    arrays["pass0/S/indices"] = arrays["pass0/S/indices"] + 1000
    saving.write_model(path, "SemanticDiffusion", arrays, metadata)
    with pytest.raises(ModelFileError, match="lacks or misstates a part"):
        SemanticDiffusion.load(path)


def test_the_header_is_read_alone(path):
    header = read_metadata(path)
    assert (header.kind, header.protocol) == ("SemanticDiffusion", saving.PROTOCOL)
    assert (header.n_items, header.n_labels, header.n_features) == (120, 8, 10)
    assert header.parameters["n_neighbors"] == 5
    assert header.n_bytes == path.stat().st_size
    assert "numpy" in header.versions


def test_the_header_of_a_damaged_foreign_or_missing_file_is_refused(path, tmp_path):
    with pytest.raises(ModelFileError, match="There is no model file at"):
        read_metadata(tmp_path / "nowhere")
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ModelFileError, match="not a readable model file"):
        read_metadata(path)
    (tmp_path / "text").write_text("a,b\n1,2\n")
    with pytest.raises(ModelFileError, match="not a readable model file"):
        read_metadata(tmp_path / "text")


def test_arrays_keep_their_order_in_memory(tmp_path):
    arrays = {
        "rows": np.arange(6.0).reshape(2, 3),
        "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "every other": np.arange(12.0).reshape(4, 3)[::2],
    }
    saving.write_model(tmp_path / "m", "Some", arrays, {})
    back = saving.read_model(tmp_path / "m", "Some").arrays
    for name, array in arrays.items():
        np.testing.assert_array_equal(back[name], array)
    assert back["columns"].flags.f_contiguous
    assert not back["columns"].flags.c_contiguous


def test_parameters_that_json_cannot_hold_are_refused(tmp_path):
    model = SemanticDiffusion().fit(TOY.X, TOY.known).set_params(algorithm={1, 2})
    with pytest.raises(InvalidInputError, match="cannot be saved"):
        model.save(tmp_path / "m")


def test_learners_that_cannot_be_saved_name_those_that_can(tmp_path):
    with pytest.raises(InvalidInputError, match=r"A Maxide cannot be saved\. .*SemanticDiffusion"):
        Maxide().fit(TOY.X, TOY.known).save(tmp_path / "m")
    assert not (tmp_path / "m").exists()
