import pytest

from tagloom.completion.report import conclusion, diagram
from tagloom.completion.result import Bin


def circles(bins):
    return [
        (one["kind"], one["x"], one["y"], float(one["radius"])) for one in diagram(bins)["circles"]
    ]


def test_a_reliable_probability_lies_on_the_diagonal():
    x1, y1, x2, y2 = (diagram([])[edge] for edge in ("left", "bottom", "right", "top"))
    for _, x, y, _ in circles([Bin(0, 0.5, 40, 0.3, 0.3), Bin(0.5, 1, 40, 0.8, 0.8)]):
        assert (x - x1) / (x2 - x1) == pytest.approx((y - y1) / (y2 - y1), abs=1e-3)


def test_more_entries_make_a_larger_circle_and_few_a_hollow_one():
    few, some, many = circles(
        [Bin(0, 0.1, 19, 0.1, 0.1), Bin(0.1, 0.2, 2000, 0.2, 0.1), Bin(0.2, 0.3, 9000, 0.3, 0.5)]
    )
    assert few[0] == "bin few"
    assert some[0] == many[0] == "bin"
    assert few[3] < some[3] < many[3]


def test_a_higher_observed_frequency_than_the_confidence_lies_above():
    under, over = circles([Bin(0.5, 0.6, 50, 0.5, 0.2), Bin(0.6, 0.7, 50, 0.5, 0.9)])
    assert under[1] == over[1]
    assert over[2] < under[2]


def test_the_sentence_reads_the_likely_entries():
    bins = [
        Bin(0.0, 0.1, 100_000, 0.01, 0.9),
        Bin(0.4, 0.5, 100, 0.45, 0.35),
        Bin(0.8, 0.9, 300, 0.85, 0.83),
    ]
    sentence = conclusion(bins)
    # (100 * 0.10 + 300 * 0.02) / 400 = 0.04
    assert "400 held-out entries" in sentence
    assert "differ by 4 percentage points" in sentence
    assert "confidence of about 85%, 83% were right" in sentence


def test_too_few_entries_are_said_to_be_too_few():
    sentence = conclusion([Bin(0.0, 0.1, 5000, 0.01, 0.01), Bin(0.8, 0.9, 49, 0.8, 0.2)])
    assert "49 held-out entries" in sentence
    assert "too few" in sentence
