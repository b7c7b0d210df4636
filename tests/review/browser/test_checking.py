"""A sample is checked by keys alone, and the slider moves what is suggested everywhere."""

import pytest
from page_object import Keys
from queries import state_of


def answers(page):
    check = page.fetch("/api/check")["check"]
    return [one["answer"] for one in check["questions"]]


def suggested_in_tags(page):
    return sum(row["suggested"] for row in page.fetch("/api/tags")["rows"])


def suggested_on_cards(page):
    """The sum over the cards of the tags in view, which are all."""
    texts = [one.text for one in page.all(".tag-open")]
    return sum(int(text.split()[0]) for text in texts if text[:1].isdigit())


@pytest.fixture
def restored(page):
    """The page, with answers undone and the thresholds of the run used again afterwards."""
    yield page
    headers = '{"Content-Type": "application/json", "X-Tagloom": "1"}'
    for path, body in (("/api/threshold", '{"threshold": null}'),):
        page.run(f"return fetch('{path}', {{method: 'POST', headers: {headers}, body: '{body}'}})")
    while any(one in ("yes", "no") for one in (answers(page) if checked(page) else [])):
        page.run(f"return fetch('/api/undo', {{method: 'POST', headers: {headers}, body: '{{}}'}})")


def checked(page):
    return page.fetch("/api/check")["check"] is not None


class TestCheck:
    def test_by_keys_alone_over_a_reload_to_the_result(self, restored):
        page = restored
        page.go("#/pictures")
        page.press("g", "c")
        page.says(".question", "Add tag")
        n = len(answers(page))
        page.press("y", "n", " ")
        page.saved()
        page.until(lambda: answers(page)[:4] == ["yes", "no", "unsure", None])
        assert f"3 of {n} answered" in page.text(".view-check .side")
        page.press(Keys.BACKSPACE)
        page.until(lambda: answers(page)[2] is None)
        one = page.fetch("/api/check")["check"]["questions"][0]
        assert state_of(page, one["i"], one["t"]) == "accepted"
        page.driver.refresh()
        page.loaded()
        page.says(".view-check .side", f"2 of {n} answered")
        page.press(*["y"] * (n - 2))
        page.says(".check-result", "checked suggestions are right")
        assert page.all(".interval")
        assert page.text(".check-result .main") == "Learn from the answers"
        assert answers(page) == ["yes", "no", *["yes"] * (n - 2)]

    def test_undo_takes_an_answer_back_and_the_check_follows(self, restored):
        page = restored
        page.go("#/check")
        page.press("y")
        page.saved()
        page.until(lambda: answers(page)[0] == "yes")
        page.press("u")
        page.until(lambda: answers(page)[0] is None)
        page.says(".view-check .side", "0 of")

    def test_the_probability_is_not_shown(self, restored):
        restored.go("#/check")
        assert "%" not in restored.text(".view-check .side")


class TestSlider:
    def test_it_moves_what_is_suggested_and_is_remembered(self, restored):
        page = restored
        page.go("#/tags")
        page.says(".suggesting-words", "suggestion")
        before = suggested_in_tags(page)
        page.run("document.querySelector('.suggesting input').focus()")
        page.press(*[Keys.PAGE_UP] * 3)
        page.until(lambda: page.fetch("/api/thresholds")["threshold"] is not None)
        page.until(lambda: suggested_in_tags(page) > before)
        more = suggested_in_tags(page)
        page.until(lambda: page.text(".suggesting-words").startswith(f"{more} suggestions"))
        # The slider keeps the focus, and the list follows without a reload.
        assert page.run("return document.activeElement.type") == "range"
        page.until(lambda: suggested_on_cards(page) == more)
        page.driver.refresh()
        page.loaded()
        page.says(".suggesting-words", f"{more} suggestions")
        page.click(".suggesting button")
        page.until(lambda: suggested_in_tags(page) == before)

    def test_it_fits_a_phone(self, restored):
        page = restored
        page.width(390)
        page.go("#/pictures")
        page.says(".suggesting-words", "suggestion")
        assert page.run("return document.documentElement.scrollWidth") <= 390
