"""Generated scenes as a data set: pictures in a folder, and tables of their labels and areas."""

import csv
import json
import os
from collections.abc import Iterator, Mapping, Set
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.datasets.base import Dataset
from tagloom.datasets.scenes.drawing import DRAWING_VERSION, draw_scene
from tagloom.errors import InvalidInputError
from tagloom.io import atomic_write, parse_json, user_cache
from tagloom.labels import PartialLabels
from tagloom.progress import progress_bar
from tagloom.validation import check_integer, check_number

# In the order of the columns of the labels.
LABELS: tuple[str, ...] = (
    "balloon",
    "bird",
    "boat",
    "book",
    "bridge",
    "bus",
    "cactus",
    "car",
    "cat",
    "chair",
    "cloud",
    "dog",
    "fish",
    "flower",
    "grass",
    "house",
    "lamp",
    "lighthouse",
    "moon",
    "mountain",
    "palm",
    "person",
    "rain",
    "rainbow",
    "sand",
    "sheep",
    "sky",
    "skyscraper",
    "snow",
    "sofa",
    "stars",
    "street",
    "sun",
    "table",
    "tree",
    "umbrella",
    "water",
)

LABELS_FILE = "labels.csv"
AREAS_FILE = "areas.csv"
MANIFEST_FILE = "scenes.json"
_QUALITY = 90
# A larger number is a typing error.
_MAX_SCENES = 1_000_000
# Fewer pictures are drawn sooner than further processes would start.
_PARALLEL_FROM = 150
# A killed run loses at most this many scenes, which are not in the table yet.
_SCENES_PER_TABLE = 200
_DEFAULT_SCENES = 1000
# Far above the numbers of parts, which select the other random streams of a scene.
_SPLIT_STREAM = 1_000_003

Tags = dict[str, frozenset[str]]
# For each picture, the share of it that each visible label covers.
Areas = dict[str, dict[str, float]]


def generated_scenes(
    n: int = _DEFAULT_SCENES,
    random_state: int = 0,
    folder: str | os.PathLike[str] | None = None,
    *,
    test_share: float = 0.3,
    verbose: bool = False,
) -> Dataset:
    """Return generated scenes: pictures with complete labels, and the logarithms of their areas.

    Pictures are drawn once and kept. Whether a scene is for training or test depends on its number
    and `random_state` alone, so that more scenes do not move any to the other side.

    Parameters
    ----------
    n
        Number of scenes.
    random_state
        Which series of scenes.
    folder
        The folder of the pictures; by default one in the user's cache directory.
    test_share
        The approximate share of test scenes.
    verbose
        Whether to show a progress bar.
    """
    check_integer("n", n, at_least=2)
    check_number("test_share", test_share, low=0.0, high=1.0)
    place = _cached(random_state) if folder is None else Path(folder)
    write_scenes(place, n, random_state, verbose)
    names = [scene_name(number) for number in range(n)]
    tags, areas = read_tags(place), read_areas(place)
    truth = PartialLabels.from_tags(
        {name: sorted(tags[name]) for name in names}, unlisted="absent", labels=LABELS
    )
    draw = np.array([_split_draw(random_state, number) for number in range(n)])
    test = draw < test_share
    return Dataset(
        "scenes",
        truth,
        np.flatnonzero(~test),
        np.flatnonzero(test),
        folder=place,
        salience=_salience([areas[name] for name in names]),
        notes=(f"Pictures drawn by tagloom (drawing {DRAWING_VERSION}, series {random_state}).",),
    )


def _salience(areas: list[dict[str, float]]) -> npt.NDArray[np.float64]:
    """Return the logarithm of the area of each visible label; NaN for the others."""
    shares = np.array([[of.get(label, np.nan) for label in LABELS] for of in areas])
    return np.asarray(np.log(shares))


