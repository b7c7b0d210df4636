"""axe-core, Deque's accessibility checker, finds nothing serious in any view, light or dark."""

from pathlib import Path

import pytest
from queries import busiest_tag, is_real, picture_with_suggestions

AXE = Path(__file__).parents[3] / "node_modules" / "axe-core" / "axe.min.js"
VIEWS = ["pictures", "picture", "tags", "tag", "suspected-errors", "annotate-next", "check"]
RUN = """
    const done = arguments[arguments.length - 1];
    axe.run(document, {resultTypes: ["violations"]}).then(({violations}) => done(
      violations.filter(({impact}) => impact === "serious" || impact === "critical").map(
        ({id, nodes}) => `${id}: ${nodes.map((one) => one.html).join("; ").slice(0, 400)}`
      )
    ));
"""


def findings(page):
    page.run(AXE.read_text(encoding="utf-8"))
    return page.driver.execute_async_script(RUN)


@pytest.fixture
def page(page):
    if not AXE.exists():
        pytest.skip("axe-core is not installed: run `npm ci`")
    return page


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_no_view_has_a_serious_finding(page, view, scheme, width):
    numbers = {"picture": picture_with_suggestions, "tag": busiest_tag}
    number = f"/{numbers[view](page)}" if view in numbers else ""
    page.width(width)
    page.prefers(scheme)
    page.move(f"#/{view}{number}")
    page.until(lambda: not page.all(".bare"))
    assert findings(page) == []


def test_dialogs_have_no_serious_finding(page):
    page.go("#/pictures?state=all")
    page.click(".filters summary")
    page.one("select[aria-label=Tag]")
    assert findings(page) == []
    page.press("?")
    assert findings(page) == []
    page.go("#/picture/1")
    page.press("z")
    assert findings(page) == []
    page.go("#/pictures")
    page.click("#learn")
    assert findings(page) == []
    if not is_real():
        return
    page.go("#/pictures")
    page.press("e")
    page.says(".export-counts", "known tags")
    page.click("#export-suggested")
    page.click(".export-actions button")
    page.says(".export-result", "would change")
    assert findings(page) == []
