import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from toy_scenes import KNOWN, NEW, TRAIN, TRUTH, features_of

from tagloom.errors import InvalidInputError, ModelFileError
from tagloom.labels import PartialLabels
from tagloom.models import (
    APGGraph,
    KNeighborsTagger,
    LeastSquares,
    SemanticDiffusion,
    Trial,
)
from tagloom.persistence import container as saving
from tagloom.persistence import read_metadata
from tagloom.semantics import ConceptSelector, LocalDescriptor, SemanticDescriptor
from tagloom.tagger import SemanticTagger
from tagloom.vision import Encoder, Features, Framing
from tagloom.vision.encoders.base import fingerprint
from tagloom.vision.encoders.registry import rebuild_encoder

LEARNERS = {
    "tuned": "diffusion",
    "diffusion": SemanticDiffusion(n_neighbors=8, shrinkage=0.2, n_passes=3),
    "linear": SemanticDiffusion(shrinkage=np.inf, smoothing=0.0),
    "paper": APGGraph(lam=1.0, gamma=0.01, ridge=1.0),
    "ridge": LeastSquares(2.0),
}


@pytest.fixture(scope="module", params=LEARNERS)
def tagger(request):
    return SemanticTagger(LEARNERS[request.param]).fit(features_of(TRAIN), KNOWN)


def there_and_back(tagger, folder):
    tagger.save(folder / "model.tagloom")
    return SemanticTagger.load(folder / "model.tagloom")


def assert_same(loaded, tagger, new=None):
    new = features_of(NEW) if new is None else new
    np.testing.assert_array_equal(loaded.scores(), tagger.scores())
    np.testing.assert_array_equal(loaded.scores(new), tagger.scores(new))
    assert loaded.suggest() == tagger.suggest()
    assert loaded.suggest(new, 3) == tagger.suggest(new, 3)
    for row, column in ((0, 0), (7, 5)):
        label = tagger.classes_[column]
        item = tagger.items_[row]
        assert loaded.explain(item, label) == tagger.explain(item, label)
        item = new.items[row]
        assert loaded.explain(item, label, new) == tagger.explain(item, label, new)


def test_a_loaded_tagger_answers_with_the_same_bits(tagger, tmp_path):
    loaded = there_and_back(tagger, tmp_path)
    assert_same(loaded, tagger)
    assert (loaded.items_, loaded.classes_) == (tagger.items_, tagger.classes_)
    assert loaded.known_ == tagger.known_
    assert loaded.alignment_[1:] == tagger.alignment_[1:]
    np.testing.assert_array_equal(loaded.graph_.toarray(), tagger.graph_.toarray())


def test_parameters_and_the_record_of_the_search_come_along(tagger, tmp_path):
    loaded = there_and_back(tagger, tmp_path)
    assert repr(loaded.get_params()) == repr(tagger.get_params())
    if tagger.tuning_ is None:
        assert loaded.tuning_ is None
    else:
        assert loaded.tuning_.best == tagger.tuning_.best
        assert loaded.tuning_.trials == tagger.tuning_.trials
        assert loaded.tuning_.model is loaded.learner_


def test_what_is_loaded_and_saved_again_is_the_same(tagger, tmp_path):
    there_and_back(tagger, tmp_path).save(tmp_path / "again")
    paths = tmp_path / "model.tagloom", tmp_path / "again"
    first, again = (saving.read_model(path, "SemanticTagger") for path in paths)
    assert again.metadata == first.metadata
    assert again.arrays.keys() == first.arrays.keys()
    for name, array in first.arrays.items():
        np.testing.assert_array_equal(again.arrays[name], array)
        assert again.arrays[name].dtype == array.dtype
        assert again.arrays[name].flags.c_contiguous == array.flags.c_contiguous


