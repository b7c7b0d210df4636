"""What the pages for engineers show works as it stands."""

import doctest
import importlib
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.utils.estimator_checks import check_estimator

from tagloom import APGGraph, PartialLabels, tune
from tagloom.labels import hide_per_class

DOCS = Path(__file__).parents[1] / "docs"


def blocks(page: str, language: str = "python") -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    truth = PartialLabels.from_array(X[:, :3] + 0.3 * rng.normal(size=(60, 3)) > 0.3)
    return X, hide_per_class(truth, 0.7, 0)


def test_a_strangers_path_in_twenty_lines():
    (session,) = blocks("scikit-learn.md", "pycon")
    n_lines = sum(line.startswith((">>>", "...")) for line in session.splitlines())
    assert n_lines < 20
    parsed = doctest.DocTestParser().get_doctest(session, {}, "scikit-learn.md", None, 0)
    report: list[str] = []
    failed, _ = doctest.DocTestRunner().run(parsed, out=report.append)
    assert not failed, "".join(report)


def test_the_tools_of_scikit_learn(data):
    X, known = data
    names = {"X": X, "Y": known.to_array(), "X_new": X[:3], "graph": np.ones((60, 60))}
    names["model"] = APGGraph(lam=0.1, gamma=1e-3)
    for block in blocks("scikit-learn.md"):
        exec(block, names)
    assert names["search"].best_score_ > 0.7


def test_a_learner_of_ones_own(data, tmp_path, monkeypatch):
    X, known = data
    (tmp_path / "own_centroids.py").write_text(blocks("extending.md")[0])
    monkeypatch.syspath_prepend(str(tmp_path))
    learner = importlib.import_module("own_centroids").NearestCentroid()
    # Before scikit-learn 1.9 these compared fits to different classes, and asked for sparse ones.
    name = "check_sample_weight_equivalence_on_{}_data"
    may_fail = {name.format(kind): "may fail" for kind in ("dense", "sparse")}
    check_estimator(learner, on_fail="raise", on_skip=None, expected_failed_checks=may_fail)
    assert tune(learner, X, known, cv=2).model.score(X, known) > 0.7


def test_a_data_set_and_an_encoder_of_ones_own(tmp_path):
    names: dict = {}
    for block in blocks("extending.md")[1:]:
        exec(block, names)
    np.savetxt(tmp_path / "labels.txt", [[1, 0], [0, 1], [1, 1], [0, 0]])
    assert names["load_clouds"](tmp_path).truth.shape == (4, 2)
    encoder = names["SkyNet"]()
    visual, posteriors = encoder.encode(encoder.prepare(Image.new("RGB", (20, 10), "red")))
    np.testing.assert_allclose(visual, [1, 0, 0])
    np.testing.assert_allclose(posteriors, [1, 0, 0])
