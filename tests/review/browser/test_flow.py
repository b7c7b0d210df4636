"""From one decision to the next: what is opened, what comes after it, what is decided together."""

import time

import processes
import pytest
from page_object import ActionChains, Keys, Page
from queries import busiest_tag, open_suggestions, picture_with_suggestions, state_of


@pytest.fixture(scope="module")
def made_up(driver):
    """Made-up data, in which every scene is there several times."""
    with processes.fake_server(pictures=60, scenes=6) as server:
        yield Page(driver, server)


@pytest.fixture
def series(made_up):
    made_up.enter()
    yield made_up
    made_up.run("localStorage.clear()")


def to_decide(page):
    return page.fetch("/api/pictures?state=open&limit=0")["numbers"]


def reject_all(page, i):
    """Reject all suggestions of the picture that is shown, by keys alone."""
    for _ in open_suggestions(page, i):
        page.press("r")
        page.press(Keys.ARROW_DOWN)


class TestLists:
    def test_the_page_opens_on_what_is_to_decide(self, page):
        page.enter()
        page.until(lambda: page.all(".picture-card:not(.bare)"))
        n = len(to_decide(page))
        assert page.text(".toolbar > .count") == f"{n} pictures"
        assert page.run("return document.querySelector('select[aria-label=Show]').value") == "open"

    def test_a_list_stays_as_it_was_while_its_pictures_are_decided(self, page):
        page.go("#/pictures")
        page.until(lambda: page.all(".picture-card:not(.bare)"))
        first = page.text(".picture-card .name")
        page.press(Keys.ARROW_RIGHT, "r")
        page.saved()
        assert page.text(".picture-card .name") == first
        page.press("u")
        page.saved()

    def test_an_empty_list_says_why_and_offers_a_way_out(self, page):
        page.go("#/pictures?state=decided&q=no-such-name")
        page.says(".empty", "matches the search and the filters")
        page.click(".empty .button")
        page.until(lambda: "q=" not in page.run("return location.hash"))
        assert page.run("return document.querySelector('input[type=search]').value") == ""
        page.go("#/pictures?state=all&q=no-such-name")
        page.click(".empty .button")
        page.until(lambda: page.all(".picture-card"))

    def test_filters_by_tag_folder_and_date(self, page):
        page.go("#/pictures?state=all")
        page.click(".filters summary")
        t = busiest_tag(page)
        page.one("select[aria-label=Tag]")
        page.run(
            "const list = document.querySelector('select[aria-label=Tag]');"
            "list.value = arguments[0]; list.dispatchEvent(new Event('change'))",
            str(t),
        )
        n = page.fetch(f"/api/pictures?tag={t}&limit=0")["total"]
        page.until(lambda: page.text(".toolbar > .count").startswith(f"{n} "))
        assert page.text(".filters summary") == "Filters (1)"
        page.driver.refresh()
        page.loaded()
        page.until(lambda: page.text(".toolbar > .count").startswith(f"{n} "))
        page.until(lambda: page.all("select[aria-label=Taken]"))

    def test_an_empty_wall_says_why_and_is_filled_by_a_click(self, page):
        t = busiest_tag(page)
        page.go(f"#/tag/{t}?least=0.98")
        if page.fetch(f"/api/tags/{t}?least=0.98")["total"]:
            pytest.skip("something is surer than 98%")
        page.says(".empty", "No undecided picture has a confidence of 98% or more")
        page.click(".empty .button")
        page.until(lambda: page.all(".wall-card:not(.bare)"))


class TestOnePicture:
    def test_after_the_last_decision_comes_the_next_picture_and_undo_leads_back(self, page):
        page.go("#/pictures")
        first, *others = to_decide(page)
        page.until(lambda: page.all(".picture-card:not(.bare)"))
        page.press(Keys.ARROW_RIGHT, Keys.ENTER)
        page.until(lambda: page.all(".suggestion.current"))
        n = len(open_suggestions(page, first))
        for k in range(n):
            page.press(str(k + 1))
        page.until(lambda: page.run("return location.hash").startswith(f"#/picture/{others[0]}"))
        name = page.fetch("/api/collection")["images"][first].rsplit("/", 1)[-1]
        assert name in page.one("#undo").get_attribute("title")
        page.press("u")
        page.says("#toast", f"on {name}")
        page.until(lambda: page.run("return location.hash").startswith(f"#/picture/{first}"))
        page.press(*["u"] * (n - 1))
        page.until(lambda: len(open_suggestions(page, first)) == n)

    def test_the_same_letter_accepts_one_suggestion_after_the_other(self, page):
        i = picture_with_suggestions(page)
        page.go(f"#/picture/{i}")
        first, second = open_suggestions(page, i)[:2]
        for t in (first, second):
            page.press("a")
            page.until(lambda t=t: state_of(page, i, t) == "accepted")
            page.saved()
        page.press("u", "u")
        page.until(lambda: state_of(page, i, first) == "suggested")

    def test_it_stays_if_that_is_wished(self, page):
        i = picture_with_suggestions(page, least=1)
        page.go(f"#/picture/{i}")
        page.click(".walk .tick-box input")
        page.driver.refresh()
        page.loaded()
        n = len(open_suggestions(page, i))
        reject_all(page, i)
        page.says(".suggestions", "Every suggestion is decided.")
        time.sleep(0.6)
        assert page.run("return location.hash") == f"#/picture/{i}"
        page.press(*["u"] * n)
        page.until(lambda: len(open_suggestions(page, i)) == n)

    def test_zoom_by_keys_wheel_and_drag(self, page):
        page.go("#/picture/1")
        page.press("z")
        page.until(lambda: page.one("dialog.zoom").is_displayed())
        assert page.text(".zoom-bar .count") == "fit"
        page.press("+")
        assert page.text(".zoom-bar .count") == "150%"
        page.press("+", "+")
        where = "return document.querySelector('.zoom-image').style.transform"
        before = page.run(where)
        page.press(Keys.ARROW_RIGHT)
        assert page.run(where) != before
        before = page.run(where)
        place = page.one(".zoom-place")
        ActionChains(page.driver).drag_and_drop_by_offset(place, 60, 40).perform()
        assert page.run(where) != before
        page.press("0")
        assert page.text(".zoom-bar .count") == "fit"
        page.press(Keys.ESCAPE)
        page.until(lambda: not page.one("dialog.zoom").is_displayed())
        assert page.run("return location.hash") == "#/picture/1"


class TestNearIdentical:
    def test_a_group_is_decided_once_and_undone_at_once(self, series):
        page = series
        page.go("#/picture/0")
        page.says(".alike h2", "2 near-identical pictures")
        t = open_suggestions(page, 0)[0]
        group = [0, 6, 12]
        before = [state_of(page, i, t) for i in group]
        page.press("s")
        assert page.one(".alike input").is_selected()
        page.press("1")
        page.saved()
        after = [state_of(page, i, t) for i in group]
        free = {"open": "accepted", "suggested": "accepted"}
        assert after == [free.get(state, state) for state in before]
        page.press("u")
        page.until(lambda: [state_of(page, i, t) for i in group] == before)

    def test_apart_unless_it_is_chosen(self, series):
        page = series
        page.go("#/picture/0")
        page.one(".alike img")
        t = open_suggestions(page, 0)[0]
        before = [state_of(page, i, t) for i in (6, 12)]
        page.press("1")
        page.saved()
        assert [state_of(page, i, t) for i in (6, 12)] == before
        page.press("u")
        page.saved()
