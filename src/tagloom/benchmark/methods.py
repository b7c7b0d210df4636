"""The methods that a benchmark compares, and how each makes its learner."""

import ast
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from importlib import import_module
from math import inf
from typing import TYPE_CHECKING, Any

from tagloom.errors import InvalidInputError
from tagloom.plugins import METHODS as PLUGINS
from tagloom.plugins import find_plugin, load_plugin, plugin_names

if TYPE_CHECKING:
    from tagloom.models import PartialLabelLearner


@dataclass(frozen=True)
class Method:
    """A learner under a name, with its parameters and inputs.

    Parameters
    ----------
    name, title : str
        For flags and files, and for display.
    learner : str
        The class of the learner as "module:Class"; it is imported when it is used. A classifier of
        scikit-learn that is no `PartialLabelLearner` is wrapped in `ClassifierPerLabel`.
    parameters : mapping
        Arguments of its constructor.
    fixed : tuple of str
        Parameters that are not searched although the learner's `default_param_grid` has them.
    ours : bool
        Whether this library proposes it; all others are baselines.
    needs_graph : bool
        Whether `fit` takes the semantic graph of the items.
    uses_unlabelled : bool
        Whether it learns from items without labels. In a transductive benchmark such a learner
        is given the test items, too, without their labels.
    inputs : {"features", "global", "local", "both"}
        What it learns from: the features that all learners share, or one semantic descriptor.
    words : {"names", "shuffled", "columns"}, optional
        Whether `fit` takes prior scores by the names of the labels. "shuffled" exchanges them at
        random between the labels that have some, as a control; "columns" appends them to the
        features, for learners that take no prior scores.
    """

    name: str
    title: str
    learner: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    fixed: tuple[str, ...] = ()
    ours: bool = False
    needs_graph: bool = False
    uses_unlabelled: bool = False
    inputs: str = "features"
    words: str | None = None

    def metadata(self) -> dict[str, Any]:
        """Return everything that determines the results of this method, ready for JSON."""
        own = {} if self.words is None else {"words": self.words}
        return {
            "learner": self.learner,
            "parameters": dict(self.parameters),
            "fixed": list(self.fixed),
            "needs_graph": self.needs_graph,
            "uses_unlabelled": self.uses_unlabelled,
            "inputs": self.inputs,
        } | own


METHODS = (
    Method("least-squares", "Least squares", "tagloom.models:LeastSquares"),
    Method("binary-relevance", "Binary relevance", "tagloom.models:BinaryRelevance"),
    Method("kernel-ridge", "Kernel ridge", "tagloom.models:KernelRidge"),
    Method("kernel-svm", "Kernel SVM", "tagloom.models:KernelSVM"),
    Method("maxide", "Maxide", "tagloom.models:Maxide"),
    Method("fasttag", "FastTag", "tagloom.models:FastTag"),
    Method("neighbors", "Nearest neighbours", "tagloom.models:KNeighborsTagger"),
    Method(
        "propagation",
        "Label propagation",
        "tagloom.models:LabelPropagation",
        uses_unlabelled=True,
    ),
    # The paper has no ridge penalty: only lambda and gamma are searched.
    Method(
        "apg-graph",
        "APG-Graph",
        "tagloom.models:APGGraph",
        {"ridge": 0.0},
        fixed=("ridge",),
        ours=True,
        needs_graph=True,
        uses_unlabelled=True,
    ),
    Method(
        "semantic-diffusion",
        "Semantic diffusion",
        "tagloom.models:SemanticDiffusion",
        ours=True,
        uses_unlabelled=True,
    ),
)

WORDS = (
    Method("words", "Words alone", "tagloom.benchmark.cell:PriorScores", words="names"),
    *(
        Method(
            f"{name}+{words}",
            f"{title} with {words.replace('-', ' ')}",
            f"tagloom.models:{learner}",
            ours=ours and kind == "names",
            uses_unlabelled=ours,
            words=kind,
        )
        for name, title, learner, ours in (
            ("least-squares", "Least squares", "LeastSquares", False),
            ("semantic-diffusion", "Semantic diffusion", "SemanticDiffusion", True),
        )
        for words, kind in (("words", "names"), ("shuffled-words", "shuffled"))
    ),
    *(
        replace(
            one,
            name=f"{one.name}+word-columns",
            title=f"{one.title} with word columns",
            words="columns",
        )
        for one in METHODS
        if not one.ours and one.name != "least-squares"
    ),
)
"""Methods that know the names of the labels; for sets with concepts, and only by request."""

