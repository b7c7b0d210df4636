import csv
import io
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tagloom import errors as extras
from tagloom.cli import app as cli
from tagloom.cli import demo
from tagloom.datasets.scenes import LABELS
from tagloom.datasets.scenes.dataset import read_tags


def run(*arguments):
    return CliRunner().invoke(cli.app, ["demo", *map(str, arguments)], catch_exceptions=False)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "new"
    answer = run("--pictures", 60, "--keep", 0.4, "--out", out)
    assert answer.exit_code == 0, answer.output
    return out, answer.output


def test_learners_are_compared_and_the_named_files_exist(shown):
    out, text = shown
    for learner in ("tagloom", "ridge", "nearest neighbours"):
        assert f"│ {learner} " in text
    for name in ("report.html", "suggestions.csv"):
        assert str(out / "result" / name) in text
        assert (out / "result" / name).is_file()
    assert f"tagloom review {out / 'result'}" in text


class _Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("answer", "opened"), [("y\n", ["result"]), ("\n", [])])
def test_the_review_page_is_offered_to_somebody_at_a_terminal(monkeypatch, answer, opened):
    folders = []
    monkeypatch.setattr("tagloom.cli.review.serve_page", lambda out, photos: folders.append(out))
    monkeypatch.setattr("sys.stdin", _Terminal(answer))
    monkeypatch.setattr("sys.stdout", _Terminal())
    demo._offer_review(Path("result"))
    assert folders == list(map(Path, opened))
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    demo._offer_review(Path("result"))
    assert folders == list(map(Path, opened))


def test_known_tags_are_a_share_of_the_true_tags(shown):
    out, text = shown
    truth = read_tags(out / "pictures-60-of-series-0")
    with (out / "tags.csv").open(encoding="utf-8", newline="") as opened:
        kept = [(row["image"], row["tag"]) for row in csv.DictReader(opened)]
    n_true = sum(map(len, truth.values()))
    assert abs(len(kept) - 0.4 * n_true) <= len(LABELS)
    assert all(tag in truth[image] for image, tag in kept)
    assert f"These pictures have {n_true:,} true tags; {len(kept):,} were kept" in text


def test_the_listed_share_of_each_tag_is_printed(shown):
    out, text = shown
    truth = read_tags(out / "pictures-60-of-series-0")
    with (out / "tags.csv").open(encoding="utf-8", newline="") as opened:
        kept = Counter(row["tag"] for row in csv.DictReader(opened))
    true = Counter(tag for tags in truth.values() for tag in tags)
    for tag, n in true.items():
        share = f"{kept[tag] / n:.0%}"
        assert re.search(rf"│ {tag} +│ +{n} │ +{kept[tag]} │ +{share} │", text), tag


def test_tags_may_be_forgotten_uniformly(tmp_path):
    answer = run("--pictures", 50, "--forgetting", "uniform", "--out", tmp_path, "--json")
    tags = json.loads(answer.output)["tags"]
    n_true, n_listed = (sum(tag[name] for tag in tags.values()) for name in ("present", "listed"))
    assert n_listed == round(0.25 * n_true)
    answer = run("--forgetting", "some", "--out", tmp_path)
    assert answer.exit_code == 2
    assert "must be salience or uniform" in answer.output


def test_a_second_run_keeps_pictures_and_gives_the_same_results(shown):
    out, text = shown
    picture = out / "pictures-60-of-series-0" / "scene-00000.jpg"
    drawn = picture.stat().st_mtime_ns
    summary = json.loads(run("--pictures", 60, "--keep", 0.4, "--out", out, "--json").output)
    assert picture.stat().st_mtime_ns == drawn
    for learner in summary["learners"].values():
        assert f"{learner['mAP of hidden tags']:.3f}" in text


def test_results_agree_with_the_suggestions_on_disk(shown):
    out, _ = shown
    summary = json.loads(run("--pictures", 60, "--keep", 0.4, "--out", out, "--json").output)
    truth = read_tags(out / "pictures-60-of-series-0")
    with (out / "result" / "suggestions.csv").open(encoding="utf-8", newline="") as opened:
        made = [row for row in csv.DictReader(opened) if row["state"] == "suggested"]
    right = [row["tag"] in truth[row["image"]] for row in made]
    ours = summary["learners"]["tagloom"]
    assert ours["suggestions"] == len(made)
    assert sum(tag["suggestions"] for tag in summary["tags"].values()) == len(made)
    assert sum(tag["right"] for tag in summary["tags"].values()) == sum(right)
    if made:
        np.testing.assert_allclose(ours["precision of suggestions"], np.mean(right))


@pytest.mark.parametrize("keep", ["0", "1", "3"])
def test_a_share_outside_0_to_1_is_refused(keep, tmp_path):
    answer = run("--keep", keep, "--out", tmp_path)
    assert answer.exit_code == 2
    assert "must lie between 0 and 1" in answer.output


def test_a_folder_with_files_of_the_user_is_refused(tmp_path, monkeypatch, capsys):
    (tmp_path / "tags.csv").write_text("mine")
    monkeypatch.setattr("sys.argv", ["tagloom", "demo", "--out", str(tmp_path)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 1
    assert "not the result of an earlier demo" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["tags.csv"]
    assert (tmp_path / "tags.csv").read_text() == "mine"


def test_a_missing_extra_is_reported_with_what_to_install(tmp_path, monkeypatch, capsys):
    def missing(name):
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(extras, "import_module", missing)
    monkeypatch.setattr("sys.argv", ["tagloom", "demo", "--out", str(tmp_path / "new")])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 1
    assert "pip install 'tagloom[vision]'" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
