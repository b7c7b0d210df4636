"""Checking a sample, and more or fewer suggestions, through the server of the page."""

import pytest

from tagloom.completion.export import finished_tags
from tagloom.completion.feedback import decided
from tagloom.review.checking import SampleCheck
from tagloom.review.session import Review


def drawn(page, n=10):
    return page.post("/api/check", {"n": n, "client": "tab"}).json["check"]


def answer(page, place, answer):
    return page.post("/api/answer", {"place": place, "answer": answer, "client": "tab"})


class TestCheck:
    def test_a_sample_is_drawn_once_and_kept_over_a_restart(self, page, review, home):
        assert page.get("/api/check").json == {"check": None}
        check = drawn(page)
        assert len(check["questions"]) == 10
        assert page.get("/api/check").json["check"] == check
        answer(page, 0, "yes")
        answer(page, 1, "unsure")
        review.close()
        again = Review(home / "out", home / "photos")
        try:
            questions = SampleCheck.current(again).questions
        finally:
            again.close()
        assert [one.answer for one in questions[:3]] == ["yes", "unsure", None]

    def test_probabilities_are_not_sent_since_they_would_lead(self, page):
        assert all(set(one) == {"i", "t", "answer"} for one in drawn(page)["questions"])

    def test_answers_are_decisions_that_are_exported_and_undone(self, page, home, names):
        check = drawn(page)
        answer(page, 0, "yes")
        done = answer(page, 1, "no").json
        assert done["history"]["undo"]["verdict"] == "reject"
        one, other = check["questions"][:2]
        told = {(x.image, x.tag): x.present for x in decided(home / "out")}
        assert told == {
            (names["images"][one["i"]], names["tags"][one["t"]]): True,
            (names["images"][other["i"]], names["tags"][other["t"]]): False,
        }
        page.post("/api/undo", {"client": "tab"})
        questions = page.get("/api/check").json["check"]["questions"]
        assert [q["answer"] for q in questions[:2]] == ["yes", None]

    def test_dont_know_is_no_decision_and_can_be_taken_back(self, page, home):
        drawn(page)
        assert answer(page, 0, "unsure").json["check"]["questions"][0]["answer"] == "unsure"
        assert len(decided(home / "out")) == 0
        assert answer(page, 0, None).json["check"]["questions"][0]["answer"] is None
        answer(page, 0, "yes")
        assert answer(page, 0, "unsure").json["check"]["questions"][0]["answer"] == "unsure"
        assert len(decided(home / "out")) == 0

    def test_what_is_decided_elsewhere_counts_as_answered(self, page):
        one = drawn(page)["questions"][4]
        page.decide((one["i"], one["t"], "accept"))
        assert page.get("/api/check").json["check"]["questions"][4]["answer"] == "yes"

    def test_the_result_follows_the_answers(self, page):
        check = drawn(page)
        assert check["estimate"]["precision"] is None
        for place in range(10):
            check = answer(page, place, "yes").json["check"]
        assert check["estimate"]["precision"][0] == 1
        assert "checked suggestions are right" in check["sentences"][0]

    def test_a_new_sample_does_not_ask_again(self, page):
        first = drawn(page)
        for place in range(10):
            answer(page, place, "no")
        second = drawn(page)
        asked = {(q["i"], q["t"]) for q in first["questions"]}
        assert asked.isdisjoint({(q["i"], q["t"]) for q in second["questions"]})

    @pytest.mark.parametrize(
        "body", [{}, {"place": 10}, {"place": 0, "answer": "maybe"}, {"place": True}]
    )
    def test_bad_answers_are_refused(self, page, body):
        drawn(page)
        assert page.post("/api/answer", body).status == 400

    def test_an_answer_without_a_sample_is_refused(self, page):
        refused = answer(page, 0, "yes")
        assert (refused.status, refused.json) == (
            400,
            {"error": "No sample was drawn from this run."},
        )


def suggested(page):
    return {
        (row["i"], tag["t"])
        for row in page.get("/api/pictures?state=suggested&limit=2000").json["rows"]
        for tag in row["tags"]
        if tag["state"] == "suggested"
    }


class TestThreshold:
    def test_counts_of_the_slider_are_those_of_the_page(self, page):
        curve = page.get("/api/thresholds").json
        assert (curve["threshold"], curve["current"]["n"]) == (None, len(suggested(page)))
        for k in (9, 49, 79):
            row = curve["rows"][k]
            done = page.post("/api/threshold", {"threshold": row["threshold"]}).json
            assert done["counts"]["suggested"] == row["n"] == len(suggested(page))
            assert set(done["thresholds"]) <= {row["threshold"], None}
            tags = page.get("/api/tags").json["rows"]
            assert sum(tag["suggested"] for tag in tags) == row["n"]

    def test_precision_and_recall_are_expectations(self, page, review):
        P, is_open, _, _ = review.collection.open_entries()
        p = P[is_open].astype(float)
        row = page.get("/api/thresholds").json["rows"][19]
        above = p[p >= row["threshold"]]
        assert row["precision"] == pytest.approx(above.mean(), abs=1e-3)
        assert row["recall"] == pytest.approx(above.sum() / p.sum(), abs=1e-3)

    def test_counts_are_kept_in_step_with_decisions(self, page, review):
        page.get("/api/thresholds")
        (i, t), (j, u), *_ = sorted(suggested(page))
        page.decide((i, t, "accept"), (j, u, "reject"))
        page.post("/api/undo", {"client": "tab"})
        page.decide((i, t, "accept"))
        kept = page.get("/api/thresholds").json
        review.collection.suggest_from(None)
        assert page.get("/api/thresholds").json == kept

    def test_the_runs_own_choice_comes_back_and_decisions_stay(self, page, names):
        own = suggested(page)
        (i, t), *_ = sorted(own)
        page.post("/api/threshold", {"threshold": 0.05})
        assert len(suggested(page)) > len(own)
        page.decide((i, t, "reject"))
        page.post("/api/threshold", {"threshold": None})
        assert suggested(page) == own - {(i, t)}
        assert page.get("/api/collection").json["thresholds"] == names["thresholds"]
        page.decide((i, t, "clear"))
        assert suggested(page) == own

    def test_new_tags_are_still_counted_right(self, page):
        page.decide((4, "my aunt", "accept"))
        page.post("/api/threshold", {"threshold": 0.2})
        counts = page.get("/api/collection").json["counts"]
        assert (counts["accepted"], counts["suggested"]) == (1, len(suggested(page)))
        page.decide((5, "my uncle", "accept"))
        assert page.get("/api/pictures?q=uncle").json["total"] == 1

    def test_it_is_remembered_for_the_run_and_exported(self, page, review, home, names):
        page.post("/api/threshold", {"threshold": 0.2})
        shown = {(names["images"][i], names["tags"][t]) for i, t in suggested(page)}
        exported = finished_tags(home / "out", suggested=0)
        guesses = {(one.image, one.tag) for one in exported if one.confidence is not None}
        assert guesses == shown
        review.close()
        again = Review(home / "out", home / "photos")
        try:
            assert again.collection.chosen_threshold == 0.2
        finally:
            again.close()

    @pytest.mark.parametrize("threshold", [0, 1, -0.5, "0.5", True])
    def test_bad_thresholds_are_refused(self, page, threshold):
        assert page.post("/api/threshold", {"threshold": threshold}).status == 400
        assert page.post("/api/threshold", {}).status == 400
