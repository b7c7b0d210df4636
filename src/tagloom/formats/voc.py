"""PASCAL VOC: a text file for each class, or an XML file for each picture."""

import re
from pathlib import Path

from tagloom.checks import some_of
from tagloom.errors import InvalidInputError
from tagloom.formats._json import head_of
from tagloom.formats._naming import Names
from tagloom.formats._tally import Tally
from tagloom.formats._voc_objects import read_objects
from tagloom.formats._voc_sets import class_lines, picture_lines
from tagloom.formats._voc_writing import write_voc
from tagloom.formats.annotations import Annotation
from tagloom.formats.gathering import Gathering, Reading

__all__ = ["read_voc", "recognise_voc", "write_voc"]

_CLASS_FILE = re.compile(r"(.+)_(train|val|trainval|test)\.txt")
_PICTURE_FILE = re.compile(r"(train|val|trainval|test)\.txt")
_EDITION = re.compile(r"VOC\d{4}")


def recognise_voc(path: Path) -> bool:
    """Say whether a folder is VOCdevkit, VOC2007, ImageSets/Main or Annotations, or holds one."""
    try:
        main, objects = _find(path)
    except InvalidInputError:
        return True  # there is more than one, of which the reader asks to name one
    except (OSError, ValueError):
        return False
    return main is not None or objects is not None


def read_voc(path: Path, pictures: Path | None = None) -> Reading:
    """Read PASCAL VOC's lists of classes; its XML files where there are no lists.

    In the lists 1 is present, -1 absent and 0, all objects of the class being difficult to
    recognise, unknown. In the XML files each object is a presence of its class, unless all of its
    class are difficult; nothing is said to be absent.

    Ids of pictures have no extension; it is found in `pictures`, else in `JPEGImages`, else the
    XML's `filename` gives it.

    Parameters
    ----------
    path
        `VOCdevkit`, `VOC2007` or the like, `ImageSets/Main`, or `Annotations`.
    pictures
        The folder with the pictures.
    """
    main, objects = _find(path)
    if main is None and objects is None:
        raise InvalidInputError(
            f"{path} holds no PASCAL VOC: expected ImageSets/Main with <class>_trainval.txt "
            "and the like, or Annotations with an XML file for each picture. Name the folder that "
            "has them."
        )
    gathering, tally = Gathering(), Tally()
    if main is not None:
        names = Names(pictures or _folder_of_pictures(main.absolute().parents[1]))
        details = _read_main(main, names, gathering, tally)
    elif objects is not None:
        names = Names(pictures or _folder_of_pictures(objects.absolute().parent))
        details = read_objects(objects, names, gathering, tally)
    tally.into(gathering)
    return gathering.finish(path, "PASCAL VOC", can_say_absent=main is not None, **details)


def _find(path: Path) -> tuple[Path | None, Path | None]:
    """Return the folder with the lists and the folder with the XML files, where they are."""
    editions = sorted(
        inner
        for outer in (path, path / "VOCdevkit")
        if outer.is_dir()
        for inner in outer.iterdir()
        if _EDITION.fullmatch(inner.name) and inner.is_dir()
    )
    if len(editions) > 1:
        raise InvalidInputError(
            f"{path} holds several editions of PASCAL VOC: {some_of(e.name for e in editions)}. "
            "Name one of them."
        )
    homes = [path, *editions]
    mains = [*(home / "ImageSets" / "Main" for home in homes), path / "Main"]
    if path.absolute().name == "Main":
        mains.append(path)
    main = next((folder for folder in mains if _holds_lists(folder)), None)
    objects = [*(home / "Annotations" for home in homes), path]
    return main, next((folder for folder in objects if _holds_objects(folder)), None)


def _holds_lists(folder: Path) -> bool:
    return folder.is_dir() and any(_CLASS_FILE.fullmatch(one.name) for one in folder.iterdir())


def _holds_objects(folder: Path) -> bool:
    if not folder.is_dir():
        return False
    first = next((one for one in folder.iterdir() if one.suffix.lower() == ".xml"), None)
    return first is not None and "<annotation" in head_of(first)


def _folder_of_pictures(home: Path) -> Path | None:
    folder = home / "JPEGImages"
    return folder if folder.is_dir() else None


def _read_main(main: Path, names: Names, gathering: Gathering, tally: Tally) -> dict[str, str]:
    files: dict[str, list[str]] = {}
    for entry in sorted(main.iterdir()):
        found = _CLASS_FILE.fullmatch(entry.name)
        if found:
            files.setdefault(found[1], []).append(found[2])
        elif _PICTURE_FILE.fullmatch(entry.name):
            for number, name in picture_lines(entry):
                gathering.images.setdefault(_named(name, names, f"{entry}, line {number}", tally))
    for tag, sides in files.items():
        gathering.tags.setdefault(tag)
        for side in _without_halves(sides):
            _read_class(main / f"{tag}_{side}.txt", tag, names, gathering, tally)
    sides = sorted({side for group in files.values() for side in _without_halves(group)})
    return {"read": "ImageSets/Main", "sides": ", ".join(sides)}


def _without_halves(sides: list[str]) -> list[str]:
    """Leave out train and val where trainval, which is both, is there."""
    halves = {"train", "val"} if "trainval" in sides else set()
    return [side for side in sides if side not in halves]


def _read_class(path: Path, tag: str, names: Names, gathering: Gathering, tally: Tally) -> None:
    for number, name, state in class_lines(path):
        where = f"{path}, line {number}"
        image = _named(name, names, where, tally)
        gathering.images.setdefault(image)
        if state is not None:
            gathering.add(Annotation(image, tag, state), where)


def _named(name: str, names: Names, where: str, tally: Tally) -> str:
    found = names.of_stem(name)
    if found is None:
        tally.add(where, "no one picture was found for this id: its name has no extension")
    return found or name