@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    concepts=st.sampled_from([None, "drop", ConceptSelector(4)]),
    local=st.sampled_from([LocalDescriptor(9, n_components=5), LocalDescriptor(pooling="paper")]),
    scaling=st.sampled_from([None, "norm"]),
    unlisted=st.sampled_from(["unknown", 0.3, "absent"]),
    n_components=st.sampled_from([0.5, 0.9, None]),
    named=st.booleans(),
)
def test_any_descriptor_and_any_labels(
    concepts, local, scaling, unlisted, n_components, named, tmp_path
):
    features = features_of(TRAIN)
    names = [f"ü{j}" for j in range(TRUTH.shape[1])]
    tags = [[names[j] for j in np.flatnonzero(row)] for row in TRUTH[:80]]
    known = PartialLabels.from_tags(
        dict(zip(features.items, tags, strict=False)), unlisted=unlisted, labels=names
    )
    if not named:
        known = PartialLabels.from_array(TRUTH[TRAIN])
    learner = SemanticDiffusion(n_neighbors=5, on_unlearnable="ignore")
    descriptor = SemanticDescriptor(0, concepts=concepts, local=local, scaling=scaling)
    tagger = SemanticTagger(learner, descriptor=descriptor, n_components=n_components).fit(
        features, known
    )
    assert_same(there_and_back(tagger, tmp_path), tagger)


@pytest.mark.parametrize("side", ["visual", "posteriors"])
def test_features_of_one_kind_only(side, tmp_path):
    def half(rows):
        whole = features_of(rows)
        nothing = np.empty((len(whole), 0))
        if side == "visual":
            return Features(whole.items, whole.visual, nothing, [])
        return Features(whole.items, nothing, whole.posteriors, whole.concepts)

    tagger = SemanticTagger(SemanticDiffusion(n_neighbors=5)).fit(half(TRAIN), KNOWN)
    assert_same(there_and_back(tagger, tmp_path), tagger, half(NEW))


def test_trials_that_could_not_be_judged_are_kept(tmp_path):
    tagger = SemanticTagger().fit(features_of(TRAIN), KNOWN)
    tagger.tuning_.trials.append(
        Trial({"shrinkage": np.inf, "ridge": np.float64(2)}, (np.nan, 0.5))
    )
    last = there_and_back(tagger, tmp_path).tuning_.trials[-1]
    assert last.params == {"shrinkage": np.inf, "ridge": 2.0}
    np.testing.assert_array_equal(last.scores, (np.nan, 0.5))


def test_learners_that_cannot_be_saved_are_named_with_those_that_can(tmp_path):
    tagger = SemanticTagger(KNeighborsTagger()).fit(features_of(TRAIN), KNOWN)
    with pytest.raises(
        InvalidInputError, match=r"KNeighborsTagger cannot be saved.*SemanticDiffusion"
    ):
        tagger.save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("tagger") / "m"
    SemanticTagger(APGGraph(ridge=1.0)).fit(features_of(TRAIN), KNOWN).save(path)
    return path.read_bytes()


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.999])
def test_truncated_files_are_refused(content, share, tmp_path):
    (tmp_path / "m").write_bytes(content[: int(share * len(content))])
    with pytest.raises(ModelFileError, match="not a readable model file"):
        SemanticTagger.load(tmp_path / "m")


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_no_flipped_bit_goes_unnoticed(content, place, bit, tmp_path):
    altered = bytearray(content)
    altered[int(place * len(content))] ^= 1 << bit
    (tmp_path / "m").write_bytes(altered)
    with pytest.raises(ModelFileError):
        SemanticTagger.load(tmp_path / "m")


