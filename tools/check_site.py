"""Check the built site: links lead somewhere, and nothing is loaded from another host.

python tools/check_site.py docs/_build/html
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Tags that load something when a page is opened, and the attribute that says what.
LOADING = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """What a page links to, loads, and can be linked to by."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect addresses and anchors."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if given.get(LOADING.get(tag, "")):
            self.loaded.append(given[LOADING[tag]])


def main(folder: str) -> None:
    """Print what is wrong, and exit with 1 if anything is."""
    root = Path(folder).resolve()
    pages = {path: Page(path) for path in sorted(root.rglob("*.html"))}
    wrong = [
        f"{path.relative_to(root)}: {problem}"
        for path, page in pages.items()
        for problem in problems(path, page, pages)
    ]
    wrong += [
        f"{path.relative_to(root)}: loads {address}"
        for path in sorted(root.rglob("*.css"))
        for address in re.findall(
            r"url\(\s*['\"]?((?:https?:)?//[^)'\"]+)", path.read_text("utf-8")
        )
    ]
    print(*wrong, sep="\n")
    print(f"{len(pages)} pages, {sum(len(page.links) for page in pages.values()):,} links checked")
    sys.exit(1 if wrong else 0)


def problems(path: Path, page: Page, pages: dict[Path, Page]) -> list[str]:
    """Return what is wrong with a page."""
    found = [f"loads {address}" for address in page.loaded if _is_elsewhere(address)]
    for address in {*page.links, *page.loaded}:
        if _is_elsewhere(address) or address.startswith(("#!", "javascript:", "mailto:", "data:")):
            continue
        parts = urlsplit(address)
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        target = target / "index.html" if target.is_dir() else target
        if not target.exists():
            found.append(f"{address} leads nowhere")
        elif parts.fragment and target in pages:
            anchors = pages[target].anchors
            found += [f"{address}: no such anchor"] * (unquote(parts.fragment) not in anchors)
    return found


def _is_elsewhere(address: str) -> bool:
    return address.startswith(("http:", "https:", "//"))


if __name__ == "__main__":
    main(sys.argv[1])
