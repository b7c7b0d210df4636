"""From scores to calibrated probabilities, in spite of tags that were forgotten."""

from tagloom.calibration.answers import AnswerCorrection, ExpectedPrecision, fit_answers
from tagloom.calibration.collection import (
    IMPLIED,
    Calibration,
    CollectionCalibration,
    calibrate,
    choose_threshold,
    probability_looked_at,
)
from tagloom.calibration.forgetting import Forgetting, overall_label_frequency
from tagloom.calibration.learner import CalibratedLearner
from tagloom.calibration.names import JudgedByName, with_names

__all__ = [
    "IMPLIED",
    "AnswerCorrection",
    "CalibratedLearner",
    "Calibration",
    "CollectionCalibration",
    "ExpectedPrecision",
    "Forgetting",
    "JudgedByName",
    "calibrate",
    "choose_threshold",
    "fit_answers",
    "overall_label_frequency",
    "probability_looked_at",
    "with_names",
]
