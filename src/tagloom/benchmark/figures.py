"""The figures of a benchmark: curves of mAP, example pictures, and nearest neighbours."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from tagloom.benchmark.summary import (
    OURS,
    best_baseline,
    descriptors_only,
    format_rate,
    learners_only,
    sort_methods,
    summarise,
    title_of,
)
from tagloom.datasets.base import Dataset, Rows
from tagloom.errors import UnwritableFileError, import_extra
from tagloom.io import atomic_write
from tagloom.labels import State
from tagloom.vision.pictures import PictureError, decode, read_picture

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT, GRID = "#1d2730", "#66727c", "#e3e7ea"
# Distinguishable by sign and by brightness, too.
RIGHT, WRONG, MISSED, UNKNOWN = "#00694b", "#c1440e", "#0a5f9e", "#66727c"
_DPI = 160
_RC: dict[str, Any] = {
    "svg.hashsalt": "tagloom",
    "svg.fonttype": "path",
    "font.family": ["DejaVu Sans"],
    "font.size": 9.5,
    "text.color": INK,
    "text.parse_math": False,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.titlesize": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": GRID,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "ytick.major.size": 0,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
}

_PANEL_WIDTH, _PANEL_HEIGHT, _PANELS_PER_ROW = 5.6, 3.9, 2
_PICTURE_WIDTH, _PICTURE_HEIGHT, _LINE_HEIGHT = 1.85, 1.4, 0.185
_PICTURES_PER_ROW, _MOST_MISSED = 6, 3
_N_QUERIES, _N_NEIGHBORS, _MOST_LABELS, _ROW_HEIGHT = 4, 5, 5, 2.35
_THUMBNAIL_SIDE = 320
_LONGEST_LABEL = 24

_SIGNS = {
    int(State.PRESENT): ("✓", RIGHT),
    int(State.ABSENT): ("✗", WRONG),
    int(State.UNKNOWN): ("?", UNKNOWN),
}

Examples = Mapping[str, Sequence[Mapping[str, Any]]]
# Sign, label and colour.
Caption = tuple[str, str, str]


def write_figures(
    folder: Path,
    results: "pd.DataFrame",
    dataset: Dataset | None = None,
    examples: Examples | None = None,
) -> list[Path]:
    """Write every figure that the data allows, each as PNG and SVG.

    Parameters
    ----------
    folder : Path
        The folder to write to; it is created if it is missing.
    results : DataFrame
        One row for each (dataset, protocol, method, rate, seed).
    dataset : Dataset, optional
        A set with pictures gives examples; one with features, nearest neighbours, too.
    examples : mapping, optional
        By method: {"item": ..., "top": [[label, score], ...]} of a few test pictures.

    Returns
    -------
    list of Path
        `map`, `descriptors`, `examples-<method>` (ours and the best baseline) and `neighbours`,
        as far as the data allows.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnwritableFileError(f"The folder {folder} cannot be made: {error}.") from None
    with house_style():
        figures = _figures(results, dataset, examples or {})
        return [path for name, figure in figures for path in save(figure, folder, name)]


def _figures(
    results: "pd.DataFrame", dataset: Dataset | None, examples: Examples
) -> "Iterator[tuple[str, Figure]]":
    for name, part in (
        ("map", learners_only(results)),
        ("descriptors", descriptors_only(results)),
    ):
        if len(part):
            yield name, curves(part)
    if dataset is None:
        return
    for method in _methods_to_show(results, examples):
        title = f"{title_of(method)}, {_lowest_rate(results)} of the labels known"
        drawn = examples_figure(dataset, examples[method], title)
        if drawn is not None:
            yield f"examples-{method}", drawn
    drawn = neighbors_figure(dataset, _rows_of_examples(dataset, examples))
    if drawn is not None:
        yield "neighbours", drawn


def _methods_to_show(results: "pd.DataFrame", examples: Examples) -> list[str]:
    """Return the last of our methods and the baseline that is best at the lowest rate."""
    ours = [method for method in sort_methods(examples) if method in OURS][-1:]
    lowest = results[results["rate"] == results["rate"].min()]
    baseline = best_baseline(lowest)
    return [*ours, *([baseline] if baseline is not None and baseline in examples else [])]


def _lowest_rate(results: "pd.DataFrame") -> str:
    return format_rate(float(results["rate"].min()))


