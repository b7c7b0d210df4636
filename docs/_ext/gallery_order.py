"""The order of the gallery: from what most people do to what few need."""

from pathlib import Path

ORDER = [
    "incomplete_yeast",
    "tag_lists",
    "tuning",
    "calibrated_suggestions",
    "active_learning",
    "explain",
    "own_encoder",
    "regularization_path",
    "dask",
]


class Order:
    """Sorts file names of examples; those that are not listed come last, by name."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, name: str) -> tuple[int, str]:
        """Return the place of an example."""
        stem = Path(name).stem.removeprefix("plot_")
        return (ORDER.index(stem) if stem in ORDER else len(ORDER), stem)
