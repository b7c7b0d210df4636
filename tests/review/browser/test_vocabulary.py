"""The view to manage tags, at a real server: by keys alone, narrow, light and dark."""

import shutil

import processes
import pytest
from page_object import Keys, Page

from tagloom.words import read_vocabulary


@pytest.fixture
def managed(driver, run_folder, tmp_path):
    """The view of a copy of the run, and its vocabulary file."""
    shutil.copytree(run_folder / "out", tmp_path / "out")
    with processes.real_server(tmp_path / "out") as server:
        page = Page(driver, server)
        page.enter()
        page.go("#/vocabulary")
        page.one(".vocabulary-row")
        yield page, tmp_path / "out" / "vocabulary.toml"
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def row(tag):
    return f'.vocabulary-row[data-tag="{tag}"]'


def focus(page, css):
    page.run("document.querySelector(arguments[0]).focus()", css)


def test_tags_are_added_renamed_merged_left_out_and_undone_by_keys(managed):
    page, path = managed
    focus(page, ".vocabulary-add input")
    page.press("zebra", Keys.ENTER)
    page.says(f"{row('zebra')} .count", "no picture yet")
    page.says(f"{row('zebra')} .vocabulary-how", "zebra")
    focus(page, f"{row('tree')} button")
    page.press(Keys.ENTER)
    page.one(".vocabulary-editor input")
    page.press("timber", Keys.ENTER)
    page.says(f"{row('timber')} .vocabulary-how", "also called tree")
    focus(page, f"{row('timber')} button")
    page.press(Keys.ENTER)
    page.one(".vocabulary-editor input")
    page.press("sky")
    page.says(".vocabulary-editor .main", "Merge")
    page.press(Keys.ENTER)
    page.says(f"{row('sky')} .vocabulary-how", "timber")
    focus(page, f"{row('sky')} input[type=checkbox]")
    page.press(Keys.SPACE)
    page.one(f"{row('sky')}[data-ignored]")
    vocabulary = read_vocabulary(path)
    assert vocabulary.added == ("zebra",)
    assert vocabulary.resolve("tree") == "sky"
    assert vocabulary.is_ignored("sky")
    page.says(".vocabulary-note", "take effect when you learn again")
    assert page.all(".vocabulary-note button")
    page.run("document.activeElement.blur()")
    for _ in range(4):
        page.press("u")
        page.saved()
    page.until(lambda: not page.all(row("zebra")) and page.all(row("tree")))
    assert not read_vocabulary(path).aliases
    assert not page.all(".vocabulary-note button")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_narrow_screen(managed, scheme):
    page, _ = managed
    page.width(390)
    page.prefers(scheme)
    page.go("#/vocabulary")
    page.one(".vocabulary-row")
    assert page.run("return document.documentElement.scrollWidth") <= 390
    small = page.run(
        "return [...document.querySelectorAll('.vocabulary-row button, .vocabulary-add button')]"
        ".filter((e) => e.getBoundingClientRect().height < 44).length"
    )
    assert small == 0


def test_the_view_is_reached_from_the_tags(managed):
    page, _ = managed
    page.go("#/tags")
    page.click('a[href="#/vocabulary"]')
    page.says("h1", "Manage tags")
