"""Write COCO json that its own library loads."""

import importlib.util
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tagloom.formats._json import save_json
from tagloom.formats._naming import refuse_unwritable
from tagloom.formats._tally import Tally
from tagloom.formats.annotations import Annotation, Annotations
from tagloom.formats.gathering import Remark

ABSENT = "neg_category_ids"
MACHINE_ABSENT = "neg_category_scores"


def write_coco(
    annotations: Annotations, path: Path, *, pictures: Path | None = None
) -> list[Remark]:
    """Write COCO json; return what could not be said in it.

    A tag belongs to the whole picture, yet readers take `bbox`, `area`, `iscrowd` and
    `segmentation` of every annotation for granted: the box and the outline are those of the whole
    picture where its size is known, else a box of zeros and no outline. Ids count from 1, for
    COCO's own evaluation takes 0 for "nothing".

    Absences of a person go to `neg_category_ids` of the picture, as in LVIS, those of a machine
    to `neg_category_scores`, which is our own. Both stand on every picture as soon as one of them
    has any.

    Parameters
    ----------
    annotations
        What is said.
    path
        The file.
    pictures
        The folder with the pictures, for their sizes; without it (or without Pillow) width and
        height are 0.
    """
    refuse_unwritable(annotations)
    tally = Tally()
    category = {tag: number for number, tag in enumerate(annotations.tags, 1)}
    says_absent = not annotations.present.all()
    images: list[dict[str, Any]] = []
    listed: list[dict[str, Any]] = []
    for image_id, (name, said) in enumerate(annotations.by_image().items(), 1):
        width, height = _size(name, pictures, tally)
        image = {"id": image_id, "file_name": name, "width": width, "height": height}
        images.append(image | (_absences(said, category) if says_absent else {}))
        for one in said:
            if one.present:
                about = {"id": len(listed) + 1, "image_id": image_id}
                about["category_id"] = category[one.tag]
                listed.append(about | _whole_picture(width, height) | _score(one))
    content = {
        "info": {"description": "Tags of whole pictures, written by tagloom"},
        "licenses": [],
        "images": images,
        "annotations": listed,
        "categories": [
            {"id": number, "name": tag, "supercategory": "tag"} for tag, number in category.items()
        ],
    }
    save_json(content, path)
    return tally.remarks()


def _absences(said: Iterable[Annotation], category: dict[str, int]) -> dict[str, Any]:
    absent = [one for one in said if not one.present]
    return {
        ABSENT: [category[one.tag] for one in absent if one.confidence is None],
        MACHINE_ABSENT: [
            {"category_id": category[one.tag], "score": one.confidence}
            for one in absent
            if one.confidence is not None
        ],
    }


def _whole_picture(width: int, height: int) -> dict[str, Any]:
    outline = [[0, 0, width, 0, width, height, 0, height]] if width and height else []
    return {
        "bbox": [0, 0, width, height],
        "area": width * height,
        "iscrowd": 0,
        "segmentation": outline,
    }


def _score(one: Annotation) -> dict[str, float]:
    return {} if one.confidence is None else {"score": one.confidence}


def _size(name: str, pictures: Path | None, tally: Tally) -> tuple[int, int]:
    size = None if pictures is None else _stored_size(pictures / name)
    if size is None:
        tally.add(name, "its size is not known: width, height and box are 0")
    return size or (0, 0)


def _stored_size(path: Path) -> tuple[int, int] | None:
    """Return width and height as stored, without decoding; None where they cannot be told."""
    if importlib.util.find_spec("PIL") is None:
        return None
    from PIL import Image

    try:
        with warnings.catch_warnings():
            # Pillow warns of many pixels before it decodes them, which does not happen here.
            warnings.simplefilter("ignore")
            with Image.open(path) as picture:
                return picture.size
    except Exception:  # its many readers raise whatever a damaged header leads them to
        return None