LEFT_OUT = tuple(
    Method(
        f"semantic-diffusion-no-{part}",
        f"Semantic diffusion without {part.replace('-', ' ')}",
        "tagloom.models:SemanticDiffusion",
        parameters,
        fixed=tuple(parameters),
        ours=True,
        uses_unlabelled=True,
    )
    for part, parameters in (
        ("kernel", {"kernel": "linear"}),
        ("diffusion", {"shrinkage": inf, "smoothing": 0.0}),
        ("second-pass", {"n_passes": 1}),
        ("self-training", {"self_training": 0}),
        ("row-normalization", {"normalize_rows": False}),
        ("score-normalization", {"score_normalization": 0.0}),
    )
)
"""Semantic diffusion with one part left out; only by request."""

_LINEAR_ALONE: Mapping[str, Any] = {
    "kernel": "linear",
    "normalize_rows": False,
    "shrinkage": inf,
    "smoothing": 0.0,
    "n_passes": 1,
    "self_training": 0,
    "score_normalization": 0.0,
}
_DIFFUSION = ("shrinkage", "smoothing")

ALONE = tuple(
    replace(
        LEFT_OUT[0],
        name=f"semantic-diffusion-only-{part}",
        title=f"Linear part with {part.replace('-', ' ')}",
        parameters={name: value for name, value in _LINEAR_ALONE.items() if name not in searched},
        fixed=tuple(name for name in _LINEAR_ALONE if name not in searched),
        words="names" if part == "words" else None,
    )
    for part, searched in (
        ("ridge", ()),
        ("kernel", ("kernel",)),
        ("row-normalization", ("normalize_rows",)),
        ("score-normalization", ("score_normalization",)),
        ("words", ()),
        ("diffusion", _DIFFUSION),
        ("two-passes", (*_DIFFUSION, "n_passes")),
        ("self-training", (*_DIFFUSION, "self_training")),
    )
)
"""The linear part of semantic diffusion on plain rows with one part alone; only by request.

A second pass and self-training have diffusion beside them, without which they do nothing.
"""

ABLATIONS = (*LEFT_OUT, *ALONE)

DESCRIPTORS = tuple(
    Method(f"descriptor-{part}", title, "tagloom.models:LeastSquares", inputs=part)
    for part, title in (
        ("global", "Global descriptor g"),
        ("local", "Local descriptor l"),
        ("both", "Both, s = [g; l]"),
    )
)


def check_methods(names: Iterable[str]) -> None:
    """Require names of known methods, of those that packages bring, or classes of one's own."""
    known = [method.name for method in (*METHODS, *WORDS, *ABLATIONS)]
    known += [name for name in plugin_names(PLUGINS) if name not in known]
    for name in names:
        if ":" in str(name):
            own_method(name)
        elif name not in known:
            near = get_close_matches(str(name), known, n=1, cutoff=0.4)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise InvalidInputError(
                f"methods: there is no method {name!r}.{hint} Known: {', '.join(known)}; or a "
                "classifier of your own, as package.module:Class."
            )


def select_methods(names: Iterable[str]) -> tuple[Method, ...]:
    """Return the methods of these names: those of one's own, then in the order of the tables."""
    wanted = list(names)
    check_methods(wanted)
    listed = (*METHODS, *WORDS, *ABLATIONS)
    known = {method.name for method in listed}
    own = tuple(own_method(name) for name in wanted if ":" in name)
    own += tuple(plugin_method(name) for name in wanted if ":" not in name and name not in known)
    return own + tuple(method for method in listed if method.name in wanted)