def open_scenes(argument: str = "") -> Dataset:
    """Open generated scenes; the argument is empty or their number ("1200")."""
    text = argument.strip()
    if not text:
        return generated_scenes()
    if not (text.isascii() and text.isdigit()) or int(text) < 2:
        raise InvalidInputError(
            f"After 'scenes:' a number of at least 2 is expected, as in 'scenes:1200'; "
            f"got {argument!r}."
        )
    return generated_scenes(int(text))


def _cached(random_state: int) -> Path:
    check_integer("random_state", random_state, at_least=0)
    return user_cache() / "scenes" / f"drawing-{DRAWING_VERSION}-series-{random_state}"


def _split_draw(random_state: int, number: int) -> float:
    # A stream of its own: otherwise the split would correlate with the kinds of scene. A zero at
    # the end would not do: NumPy takes (a, b, 0) for (a, b).
    return float(np.random.default_rng((random_state, number, _SPLIT_STREAM)).uniform())


def write_scenes(
    folder: str | os.PathLike[str],
    n: int,
    random_state: int = 0,
    verbose: bool = False,
) -> Path:
    """Write the first `n` scenes of a series and their labels to a folder.

    The folder gets a JPEG file for each scene, ``labels.csv`` (a row for each picture, a column for
    each label: 1 present, 0 absent), ``areas.csv`` (the same with the share of the picture that
    the label covers) and ``scenes.json``, which identifies the series. The pictures
    of an interrupted run are not drawn again, and more scenes can be added later. Files that
    were not written by this function are never replaced.

    Parameters
    ----------
    folder
        Created if it does not exist. A folder with files that are not scenes of this series is
        refused.
    n
        Number of scenes; further ones in the folder are kept.
    random_state
        Which series, as in `draw_scene`.
    verbose
        Whether to show a progress bar.

    Returns
    -------
    Path
        The folder.
    """
    check_integer("n", n, at_least=1)
    if n > _MAX_SCENES:
        raise InvalidInputError(f"n must be at most {_MAX_SCENES:,} scenes; got {n:,}.")
    check_integer("random_state", random_state, at_least=0)
    place = Path(folder)
    _claim(place, {"drawing": DRAWING_VERSION, "random_state": int(random_state)})
    tags, areas = read_tags(place), read_areas(place)
    missing = [i for i in range(n) if not _is_done(place, tags.keys() & areas.keys(), i)]
    if missing:
        _draw_missing(place, missing, int(random_state), areas, verbose)
    return place


def scene_name(number: int) -> str:
    """Return the file name of a scene.

    >>> scene_name(7)
    'scene-00007.jpg'
    """
    return f"scene-{number:05}.jpg"


def _claim(folder: Path, series: dict[str, int]) -> None:
    """Mark the folder as one of scenes, or refuse it because it holds something else."""
    manifest = folder / MANIFEST_FILE
    if folder.exists() and not folder.is_dir():
        raise InvalidInputError(f"{folder} is a file: scenes need a folder.")
    if manifest.exists():
        _check_series(manifest, series)
        return
    if folder.exists() and any(folder.iterdir()):
        raise InvalidInputError(
            f"{folder} holds files but no {MANIFEST_FILE}: it was not made by write_scenes. "
            "Give an empty or a new folder."
        )
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(manifest) as part:
        part.write_text(json.dumps({"scenes": series}, indent=2) + "\n", encoding="utf-8")


def _check_series(manifest: Path, series: dict[str, int]) -> None:
    try:
        found: Any = parse_json(manifest.read_text(encoding="utf-8"))["scenes"]
    except (ValueError, KeyError, TypeError):
        raise InvalidInputError(
            f"{manifest} is damaged or was not written by write_scenes."
        ) from None
    if found != series:
        raise InvalidInputError(
            f"{manifest.parent} holds scenes of another series: expected {series}, found {found}. "
            "Give another folder, or delete that one to draw it again."
        )


def read_tags(folder: Path) -> Tags:
    """Read the labels of the pictures; empty if there is no table yet."""
    return {name: frozenset(row) for name, row in _read_table(folder / LABELS_FILE).items()}


