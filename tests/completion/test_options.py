import json

import pytest

from tagloom.completion.options import Options, read_unlisted
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
        {"completeness": 0.0},
        {"completeness": 1.1},
        {"completeness": "all"},
        {"minutes": -1},
        {"minutes": float("inf")},
        {"least_pictures": 1},
        {"folds": 1},
        {"folds": 2.5},
        {"questions": -1},
        {"seed": -1},
    ],
)
def test_an_option_that_cannot_be_meant_is_refused_by_name(wrong):
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        Options(**wrong)


def test_options_survive_json():
    options = Options(unlisted="0.25", precision=0.9, completeness=1.0, minutes=0, seed=7)
    assert Options.of(json.loads(json.dumps(options.metadata()))) == options


@pytest.mark.parametrize(
    ("given", "meant"), [("unknown", "unknown"), ("absent", "absent"), ("1", 1.0), (0.5, 0.5)]
)
def test_unlisted_is_a_word_or_a_weight(given, meant):
    assert read_unlisted(given) == meant
