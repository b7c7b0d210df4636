"""No request leaves the computer, no decision is lost, and nothing looks stored before it is."""

from page_object import Keys
from queries import HOSTILE_TAG, is_real, open_suggestions, picture_with_suggestions, state_of


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
            page.until(lambda: page.states(".known .chip[data-state=yes]") == ["yes"])
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
            i for i, name in enumerate(page.fetch("/api/collection")["images"]) if "onerror" in name
        )
        page.go(f"#/picture/{i}")
        page.says("h1", "<img src=x")
        # An alert would have stopped the driver; the console would tell of a refused script.
        errors = [one["message"] for one in page.driver.get_log("browser")]
        assert [text for text in errors if "Content Security" in text or "Uncaught" in text] == []

    def test_nothing_looks_stored_before_the_server_has_confirmed_it(self, page):
        i = picture_with_suggestions(page)
        t = open_suggestions(page, i)[0]
        page.go(f"#/picture/{i}")
        row = f".suggestion:has([href='#/tag/{t}'])"
        page.one(row)
        slow = {"latency": 1500, "download_throughput": -1, "upload_throughput": -1}
        page.driver.set_network_conditions(offline=False, **slow)
        try:
            page.click(f"{row} .yes")
            assert page.all(f"{row}.pending")
            assert page.text("#saved") == "saving"
            page.saved()
        finally:
            page.driver.delete_network_conditions()
        page.until(lambda: page.states(".known .chip[data-state=yes]") == ["yes"])
        page.press("u")
        page.until(lambda: state_of(page, i, t) == "suggested")

    def test_no_request_leaves_the_computer(self, page):
        for view in ("pictures", "picture/1", "tags", "tag/1", "suspected-errors", "annotate-next"):
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
        run = page.fetch("/api/collection")["run"]
        page.click("#learn")
        page.click("dialog.learn .button.main")
        page.until(lambda: page.all("dialog.learn progress"))
        page.until(lambda: "now." in page.text("dialog.learn"), seconds=90)
        assert page.fetch("/api/collection")["run"] != run
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
        names = page.fetch("/api/collection")["tags"]
        page.go(f"#/picture/{i}")
        page.click(f".suggestion:has([href='#/tag/{first}']) .yes")
        page.saved()
        server.kill()
        row = f".suggestion:has([href='#/tag/{second}'])"
        page.click(f"{row} .yes")
        page.says("#saved", "not saved")
        page.says("#alert", "your last decision was not stored")
        assert page.states(row) == ["suggested"]
        tags = page.run("return [...document.querySelectorAll('.known .chip')].map((e) => e.title)")
        assert any(f"{names[first]}: accepted" in title for title in tags)
        assert not any(title.startswith(f"{names[second]}:") for title in tags)
        server.start_again()
        # The new link, in another tab, lets the old tab in again: they share the cookie.
        one = page.driver.current_window_handle
        page.driver.switch_to.new_window("tab")
        page.driver.get(server.url)
        page.loaded()
        page.driver.close()
        page.driver.switch_to.window(one)
        page.says("#alert", "is back")
        page.click("#alert button")
        page.until(lambda: page.all(f".known .chip[title^='{names[second]}:']"))
        page.saved()
        assert state_of(page, i, second) == "accepted"
        if is_real():
            assert state_of(page, i, first) == "accepted"