def _rows_of_examples(dataset: Dataset, examples: Examples) -> list[int] | None:
    """Return the rows of the first examples, whose neighbours are shown."""
    where = row_of_item(dataset)
    for shown in examples.values():
        return [where[one["item"]] for one in shown if one["item"] in where] or None
    return None


def curves(results: "pd.DataFrame") -> "Figure":
    """Draw mAP against the share of known labels, a panel for each data set and protocol.

    Bands are one standard deviation over seeds.
    """
    panels = list(summarise(results).groupby(["dataset", "protocol"], sort=False))
    n_columns = min(len(panels), _PANELS_PER_ROW)
    n_rows = -(-len(panels) // n_columns)
    figure = new_figure(_PANEL_WIDTH * n_columns, _PANEL_HEIGHT * n_rows + 0.25)
    grid = figure.subplots(n_rows, n_columns, squeeze=False)
    for axes in grid.flat[len(panels) :]:
        axes.remove()
    for axes, ((dataset, protocol), part) in zip(grid.flat, panels, strict=False):
        _panel(axes, part, f"{dataset} · {protocol}")
    figure.supxlabel(_footnote(results), x=0.008, ha="left", color=FAINT, fontsize=8)
    return figure


def _panel(axes: "Axes", summary: "pd.DataFrame", title: str) -> None:
    ends: dict[str, tuple[float, float]] = {}
    for method, part in summary.groupby("method", sort=False):
        ends[str(method)] = _line(axes, str(method), part)
    axes.set_title(title, pad=10)
    axes.set_ylabel("mAP (%)")
    axes.set_xlabel("labels known")
    rates = np.sort(summary["rate"].unique())
    if len(rates) <= 10:
        axes.set_xticks(100 * rates)
    axes.xaxis.set_major_formatter("{x:g}%")
    axes.margins(x=0.03, y=0.06)
    _name_lines(axes, ends)


def _line(axes: "Axes", method: str, part: "pd.DataFrame") -> tuple[float, float]:
    """Draw the line of a method and return its end point."""
    style = line_of(method)
    x = 100 * part["rate"].to_numpy(dtype=float)
    mean = 100 * part["mean"].to_numpy(dtype=float)
    spread = 100 * part["sd"].fillna(0.0).to_numpy(dtype=float)
    band = mean - spread, mean + spread
    axes.fill_between(x, *band, color=style.colour, alpha=0.15, lw=0, zorder=1)
    axes.plot(
        x,
        mean,
        color=style.colour,
        lw=style.width,
        marker=style.marker,
        ms=4.5 if style.width < 2 else 5.5,
        mec="white",
        mew=0.7,
        # Our lines, which are heavier, lie above the others.
        zorder=1 + style.width,
    )
    return float(x[-1]), float(mean[-1])


def _name_lines(axes: "Axes", ends: dict[str, tuple[float, float]]) -> None:
    """Write the title of each method beside the end of its line, without overlaps."""
    low, high = axes.get_ylim()
    axes.set_ylim(low, high)
    right = max((x for x, _ in ends.values()), default=0.0)
    names = [name for name, (_, y) in ends.items() if np.isfinite(y)]
    places = spread_out([ends[name][1] for name in names], 0.058 * (high - low))
    for name, place in zip(names, places, strict=True):
        style = line_of(name)
        leader: dict[str, Any] = {"arrowstyle": "-", "color": style.colour, "lw": 0.7, "alpha": 0.7}
        if ends[name][0] < right:
            # A line that ends early goes on as dots, which nobody takes for results.
            leader["linestyle"] = ":"
        axes.annotate(
            title_of(name),
            xy=ends[name],
            xytext=(_right_of(axes, right), place),
            color=legible(style.colour),
            fontsize=8.8,
            fontweight="bold" if style.width > 2 else "normal",
            va="center",
            annotation_clip=False,
            arrowprops=leader | {"shrinkA": 1, "shrinkB": 5, "relpos": (0, 0.5)},
        )


def _right_of(axes: "Axes", x: float) -> float:
    low, high = axes.get_xlim()
    return x + 0.07 * (high - low)


def _footnote(results: "pd.DataFrame") -> str:
    counts = sorted(set(summarise(results)["n"]))
    seeds = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    noun = "seed" if counts == [1] else "seeds"
    band = "" if counts == [1] else "; bands: ± one standard deviation"
    return f"Mean over {seeds} {noun}{band}."


class Line(NamedTuple):
    """The style of a method in all figures."""

    colour: str
    marker: str
    width: float = 1.6


# Colours after Okabe and Ito; lines of similar brightness have different markers. Our methods are
# warm and heavy.
_LINES = {
    "least-squares": Line("#7a7a7a", "o"),
    "binary-relevance": Line("#56b4e9", "s"),
    "kernel-ridge": Line("#2f4b7c", "*"),
    "kernel-svm": Line("#8c6d31", "X"),
    "maxide": Line("#0072b2", "D"),
    "fasttag": Line("#cc79a7", "v"),
    "neighbors": Line("#009e73", "^"),
    "propagation": Line("#5e3c99", "P"),
    "apg-graph": Line("#e69f00", "o", 2.2),
    "semantic-diffusion": Line("#d55e00", "o", 2.8),
    "least-squares+words": Line("#35978f", "d"),
    "semantic-diffusion+words": Line("#a50026", "o", 2.2),
    "descriptor-global": Line("#0072b2", "D", 2.0),
    "descriptor-local": Line("#009e73", "^", 2.0),
    "descriptor-both": Line("#d55e00", "o", 2.8),
}
# Methods of others, by their names: markers are filled, since their edges are white.
_OTHERS = (
    Line("#000000", "h"),
    Line("#35978f", "d"),
    Line("#7f3b08", "p"),
    Line("#6a3d9a", "<"),
    Line("#4d4d4d", ">"),
)


def line_of(method: str) -> Line:
    """Return the style of a method."""
    return _LINES.get(method, _OTHERS[crc32(method.encode()) % len(_OTHERS)])


def legible(colour: str) -> str:
    """Return a darker shade for text, which is thinner than lines.

    >>> legible("#56b4e9")
    '#4994be'
    """
    pairs = zip(_channels(colour), _channels(INK), strict=True)
    return "#" + "".join(f"{round(0.77 * shade + 0.23 * ink):02x}" for shade, ink in pairs)


def _channels(colour: str) -> list[int]:
    return [int(colour[start : start + 2], 16) for start in (1, 3, 5)]


def spread_out(wanted: Sequence[float], gap: float) -> list[float]:
    """Move positions as little as possible until they are `gap` apart, keeping their order.

    Positions that are too close form a group, which is laid out evenly around the mean of its
    wanted positions; groups that come too close are merged. This minimises the sum of squared
    moves.

    >>> spread_out([1.0, 1.0, 5.0], 1.0)
    [0.5, 1.5, 5.0]
    """
    order = sorted(range(len(wanted)), key=lambda number: (wanted[number], number))
    groups: list[list[int]] = []
    for number in order:
        groups.append([number])
        while len(groups) > 1 and _top(groups[-2], wanted, gap) + gap > _bottom(
            groups[-1], wanted, gap
        ):
            last = groups.pop()
            groups[-1] += last
    places = [0.0] * len(wanted)
    for group in groups:
        bottom = _bottom(group, wanted, gap)
        for step, number in enumerate(group):
            places[number] = bottom + step * gap
    return places


def _bottom(group: Sequence[int], wanted: Sequence[float], gap: float) -> float:
    middle = sum(wanted[number] for number in group) / len(group)
    return middle - gap * (len(group) - 1) / 2


def _top(group: Sequence[int], wanted: Sequence[float], gap: float) -> float:
    return _bottom(group, wanted, gap) + gap * (len(group) - 1)


def examples_figure(
    dataset: Dataset, examples: Sequence[Mapping[str, Any]], title: str
) -> "Figure | None":
    """Draw test pictures with the top labels of a method; None if the set has no pictures.

    Present labels that are not among the top labels follow after a "+".
    """
    where = row_of_item(dataset)
    shown = [example for example in examples if example["item"] in where]
    if dataset.folder is None or not shown:
        return None
    texts = [_captions(dataset, where[example["item"]], example["top"]) for example in shown]
    n_lines = max(map(len, texts))
    n_columns = min(_PICTURES_PER_ROW, len(shown))
    n_rows = -(-len(shown) // n_columns)
    height = n_rows * (_PICTURE_HEIGHT + _LINE_HEIGHT * n_lines + 0.12) + 0.55
    figure = new_figure(_PICTURE_WIDTH * n_columns, height)
    ratios = [_PICTURE_HEIGHT, _LINE_HEIGHT * n_lines + 0.12] * n_rows
    grid = figure.subplots(2 * n_rows, n_columns, squeeze=False, height_ratios=ratios)
    for axes in grid.flat:
        axes.set_axis_off()
    for number, (example, lines) in enumerate(zip(shown, texts, strict=True)):
        row, column = divmod(number, n_columns)
        show_picture(grid[2 * row, column], dataset.picture(where[example["item"]]))
        write_captions(grid[2 * row + 1, column], lines, n_lines)
    figure.suptitle(title, x=0.008, ha="left", fontweight="bold", fontsize=10.5)
    _write_key(figure, any(sign == "?" for lines in texts for sign, _, _ in lines))
    return figure


def _captions(dataset: Dataset, row: int, top: Sequence[Sequence[Any]]) -> list[Caption]:
    """Return sign, label and colour of the suggested labels, then of the missed ones."""
    states = dataset.truth.block(row, row + 1)[0][0]
    named = {
        str(label): int(state) for label, state in zip(dataset.truth.labels, states, strict=True)
    }
    suggested = [str(label) for label, _ in top]
    lines = []
    for label in suggested:
        sign, colour = sign_of(named.get(label, int(State.UNKNOWN)))
        lines.append((sign, label, colour))
    missed = [
        label
        for label, state in named.items()
        if state == int(State.PRESENT) and label not in suggested
    ]
    lines += [("+", label, MISSED) for label in missed[:_MOST_MISSED]]
    if len(missed) > _MOST_MISSED:
        lines.append(("+", f"{len(missed) - _MOST_MISSED} more", MISSED))
    return lines


def _write_key(figure: "Figure", with_unknown: bool) -> None:
    entries = [
        ("✓ right", RIGHT),
        ("✗ wrong", WRONG),
        ("+ present, not suggested", MISSED),
        *([("? truth unknown", UNKNOWN)] if with_unknown else []),
    ]
    from matplotlib.patches import Patch

    handles = [Patch(facecolor="none", edgecolor="none", label=text) for text, _ in entries]
    figure.legend(
        handles=handles,
        loc="outside lower left",
        ncols=len(entries),
        frameon=False,
        handlelength=0,
        handletextpad=0,
        fontsize=8.5,
        labelcolor=[colour for _, colour in entries],
    )


def neighbors_figure(dataset: Dataset, rows: Sequence[int] | None = None) -> "Figure | None":
    """Draw test pictures beside their nearest training pictures, with the labels of all.

    Parameters
    ----------
    dataset : Dataset
        With pictures and features; for any other the result is None.
    rows : sequence of int, optional
        Rows of the test pictures; a few at equal distances by default.
    """
    queries = _queries(dataset, rows)
    k = min(_N_NEIGHBORS, len(dataset.training))
    if dataset.folder is None or dataset.features is None or not len(queries) or k == 0:
        return None
    nearest = _nearest(dataset, queries, k)
    figure = new_figure(_PICTURE_WIDTH * (k + 1) + 0.3, _ROW_HEIGHT * len(queries) + 0.6)
    ratios = [1.4, 0.95] * len(queries)
    grid = figure.subplots(2 * len(queries), k + 1, squeeze=False, height_ratios=ratios)
    for place, query in enumerate(queries.tolist()):
        own = _labels_of(dataset, query)
        for column, row in enumerate([query, *nearest[place].tolist()]):
            pair = grid[2 * place, column], grid[2 * place + 1, column]
            _draw_labelled(pair, dataset, row, own if column else None)
    grid[0, 0].set_title("test picture")
    grid[0, 1].set_title("nearest training pictures, nearest first")
    note = "✓ label shared with the test picture. Nearest by cosine of the visual descriptors."
    figure.supxlabel(note, x=0.008, ha="left", color=FAINT, fontsize=8)
    return figure


def _queries(dataset: Dataset, rows: Sequence[int] | None) -> Rows:
    if rows is not None:
        return np.asarray(rows[:_N_QUERIES], dtype=np.int64)
    places = np.linspace(0, len(dataset.test) - 1, min(_N_QUERIES, len(dataset.test)))
    return dataset.test[places.astype(np.int64)]


def _nearest(dataset: Dataset, queries: Rows, k: int) -> Rows:
    from tagloom.neighbors import nearest_neighbors

    assert dataset.features is not None
    visual = dataset.features.visual
    found = nearest_neighbors(visual[dataset.training], k, visual[queries], metric="cosine")
    return dataset.training[found.indices]


def _labels_of(dataset: Dataset, row: int) -> list[str]:
    states = dataset.truth.block(row, row + 1)[0][0]
    return [str(dataset.truth.labels[j]) for j in np.flatnonzero(states == int(State.PRESENT))]


def _draw_labelled(
    pair: "tuple[Axes, Axes]", dataset: Dataset, row: int, shared_with: Sequence[str] | None
) -> None:
    """Draw a picture above its labels; those shared with the test picture come first."""
    show_picture(pair[0], dataset.picture(row))
    labels = _labels_of(dataset, row)
    if shared_with is None:
        lines = [("", label, INK) for label in labels]
    else:
        shared = [("✓", label, RIGHT) for label in labels if label in shared_with]
        lines = [*shared, *(("", label, FAINT) for label in labels if label not in shared_with)]
    if len(lines) > _MOST_LABELS:
        hidden = len(lines) - _MOST_LABELS + 1
        lines = [*lines[: _MOST_LABELS - 1], ("", f"{hidden} more", FAINT)]
    write_captions(pair[1], lines, _MOST_LABELS)


def show_picture(axes: "Axes", path: Path) -> None:
    """Fit a picture into a 4:3 panel, flush left above its labels; a grey card if unreadable."""
    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.set(xlim=(0, 4), ylim=(3, 0))
    pixels = _thumbnail(path)
    if pixels is None:
        axes.fill_between([0, 4], 0, 3, color="#eceff1", lw=0)
        axes.text(2, 1.5, "cannot be read", ha="center", va="center", color=FAINT, fontsize=8)
        return
    height, width = pixels.shape[:2]
    scale = min(4 / width, 3 / height)
    extent = (0, width * scale, 3, 3 - height * scale)
    axes.imshow(pixels, extent=extent, interpolation="antialiased")
    axes.set(xlim=(0, 4), ylim=(3, 0))


def sign_of(state: int) -> tuple[str, str]:
    """Return the sign and the colour of a suggested label: right, wrong or unknown."""
    return _SIGNS[int(state)]


def write_captions(axes: "Axes", lines: list[Caption], n_lines: int) -> None:
    """Write captions below each other in an axes with room for `n_lines`."""
    axes.set_axis_off()
    axes.set(xlim=(0, 4), ylim=(n_lines, 0))
    for place, (sign, label, colour) in enumerate(lines):
        look: dict[str, Any] = {"color": colour, "va": "center", "fontsize": 8.5}
        axes.text(0.05, place + 0.5, sign, fontweight="bold", **look)
        axes.text(0.42, place + 0.5, shortened(label), **look)


def shortened(label: str, longest: int = _LONGEST_LABEL) -> str:
    """Truncate a long label.

    >>> shortened("swimming-pool", 9)
    'swimming…'
    """
    return label if len(label) <= longest else label[: longest - 1] + "…"


def row_of_item(dataset: Dataset) -> dict[str, int]:
    """Return the row of each item."""
    return {item: row for row, item in enumerate(dataset.items)}


def _thumbnail(path: Path) -> npt.NDArray[np.uint8] | None:
    import_extra("PIL.Image", purpose="Drawing pictures")
    try:
        picture = decode(read_picture(path), needed=_THUMBNAIL_SIDE)
    except (OSError, PictureError):
        return None
    picture.thumbnail((_THUMBNAIL_SIDE, _THUMBNAIL_SIDE))
    return np.asarray(picture)


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure that needs no display."""
    figure = import_extra("matplotlib.figure", purpose="Drawing figures", extra="figures")
    made: Figure = figure.Figure(figsize=(width, height), layout="constrained")
    return made


@contextmanager
def house_style() -> Iterator[None]:
    """Apply our style whatever the user's own settings are."""
    matplotlib = import_extra("matplotlib", purpose="Drawing figures", extra="figures")
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_RC)
        yield


def save(figure: "Figure", folder: Path, name: str) -> list[Path]:
    """Write a figure as PNG and SVG, reproducibly to the byte."""
    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    for path in paths:
        kind = path.suffix[1:]
        # Leave out the date and the version of matplotlib.
        metadata = {"Software": None} if kind == "png" else {"Date": None, "Creator": None}
        with atomic_write(path) as part, warnings.catch_warnings():
            # Labels may be in any script; glyphs that the font lacks are drawn as boxes.
            warnings.filterwarnings("ignore", message="Glyph")
            figure.savefig(part, format=kind, dpi=_DPI, metadata=metadata)
    return paths