def plugin_method(name: str) -> Method:
    """Return the method that a package brings: a class, or a `Method` with all it needs.

    A class is used as by `own_method`.
    """
    point = find_plugin(PLUGINS, name)
    assert point is not None, "names are checked first"
    found = load_plugin(point)
    if isinstance(found, Method):
        return replace(found, name=name)
    if isinstance(found, type):
        return Method(name, name, point.value)
    raise InvalidInputError(
        f"The method {name!r} must be the class of a learner or a Method; {point.value} is "
        f"{found!r}."
    )


def own_method(text: str) -> Method:
    """Return the method of a class "module:Class", with parameters "module:Class(name=value)".

    Values are literals: nothing is evaluated. Parameters that are given are not searched. The name
    is the class with its parameters, in characters that any file system takes.

    >>> own_method("sklearn.svm:SVC(C=0.5, kernel='rbf')").name
    'SVC(C=0.5,kernel=rbf)'
    """
    found = re.fullmatch(r"([A-Za-z_][\w.]*):([A-Za-z_]\w*)(\(.*\))?", text.strip(), re.DOTALL)
    if found is None:
        raise InvalidInputError(
            f"methods: {text!r} is no class; write package.module:Class, or with parameters "
            "package.module:Class(name=value)."
        )
    module, kind, arguments = found.groups()
    parameters = {} if arguments is None else _literals(text, arguments)
    listed = ",".join(f"{name}={value}" for name, value in parameters.items())
    name = re.sub(r"[^\w.,=+()-]", "", f"{kind}({listed})" if listed else kind)[:80]
    return Method(name, name, f"{module}:{kind}", parameters, fixed=tuple(parameters))


def _literals(text: str, arguments: str) -> dict[str, Any]:
    """Read "(name=value, ...)"."""
    try:
        call = ast.parse(f"f{arguments}", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or not isinstance(call.func, ast.Name):
            raise ValueError
        given = {str(one.arg): ast.literal_eval(one.value) for one in call.keywords if one.arg}
        if len(given) < len(call.keywords):
            raise ValueError
        json.dumps(given, allow_nan=False)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise InvalidInputError(
            f"methods: the parameters of {text!r} must be name=value, separated by commas, with "
            "numbers, strings, True, False, None or lists of them as values."
        ) from None
    return given


def build_learner(method: Method, seed: int) -> "PartialLabelLearner":
    """Construct the learner of a method.

    Labels without a known presence must not stop the comparison: a learner that would refuse them
    ignores them instead. They count in the result all the same.
    """
    common = {"random_state": seed, "on_unlearnable": "ignore"}
    common = {name: v for name, v in common.items() if name not in method.parameters}
    learner = _with_accepted(_constructed(method), common)
    from tagloom.models import ClassifierPerLabel, PartialLabelLearner

    if isinstance(learner, PartialLabelLearner):
        return learner
    return ClassifierPerLabel(learner, on_unlearnable="ignore")


def _with_accepted(learner: Any, params: Mapping[str, Any]) -> Any:
    """Set the parameters that a learner has; those that a method sets itself stay."""
    accepted = learner.get_params()
    return learner.set_params(**{name: v for name, v in params.items() if name in accepted})


def _constructed(method: Method) -> Any:
    kind = learner_class(method)
    try:
        learner = kind(**method.parameters)
    except Exception as error:
        raise InvalidInputError(
            f"The learner of method {method.name!r} cannot be made: {kind.__name__} with the "
            f"parameters {dict(method.parameters)} says: {error}."
        ) from None
    from tagloom.models import PartialLabelLearner
    from tagloom.models.binary_relevance import check_scores

    if not isinstance(learner, PartialLabelLearner):
        check_scores(learner)
    return learner


def learner_class(method: Method) -> Any:
    """Import the class of a method's learner."""
    module, _, name = method.learner.partition(":")
    try:
        found = getattr(import_module(module), name)
    except Exception as error:  # a module of one's own may raise anything
        raise InvalidInputError(
            f"The learner of method {method.name!r} cannot be loaded: {method.learner} ({error}). "
            "Leave it out of methods, install what it needs, or name the folder of your own module "
            "in PYTHONPATH."
        ) from None
    if not isinstance(found, type):
        raise InvalidInputError(f"The learner {method.learner} is no class, but {found!r}.")
    return found
