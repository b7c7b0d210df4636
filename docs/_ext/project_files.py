"""Files outside of docs/ on the site: CONTRIBUTING.md and the like, and the source.

The pages of docs/ link to `../CONTRIBUTING.md`, `../src/tagloom/linalg.py` and
`../examples/plot_tuning.py`, so that links work where the project is read as files. Here such links
lead to pages of the site: `PAGES` stand in for files of the project, every module has a page with
its source, and every example one in the gallery.
"""

import inspect
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
# The page of docs/ that shows a file of the project.
PAGES = {"CONTRIBUTING.md": "contributing", "CHANGELOG.md": "changelog", "SECURITY.md": "policy"}
LINK = re.compile(r"\[([^\[\]]*)\]\((?!\w+:)([^)#\s]+)(#[^)\s]*)?\)")


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the handlers; links of the reference to the source are found by `linkcode`."""
    app.setup_extension("sphinx.ext.linkcode")
    app.config.linkcode_resolve = link_to_source
    app.config.myst_url_schemes = {"http": None, "https": None, "page": {"url": "{{path}}"}}
    app.connect("source-read", show_project_files)
    app.connect("html-collect-pages", source_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def show_project_files(app: Sphinx, name: str, source: list[str]) -> None:
    """Replace the text of a page by the file that it stands for, and turn links around."""
    folder = (Path(app.srcdir) / name).parent
    for file, page in PAGES.items():
        if page == name:
            source[0], folder = (ROOT / file).read_text("utf-8"), ROOT
    here = (Path(app.srcdir) / name).parent
    source[0] = LINK.sub(lambda found: link_on_the_site(found, folder, here), source[0])


def link_on_the_site(found: re.Match[str], folder: Path, here: Path) -> str:
    """Return a link of Markdown in a file of `folder` as a link from a page in `here`.

    What has no page, such as a test, is named without a link.
    """
    text, anchor, docs = found[1], found[3] or "", ROOT / "docs"
    path = (folder / found[2]).resolve()
    name = os.path.relpath(path, ROOT)
    if name in PAGES:
        return f"[{text}]({os.path.relpath(docs / PAGES[name], here)}.md{anchor})"
    if path.suffix == ".py" and path.is_relative_to(SOURCE):
        return f"[{text}](page:{os.path.relpath(docs / page_of(path), here)}.html)"
    if path.is_relative_to(ROOT / "examples"):
        page = docs / "gallery" / path.stem.replace("README", "index")
        return f"[{text}]({os.path.relpath(page, here)}.rst)"
    if path.is_relative_to(docs):
        return f"[{text}]({os.path.relpath(path, here)}{anchor})"
    return text


def page_of(path: Path) -> str:
    """Return the name of the page with the source of a module."""
    return f"source/{path.relative_to(SOURCE).with_suffix('').as_posix()}"


def source_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield a page for each module, with an anchor on each line."""
    builder = app.builder
    if not isinstance(builder, StandaloneHTMLBuilder):
        return
    for path in sorted(SOURCE.rglob("*.py")):
        body = builder.highlighter.highlight_block(
            path.read_text("utf-8"), "python", lineanchors="line", anchorlinenos=False
        )
        title = path.relative_to(SOURCE).as_posix()
        yield page_of(path), {"title": title, "body": f"<h1>{title}</h1>{body}"}, "page.html"


def link_to_source(domain: str, info: dict[str, Any]) -> str | None:
    """Return the address of an object's source, seen from a page of api/generated."""
    value: Any = sys.modules.get(info["module"])
    try:
        for part in info["fullname"].split("."):
            value = inspect.unwrap(getattr(value, part))
        value = value.fget if isinstance(value, property) else value
        path = Path(inspect.getsourcefile(value) or "")
        line = inspect.getsourcelines(value)[1]
    except (AttributeError, TypeError, OSError):
        return None
    return f"../../{page_of(path)}.html#line-{line}" if path.is_relative_to(SOURCE) else None
