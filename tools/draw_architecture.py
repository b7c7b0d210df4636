"""Draw docs/img/architecture.svg: the packages in layers, and two walks through them.

    python tools/draw_architecture.py docs/img/architecture.svg

The layers are those that import-linter holds (`pyproject.toml`).
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

# Colour, packages and what they are, from the top; a test compares them with pyproject.toml.
LAYERS = [
    ("#e3ecfb", "cli", "one file per command"),
    ("#e3ecfb", "dask · review · benchmark", "cluster, page, comparison"),
    ("#e3ecfb", "completion", "a folder in, finished tags out"),
    ("#eaf4e6", "calibration", "scores to probabilities"),
    ("#eaf4e6", "datasets · formats", "sets, and tags of other programs"),
    ("#eaf4e6", "persistence", "model files"),
    ("#fbf1dc", "tagger", "pictures to labels, explained"),
    ("#fbf1dc", "models", "one file per learner"),
    ("#fbf1dc", "optim", "objective and solvers"),
    ("#fbf1dc", "graph · semantics · neighbors", "who is similar to whom"),
    ("#f6e6ef", "words", "what names mean"),
    ("#f6e6ef", "vision", "pictures to features"),
    ("#f6e6ef", "metrics · labels", "present, absent, unknown"),
    ("#eceef2", "validation · normalization · io · linalg · plugins · progress · errors", ""),
]
FIT = [
    ("models/apg_graph.py", "parameters, terms, solver"),
    ("models/base.py · validation.py", "check and read X and Y"),
    ("labels/partial · parsing · storage", "what is known"),
    ("graph/semantic.py", "Laplacian L"),
    ("optim/objective.py", "terms and certificate"),
    ("optim/loss.py · blocks.py", "loss on known entries"),
    ("optim/solvers/base · admm", "until the gap is below tol"),
    ("linalg.py", "proximal map of the nuclear norm, CG"),
]
COMPLETE = [
    ("completion/inputs.py", "formats: tags · vision: features"),
    ("completion/training_labels.py", "what is trained on · words: implied"),
    ("completion/fit.py", "tagger: semantics, graph, models"),
    ("calibration/collection.py", "listing, forgetting, answers, names"),
    ("completion/suggestions.py", "suggestions, suspected errors, next"),
    ("completion/outputs · report · model", "tables, report, model, record"),
]
WIDTH, TOP, STEP, HIGH = 980, 52, 54, 44
WALK_STEP, WALK_HIGH = 88, 56


def main(path: str) -> None:
    """Write the drawing."""
    Path(path).write_text("\n".join(drawing()) + "\n", encoding="utf-8")


def drawing() -> Iterator[str]:
    """Yield the lines of the SVG file."""
    height = TOP + STEP * len(LAYERS) + 34
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" font-family="system-ui, sans-serif" role="img" aria-labelledby="t d">'
    )
    yield '<title id="t">The packages of tagloom in layers, and two walks through them</title>'
    yield (
        '<desc id="d">Left: packages from foundations at the bottom to the command line above. '
        "Middle: the files of APGGraph.fit. Right: the steps of tagloom complete.</desc>"
    )
    yield f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
    yield (
        '<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto-start-reverse"><path d="M0 0 L8 4 L0 8 z" fill="#555"/></marker></defs>'
    )
    for x, title in ((160, "Layers"), (460, "APGGraph.fit"), (800, "tagloom complete")):
        yield text(x, 32, title, size=16, bold=True)
    for place, (fill, name, meaning) in enumerate(LAYERS):
        yield from box(20, TOP + STEP * place, 280, HIGH, (name, meaning), (fill, "#8a94a6"))
    yield text(160, height - 12, "imports go down only", size=12, fill="#4d5666")
    yield from walk(345, FIT)
    yield from pipeline(660)
    yield "</svg>"


def walk(x: int, steps: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield boxes one below the other, and the way back."""
    middle = x + 115
    for place, step in enumerate(steps):
        y = TOP + WALK_STEP * place
        yield from box(x, y, 230, WALK_HIGH, step, ("#fffaf0", "#c9a45c"))
        if place:
            yield arrow(f"M{middle} {y - WALK_STEP + WALK_HIGH} L{middle} {y - 2}")
    first, last = TOP + WALK_HIGH // 2, TOP + WALK_STEP * (len(steps) - 1) + WALK_HIGH // 2
    yield arrow(f"M{x + 230} {last} C {x + 262} {last}, {x + 262} {first}, {x + 232} {first}")
    turned = f'transform="rotate(90 {x + 268} {(first + last) // 2})"'
    yield text(x + 268, (first + last) // 2, "M, intercept, certificate", size=11, more=turned)


def pipeline(x: int) -> Iterator[str]:
    """Yield the command, the pipeline, and its steps beside it."""
    colours = ("#f0f5ff", "#6f8fc9")
    yield from box(x, TOP, 280, WALK_HIGH, ("cli/complete.py", "flags"), colours)
    y = TOP + WALK_STEP
    yield from box(
        x, y, 280, WALK_HIGH, ("completion/pipeline.py", "the table of contents"), colours
    )
    yield arrow(f"M{x + 140} {TOP + WALK_HIGH} L{x + 140} {y - 2}")
    for place, step in enumerate(COMPLETE, 2):
        at = TOP + WALK_STEP * place
        yield from box(x + 40, at, 260, WALK_HIGH, step, colours)
        yield arrow(f"M{x + 16} {y + WALK_HIGH} L{x + 16} {at + 28} L{x + 38} {at + 28}")


def box(
    x: int, y: int, wide: int, high: int, words: tuple[str, str], colours: tuple[str, str]
) -> Iterator[str]:
    """Yield a box with a title and a line below it."""
    fill, stroke = colours
    title, line = words
    yield (
        f'<rect x="{x}" y="{y}" width="{wide}" height="{high}" rx="6" fill="{fill}" '
        f'stroke="{stroke}"/>'
    )
    size = min(13.0, 1.62 * (wide - 16) / len(title))
    middle = y + high // 2
    yield text(x + wide // 2, middle - 2 if line else middle + 5, title, size=size, bold=True)
    if line:
        yield text(x + wide // 2, middle + 14, line, size=11, fill="#4d5666")


def text(
    x: int,
    y: int,
    words: str,
    *,
    size: float,
    bold: bool = False,
    fill: str = "#1d2433",
    more: str = "",
) -> str:
    """Return centred words."""
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x}" y="{y}" font-size="{size:.3g}" text-anchor="middle" fill="{fill}"{weight}'
        f"{' ' + more if more else ''}>{words}</text>"
    )


def arrow(way: str) -> str:
    """Return a line with a head."""
    return f'<path d="{way}" fill="none" stroke="#555" stroke-width="1.4" marker-end="url(#a)"/>'


if __name__ == "__main__":
    main(sys.argv[1])
