import json

import pytest

from tagloom.completion.inputs import Options, parse_unlisted
from tagloom.errors import InvalidInputError


@pytest.mark.parametrize(
    "wrong",
    [
        {"unlisted": "missing"},
        {"unlisted": 0},
        {"unlisted": "1.5"},
        {"unlisted": None},
        {"unlisted": float("nan")},
        {"untagged": "perhaps"},
        {"precision": 0},
        {"precision": 1},
        {"precision": "0.9"},
        {"precision": float("nan")},
        {"label_frequency": 0.0},
        {"label_frequency": 1.1},
        {"label_frequency": "all"},
        {"max_minutes": -1},
        {"max_minutes": float("inf")},
        {"min_pictures": 1},
        {"cv": 1},
        {"cv": 2.5},
        {"annotate_next": -1},
        {"random_state": -1},
    ],
)
def test_an_option_that_cannot_be_meant_is_refused_by_name(wrong):
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        Options(**wrong)


def test_options_survive_json():
    options = Options(
        unlisted="0.25", precision=0.9, label_frequency=1.0, max_minutes=0, random_state=7
    )
    assert Options.of(json.loads(json.dumps(options.metadata()))) == options


@pytest.mark.parametrize(
    ("given", "meant"), [("unknown", "unknown"), ("absent", "absent"), ("1", 1.0), (0.5, 0.5)]
)
def test_unlisted_is_a_word_or_a_weight(given, meant):
    assert parse_unlisted(given) == meant


def test_a_hundred_folds_are_the_most():
    with pytest.raises(InvalidInputError, match="cv must be at most 100"):
        Options(cv=100_000)
