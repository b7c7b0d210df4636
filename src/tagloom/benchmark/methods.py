"""The learners that are compared, by name: the one place that knows where each lives."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tagloom.errors import InvalidInputError

if TYPE_CHECKING:
    from tagloom.models import PartialLabelLearner

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Method:
    """A learner under a name, with what it is given.

    Parameters
    ----------
    name, title : str
        For tables and flags, and for people.
    learner : str
        Where its class lives, as "module:Class". It is imported when it is used.
    parameters : mapping
        What its constructor is given.
    not_searched : tuple of str
        Parameters that keep their value although the learner's `default_param_grid` holds them.
    ours : bool
        Whether it is what this library proposes; all others are baselines.
    needs_graph : bool
        Whether `fit` takes the semantic graph of the items.
    sees_unlabelled : bool
        Whether items of which nothing is known teach it something. Where a benchmark is
        transductive, such a learner is given the test items, too, without their labels.
    inputs : {"features", "global", "local", "both"}
        What it learns from: the features all learners share, or a semantic descriptor alone.
    """

    name: str
    title: str
    learner: str
    parameters: Mapping[str, Any] = field(default_factory=lambda: dict(_NOTHING))
    not_searched: tuple[str, ...] = ()
    ours: bool = False
    needs_graph: bool = False
    sees_unlabelled: bool = False
    inputs: str = "features"

    def metadata(self) -> dict[str, Any]:
        """Return what decides the numbers this method gives, as JSON can hold it."""
        return {
            "learner": self.learner,
            "parameters": dict(self.parameters),
            "not_searched": list(self.not_searched),
            "needs_graph": self.needs_graph,
            "sees_unlabelled": self.sees_unlabelled,
            "inputs": self.inputs,
        }


METHODS = (
    Method("least-squares", "Least squares", "tagloom.models:LeastSquares"),
    Method("binary-relevance", "Binary relevance", "tagloom.models:BinaryRelevance"),
    Method("maxide", "Maxide", "tagloom.models:Maxide"),
    Method("fasttag", "FastTag", "tagloom.models:FastTag"),
    Method("neighbors", "Nearest neighbours", "tagloom.models:KNeighborsTagger"),
    Method(
        "propagation",
        "Label propagation",
        "tagloom.models:LabelPropagation",
        sees_unlabelled=True,
    ),
    # The paper searches lambda and gamma alone and knows no ridge.
    Method(
        "apg-graph",
        "APG-Graph",
        "tagloom.models:APGGraph",
        {"ridge": 0.0},
        not_searched=("ridge",),
        ours=True,
        needs_graph=True,
        sees_unlabelled=True,
    ),
    Method(
        "semantic-diffusion",
        "Semantic diffusion",
        "tagloom.models:SemanticDiffusion",
        ours=True,
        sees_unlabelled=True,
    ),
)

DESCRIPTORS = tuple(
    Method(f"descriptor-{part}", title, "tagloom.models:LeastSquares", inputs=part)
    for part, title in (
        ("global", "Global descriptor g"),
        ("local", "Local descriptor l"),
        ("both", "Both, s = [g; l]"),
    )
)


def checked_names(names: Iterable[str]) -> None:
    """Refuse a name that no method has."""
    known = [method.name for method in METHODS]
    for name in names:
        if name not in known:
            near = get_close_matches(str(name), known, n=1, cutoff=0.4)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise InvalidInputError(
                f"methods: there is no method {name!r}.{hint} Known: {', '.join(known)}."
            )


def methods_named(names: Iterable[str]) -> tuple[Method, ...]:
    """Return the methods of these names in the order of the tables."""
    wanted = set(names)
    checked_names(wanted)
    return tuple(method for method in METHODS if method.name in wanted)


def build_learner(method: Method, seed: int) -> "PartialLabelLearner":
    """Make the learner of a method.

    A label with no training presence must not end the comparison: where a learner would refuse it,
    it is told to go on; the label counts in the result all the same.
    """
    made: PartialLabelLearner = learner_class(method)(**method.parameters)
    general = {"random_state": seed, "on_unlearnable": "ignore"}
    own = made.get_params()
    made.set_params(**{name: value for name, value in general.items() if name in own})
    return made


def learner_class(method: Method) -> Any:
    """Import the class of a method's learner; say clearly which one is missing."""
    module, _, name = method.learner.partition(":")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InvalidInputError(
            f"The learner of method {method.name!r} cannot be loaded: {method.learner} ({error}). "
            "Leave it out of methods, or install what it needs."
        ) from None
