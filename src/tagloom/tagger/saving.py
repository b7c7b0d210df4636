"""A fitted tagger as arrays and facts for a model file, and back."""

from typing import Any, TypeVar

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, pack_labels, unpack_labels
from tagloom.models import APGDiffusion, APGGraph, LeastSquares, SavableLearner, Trial, Tuning
from tagloom.models.remembering import RememberingLearner
from tagloom.packing import (
    Facts,
    Packed,
    decoded,
    decoded_parameters,
    encoded,
    encoded_mapping,
    joined,
    refuse_strange_names,
)
from tagloom.semantics.packing import (
    DESCRIPTOR_KINDS,
    pack_descriptor,
    pack_reduction,
    unpack_descriptor,
    unpack_reduction,
)
from tagloom.tagger.alignment import Aligned
from tagloom.tagger.describing import Describer, described_as
from tagloom.tagger.lesson import Lesson
from tagloom.vision import Features

_LEARNERS: dict[str, type[SavableLearner]] = {
    kind.__name__: kind for kind in (APGDiffusion, APGGraph, LeastSquares)
}
_KINDS = (*_LEARNERS.values(), *DESCRIPTOR_KINDS)
# Of the place where a tagger works, not of what it has learned.
_NOT_KEPT = ("backbone", "cache")

_Tagger = TypeVar("_Tagger")


def pack_tagger(tagger: Any) -> Packed:
    """Return what has to be kept: parameters, lesson, learner and what was tuned."""
    lesson, learner = tagger._lesson, tagger.learner_
    _refuse_unsavable(learner)
    parameters = tagger.get_params(deep=False)
    facts = {
        "parameters": encoded_mapping(
            {name: value for name, value in parameters.items() if name not in _NOT_KEPT}, _KINDS
        ),
        "backbone": tagger._seen_by,
        "learner_kind": type(learner).__name__,
        "tuning": _packed_tuning(tagger.tuning_),
        "size": _sizes(lesson),
    }
    return joined(
        {"lesson": _packed_lesson(lesson, learner), "learner": learner._packed()}, Packed({}, facts)
    )


def unpack_tagger(kind: type[_Tagger], packed: Packed) -> _Tagger:
    """Return the tagger of which `pack_tagger` told."""
    facts = packed.facts
    tagger: Any = kind(**decoded_parameters(facts["parameters"], _KINDS))
    learner = _LEARNERS[facts["learner_kind"]]._unpacked(packed.part("learner"))
    lesson = _unpacked_lesson(packed.part("lesson"), learner)
    tagger.report_, tagger._seen_by = None, facts["backbone"]
    tagger._keep(lesson, None, _unpacked_tuning(facts["tuning"], learner), learner)
    restored: _Tagger = tagger
    return restored


def _refuse_unsavable(learner: Any) -> None:
    if type(learner) not in _LEARNERS.values():
        raise InvalidInputError(
            f"A tagger with a {type(learner).__name__} cannot be saved. Learners that can be "
            f"saved: {', '.join(_LEARNERS)}."
        )


def _sizes(lesson: Lesson) -> Facts:
    features = lesson.features
    return {
        "items": len(features),
        "labels": lesson.known.n_labels,
        "features": lesson.training.X.shape[1],
        "visual": features.visual.shape[1],
        "concepts": len(features.concepts),
    }


def _packed_lesson(lesson: Lesson, learner: SavableLearner) -> Packed:
    features, alignment = lesson.features, lesson.alignment
    refuse_strange_names(alignment.without_picture)
    arrays = {
        "visual": features.visual,
        "posteriors": features.posteriors,
        "S": lesson.training.S,
    }
    if not isinstance(learner, RememberingLearner):
        arrays["X"] = lesson.training.X
    facts = {
        "items": features.items,
        "concepts": features.concepts,
        "without_picture": list(alignment.without_picture),
        "without_labels": list(alignment.without_labels),
    }
    parts = {
        "known": _packed_known(lesson.known, features.items),
        "descriptor": pack_descriptor(lesson.describer.descriptor),
        "reduction": pack_reduction(lesson.describer.pca),
    }
    return joined(parts, Packed(arrays, facts))


def _unpacked_lesson(packed: Packed, learner: SavableLearner) -> Lesson:
    arrays, facts = packed
    features = Features(facts["items"], arrays["visual"], arrays["posteriors"], facts["concepts"])
    known = _unpacked_known(packed.part("known"), features.items)
    descriptor = unpack_descriptor(packed.part("descriptor"), known, features.visual)
    describer = Describer.of(descriptor, unpack_reduction(packed.part("reduction")))
    X = learner._rows if isinstance(learner, RememberingLearner) else arrays["X"]
    aligned = Aligned(known, facts["without_picture"], facts["without_labels"])
    return Lesson(features, aligned, describer, described_as(features, arrays["S"], X))


def _packed_known(known: PartialLabels, items: list[str]) -> Packed:
    """Return what is known; names that are those of the pictures are written once."""
    packed = pack_labels(known)
    as_pictures = known.items is not None and list(known.items) == items
    own = {"items": None} if as_pictures else {}
    return packed._replace(facts=packed.facts | own | {"items_are_pictures": as_pictures})


def _unpacked_known(packed: Packed, items: list[str]) -> PartialLabels:
    if packed.facts["items_are_pictures"]:
        packed = packed._replace(facts=packed.facts | {"items": items})
    return unpack_labels(packed)


def _packed_tuning(tuning: Tuning | None) -> Facts | None:
    if tuning is None:
        return None
    return {"best": _packed_trial(tuning.best), "trials": [*map(_packed_trial, tuning.trials)]}


def _unpacked_tuning(facts: Facts | None, learner: SavableLearner) -> Tuning | None:
    if facts is None:
        return None
    trials = [_unpacked_trial(trial) for trial in facts["trials"]]
    return Tuning(_unpacked_trial(facts["best"]), trials, learner)


def _packed_trial(trial: Trial) -> Facts:
    return {"params": encoded_mapping(trial.params), "scores": encoded(trial.scores)}


def _unpacked_trial(facts: Facts) -> Trial:
    return Trial(decoded_parameters(facts["params"]), tuple(decoded(facts["scores"])))
