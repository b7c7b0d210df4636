"""The page in a real browser, before the real server where it is there to be had."""

import csv
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import browsing

if browsing.missing():
    pytest.skip(f"cannot look at the page: {browsing.missing()}", allow_module_level=True)

from page_hand import Page
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

HOSTILE_IMAGE = "<img src=x onerror=alert(1)>'\".jpg"
HOSTILE_TAG = "<script>alert('tag')</script>"


@pytest.fixture(scope="session")
def driver():
    driver = browsing.start_browser()
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory):
    """A run on a few scenes of which half the tags are known; names are as bad as they can be."""
    from tagloom.completion.options import Options
    from tagloom.completion.run import complete
    from tagloom.datasets.scenes import write_scenes

    home = tmp_path_factory.mktemp("browsed")
    scenes = write_scenes(home / "scenes", 40)
    (home / "photos").mkdir()
    said = [("image", "tag")]
    with (scenes / "labels.csv").open(newline="") as stream:
        for number, row in enumerate(csv.DictReader(stream)):
            file = next(iter(row.values()))
            name = HOSTILE_IMAGE if number == 0 else Path(file).name
            shutil.copy(scenes / file, home / "photos" / name)
            given = [tag for tag, state in row.items() if state == "1"]
            said += [(name, tag) for place, tag in enumerate(given) if (place + number) % 2]
            if number % 5 == 0:
                said.append((name, HOSTILE_TAG))
    with (home / "tags.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows(said)
    tags = [home / "tags.csv"]
    complete(home / "photos", tags, home / "out", Options(minutes=0), cache=home / "cache")
    return home


def is_real():
    parts = ("starlette", "uvicorn", "tagloom.review.serving")
    return all(find_spec(name) is not None for name in parts)


@pytest.fixture(scope="session")
def server(request):
    if is_real():
        out = request.getfixturevalue("run_folder") / "out"
        with browsing.real_server(out) as server:
            yield server
    else:
        with browsing.fake_server() as server:
            yield server


@pytest.fixture
def page(driver, server):
    """The page as after opening it, with nothing left undone by the test before."""
    page = Page(driver, server)
    page.enter()
    yield page
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    page.run("localStorage.clear()")


def picture_with_suggestions(page, least=2):
    rows = page.asked("/api/pictures?state=suggested&limit=60")["rows"]
    for row in rows:
        n = sum(tag["state"] == "suggested" for tag in row["tags"])
        if n >= least:
            return row["i"]
    raise AssertionError("no picture has enough suggestions")


def busiest_tag(page):
    return page.asked("/api/tags?sort=open")["rows"][0]["t"]


def state_of(page, i, t):
    tags = page.asked(f"/api/pictures/{i}")["tags"]
    return next((tag["state"] for tag in tags if tag["t"] == t), "open")


def open_suggestions(page, i):
    tags = page.asked(f"/api/pictures/{i}")["tags"]
    return [tag["t"] for tag in tags if tag["state"] == "suggested"]


class TestOnePicture:
    def test_accept_reject_and_undo_reach_the_server_and_outlive_a_reload(self, page):
        i = picture_with_suggestions(page)
        first, second = open_suggestions(page, i)[:2]
        page.go(f"#/picture/{i}")
        page.click(f".suggestion:has([href='#/tag/{first}']) .yes")
        page.click(f".suggestion:has([href='#/tag/{second}']) .no")
        page.saved()
        assert [state_of(page, i, t) for t in (first, second)] == ["accepted", "rejected"]
        page.driver.refresh()
        page.loaded()
        assert "rejected" in page.text("#history")
        row = f".suggestion:has([href='#/tag/{first}']), .known .chip[data-state=yes]"
        page.until(lambda: "yes" in page.states(row))
        page.press("u", "u")
        page.says("#toast", "Undone")
        page.until(lambda: state_of(page, i, first) == "suggested")
        assert state_of(page, i, second) == "suggested"
        page.with_shift("u")
        page.until(lambda: state_of(page, i, first) == "accepted")
        page.press("u")
        page.until(lambda: state_of(page, i, first) == "suggested")

    def test_a_new_tag_is_marked_as_new_added_and_completed_from_then_on(self, page):
        page.go("#/picture/1")
        page.press("t")
        page.press(*"zeppelin")
        assert page.text(".options li[aria-selected=true] .badge") == "new tag"
        page.press(Keys.ENTER)
        page.until(lambda: "zeppelin" in page.text(".known"))
        page.saved()
        assert "zeppelin" in page.asked("/api/collection")["tags"]
        page.go("#/picture/2")
        page.press("t")
        page.press(*"ZEPP")
        assert "new tag" not in page.text(".options li:first-child")
        assert page.text(".options li:first-child") == "zeppelin"
        page.press(Keys.ENTER)
        page.until(lambda: "zeppelin" in page.text(".known"))
        page.driver.refresh()
        page.loaded()
        page.until(lambda: "zeppelin" in page.text(".known"))

    def test_neighbours_say_why(self, page):
        page.go(f"#/picture/{picture_with_suggestions(page)}")
        page.until(lambda: page.all(".neighbour"))
        assert "carry it" in page.text(".why")


class TestWall:
    def test_a_range_is_accepted_at_once_and_undone_at_once(self, page):
        t = busiest_tag(page)
        page.go(f"#/tag/{t}?least=0.00")
        before = page.asked(f"/api/tags/{t}")["total"]
        cards = page.until(lambda: page.all(".wall-card:not(.bare)"))
        cards[0].click()
        ActionChains(page.driver).key_down(Keys.SHIFT).click(cards[3]).key_up(Keys.SHIFT).perform()
        assert page.text(".action-bar strong") == "4 chosen"
        page.click(".action-bar .yes")
        page.says("#toast", "Accepted 4 ×")
        page.saved()
        assert page.states(".wall-card")[:4] == ["yes"] * 4
        assert page.asked(f"/api/tags/{t}")["total"] == before - 4
        assert "accepted 4 ×" in page.text("#history")
        page.click("#toast button")
        page.until(lambda: page.asked(f"/api/tags/{t}")["total"] == before)
        page.until(lambda: "yes" not in page.states(".wall-card"))

    def test_drawing_over_cards_chooses_them(self, page):
        page.go(f"#/tag/{busiest_tag(page)}?least=0.00")
        cards = page.until(lambda: page.all(".wall-card:not(.bare)"))
        chain = ActionChains(page.driver).move_to_element(cards[0]).click_and_hold()
        chain.move_to_element(cards[1]).move_to_element(cards[2]).release().perform()
        assert page.text(".action-bar strong") == "3 chosen"

    def test_the_slider_counts_what_the_server_counts(self, page):
        t = busiest_tag(page)
        page.go(f"#/tag/{t}?least=0.00")
        page.until(lambda: page.all(".wall-card:not(.bare)"))
        for bin_number in (10, 25, 40):
            page.run(
                "const slider = document.querySelector('.threshold input');"
                "slider.value = arguments[0]; slider.dispatchEvent(new Event('input'))",
                bin_number,
            )
            truth = page.asked(f"/api/tags/{t}?least={bin_number / 50}")["total"]
            assert page.text(".threshold-words").startswith(f"{truth} open")
            page.until(lambda n=truth: len(page.all(".wall-card")) == min(n, 40) or n > 40)


class TestKeyboard:
    def test_a_picture_is_found_opened_and_decided_without_a_mouse(self, page):
        page.go("#/pictures?state=suggested")
        page.until(lambda: page.all(".picture-card:not(.bare)"))
        page.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        assert page.run("return document.activeElement.closest('.card').dataset.index") == "1"
        assert page.run("return document.activeElement.matches(':focus-visible')")
        page.press(Keys.ENTER)
        page.until(lambda: page.run("return location.hash").startswith("#/picture/"))
        page.until(lambda: page.all(".suggestion.current"))
        page.press("1")
        page.saved()
        assert page.states(".suggestion.current") == ["yes"]
        page.press("1")
        page.until(lambda: page.states(".suggestion.current") == ["suggested"])
        page.press("r")
        page.until(lambda: page.states(".suggestion.current") == ["no"])
        page.press("u")
        page.until(lambda: page.states(".suggestion.current") == ["suggested"])
        page.press(Keys.ESCAPE)
        page.until(lambda: page.run("return location.hash").startswith("#/pictures"))

    def test_shift_and_arrows_choose_a_range_on_the_wall(self, page):
        page.go(f"#/tag/{busiest_tag(page)}?least=0.00")
        page.until(lambda: page.all(".wall-card:not(.bare)"))
        page.press(Keys.ARROW_RIGHT)
        page.with_shift(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        assert page.text(".action-bar strong") == "3 chosen"
        page.press("r")
        page.says("#toast", "Rejected 3 ×")
        page.saved()
        assert page.states(".wall-card")[:3] == ["no"] * 3
        page.press("u")
        page.until(lambda: "no" not in page.states(".wall-card"))

    def test_questions_are_answered_and_help_is_shown(self, page):
        page.go("#/next")
        first = page.until(lambda: page.text(".question"))
        picture = page.one(".asking .large").get_attribute("alt")
        page.press("a")
        page.says(".asking", "1 answer stored")
        assert (page.text(".question"), page.one(".asking .large").get_attribute("alt")) != (
            first,
            picture,
        )
        page.press(Keys.ARROW_LEFT)
        page.says(".asking .state-word", "accepted")
        page.press("u")
        page.until(lambda: page.text(".asking .state-word") == "")
        page.press("?")
        assert page.one("dialog.help").is_displayed()
        page.press(Keys.ESCAPE)
        page.press("g", "t")
        page.until(lambda: page.run("return location.hash") == "#/tags")

    def test_the_search_box_takes_the_letters_of_the_keys(self, page):
        page.go("#/pictures")
        page.until(lambda: page.all(".picture-card:not(.bare)"))
        page.press("/")
        page.press(*"scenaru")
        page.until(lambda: "scenaru" in page.run("return location.hash"))
        page.says(".empty", "No picture fits")
        assert page.text("#saved") == "saved"


class TestTabs:
    def test_a_second_tab_follows_and_neither_overwrites_the_other(self, page):
        i = picture_with_suggestions(page)
        first, second = open_suggestions(page, i)[:2]
        page.go(f"#/picture/{i}")
        one = page.driver.current_window_handle
        page.driver.switch_to.new_window("tab")
        try:
            page.driver.get(page.server.origin + f"/#/picture/{i}")
            page.loaded()
            page.click(f".suggestion:has([href='#/tag/{first}']) .yes")
            page.saved()
            other = page.driver.current_window_handle
            page.driver.switch_to.window(one)
            page.until(lambda: page.states(f".suggestion:has([href='#/tag/{first}'])") == ["yes"])
            page.click(f".suggestion:has([href='#/tag/{second}']) .no")
            page.saved()
            assert [state_of(page, i, t) for t in (first, second)] == ["accepted", "rejected"]
            page.press("u", "u")
            page.until(lambda: state_of(page, i, first) == "suggested")
            page.driver.switch_to.window(other)
            page.until(
                lambda: page.states(f".suggestion:has([href='#/tag/{first}'])") == ["suggested"]
            )
        finally:
            page.driver.switch_to.window(page.driver.window_handles[-1])
            page.driver.close()
            page.driver.switch_to.window(one)


class TestLooks:
    def test_dark_by_the_system_and_by_the_switch(self, page):
        ground = "return getComputedStyle(document.body.parentElement).backgroundColor"
        page.prefers("light")
        light = page.run(ground)
        page.prefers("dark")
        dark = page.run(ground)
        assert light != dark
        page.click("#theme")
        assert page.run(ground) == light
        page.driver.refresh()
        page.loaded()
        assert page.run(ground) == light
        page.prefers("light")
        page.click("#theme")
        assert page.run(ground) == dark

    @pytest.mark.parametrize("view", ["pictures", "picture/1", "tags", "tag/1", "doubts", "next"])
    def test_nothing_sticks_out_of_a_narrow_screen_and_targets_fit_a_finger(self, page, view):
        page.width(390)
        page.move(f"#/{view}")
        assert page.run("return document.documentElement.scrollWidth") <= 390
        script = """
            return [...document.querySelectorAll('button, select, input, nav a')]
              .filter((e) => e.checkVisibility() && !e.matches('.link, .in-chip, [type=range]'))
              .filter((e) => e.offsetHeight < 44 || e.offsetWidth < 44)
              .map((e) => e.outerHTML.slice(0, 120))
        """
        assert page.run(script) == []

    def test_every_control_has_a_name(self, page):
        script = """
            return [...document.querySelectorAll('button, a, input, select, [role=option]')]
              .filter((e) => e.checkVisibility() && !e.closest('[aria-hidden=true]'))
              .filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim()))
              .map((e) => e.outerHTML.slice(0, 120))
        """
        for view in ("pictures", "picture/1", "tags", "tag/1", "doubts", "next"):
            page.move(f"#/{view}")
            assert page.run(script) == [], view


class TestDoubts:
    def test_a_doubtful_tag_is_removed_and_brought_back(self, driver):
        # Made-up data, as so small a real run seldom doubts anything.
        with browsing.fake_server(pictures=200, scenes=4) as server:
            page = Page(driver, server)
            page.enter()
            first = page.asked("/api/doubts")["rows"][0]
            i, t = first["i"], first["t"]
            page.go("#/doubts")
            page.until(lambda: page.all(".doubt"))
            # The first letter only shows which card is meant.
            page.press("r")
            assert state_of(page, i, t) == "doubtful"
            page.press("r")
            page.saved()
            assert page.states(".doubt")[0] == "no"
            assert state_of(page, i, t) == "removed"
            page.press("u")
            page.until(lambda: state_of(page, i, t) == "doubtful")


class TestLarge:
    def test_only_cards_near_the_window_exist_and_the_end_can_be_reached(self, driver):
        with browsing.fake_server(pictures=3000, scenes=4) as server:
            page = Page(driver, server)
            page.enter()
            page.until(lambda: page.all(".picture-card:not(.bare)"))
            page.press(Keys.END)
            index = "return document.activeElement.closest('.card')?.dataset.index"
            assert page.run(index) == "2999"
            page.until(lambda: "scene-02999" in page.text(".picture-card:last-child .name"))
            assert len(page.all(".picture-card")) < 200
            page.press(Keys.ENTER)
            page.says("h1", "scene-02999")
            page.driver.back()
            # Back among the last ones, with the focus on the card one came from.
            page.until(lambda: page.run(index) == "2999")


class TestTrust:
    def test_hostile_names_are_shown_as_text(self, page):
        page.go("#/pictures?q=onerror")
        page.until(lambda: "<img src=x" in page.text(".picture-card .name"))
        page.go("#/tags?q=script")
        page.says(".tag-card .tag-name", HOSTILE_TAG)
        page.click(".tag-card a")
        page.says("h1", HOSTILE_TAG)
        assert page.all("main script, [onerror]") == []
        i = next(
            i for i, name in enumerate(page.asked("/api/collection")["images"]) if "onerror" in name
        )
        page.go(f"#/picture/{i}")
        page.says("h1", "<img src=x")
        # An alert would have stopped the driver; the console would tell of a refused script.
        errors = [one["message"] for one in page.driver.get_log("browser")]
        assert [text for text in errors if "Content Security" in text or "Uncaught" in text] == []

    def test_no_request_leaves_the_computer(self, page):
        for view in ("pictures", "picture/1", "tags", "tag/1", "doubts", "next"):
            page.go(f"#/{view}")
            names = page.run("return performance.getEntries().map((e) => e.name)")
            elsewhere = [
                name for name in names if "://" in name and not name.startswith(page.server.origin)
            ]
            assert elsewhere == []

    def test_learning_again_tells_progress_and_what_changed(self, page):
        i = picture_with_suggestions(page)
        t = open_suggestions(page, i)[0]
        page.go(f"#/picture/{i}")
        page.click(f".suggestion:has([href='#/tag/{t}']) .yes")
        page.saved()
        run = page.asked("/api/collection")["run"]
        page.click("#learn")
        page.click("dialog.learn .button.main")
        page.until(lambda: page.all("dialog.learn progress"))
        page.until(lambda: "now." in page.text("dialog.learn"), seconds=90)
        assert page.asked("/api/collection")["run"] != run
        page.press(Keys.ESCAPE)
        page.loaded()
        assert state_of(page, i, t) in {"accepted", "known"}
        page.driver.refresh()
        page.loaded()
        assert state_of(page, i, t) in {"accepted", "known"}


class TestStopped:
    """Last, as the server is killed; it has to be the one that stores, if it is there."""

    def test_a_click_that_was_not_stored_is_told_and_can_be_stored_later(self, page, server):
        i = picture_with_suggestions(page)
        first, second = open_suggestions(page, i)[:2]
        page.go(f"#/picture/{i}")
        page.click(f".suggestion:has([href='#/tag/{first}']) .yes")
        page.saved()
        server.kill()
        row = f".suggestion:has([href='#/tag/{second}'])"
        page.click(f"{row} .yes")
        page.says("#saved", "not saved")
        page.says("#alarm", "your last click was not stored")
        assert page.states(row) == ["suggested"]
        assert page.states(f".suggestion:has([href='#/tag/{first}'])") == ["yes"]
        server.start_again()
        # The new link, in another tab, lets the old tab in again: they share the cookie.
        one = page.driver.current_window_handle
        page.driver.switch_to.new_window("tab")
        page.driver.get(server.url)
        page.loaded()
        page.driver.close()
        page.driver.switch_to.window(one)
        page.says("#alarm", "answers again")
        page.click("#alarm button")
        page.until(lambda: page.states(row) == ["yes"])
        page.saved()
        assert state_of(page, i, second) == "accepted"
        if is_real():
            assert state_of(page, i, first) == "accepted"
