"""Links of the documentation lead somewhere: files exist, and so do the headings they name."""

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("[a-z]*/*.md")]
)
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(<?([^)>\s]+)>?\)")
FENCE = re.compile(r"^([ \t]*)(```+).*?^\1\2[ \t]*$", flags=re.MULTILINE | re.DOTALL)


def name_of(path):
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    assert [link for link in links_of(page) if not leads_somewhere(page, link)] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_within_the_project_are_relative(page):
    """Links to other hosts are few and known: the documentation is read offline."""
    hosts = {
        re.sub(r"^https?://([^/]+).*", r"\1", link) for link in links_of(page) if "://" in link
    }
    assert hosts <= {"exiftool.org", "keepachangelog.com", "semver.org"}


def links_of(page):
    text = FENCE.sub("", page.read_text("utf-8"))
    return [found[1] for found in LINK.finditer(re.sub(r"`[^`\n]*`", "", text))]


def leads_somewhere(page, link):
    if "://" in link:
        return True
    path, _, anchor = link.partition("#")
    target = (page.parent / unquote(path)).resolve() if path else page
    if not target.exists():
        return False
    return not anchor or target.suffix != ".md" or anchor in anchors_of(target)


@cache
def anchors_of(page):
    """Return the anchors of a page's headings, as code hosts and the site derive them."""
    text = FENCE.sub("", page.read_text("utf-8"))
    anchors = set()
    for found in re.finditer(r"^#{1,6} +(.+?)\s*$", text, flags=re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", found[1]).lower()
        anchors.add(re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", words)))
    return anchors


@pytest.mark.parametrize(
    ("link", "found"),
    [
        ("learner.md", True),
        ("learner.md#model-files", True),
        ("learner.md#no-such-heading", False),
        ("no-such-page.md", False),
        ("../src/tagloom/linalg.py", True),
        ("#the-solver", True),
    ],
)
def test_a_broken_link_is_noticed(link, found):
    assert leads_somewhere(ROOT / "docs" / "learner.md", link) == found


def test_every_page_is_in_the_navigation():
    listed = {
        line.strip()
        for page in (ROOT / "docs").rglob("*.md")
        for block in re.findall(r"```\{toctree\}(.*?)```", page.read_text("utf-8"), re.DOTALL)
        for line in block.splitlines()
    }
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"index"}
    assert pages <= listed
