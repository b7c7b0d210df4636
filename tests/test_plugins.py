"""What an installed package brings by entry points: a method, a data set, an encoder."""

import sys
import textwrap

import numpy as np
import pytest

from tagloom.benchmark.methods import build_learner, check_methods, select_methods
from tagloom.datasets import open_dataset
from tagloom.errors import InvalidInputError
from tagloom.models import ClassifierPerLabel, PartialLabelLearner
from tagloom.plugins import METHODS, plugin_names
from tagloom.vision.encoders.registry import load_encoder, rebuild_encoder

MODULE = """
import numpy as np
from sklearn.naive_bayes import GaussianNB

from tagloom.benchmark.methods import Method
from tagloom.datasets import Dataset
from tagloom.labels import PartialLabels
from tagloom.models import PartialLabelLearner
from tagloom.vision.encoders.base import Encoder, fingerprint
from tagloom.vision.features import Features


class Rates(PartialLabelLearner):
    def __init__(self, on_unlearnable="raise"):
        self.on_unlearnable = on_unlearnable

    def fit_known(self, rows, known):
        counts = known.counts()
        self.rates_ = counts.present / np.maximum(1, counts.present + counts.absent)

    def score_rows(self, rows):
        return np.tile(self.rates_, (len(rows), 1)).astype(rows.dtype)


described = Method("other", "Rates, described", "weather_tags:Rates", uses_unlabelled=True)


def load_clouds(path):
    names = [f"{path}-{i}" for i in range(4)]
    truth = PartialLabels.from_array(np.eye(4), items=names)
    return Dataset("Clouds", truth, training=[0, 1], test=[2, 3])


class SkyNet(Encoder):
    name, width, concepts, side_needed = "skynet", 2, ["sky"], 1
    identity = fingerprint({"skynet": 1})

    def encode(self, prepared):
        return np.zeros(2, dtype=np.float32), np.ones(1, dtype=np.float32)


class Unnamed(SkyNet):
    name = "other"


number = 7
no_dataset = print
"""
ENTRY_POINTS = """
[tagloom.methods]
rates = weather_tags:Rates
rates-described = weather_tags:described
bayes = weather_tags:GaussianNB
broken = weather_tags_missing:Rates
number = weather_tags:number

[tagloom.datasets]
clouds = weather_tags:load_clouds
number = weather_tags:number
nothing = weather_tags:no_dataset

[tagloom.encoders]
skynet = weather_tags:SkyNet
unnamed = weather_tags:Unnamed
"""


@pytest.fixture(autouse=True)
def package(tmp_path, monkeypatch):
    """Install a package as pip would: its module and its metadata, on the path."""
    (tmp_path / "weather_tags.py").write_text(MODULE)
    info = tmp_path / "weather_tags-1.0.dist-info"
    info.mkdir()
    info.joinpath("METADATA").write_text(
        "Metadata-Version: 2.1\nName: weather-tags\nVersion: 1.0\n"
    )
    info.joinpath("entry_points.txt").write_text(textwrap.dedent(ENTRY_POINTS))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("weather_tags", None)


def test_methods_are_known_by_their_names_and_imported_when_used():
    assert "rates" in plugin_names(METHODS)
    check_methods(["rates", "least-squares"])
    assert "weather_tags" not in sys.modules
    rates, least_squares = select_methods(["least-squares", "rates"])
    assert (rates.name, least_squares.name) == ("rates", "least-squares")
    learner = build_learner(rates, seed=0)
    assert isinstance(learner, PartialLabelLearner)
    X, Y = np.arange(4.0)[:, None], [[1], [None], [0], [1]]
    np.testing.assert_allclose(learner.fit(X, Y).scores(X), 2 / 3)


def test_a_method_may_describe_itself_and_a_classifier_is_wrapped():
    (method,) = select_methods(["rates-described"])
    assert (method.name, method.title) == ("rates-described", "Rates, described")
    assert method.uses_unlabelled
    (method,) = select_methods(["bayes"])
    assert isinstance(build_learner(method, seed=0), ClassifierPerLabel)


def test_a_data_set_is_opened_by_its_name():
    assert open_dataset("clouds:/data/clouds").name == "Clouds"
    with pytest.raises(InvalidInputError, match=r"one of .*scenes, clouds, nothing, number"):
        open_dataset("cloud:/data")


def test_an_encoder_is_loaded_by_its_name_and_found_again_by_a_saved_model():
    encoder = load_encoder(["skynet"])
    assert type(encoder).__name__ == "SkyNet"
    assert rebuild_encoder(encoder.metadata()).identity == encoder.identity
    with pytest.raises(InvalidInputError, match=r"Available: lite0.*skynet, unnamed"):
        load_encoder(["skynets"])


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: select_methods(["broken"]), "'broken' of package weather-tags cannot be loaded"),
        (lambda: select_methods(["number"]), "must be the class of a learner or a Method"),
        (lambda: select_methods(["ratse"]), r"no method 'ratse'\. Did you mean 'rates'\?"),
        (lambda: open_dataset("number:x"), "must be a function that returns a Dataset"),
        (lambda: open_dataset("nothing:x"), "must return a Dataset; got None"),
        (lambda: load_encoder(["unnamed"]), "an Encoder whose name is 'unnamed'"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_origin(use, message):
    with pytest.raises(InvalidInputError, match=message):
        use()


def test_one_name_in_two_packages_is_refused(tmp_path):
    info = tmp_path / "other_tags-1.0.dist-info"
    info.mkdir()
    info.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: other-tags\nVersion: 1.0\n")
    info.joinpath("entry_points.txt").write_text("[tagloom.methods]\nrates = other_tags:Rates\n")
    with pytest.raises(InvalidInputError, match="package other-tags and package weather-tags"):
        select_methods(["rates"])
