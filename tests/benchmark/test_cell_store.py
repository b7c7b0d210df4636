import json

import numpy as np
from toy_sets import make_dataset

from tagloom.benchmark.cell import digest_of, fingerprint, to_json
from tagloom.datasets.base import Dataset
from tagloom.labels import PartialLabels


def test_different_sets_have_different_fingerprints():
    same = {fingerprint(make_dataset()), fingerprint(make_dataset())}
    assert len(same) == 1
    others = [make_dataset(seed=1), make_dataset(flip_test=True), make_dataset(n_concepts=0)]
    assert len(same | {fingerprint(one) for one in others}) == 4
    tags = {"x": ["sea"], "y": ["sky"]}
    truths = [PartialLabels.from_tags(tags, unlisted=unlisted) for unlisted in ("absent", 0.5)]
    truths.append(truths[0].with_hidden([0], [1]))
    assert len({fingerprint(Dataset("toy", truth, [0], [1])) for truth in truths}) == 3


def test_json_holds_plain_numbers_and_no_nan():
    metadata = {
        "a": np.float32(0.5),
        "b": [np.int64(3), float("nan")],
        "c": np.arange(2),
        "d": None,
    }
    assert json.loads(to_json(metadata)) == {"a": 0.5, "b": [3, None], "c": [0, 1], "d": None}
    assert digest_of(a=1, b=2) == digest_of(b=2, a=1) != digest_of(a=1, b=3)