def read_areas(folder: Path) -> Areas:
    """Read the areas of the visible labels of the pictures; empty if there is no table yet."""
    return _read_table(folder / AREAS_FILE)


def _read_table(path: Path) -> Areas:
    """Read the cells that are not 0 of a table of pictures and labels."""
    if not path.exists():
        return {}
    try:
        with path.open(newline="", encoding="utf-8") as opened:
            rows = [row for row in csv.reader(opened) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidInputError(f"{path} is damaged: {error}. Remove it to draw again.") from None
    if not rows or tuple(rows[0]) != ("picture", *LABELS):
        raise InvalidInputError(f"The first row of {path} must be 'picture' and the labels.")
    return {row[0]: _present(row, path) for row in rows[1:]}


def _present(row: list[str], path: Path) -> dict[str, float]:
    try:
        cells = [_cell(text, path) for text in row[1:]]
        return {label: cell for label, cell in zip(LABELS, cells, strict=True) if cell}
    except ValueError:
        kind = "0 or 1" if path.name == LABELS_FILE else "numbers from 0 to 1"
        raise InvalidInputError(
            f"The row {row[0]!r} of {path} must hold {len(LABELS)} cells of {kind} after the name."
        ) from None


def _cell(text: str, path: Path) -> float:
    value = float(text)
    if not 0 <= value <= 1 or (path.name == LABELS_FILE and text not in ("0", "1")):
        raise ValueError(text)
    return value


def _is_done(folder: Path, listed: Set[str], number: int) -> bool:
    name = scene_name(number)
    return name in listed and (folder / name).exists()


def _draw_missing(
    folder: Path, missing: list[int], random_state: int, areas: Areas, verbose: bool
) -> None:
    """Draw scenes and add them to the tables, which are saved regularly and at the end."""
    bar = progress_bar(len(missing), "drawing", show=verbose, unit="scenes")
    try:
        with bar as advance, _draw_scenes(folder, missing, random_state) as finished:
            for count, (name, own) in enumerate(finished, 1):
                areas[name] = own
                advance()
                if count % _SCENES_PER_TABLE == 0:
                    _write_tables(folder, areas)
    finally:
        _write_tables(folder, areas)


@contextmanager
def _draw_scenes(
    folder: Path, numbers: list[int], random_state: int
) -> Iterator[Iterator[tuple[str, dict[str, float]]]]:
    """Draw scenes to the folder, in several processes if there are many."""
    if len(numbers) < _PARALLEL_FROM:
        yield (_write_scene(folder, number, random_state) for number in numbers)
        return
    from joblib import Parallel, delayed

    workers = Parallel(n_jobs=-1, batch_size=16, return_as="generator")
    tasks = (delayed(_write_scene)(folder, number, random_state) for number in numbers)
    with closing(workers(tasks)) as finished:
        yield finished


def _write_scene(folder: Path, number: int, random_state: int) -> tuple[str, dict[str, float]]:
    scene = draw_scene(number, random_state)
    name = scene_name(number)
    with atomic_write(folder / name) as part:
        scene.image.save(part, format="JPEG", quality=_QUALITY)
    return name, dict(scene.areas)


def _write_tables(folder: Path, areas: Areas) -> None:
    # Another process may be writing to the same folder: keep its entries.
    areas = read_areas(folder) | areas
    _write_table(folder / AREAS_FILE, areas, "{:.6f}")
    _write_table(
        folder / LABELS_FILE, {name: dict.fromkeys(areas[name], 1) for name in areas}, "{}"
    )


def _write_table(path: Path, cells: Mapping[str, Mapping[str, float]], form: str) -> None:
    with atomic_write(path) as part, part.open("w", newline="", encoding="utf-8") as opened:
        table = csv.writer(opened, lineterminator="\n")
        table.writerow(["picture", *LABELS])
        for name in sorted(cells):
            row = (
                form.format(cells[name][label]) if label in cells[name] else "0" for label in LABELS
            )
            table.writerow([name, *row])
