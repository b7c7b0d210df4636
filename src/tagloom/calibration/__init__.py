"""From scores to calibrated probabilities, in spite of tags that were forgotten."""

from tagloom.calibration.answers import AnswerCorrection, ExpectedPrecision, fit_answers
from tagloom.calibration.collection import (
    IMPLIED,
    Calibration,
    CollectionCalibration,
    calibrate,
    choose_threshold,
)
from tagloom.calibration.forgetting import Forgetting, overall_label_frequency

__all__ = [
    "IMPLIED",
    "AnswerCorrection",
    "Calibration",
    "CollectionCalibration",
    "ExpectedPrecision",
    "Forgetting",
    "calibrate",
    "choose_threshold",
    "fit_answers",
    "overall_label_frequency",
]
