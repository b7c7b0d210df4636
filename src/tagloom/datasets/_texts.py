"""Text files as people have them: any end of line, with or without a byte order mark."""

from pathlib import Path

from tagloom.errors import InvalidInputError


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file; a byte order mark is no part of it."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = path.read_bytes()[: problem.start].count(b"\n") + 1
        raise InvalidInputError(
            f"{path}, line {line}: expected text in UTF-8, found the byte "
            f"{problem.object[problem.start]:#04x}. Save the file as UTF-8."
        ) from problem
    except OSError as problem:
        raise InvalidInputError(f"{path} cannot be read: {problem.strerror}.") from problem


def numbered_lines(path: Path) -> list[tuple[int, str]]:
    """Return the lines that are not blank, stripped, each with its number from 1."""
    lines = read_text(path).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]


def whole_number(text: str, where: str) -> int:
    """Return the whole number that a text says, in plain digits."""
    if not (text.isascii() and text.isdigit()):
        raise InvalidInputError(f"{where}: expected a whole number, found {text!r}.")
    return int(text)
