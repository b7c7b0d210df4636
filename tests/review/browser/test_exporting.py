"""Exporting by keys alone, with a preview and undo, on a phone and in the dark."""

import pytest
from page_object import Keys
from queries import is_real

pytestmark = pytest.mark.skipif(not is_real(), reason="exporting needs tagloom[review]")


@pytest.fixture
def photos(run_folder):
    """The folder of the pictures; sidecars that a test has left are removed."""
    folder = run_folder / "photos"
    yield folder
    for path in folder.glob("*.xmp"):
        path.unlink()


def open_dialog(page):
    page.press("e")
    page.says(".export-counts", "known tags")


def tab_to(page, css):
    """Press Tab until an element has the focus."""
    for _ in range(20):
        if page.run("return document.activeElement.matches(arguments[0])", css):
            return
        page.press(Keys.TAB)
    raise AssertionError(f"{css} cannot be reached by Tab")


def button(page, text):
    script = """
        const found = [...document.querySelectorAll('.export button')]
          .find((e) => e.textContent === arguments[0]);
        for (const e of document.querySelectorAll('[data-wanted]')) delete e.dataset.wanted;
        found.dataset.wanted = '';
    """
    page.run(script, text)
    return "[data-wanted]"


def test_sidecars_by_keys_alone(page, photos):
    page.go("#/pictures")
    open_dialog(page)
    assert "no suggestions" in page.text(".export-counts")
    tab_to(page, "#export-suggested")
    page.press(" ")
    page.says(".export-counts", "marked as such")
    tab_to(page, ".export-least input")
    page.press(Keys.HOME)
    page.says(".export-least output", "50")
    tab_to(page, button(page, "Preview"))
    page.press(Keys.ENTER)
    page.says(".export-result", "would change")
    assert "(suggested)" in page.text(".export-list")
    assert not list(photos.glob("*.xmp"))
    tab_to(page, button(page, "Export"))
    page.press(Keys.ENTER)
    page.says(".export-result", "written")
    assert list(photos.glob("*.xmp"))
    page.until(lambda: page.one(".export-actions .plain").is_displayed())
    tab_to(page, button(page, "Undo export"))
    page.press(Keys.ENTER)
    page.says(".export-result", "removed")
    assert not list(photos.glob("*.xmp"))
    page.press(Keys.ESCAPE)
    assert not page.all("dialog[open]")


def test_a_file_is_written_where_it_says(page, run_folder):
    page.go("#/pictures")
    open_dialog(page)
    tab_to(page, "#export-to")
    page.press("C", "S", "V")
    page.says(".export .quiet-text", str(run_folder / "out" / "tags.csv"))
    tab_to(page, button(page, "Export"))
    page.press(Keys.ENTER)
    page.says(".export-result", "Wrote")
    assert "suggested" not in (run_folder / "out" / "tags.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_and_a_finger(page, scheme):
    page.width(390)
    page.prefers(scheme)
    page.go("#/pictures")
    page.click("#export")
    page.says(".export-counts", "known tags")
    page.click("#export-suggested")
    page.click(button(page, "Preview"))
    page.says(".export-result", "would change")
    assert page.run("return document.documentElement.scrollWidth") <= 390
    box = "const d = document.querySelector('dialog.export');"
    assert page.run(f"{box} return d.scrollWidth <= d.clientWidth")
    small = """
        return [...document.querySelectorAll('dialog.export button, dialog.export select')]
          .filter((e) => e.checkVisibility() && (e.offsetHeight < 44 || e.offsetWidth < 44))
          .map((e) => e.outerHTML.slice(0, 120))
    """
    assert page.run(small) == []
