"""Accept, reject, undo, add: by mouse and by keys."""

import re

import processes
from page_object import ActionChains, Keys, Page
from queries import busiest_tag, open_suggestions, picture_with_suggestions, state_of


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
        assert "zeppelin" in page.fetch("/api/collection")["tags"]
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

    def test_neighbors_explain_a_suggestion(self, page):
        page.go(f"#/picture/{picture_with_suggestions(page)}")
        page.until(lambda: page.all(".neighbor"))
        assert "have it" in page.text(".why")


class TestWall:
    def test_a_range_is_accepted_at_once_and_undone_at_once(self, page):
        t = busiest_tag(page)
        page.go(f"#/tag/{t}?least=0.00")
        before = page.fetch(f"/api/tags/{t}")["total"]
        cards = page.until(lambda: page.all(".wall-card:not(.bare)"))
        cards[0].click()
        ActionChains(page.driver).key_down(Keys.SHIFT).click(cards[3]).key_up(Keys.SHIFT).perform()
        assert page.text(".action-bar strong") == "4 selected"
        page.click(".action-bar .yes")
        page.until(lambda: re.match(r"Accepted .+ on 4 pictures", page.text("#toast")))
        page.saved()
        assert page.states(".wall-card")[:4] == ["yes"] * 4
        assert page.fetch(f"/api/tags/{t}")["total"] == before - 4
        assert "on 4 pictures" in page.text("#history")
        page.click("#toast button")
        page.until(lambda: page.fetch(f"/api/tags/{t}")["total"] == before)
        page.until(lambda: "yes" not in page.states(".wall-card"))

    def test_dragging_over_cards_selects_them(self, page):
        page.go(f"#/tag/{busiest_tag(page)}?least=0.00")
        cards = page.until(lambda: page.all(".wall-card:not(.bare)"))
        chain = ActionChains(page.driver).move_to_element(cards[0]).click_and_hold()
        chain.move_to_element(cards[1]).move_to_element(cards[2]).release().perform()
        assert page.text(".action-bar strong") == "3 selected"

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
            truth = page.fetch(f"/api/tags/{t}?least={bin_number / 50}")["total"]
            assert page.text(".threshold-words").startswith(f"{truth} undecided")
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
        page.run("localStorage.setItem('tagloom-next', 'off')")
        page.driver.refresh()
        page.loaded()
        name = page.text(".suggestion .suggestion-name")
        page.press("1")
        page.saved()
        page.until(lambda: name in page.text(".known"))
        page.press("1")
        page.until(lambda: page.states(".suggestion.current") == ["suggested"])
        assert name not in page.text(".known")
        page.press("r")
        page.until(lambda: "no" in page.states(".suggestion"))
        page.press("u")
        page.until(lambda: "no" not in page.states(".suggestion"))
        page.press(Keys.ESCAPE)
        page.until(lambda: page.run("return location.hash").startswith("#/pictures"))

    def test_shift_and_arrows_select_a_range_on_the_wall(self, page):
        page.go(f"#/tag/{busiest_tag(page)}?least=0.00")
        page.until(lambda: page.all(".wall-card:not(.bare)"))
        page.press(Keys.ARROW_RIGHT)
        page.with_shift(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        assert page.text(".action-bar strong") == "3 selected"
        page.press("r")
        page.until(lambda: re.match(r"Rejected .+ on 3 pictures", page.text("#toast")))
        page.saved()
        assert page.states(".wall-card")[:3] == ["no"] * 3
        page.press("u")
        page.until(lambda: "no" not in page.states(".wall-card"))

    def test_a_picture_of_the_wall_leads_to_its_neighbors_and_back(self, page):
        page.go(f"#/tag/{busiest_tag(page)}?least=0.00")
        page.until(lambda: page.all(".wall-card:not(.bare)"))
        names = page.run(
            "return [...document.querySelectorAll('.wall-card')].map((card) => card.title)"
        )
        page.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ENTER)
        page.until(lambda: page.all(".one .large"))
        assert page.one(".one .large").get_attribute("alt") == names[1]
        page.press(Keys.ARROW_RIGHT)
        page.until(lambda: page.one(".one .large").get_attribute("alt") == names[2])
        page.press(Keys.ESCAPE)
        index = "return document.activeElement.closest('.wall-card')?.dataset.index"
        page.until(lambda: page.run(index) == "2")

    def test_entries_are_annotated_and_help_is_shown(self, page):
        page.go("#/annotate-next")
        first = page.until(lambda: page.text(".question"))
        picture = page.one(".annotating .large").get_attribute("alt")
        page.press("a")
        page.says(".annotating", "1 answer saved")
        assert (page.text(".question"), page.one(".annotating .large").get_attribute("alt")) != (
            first,
            picture,
        )
        page.press(Keys.ARROW_LEFT)
        page.says(".annotating .state-word", "accepted")
        page.press("u")
        page.until(lambda: page.text(".annotating .state-word") == "")
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
        page.says(".empty", "matches the search")
        assert page.text("#saved") == "saved"


class TestSuspectedErrors:
    def test_a_suspected_error_is_removed_and_brought_back(self, driver):
        # Made-up data, as so small a real run seldom suspects an error.
        with processes.fake_server(pictures=900, scenes=4) as server:
            page = Page(driver, server)
            page.enter()
            first = page.fetch("/api/suspected-errors")["rows"][0]
            i, t = first["i"], first["t"]
            page.go("#/suspected-errors")
            page.until(lambda: page.all(".suspect"))
            percent = min(99, round(100 * first["error_probability"]))
            assert f"wrong with a probability of {percent}%" in page.text(".suspect")
            # The first letter only shows which card is meant.
            page.press("r")
            assert state_of(page, i, t) == "suspected"
            page.press("r")
            page.saved()
            assert page.states(".suspect")[0] == "no"
            assert state_of(page, i, t) == "removed"
            page.press("u")
            page.until(lambda: state_of(page, i, t) == "suspected")
