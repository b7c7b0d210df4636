"""PASCAL VOC: a text file for each class, or an XML file for each picture.

See Everingham et al. (2010), "The PASCAL visual object classes (VOC) challenge".
"""

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from tagloom.errors import InvalidInputError, UnwritableFileError
from tagloom.formats import base
from tagloom.formats.names import PictureIndex, check_writable, clashing, without_extension
from tagloom.formats.text import numbered_lines, peek, read_xml
from tagloom.io import atomic_write
from tagloom.validation import some_of

TITLE = "PASCAL VOC"
_STATES: dict[str, bool | None] = {"1": True, "-1": False, "0": None}
_CLASS_FILE = re.compile(r"(.+)_(train|val|trainval|test)\.txt")
_PICTURE_FILE = re.compile(r"(train|val|trainval|test)\.txt")
_EDITION = re.compile(r"VOC\d{4}")
_UNUSABLE = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*]|^[. ]|^$')
# A byte order mark at the beginning of a list would not be read as part of the first id.
_NOT_IN_ID = re.compile(r"[\s\ufeff]")
_LONGEST_TAG = 200


def is_voc(path: Path) -> bool:
    """Return whether a folder is or holds VOCdevkit, VOC2007, ImageSets/Main or Annotations."""
    try:
        main, objects = _find(path)
    except InvalidInputError:
        return True  # There are several editions, of which the reader asks to name one.
    except (OSError, ValueError):
        return False
    return main is not None or objects is not None


