import pytest

from tagloom.progress import followed_by, progress_bar, total_text


def test_nothing_is_drawn_outside_a_terminal(capsys):
    for show in (True, False):
        with progress_bar(3, "Embedding", show=show, unit="pictures") as advance:
            for _ in range(3):
                advance()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("remaining", "per_step", "following", "text"),
    [
        (20.0, 5.0, 4, "(all: 40 s left)"),
        (20.0, 5.0, 40, "(all: 4 min left)"),
        (20.0, 5.0, 0, ""),
        (None, None, 4, ""),
    ],
)
def test_the_estimate_counts_the_steps_that_follow(remaining, per_step, following, text):
    assert total_text(remaining, per_step, following) == text


def test_a_terminal_shows_how_long_all_of_it_takes(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    with followed_by(3), progress_bar(4, "tuning") as advance:
        for _ in range(3):
            advance()
    assert "tuning" in capsys.readouterr().err
