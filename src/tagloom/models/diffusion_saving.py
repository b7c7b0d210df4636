"""A linear part and the graphs that add to it, as arrays and facts for a model file, and back."""

from typing import Self

import numpy as np

from tagloom.graph import AffinityGraph
from tagloom.models.apg_graph import APGGraph
from tagloom.models.base import Array
from tagloom.models.diffusion_answers import AnsweringDiffusion
from tagloom.models.evening import EvenRows
from tagloom.models.least_squares import LeastSquares
from tagloom.models.packing import packed_face, unpacked_face
from tagloom.models.savable import SavableLearner
from tagloom.models.smooth_part import Joint, Smoother
from tagloom.packing import (
    Packed,
    decoded_parameters,
    encoded_mapping,
    joined,
    pack_rows,
    unpack_rows,
)

_LINEAR_KINDS: dict[str, type[APGGraph] | type[LeastSquares]] = {
    "APGGraph": APGGraph,
    "LeastSquares": LeastSquares,
}


class SavableDiffusion(SavableLearner, AnsweringDiffusion):
    """What of `APGDiffusion` is kept, and how it is put together again.

    Rows of the graphs are not kept but the training rows: the others are these, evened and joined
    with scores. A loaded learner that is fitted again learns everything anew, also with
    `warm_start`.
    """

    def _packed(self) -> Packed:
        facts = packed_face(self)
        facts["size"]["items"] = len(self._rows)
        facts["linear_kind"] = type(self.linear_).__name__
        facts["last"] = encoded_mapping(self._last)
        facts["n_passes_made"] = len(self._passes)
        arrays = {
            "rows": self._rows,
            "learnable": self.learnable_,
            "smoothed": self._smoothed,
        }
        parts: dict[str, Packed | None] = {"linear": self.linear_._packed()}
        parts["even_rows"] = _packed_evening(self._even_rows)
        parts |= {f"pass{k}": _packed_pass(one) for k, one in enumerate(self._passes)}
        if self._passes:
            steps = zip(self._joints, self._steps, strict=True)
            parts |= {f"step{k}": _packed_step(*step) for k, step in enumerate(steps)}
        return joined(parts, Packed(arrays, facts))

    @classmethod
    def _unpacked(cls, packed: Packed) -> Self:
        arrays, facts = packed
        model = unpacked_face(cls, facts, arrays["rows"].shape[1])
        model._rows, model.learnable_ = arrays["rows"], arrays["learnable"]
        model._even_rows = _unpacked_evening(packed.part("even_rows"))
        model._places = model._placed(model._rows)
        model._finish(arrays["smoothed"], decoded_parameters(facts["last"]))
        model.linear_ = _LINEAR_KINDS[facts["linear_kind"]]._unpacked(packed.part("linear"))
        model._restore_passes(packed)
        return model

    def _restore_passes(self, packed: Packed) -> None:
        n_passes = int(packed.facts["n_passes_made"])
        self._passes, self._joints, self._steps = [], [], []
        if n_passes == 0:
            return
        P = self._linear_scores(self._places)
        described = self._places
        for k in range(n_passes):
            self._passes.append(_unpacked_pass(packed.part(f"pass{k}"), described, P))
            if k + 1 < n_passes:
                joint, F = _unpacked_step(packed.part(f"step{k}"))
                self._joints.append(joint)
                self._steps.append(F)
                described = joint(self._places, F)


def _packed_evening(even: EvenRows | None) -> Packed:
    return Packed({}, {}) if even is None else Packed({"mean": even.mean}, {"size": even.size})


def _unpacked_evening(packed: Packed) -> EvenRows | None:
    return EvenRows(packed.arrays["mean"], packed.facts["size"]) if packed.arrays else None


def _packed_pass(smoother: Smoother) -> Packed:
    graph = smoother.graph
    arrays = {
        "told": smoother.told,
        "heard": smoother.heard,
        "scales": graph.scales,
        "degrees": graph.degrees,
        "factors": np.asarray(graph.factors),
    }
    facts = {
        "reach": smoother.reach,
        "n_neighbors": graph.n_neighbors,
        "metric": graph.metric,
        "method": graph.method,
    }
    own = Packed(arrays, encoded_mapping(facts))
    return joined({"S": pack_rows(graph.S)}, own)


def _unpacked_pass(packed: Packed, described: Array, P: Array) -> Smoother:
    arrays, facts = packed
    S = unpack_rows(packed.part("S"))
    sought = {name: facts[name] for name in ("n_neighbors", "metric", "method")}
    sums = arrays["scales"], arrays["degrees"], arrays["factors"]
    graph = AffinityGraph(S, described, *sums, **sought)
    return Smoother(graph, P, arrays["told"], arrays["heard"], facts["reach"])


def _packed_step(joint: Joint, F: Array) -> Packed:
    return Packed({"mean": joint.mean, "weights": joint.weights, "F": F}, {})


def _unpacked_step(packed: Packed) -> tuple[Joint, Array]:
    arrays = packed.arrays
    return Joint(arrays["mean"], arrays["weights"]), arrays["F"]
