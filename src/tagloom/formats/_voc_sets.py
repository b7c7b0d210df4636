"""Lines of PASCAL VOC's lists: ids of pictures, and their state for one class."""

from pathlib import Path

from tagloom.errors import InvalidInputError

STATES: dict[str, bool | None] = {"1": True, "-1": False, "0": None}


def class_lines(path: Path) -> list[tuple[int, str, bool | None]]:
    """Return line number, id and state: present, absent, or None where 0 leaves it unknown."""
    lines = []
    for number, line in _numbered(path):
        parts = line.split()
        if len(parts) != 2 or parts[1] not in STATES:
            raise InvalidInputError(
                f"{path}, line {number}: expected the id of a picture and 1, -1 or 0, found "
                f"{line[:60]!r}."
            )
        lines.append((number, parts[0], STATES[parts[1]]))
    return lines


def picture_lines(path: Path) -> list[tuple[int, str]]:
    """Return line number and id of a list without classes; more on a line is no such list."""
    lines = _numbered(path)
    for number, line in lines:
        if len(line.split()) != 1:
            raise InvalidInputError(
                f"{path}, line {number}: expected the id of a picture, found {line[:60]!r}."
            )
    return lines


def _numbered(path: Path) -> list[tuple[int, str]]:
    """Return the lines that are not blank, stripped, each with its number from 1."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as problem:
        raise InvalidInputError(f"{path} cannot be read: {problem.strerror}.") from problem
    except UnicodeDecodeError as problem:
        raise InvalidInputError(
            f"{path}: expected text in UTF-8, found the byte {problem.object[problem.start]:#04x} "
            f"at {problem.start}. Save the file as UTF-8."
        ) from problem
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
