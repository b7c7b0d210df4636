"""Themes, narrow screens, long lists, and names for screen readers."""

import re

import processes
import pytest
from page_object import Keys, Page

VIEWS = ["pictures", "picture/1", "tags", "tag/1", "suspected-errors", "annotate-next", "check"]


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

    @pytest.mark.parametrize("view", VIEWS)
    def test_nothing_sticks_out_of_a_narrow_screen_and_targets_fit_a_finger(self, page, view):
        page.width(390)
        page.move(f"#/{view}")
        # Cards find their new places in the frame after the window has changed.
        page.until(lambda: page.run("return document.documentElement.scrollWidth") <= 390)
        script = """
            return [...document.querySelectorAll('button, select, input, nav a, .tick-box')]
              .filter((e) => !e.matches('.link, .in-chip, [type=range], [type=checkbox]'))
              .filter((e) => e.checkVisibility())
              .filter((e) => e.offsetHeight < 44 || e.offsetWidth < 44)
              .map((e) => e.outerHTML.slice(0, 120))
        """
        assert page.run(script) == []

    def test_the_list_of_tags_shows_their_roc_auc_and_what_that_means(self, page):
        page.move("#/tags")
        shown = page.one(".details [title]")
        assert re.fullmatch(r"ROC AUC [01]\.\d\d", shown.text)
        assert "0.5 is chance" in shown.get_attribute("title")

    def test_every_control_has_a_name(self, page):
        script = """
            return [...document.querySelectorAll('button, a, input, select, [role=option]')]
              .filter((e) => e.checkVisibility() && !e.closest('[aria-hidden=true]'))
              .filter((e) => !(e.getAttribute('aria-label') || e.labels?.length))
              .filter((e) => !e.textContent.trim())
              .map((e) => e.outerHTML.slice(0, 120))
        """
        for view in VIEWS:
            page.move(f"#/{view}")
            assert page.run(script) == [], view


class TestLarge:
    def test_only_cards_near_the_window_exist_and_the_end_can_be_reached(self, driver):
        with processes.fake_server(pictures=3000, scenes=4) as server:
            page = Page(driver, server)
            page.enter()
            page.go("#/pictures?state=all")
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
