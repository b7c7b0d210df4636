"""Small collections whose truth is known: of random numbers, or of drawn pictures."""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tagloom.completion import pipeline as run
from tagloom.completion.inputs import Options, Pictures
from tagloom.vision import Features
from tagloom.vision.pictures import Found

LABELS = ("beach", "boat", "cat", "dog", "snow")


@dataclass
class Collection:
    """Pictures that are nothing but numbers, and what is on them."""

    folder: Path
    features: Features
    truth: np.ndarray
    options: Options

    @property
    def photos(self):
        return self.folder / "photos"

    def write_lists(self, name="tags.csv", share=0.7, rows=None, seed=1):
        """Write lists of tags from which some were forgotten."""
        rng = np.random.default_rng(seed)
        listed = self.truth & (rng.random(self.truth.shape) < share)
        chosen = range(len(self.truth)) if rows is None else rows
        path = self.folder / name
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(("image", "tags"))
            for row in chosen:
                tags = [tag for tag, here in zip(LABELS, listed[row], strict=True) if here]
                writer.writerow((self.features.items[row], ";".join(tags)))
        return path

    def write_table(self, name="table.csv", share=0.6, seed=1):
        """Write a table of 1, 0 and blanks."""
        asked = np.random.default_rng(seed).random(self.truth.shape) < share
        path = self.folder / name
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(("image", *LABELS))
            for item, here, known in zip(self.features.items, self.truth, asked, strict=True):
                cells = (str(int(a)) if b else "" for a, b in zip(here, known, strict=True))
                writer.writerow((item, *cells))
        return path

    def write_answers(self, answers, name="answers.csv"):
        """Write single statements: picture, tag, present or absent."""
        path = self.folder / name
        lines = ["image,tag,state"]
        lines += [f"{image},{tag},{'present' if yes else 'absent'}" for image, tag, yes in answers]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    def complete(self, tags, out, **changed):
        again = changed.pop("again", False)
        options = Options.of(self.options.metadata() | changed)
        tags = tags if isinstance(tags, list) else [tags]
        return run.complete(self.photos, tags, self.folder / out, options, again=again)


def made_features(n_items=80, seed=0):
    """Return features that tell the labels apart, though not perfectly, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n_items, len(LABELS))) < np.array([0.5, 0.35, 0.3, 0.3, 0.25])
    prototypes = rng.normal(size=(len(LABELS), 12))
    visual = truth @ prototypes + 0.5 * rng.normal(size=(n_items, 12))
    posteriors = rng.dirichlet(np.ones(4), size=n_items)
    items = [f"p{number:03}.jpg" for number in range(n_items)]
    return Features(items, visual, posteriors, ["a", "b", "c", "d"]), truth


@pytest.fixture
def make_collection(tmp_path, monkeypatch):
    """Make a collection of a seed, whose pictures are numbers until the next is made."""

    def make(seed=0):
        features, truth = made_features(seed=seed)
        folder = tmp_path / str(seed)
        made = Collection(folder, features, truth, Options(min_pictures=2, annotate_next=6))
        made.photos.mkdir(parents=True)
        found = Found(pictures=list(features.items))
        monkeypatch.setattr(run, "find_pictures", lambda photos: found)
        monkeypatch.setattr(
            run, "encode_pictures", lambda photos, *args, **kwargs: Pictures(photos, features, [])
        )
        return made

    return make


@pytest.fixture
def collection(make_collection):
    return make_collection()


@pytest.fixture(scope="session")
def scenes(tmp_path_factory):
    """A folder of drawn pictures, their true labels, lists of tags, and a cache of features."""
    pytest.importorskip("onnxruntime")
    from tagloom.datasets.scenes import write_scenes

    folder = tmp_path_factory.mktemp("scenes")
    write_scenes(folder / "photos", 48)
    with (folder / "photos" / "labels.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    rng = np.random.default_rng(0)
    with (folder / "tags.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(("image", "tags"))
        for row in rows:
            tags = [tag for tag, here in row.items() if here == "1" and rng.random() < 0.8]
            writer.writerow((row["picture"], ";".join(tags)))
    return folder


@pytest.fixture(scope="session")
def finished(scenes):
    """A completed folder of drawn pictures."""
    done = run.complete(
        scenes / "photos", [scenes / "tags.csv"], scenes / "out", Options(max_minutes=1),
        cache=scenes / "cache",
    )  # fmt: skip
    return scenes, done
