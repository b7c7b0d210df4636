"""PASCAL VOC's XML files: the objects in one picture."""

from pathlib import Path
from xml.etree import ElementTree

from tagloom.errors import InvalidInputError
from tagloom.formats._naming import Names, with_slashes
from tagloom.formats._plain_xml import read_xml
from tagloom.formats._tally import Tally
from tagloom.formats.annotations import Annotation
from tagloom.formats.gathering import Gathering


def read_objects(folder: Path, names: Names, gathering: Gathering, tally: Tally) -> dict[str, str]:
    """Read every XML file in a folder; many objects of one class are one presence."""
    n_objects = 0
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() == ".xml" and path.is_file():
            n_objects += _read_picture(path, names, gathering, tally)
    return {"read": "Annotations", "objects": f"{n_objects:,}"}


def _read_picture(path: Path, names: Names, gathering: Gathering, tally: Tally) -> int:
    root = read_xml(path)
    if root.tag != "annotation":
        raise InvalidInputError(
            f"{path}: expected <annotation> as the outermost element, found <{root.tag[:60]}>. "
            "Take the file out of the folder or correct it."
        )
    image = names.of_stem(path.stem) or _filename(root, path, tally)
    gathering.images.setdefault(image)
    certain: dict[str, bool] = {}
    objects = root.findall("object")
    for number, found in enumerate(objects, 1):
        tag = (found.findtext("name") or "").strip()
        if not tag:
            tally.add(f"{path}, object {number}", "an object without a name: left out")
            continue
        difficult = (found.findtext("difficult") or "0").strip()
        certain[tag] = certain.get(tag, False) or _is_easy(difficult, path, number)
    for tag, is_certain in certain.items():
        if is_certain:
            gathering.add(Annotation(image, tag), str(path))
        else:
            gathering.leave_open(image, tag)
    return len(objects)


def _filename(root: ElementTree.Element, path: Path, tally: Tally) -> str:
    named = with_slashes((root.findtext("filename") or "").strip())
    if not named:
        tally.add(str(path), "no filename is given: the picture has the name of the XML file")
    return named or path.stem


def _is_easy(difficult: str, path: Path, number: int) -> bool:
    if difficult not in ("0", "1"):
        raise InvalidInputError(
            f"{path}, object {number}: expected 0 or 1 in <difficult>, found {difficult[:60]!r}."
        )
    return difficult == "0"
