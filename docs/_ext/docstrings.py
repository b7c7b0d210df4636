"""Docstrings as the reference shows them: formulas line by line, without scikit-learn's own."""

import re
from typing import Any

from sphinx.application import Sphinx

# Sections of numpydoc whose indented lines describe something; elsewhere they are formulas.
DESCRIBING = {"Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns", "Examples"}
# A symbol at the beginning of a sentence ("s. 0 leaves scores as they are") begins no list.
SYMBOL = re.compile(r"^(\s*[A-Za-z])\.(?=\s|$)")
# Methods that estimators inherit and whose documentation refers to scikit-learn's own pages.
OF_SCIKIT_LEARN = re.compile(r"set_\w+_request|get_metadata_routing|set_output")


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the handlers, before those of numpydoc."""
    app.connect("autodoc-process-docstring", keep_lines_of_formulas, priority=100)
    app.connect("autodoc-skip-member", skip_inherited)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def keep_lines_of_formulas(
    app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Mark indented paragraphs as literal blocks: plain reStructuredText would join their lines."""
    marked: list[str] = []
    section, in_block = "", False
    for i, line in enumerate(lines):
        if i + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[i + 1]):
            section = line.strip()
        indented = line.startswith("    ")
        starts = indented and not in_block and bool(marked) and not marked[-1]
        if starts and section not in DESCRIBING and not _within_a_list(marked):
            marked += ["::", ""]
            in_block = True
        in_block = in_block and (indented or not line)
        marked.append(line if in_block else SYMBOL.sub(r"\1\\.", line))
    lines[:] = marked


def _within_a_list(before: list[str]) -> bool:
    paragraph = next((line for line in reversed(before) if line), "")
    return paragraph.startswith(("- ", "  ", "1. "))


def skip_inherited(
    app: Sphinx, what: str, name: str, value: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out what estimators inherit from scikit-learn for its own use."""
    return True if OF_SCIKIT_LEARN.fullmatch(name) else None