def test_files_of_learners_and_files_that_lack_parts_are_refused(content, tmp_path):
    path = tmp_path / "m"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="holds a SemanticTagger; expected a APGGraph"):
        APGGraph.load(path)
    whole = saving.read_model(path, "SemanticTagger")
    for name in whole.arrays:
        less = {key: array for key, array in whole.arrays.items() if key != name}
        saving.write_model(path, "SemanticTagger", less, whole.metadata)
        with pytest.raises(ModelFileError, match="lacks or misstates"):
            SemanticTagger.load(path)
    for name in whole.metadata.keys() - {"size"}:
        less = {key: fact for key, fact in whole.metadata.items() if key != name}
        saving.write_model(path, "SemanticTagger", whole.arrays, less)
        with pytest.raises(ModelFileError, match="lacks or misstates"):
            SemanticTagger.load(path)


def test_the_header_describes_the_model(content, tmp_path):
    (tmp_path / "m").write_bytes(content)
    header = read_metadata(tmp_path / "m")
    assert header.kind == "SemanticTagger"
    assert (header.n_items, header.n_labels) == (110, TRUTH.shape[1])
    assert header.parameters["learner"]["estimator"] == "APGGraph"
    assert header.metadata["encoder"] is None
    assert header.metadata["training_set"]["items"] == features_of(TRAIN).items


class MeanColour(Encoder):
    """Stands for a user's own network: only the user can load it again."""

    def __init__(self, name="mine", size=8):
        self.name, self.framing, self.side_needed, self.width = name, Framing(size), size, 3
        self.concepts = ["red", "green", "blue"]
        self.identity = fingerprint({"toy": name, "size": size})

    def prepare(self, picture):
        return self.framing.apply(picture)

    def encode(self, prepared):
        mean = prepared.reshape(-1, 3).mean(axis=0).astype(np.float32)
        return mean, mean / max(mean.sum(), 1)


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for i in range(16):
        pixels = rng.integers(0, 60, (16, 16, 3), dtype=np.uint8)
        pixels[..., i % 3] += 180
        Image.fromarray(pixels).save(folder / f"{i:02}.png")
    return folder


def test_a_users_encoder_is_asked_for_only_when_a_folder_is_given(photos, tmp_path):
    known = PartialLabels.from_tags(
        {f"{i:02}.png": [["red", "green", "blue"][i % 3]] for i in range(16)}, unlisted="absent"
    )
    mine, cache, path = MeanColour(), tmp_path / "cache", tmp_path / "m"
    tagger = SemanticTagger(APGGraph(lam=0.1, ridge=1.0), encoder=mine, cache=cache)
    tagger.fit(photos, known).save(path)
    loaded = SemanticTagger.load(path)
    np.testing.assert_array_equal(loaded.scores(), tagger.scores())
    with pytest.raises(InvalidInputError, match=r"encoded by mine .* Pass it as"):
        loaded.scores(photos)
    with pytest.raises(InvalidInputError, match="gives other numbers"):
        SemanticTagger.load(path, MeanColour(size=9))
    loaded = SemanticTagger.load(path, MeanColour(), cache=cache)
    np.testing.assert_array_equal(loaded.scores(photos), tagger.scores(photos))
    metadata = read_metadata(path).metadata["encoder"]
    assert metadata == {
        "kind": "MeanColour",
        "name": "mine",
        "view": "centre",
        "identity": mine.identity,
    }


def test_the_default_encoder_is_found_again(photos, tmp_path):
    known = PartialLabels.from_tags(
        {f"{i:02}.png": ["red"] * (i % 3 == 0) for i in range(16)}, unlisted="absent"
    )
    cache = tmp_path / "cache"
    tagger = SemanticTagger(LeastSquares(), cache=cache).fit(photos, known)
    tagger.save(tmp_path / "m")
    loaded = SemanticTagger.load(tmp_path / "m", cache=cache)
    np.testing.assert_array_equal(loaded.scores(photos), tagger.scores(photos))
    metadata = read_metadata(tmp_path / "m").metadata["encoder"]
    assert (metadata["name"], metadata["view"]) == ("efficientnet-lite0", "both")
    with pytest.raises(InvalidInputError, match="gives other numbers"):
        rebuild_encoder(metadata | {"view": "whole"})