def read_voc(path: Path, pictures: Path | None = None) -> base.Reading:
    """Read PASCAL VOC's lists of classes, or its XML files where there are no lists.

    In the lists 1 is present, -1 absent, and 0 unknown: all objects of the class are difficult to
    recognise. In the XML files each object is a presence of its class, unless all objects of the
    class are difficult; absences are not listed.

    Ids of pictures have no extension; it is found in `pictures`, else in `JPEGImages`, else in the
    `filename` of the XML file.

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
            f"{path} is not PASCAL VOC: expected ImageSets/Main with <class>_trainval.txt "
            "and the like, or Annotations with an XML file for each picture. Name the folder that "
            "has them."
        )
    builder, counter = base.AnnotationBuilder(), base.WarningCounter()
    if main is not None:
        index = PictureIndex.of_folder(pictures or _folder_of_pictures(main.absolute().parents[1]))
        details = _read_main(main, index, builder, counter)
    elif objects is not None:
        index = PictureIndex.of_folder(pictures or _folder_of_pictures(objects.absolute().parent))
        details = _read_objects(objects, index, builder, counter)
    counter.add_to(builder)
    return builder.finish(path, TITLE, lists_absences=main is not None, **details)


FORMAT = base.Format("voc", TITLE, "a folder with ImageSets/Main or Annotations", is_voc, read_voc)


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
    return first is not None and "<annotation" in peek(first)


def _folder_of_pictures(home: Path) -> Path | None:
    folder = home / "JPEGImages"
    return folder if folder.is_dir() else None


def _read_main(
    main: Path, index: PictureIndex, builder: base.AnnotationBuilder, counter: base.WarningCounter
) -> dict[str, str]:
    files: dict[str, list[str]] = {}
    for entry in sorted(main.iterdir()):
        found = _CLASS_FILE.fullmatch(entry.name)
        if found:
            files.setdefault(found[1], []).append(found[2])
        elif _PICTURE_FILE.fullmatch(entry.name):
            for number, name in _picture_lines(entry):
                builder.images.setdefault(_picture(name, index, f"{entry}, line {number}", counter))
    for tag, sides in files.items():
        builder.tags.setdefault(tag)
        for side in _without_halves(sides):
            _read_class(main / f"{tag}_{side}.txt", tag, index, builder, counter)
    sides = sorted({side for group in files.values() for side in _without_halves(group)})
    return {"read": "ImageSets/Main", "sides": ", ".join(sides)}


def _without_halves(sides: list[str]) -> list[str]:
    """Leave out train and val where trainval, which is both, is there."""
    halves = {"train", "val"} if "trainval" in sides else set()
    return [side for side in sides if side not in halves]


def _read_class(
    path: Path,
    tag: str,
    index: PictureIndex,
    builder: base.AnnotationBuilder,
    counter: base.WarningCounter,
) -> None:
    for number, name, state in class_lines(path):
        where = f"{path}, line {number}"
        image = _picture(name, index, where, counter)
        builder.images.setdefault(image)
        if state is not None:
            builder.add(base.Annotation(image, tag, state), where)


def class_lines(path: Path) -> list[tuple[int, str, bool | None]]:
    """Return the lines of a class: number, id, and True, False or None (unknown)."""
    lines = []
    for number, line in numbered_lines(path):
        parts = line.split()
        if len(parts) != 2 or parts[1] not in _STATES:
            raise InvalidInputError(
                f"{path}, line {number}: expected the id of a picture and 1, -1 or 0, found "
                f"{line[:60]!r}."
            )
        lines.append((number, parts[0], _STATES[parts[1]]))
    return lines


def _picture_lines(path: Path) -> list[tuple[int, str]]:
    """Return the lines of a list without classes: number and id."""
    lines = numbered_lines(path)
    for number, line in lines:
        if len(line.split()) != 1:
            raise InvalidInputError(
                f"{path}, line {number}: expected the id of a picture, found {line[:60]!r}."
            )
    return lines


def _picture(name: str, index: PictureIndex, where: str, counter: base.WarningCounter) -> str:
    found = index.with_stem(name)
    if found is None:
        counter.add(where, "no single picture was found for this id: its name has no extension")
    return found or name


def _read_objects(
    folder: Path, index: PictureIndex, builder: base.AnnotationBuilder, counter: base.WarningCounter
) -> dict[str, str]:
    """Read every XML file in a folder; several objects of one class are one presence."""
    n_objects = 0
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() == ".xml" and path.is_file():
            n_objects += _read_picture(path, index, builder, counter)
    return {"read": "Annotations", "objects": f"{n_objects:,}"}


def _read_picture(
    path: Path, index: PictureIndex, builder: base.AnnotationBuilder, counter: base.WarningCounter
) -> int:
    root = read_xml(path)
    if root.tag != "annotation":
        raise InvalidInputError(
            f"{path}: expected <annotation> as the outermost element, found <{root.tag[:60]}>. "
            "Remove the file from the folder or correct it."
        )
    image = index.with_stem(path.stem) or _filename(root, path, counter)
    builder.images.setdefault(image)
    certain: dict[str, bool] = {}
    objects = root.findall("object")
    for number, found in enumerate(objects, 1):
        tag = (found.findtext("name") or "").strip()
        if not tag:
            counter.add(f"{path}, object {number}", "an object without a name: left out")
            continue
        difficult = (found.findtext("difficult") or "0").strip()
        certain[tag] = certain.get(tag, False) or _is_easy(difficult, path, number)
    for tag, is_certain in certain.items():
        if is_certain:
            builder.add(base.Annotation(image, tag), str(path))
        else:
            builder.leave_undecided(image, tag)
    return len(objects)


def _filename(root: ElementTree.Element, path: Path, counter: base.WarningCounter) -> str:
    named = base.picture_name(root.findtext("filename") or "")
    if not named:
        counter.add(str(path), "no filename is given: the picture has the name of the XML file")
    return named or path.stem


def _is_easy(difficult: str, path: Path, number: int) -> bool:
    if difficult not in ("0", "1"):
        raise InvalidInputError(
            f"{path}, object {number}: expected 0 or 1 in <difficult>, found {difficult[:60]!r}."
        )
    return difficult == "0"


def write_voc(annotations: base.Annotations, folder: Path) -> list[base.InputWarning]:
    """Write `ImageSets/Main/<class>_trainval.txt` below a folder; return warnings.

    Every list has every picture: 1 where a person annotated the class as present, -1 as absent, 0
    where it is unknown. The format cannot mark suggestions of a machine: they are left out.
    `trainval.txt` lists the pictures.

    Pictures lose their extension, which VOC does not store.

    Raises
    ------
    InvalidInputError
        If a tag cannot be the name of a file on every system, if two tags differ only by case, or
        if a picture's name holds blanks or differs from another one only by its extension.
    UnwritableFileError
        If the folder has lists of other classes.
    """
    check_writable(annotations)
    _check_tags(annotations.tags)
    identity = _identities(annotations.images)
    main = folder / "ImageSets" / "Main"
    try:
        main.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise UnwritableFileError(f"{main} cannot be made: {problem.strerror}.") from problem
    _check_other_lists(main, annotations.tags)
    counter = base.WarningCounter()
    state: dict[tuple[str, str], int] = {}
    for one in annotations:
        if one.confidence is None:
            state[one.image, one.tag] = 1 if one.present else -1
        else:
            counter.add(f"{one.tag!r} of {one.image!r}", "VOC has no suggestions: left out")
    for tag in annotations.tags:
        lines = [
            f"{identity[image]} {state.get((image, tag), 0):>2}\n" for image in annotations.images
        ]
        _write(main / f"{tag}_trainval.txt", lines)
    _write(main / "trainval.txt", [f"{identity[image]}\n" for image in annotations.images])
    return counter.warnings()


def _check_other_lists(main: Path, tags: Iterable[str]) -> None:
    """Refuse a folder with lists of other classes, which would be read together with ours."""
    own = {"trainval.txt", *(f"{tag}_trainval.txt" for tag in tags)}
    others = sorted(path.name for path in main.glob("*.txt") if path.name not in own)
    if others:
        raise UnwritableFileError(
            f"{main} has lists that would not be replaced: {some_of(others)}. Choose a new folder."
        )


def _write(path: Path, lines: list[str]) -> None:
    with atomic_write(path) as part:
        part.write_bytes("".join(lines).encode())


def _check_tags(tags: Iterable[str]) -> None:
    listed = list(tags)
    unusable = [tag for tag in listed if _UNUSABLE.search(tag) or len(tag.encode()) > _LONGEST_TAG]
    if unusable:
        raise InvalidInputError(
            f"PASCAL VOC has a file for each tag, and these cannot name one: {some_of(unusable)}. "
            "Rename them or choose another format."
        )
    same = clashing({tag: unicodedata.normalize("NFC", tag).casefold() for tag in listed})
    if same:
        raise InvalidInputError(
            "PASCAL VOC has a file for each tag, and on many systems these would share one: "
            f"{some_of(same)}. Rename them or choose another format."
        )


def _identities(images: Iterable[str]) -> dict[str, str]:
    table = {image: without_extension(image) for image in images}
    blank = [image for image, name in table.items() if not name or _NOT_IN_ID.search(name)]
    if blank:
        raise InvalidInputError(
            "PASCAL VOC separates id and state by blanks, which these pictures have in their "
            f"names: {some_of(blank)}. Rename them or choose another format."
        )
    same = clashing(table)
    if same:
        raise InvalidInputError(
            "PASCAL VOC names pictures without their extension, so these cannot be distinguished: "
            f"{some_of(same)}. Rename them or choose another format."
        )
    return table
