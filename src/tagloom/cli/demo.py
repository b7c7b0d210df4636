"""`tagloom demo`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from rich.console import Console

    from tagloom.datasets import SmallScenes
    from tagloom.labels import PartialLabels
    from tagloom.models import PartialLabelLearner

    Scores = npt.NDArray[np.float64]

_NEIGHBOURS = 10
_EXAMPLES = 6


def demo(
    rate: Annotated[
        float, typer.Option(help="Share of the labels that stay known, in (0, 1).")
    ] = 0.1,
    seed: Annotated[int, typer.Option(min=0, help="Decides the set and what is hidden.")] = 0,
) -> None:
    """Learn on a small embedded set with hidden labels and print what was recovered."""
    if not 0 < rate < 1:
        raise typer.BadParameter(f"must lie between 0 and 1; got {rate}", param_hint="--rate")
    from rich.console import Console

    from tagloom.datasets import small_scenes
    from tagloom.labels import hide_per_class

    scenes = small_scenes(random_state=seed)
    known = hide_per_class(scenes.truth, rate, seed)
    console = Console(highlight=False)
    console.print(
        f"{known.n_items} scenes, {known.n_labels} labels. Of the {scenes.truth.n_known:,} entries "
        f"{rate:.0%} stay known\n({known.n_present:,} present, {known.n_absent:,} absent); the "
        "others are hidden and to be recovered.\n"
    )
    learners = _learners(scenes, known)
    _print_quality(console, scenes, known, learners)
    _print_recovered(console, scenes, known, learners["APG-Graph"])
    _print_examples(console, scenes, known, learners["APG-Graph"])


def _learners(scenes: "SmallScenes", known: "PartialLabels") -> "dict[str, PartialLabelLearner]":
    """Fit our learner and plain ridge, each tuned on what is known."""
    from sklearn.neighbors import kneighbors_graph

    from tagloom.models import APGGraph, tune

    joined = kneighbors_graph(scenes.X, _NEIGHBOURS)
    graph = joined.maximum(joined.T)
    ridges = {"ridge": [0.1, 0.3, 1.0, 3.0, 10.0, 30.0]}
    return {
        "ridge, label by label": tune(APGGraph(lam=0.0), scenes.X, known, grid=ridges).model,
        "APG-Graph": tune(APGGraph(), scenes.X, known, graph, progress=True).model,
    }


def _hidden(scenes: "SmallScenes", known: "PartialLabels") -> Any:
    """Return the truth where it was hidden and NaN where it was known."""
    import numpy as np

    from tagloom.labels import State

    return np.where(known.states() == int(State.UNKNOWN), scenes.truth.to_array(), np.nan)


def _print_quality(
    console: "Console",
    scenes: "SmallScenes",
    known: "PartialLabels",
    learners: "dict[str, PartialLabelLearner]",
) -> None:
    import numpy as np
    from rich.table import Table

    from tagloom.metrics import mean_average_precision

    hidden = _hidden(scenes, known)
    table = Table("learner", "mAP on what was hidden", title="How well hidden labels are ranked")
    guess = np.zeros(known.shape)
    table.add_row("no learning at all", f"{mean_average_precision(hidden, guess):.3f}")
    for name, learner in learners.items():
        scores = learner.scores(scenes.X)
        table.add_row(name, f"{mean_average_precision(hidden, scores):.3f}")
    console.print(table)


def _print_recovered(
    console: "Console", scenes: "SmallScenes", known: "PartialLabels", learner: Any
) -> None:
    """Say how many labels were filled in and how many of those are right."""
    completed = learner.complete(scenes.X, known)
    hidden = _hidden(scenes, known)
    filled_in = (completed == 1) & (hidden == hidden)
    right = int((filled_in & (hidden == 1)).sum())
    console.print(
        f"\nFilled in as present: {int(filled_in.sum()):,}, of which {right:,} are right "
        f"({right / max(1, filled_in.sum()):.0%}).\n"
        f"Hidden presences found: {right:,} of {int((hidden == 1).sum()):,} "
        f"({right / max(1, (hidden == 1).sum()):.0%}). "
        f"M has rank {learner.rank_}; proved within {learner.gap_:.0e} of the optimum.\n"
    )


def _print_examples(
    console: "Console", scenes: "SmallScenes", known: "PartialLabels", learner: Any
) -> None:
    """Show a few scenes: what was known of them and what was filled in, right or wrong."""
    from rich.table import Table

    completed = learner.complete(scenes.X, known)
    hidden, before = _hidden(scenes, known), known.states()
    table = Table("scene", "known", "filled in", "missed", title="A few of them")
    for i in range(_EXAMPLES):

        def names(which: Any, colour: str, mark: str = "") -> str:
            labels = [str(label) for label, yes in zip(known.labels, which, strict=True) if yes]
            return " ".join(f"[{colour}]{mark}{label}[/]" for label in labels)

        filled_in = (completed[i] == 1) & (hidden[i] == hidden[i])
        right = names(filled_in & (hidden[i] == 1), "green")
        wrong = names(filled_in & (hidden[i] == 0), "red", "✗")
        table.add_row(
            str((known.items or ())[i]),
            names(before[i] == 1, "bold"),
            f"{right} {wrong}".strip(),
            names((hidden[i] == 1) & ~filled_in, "yellow"),
        )
    console.print(table)
    console.print("[green]right[/]  [red]✗wrong[/]  [yellow]present but not found[/]")
