"""What the columns of a table, or the keys of a JSON line, are called."""

from collections.abc import Iterable, Sequence

PICTURE = (
    "image",
    "file_name",
    "filename",
    "file",
    "path",
    "item",
    "imageid",
    "image_id",
    "image_name",
    "image_path",
    "file_path",
    "filepath",
    "picture",
    "photo",
)
TAG = ("tag", "label", "labelname", "label_name", "keyword")
TAGS = ("tags", "labels", "keywords")
STATE = ("present", "state", "value", "confidence")
PROBABILITY = ("probability", "confidence")
SPLIT = ("split",)
KNOWN = frozenset((*PICTURE, *TAG, *TAGS, *STATE, *PROBABILITY, *SPLIT))


def plain(name: str) -> str:
    """Return a name as it is compared: whatever its case, `File Name` is `file_name`."""
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def place_of(header: Sequence[str], names: Iterable[str], apart: Iterable[int] = ()) -> int | None:
    """Return the place of the column with the first of these names that there is.

    >>> place_of(["ImageID", "LabelName", "Confidence"], TAG)
    1
    """
    left_out = set(apart)
    places: dict[str, int] = {}
    for place, name in enumerate(header):
        if place not in left_out:
            places.setdefault(plain(name), place)
    return next((places[name] for name in names if name in places), None)


def picture_place(header: Sequence[str], apart: Iterable[int] = ()) -> int:
    """Return the place of the column of pictures: the first with such a name, or the first."""
    left_out = set(apart)
    free = [place for place in range(len(header)) if place not in left_out]
    named = [place for place in free if plain(header[place]) in PICTURE]
    return (named or free or [0])[0]


def form_of(header: Sequence[str]) -> str:
    """Tell the form of a table by its header: "tags", "long" or "wide".

    >>> form_of(["file_name", "tags"]), form_of(["image", "tag"]), form_of(["image", "sea", "sky"])
    ('tags', 'long', 'wide')
    """
    if place_of(header, TAGS) is not None:
        return "tags"
    return "wide" if place_of(header, TAG) is None else "long"
